// The reactor's interface to the language in which it is embedded. A table of functions, so that the C++ part does not
// depend on Python and its tests bring their own runtime.
//
// All functions except enter, leave and thread_ending are called between enter and leave; by the owner of the
// reactor, except filter_send and compress, which the sending thread calls. Locks: a thread that holds the runtime lock
// (the GIL) may take native locks; no thread takes the runtime lock while it holds a native one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/envelope.h"
#include "transport/operation.h"
#include "transport/reason.h"
#include "transport/segments.h"

namespace fastcql {

class Channel;

struct Runtime {
    // Takes the runtime lock; false if the runtime shuts down: its objects must not be accessed any more.
    bool (*enter)(void** token);
    void (*leave)(void* token);
    // True if signal handlers of the runtime run on this thread, so that calls may be interrupted. A filter that does
    // not support that is left to the I/O thread then.
    bool (*interruptible)();
    void (*thread_ending)();  // last call of a reactor's own thread, without the lock

    // Takes over a reference each.
    void (*dispatch)(Operation* operation);
    void (*drop_operations)(Operation* list);  // linked by next_drop

    // Add a reference. May be called with a native lock; the caller has the runtime lock.
    void (*retain)(Operation* operation);
    void (*retain_object)(void* object);
    void (*call)(void* callback);
    void (*drop_object)(void* object);
    void (*warn)(const char* text);

    // Handler calls. A returned reason (null: success), owned by the caller from then on, closes the channel. closed()
    // sets reason.object(), if it was an error, and gives back channel.self.
    Reason* (*connected)(Channel& channel);
    Reason* (*event)(Channel& channel, Frame& frame);
    void (*closed)(Channel& channel, Reason& reason);
    void (*quiet)(Channel& channel);  // no bytes arrive although requests wait

    // Byte filters (channel.filter), and compressors. Output is appended, and is valid also if a reason is returned.
    Reason* (*filter_start)(void* filter, Buffer& wire);
    Reason* (*filter_receive)(void* filter, const uint8_t* data, size_t size, Buffer& plain, Buffer& wire);
    Reason* (*filter_send)(void* filter, const uint8_t* data, size_t size, Buffer& wire);
    Reason* (*filter_eof)(void* filter);
    void (*filter_end)(void* filter, Buffer& wire);  // once, before closed(), for any reason
    bool (*filter_established)(void* filter);
    // On an interruptible thread: true if handlers run only when a call is complete; called after the first data.
    // Settle, called within a handler, completes the interrupted call; some of the input may remain then, for a call of
    // filter_receive without data.
    bool (*filter_is_lendable)(void* filter);
    Reason* (*filter_complete)(void* filter, Buffer& plain, Buffer& wire);
    Reason* (*compress)(void* compressor, const uint8_t* data, size_t size, Buffer& out);
    // Into the *plain_size* bytes at *plain*; *written* is the decompressed size, which may differ.
    Reason* (*decompress)(void* decompressor, const uint8_t* data, size_t size, uint8_t* plain, size_t plain_size,
                          size_t* written);
};

}  // namespace fastcql
