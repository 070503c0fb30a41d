// The error of a page that was not decoded: position and text. The caller makes an exception of it.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace fastcql::columns {

struct Failure {
    enum class Kind : uint8_t { None, Value, Memory };

    Kind kind = Kind::None;
    int32_t column = 0;  // of the page's columns
    int64_t row = 0;     // of the page
    char text[240] = {};

    bool happened() const { return kind != Kind::None; }

    // Always returns false, for callers that return it themselves.
    __attribute__((format(printf, 2, 3))) bool value(const char* format, ...) {
        kind = Kind::Value;
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        return false;
    }
    bool memory() {
        kind = Kind::Memory;
        return false;
    }
};

}  // namespace fastcql::columns
