// The bytes of one connection: a socket, with TLS or without. OpenSSL is the one that Python has loaded before, found
// when it runs, so that building needs none of its headers.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>

class OpenSsl {
public:
    // CERTIFICATE: a PEM file with the key and the chain.
    explicit OpenSsl(const char* certificate) {
        for (const char* name : {"libssl.so.3", "libssl.so.1.1", "libssl.so"}) {
            if ((library_ = ::dlopen(name, RTLD_NOW))) break;
        }
        if (!library_) fail("no OpenSSL", ::dlerror());
        find("SSL_new", make);
        find("SSL_free", free);
        find("SSL_set_fd", set_fd);
        find("SSL_set_accept_state", accept);
        find("SSL_read", read);
        find("SSL_write", write);
        find("SSL_get_error", error);
        find("ERR_clear_error", forget_errors);
        void* (*method)();
        void* (*make_context)(void*);
        long (*control)(void*, int, long, void*);
        int (*use_chain)(void*, const char*);
        int (*use_key)(void*, const char*, int);
        find("TLS_server_method", method);
        find("SSL_CTX_new", make_context);
        find("SSL_CTX_ctrl", control);
        find("SSL_CTX_use_certificate_chain_file", use_chain);
        find("SSL_CTX_use_PrivateKey_file", use_key);
        context = make_context(method());
        constexpr int kMode = 33, kPem = 1;
        constexpr long kPartialWrite = 1, kMovingBuffer = 2;
        control(context, kMode, kPartialWrite | kMovingBuffer, nullptr);
        if (use_chain(context, certificate) != 1 || use_key(context, certificate, kPem) != 1)
            fail("no certificate", certificate);
    }

    static constexpr int kWantRead = 2, kWantWrite = 3;
    void* context = nullptr;
    void* (*make)(void*) = nullptr;
    void (*free)(void*) = nullptr;
    int (*set_fd)(void*, int) = nullptr;
    void (*accept)(void*) = nullptr;
    int (*read)(void*, void*, int) = nullptr;
    int (*write)(void*, const void*, int) = nullptr;
    int (*error)(const void*, int) = nullptr;
    void (*forget_errors)() = nullptr;  // those of other connections

private:
    [[noreturn]] static void fail(const char* what, const char* why) {
        std::fprintf(stderr, "%s: %s\n", what, why);
        std::exit(1);
    }

    template <typename Function>
    void find(const char* name, Function& function) {
        void* const found = ::dlsym(library_, name);
        if (!found) fail(name, ::dlerror());
        function = reinterpret_cast<Function>(found);
    }

    void* library_ = nullptr;
};

// Negative results: errno is EAGAIN where the caller is to come again.
class Stream {
public:
    Stream(int fd, const OpenSsl* library) : fd_(fd), library_(library) {
        if (!library_) return;
        session_ = library_->make(library_->context);
        library_->set_fd(session_, fd);
        library_->accept(session_);
    }
    ~Stream() {
        if (session_) library_->free(session_);
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    ssize_t read(char* data, size_t size) {
        if (!session_) return ::recv(fd_, data, size, 0);
        library_->forget_errors();
        return result(library_->read(session_, data, static_cast<int>(size)));
    }

    ssize_t write(const char* data, size_t size) {
        if (!session_) return ::send(fd_, data, size, MSG_NOSIGNAL);
        library_->forget_errors();
        return result(library_->write(session_, data, static_cast<int>(size)));
    }

private:
    ssize_t result(int done) const {
        if (done > 0) return done;
        const int error = library_->error(session_, done);
        errno = error == OpenSsl::kWantRead || error == OpenSsl::kWantWrite ? EAGAIN : EPIPE;
        return -1;
    }

    const int fd_;
    const OpenSsl* const library_;
    void* session_ = nullptr;
};
