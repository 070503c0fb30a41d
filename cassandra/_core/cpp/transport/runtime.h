// What the reactor asks of the language it is embedded in. A table of functions, so that the C++ part knows
// nothing of Python and its tests bring a runtime of their own.
//
// All but enter, leave and thread_ending are called between enter and leave; by the holder of the reactor's role, but
// for filter_send and compress, which whoever sends calls. Locks: a thread that holds the runtime lock (the GIL) may take
// native locks; no thread asks for the runtime lock while it holds a native one.
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
    // Takes the runtime lock; false when the runtime is going away: nothing of it may be touched any more.
    bool (*enter)(void** token);
    void (*leave)(void* token);
    // Whether signal handlers of the runtime run on this thread, so that what it is asked may be interrupted. A filter that
    // does not lend itself to that is left to the I/O thread then.
    bool (*interruptible)();
    void (*thread_ending)();  // last call of a reactor's own thread, without the lock

    // Takes over a reference each.
    void (*dispatch)(Operation* operation);
    void (*drop_operations)(Operation* list);  // linked by next_drop
    void (*call)(void* callback);
    void (*drop_object)(void* object);
    void (*warn)(const char* text);

    // Handler calls. A reason (null: all is well), the caller's from then on, closes the channel. closed()
    // makes reason.object, if it was an error, and gives back channel.self.
    Reason* (*connected)(Channel& channel);
    Reason* (*event)(Channel& channel, Frame& frame);
    void (*closed)(Channel& channel, Reason& reason);
    void (*quiet)(Channel& channel);  // nothing comes though requests wait

    // Byte filters (channel.filter), compressors and decompressors. Output is appended, and counts also where there is a
    // reason.
    Reason* (*filter_start)(void* filter, Buffer& wire);
    Reason* (*filter_receive)(void* filter, const uint8_t* data, size_t size, Buffer& plain, Buffer& wire);
    Reason* (*filter_send)(void* filter, const uint8_t* data, size_t size, Buffer& wire);
    Reason* (*filter_eof)(void* filter);
    void (*filter_end)(void* filter, Buffer& wire);  // once, before closed(), however it came to that
    bool (*filter_established)(void* filter);
    // On an interruptible thread: whether handlers run only when a call is complete; asked when there was data. Settle, from
    // within a handler, does what the call that it interrupted has still to do; of the input there may be more then,
    // for a call of filter_receive without data.
    bool (*filter_lends)(void* filter);
    Reason* (*filter_settle)(void* filter, Buffer& plain, Buffer& wire);
    Reason* (*compress)(void* compressor, const uint8_t* data, size_t size, Buffer& out);
    Reason* (*decompress)(void* decompressor, const uint8_t* data, size_t size, size_t plain_size,
                          Buffer& out);
};

}  // namespace fastcql
