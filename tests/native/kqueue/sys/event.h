// kqueue(2) for the tests on Linux, over epoll: the interface that macOS and the BSDs have in common, as far as pollers
// of sockets and pipes use it. Everything else fails with EINVAL.
#pragma once

#include <cstdint>
#include <ctime>

struct kevent {
    uintptr_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t fflags;
    intptr_t data;
    void* udata;
};

#define EVFILT_READ (-1)
#define EVFILT_WRITE (-2)
#define EV_ADD 0x0001
#define EV_DELETE 0x0002
#define EV_RECEIPT 0x0040
#define EV_ERROR 0x4000
#define EV_EOF 0x8000

#define EV_SET(event, ident_, filter_, flags_, fflags_, data_, udata_) \
    do {                                                               \
        struct kevent& made = *(event);                                \
        made.ident = (ident_);                                         \
        made.filter = (filter_);                                       \
        made.flags = (flags_);                                         \
        made.fflags = (fflags_);                                       \
        made.data = (data_);                                           \
        made.udata = (udata_);                                         \
    } while (false)

int kqueue();
int kevent(int queue, const struct kevent* changes, int change_count, struct kevent* events, int event_count,
           const timespec* timeout);
