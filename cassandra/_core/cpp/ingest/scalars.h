// Parsing of text: integers, floating-point numbers, booleans, dates, times and timestamps in ISO 8601.
//
// Each function reads the whole text: spaces and other separators are refused.
#pragma once

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/portable.h"
#include "codec/civil.h"

namespace fastcql::ingest {

enum class Parsed : uint8_t { Yes, No, OutOfRange };

// Digits behind an optional sign.
inline Parsed parse_integer(const uint8_t* p, size_t n, int64_t& out) {
    const char* begin = reinterpret_cast<const char*>(p);
    const char* const end = begin + n;
    if (n > 1 && *begin == '+' && begin[1] != '-') ++begin;
    const auto [at, error] = std::from_chars(begin, end, out);
    if (at != end || error == std::errc::invalid_argument) return Parsed::No;
    return error == std::errc() ? Parsed::Yes : Parsed::OutOfRange;
}

// 1 for "true", 0 for "false", in any case; else -1.
inline int parse_boolean(const uint8_t* p, size_t n) {
    const auto is = [p, n](const char* word) {
        if (n != std::strlen(word)) return false;
        for (size_t i = 0; i < n; ++i) {
            if ((p[i] | 0x20) != word[i]) return false;
        }
        return true;
    };
    return is("true") ? 1 : is("false") ? 0 : -1;
}

// The nearest number to digits with an optional sign, point and exponent; "nan", "inf" and "infinity" in any case. Out
// of range: it would become infinite, or zero.
template <typename Number>
Parsed parse_number(const uint8_t* p, size_t n, Number& out) {
    const char* begin = reinterpret_cast<const char*>(p);
    const char* const end = begin + n;
    if (n > 1 && *begin == '+') ++begin;
    const char* first = begin;
    if (first < end && *first == '-' && begin == reinterpret_cast<const char*>(p)) ++first;
    if (first == end) return Parsed::No;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!is_digit(*first) && *first != '.') {
        const std::string word(first, end);
        const auto is = [&word](const char* other) {
            if (word.size() != std::strlen(other)) return false;
            for (size_t i = 0; i < word.size(); ++i) {
                if ((word[i] | 0x20) != other[i]) return false;
            }
            return true;
        };
        if (!is("nan") && !is("inf") && !is("infinity")) return Parsed::No;
    }
#if defined(__cpp_lib_to_chars)
    const auto [at, error] = std::from_chars(begin, end, out);
    if (at != end || error == std::errc::invalid_argument) return Parsed::No;
    return error == std::errc() ? Parsed::Yes : Parsed::OutOfRange;
#else
    for (const char* c = first; c < end && (is_digit(*first) || *first == '.'); ++c) {
        if (!is_digit(*c) && !std::strchr(".eE+-", *c)) return Parsed::No;
    }
    const std::string text(begin, end);
    char* stop = nullptr;
    errno = 0;
    to_number(text.c_str(), &stop, out);
    if (stop != text.c_str() + text.size()) return Parsed::No;
    return errno == ERANGE && (out == 0 || std::isinf(out)) ? Parsed::OutOfRange : Parsed::Yes;  // not if subnormal
#endif
}

// ---- dates and times

class MomentReader {
public:
    MomentReader(const uint8_t* p, size_t n) : p_(p), end_(p + n) {}

    bool is_at_end() const { return p_ == end_; }
    bool take(char c) {
        if (p_ == end_ || *p_ != static_cast<uint8_t>(c)) return false;
        ++p_;
        return true;
    }
    bool take_word(const char* word) {
        const size_t n = std::strlen(word);
        if (static_cast<size_t>(end_ - p_) < n || std::memcmp(p_, word, n) != 0) return false;
        p_ += n;
        return true;
    }
    // Exactly *count* digits, a number of at most *most*.
    bool digits(int count, int most, int& out) {
        if (end_ - p_ < count) return false;
        out = 0;
        for (int i = 0; i < count; ++i, ++p_) {
            if (*p_ < '0' || *p_ > '9') return false;
            out = out * 10 + (*p_ - '0');
        }
        return out <= most;
    }
    bool is_digit(int ahead) const { return end_ - p_ > ahead && p_[ahead] >= '0' && p_[ahead] <= '9'; }

    // YYYY-MM-DD; years of five and six digits, and before 0, have a sign.
    bool date(int64_t& days) {
        const bool negative = take('-');
        const bool is_signed = negative || take('+');
        int count = 4, year = 0, month = 0, day = 0;
        while (is_signed && count < 6 && is_digit(count)) ++count;
        if (!digits(count, 999999, year) || !take('-') || !digits(2, 12, month) || !take('-') || !digits(2, 31, day)) return false;
        if (negative) year = -year;
        constexpr int kDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        if (month < 1 || day < 1 || day > kDays[month - 1] || (month == 2 && day == 29 && !is_leap)) return false;
        days = days_from_civil(year, month, day);
        return true;
    }
    // HH:MM, HH:MM:SS, and up to nine digits of a second.
    bool time(int64_t& nanos) {
        int hour = 0, minute = 0, second = 0, fraction = 0, count = 0;
        if (!digits(2, 23, hour) || !take(':') || !digits(2, 59, minute)) return false;
        if (take(':')) {
            if (!digits(2, 59, second)) return false;
            if (take('.')) {
                while (count < 9 && is_digit(count)) ++count;
                if (count == 0 || !digits(count, 999999999, fraction)) return false;
            }
        }
        int64_t part = fraction;
        for (; count < 9; ++count) part *= 10;
        nanos = (hour * 3600 + minute * 60 + second) * int64_t{1000000000} + part;
        return true;
    }
    // Seconds of Z, UTC, +HH, +HHMM and +HH:MM.
    bool zone(int64_t& offset) {
        if (take('Z') || take_word("UTC")) return true;
        const bool negative = take('-');
        int hours = 0, minutes = 0;
        if ((!negative && !take('+')) || !digits(2, 18, hours)) return false;
        if ((take(':') || !is_at_end()) && !digits(2, 59, minutes)) return false;
        offset = (negative ? -1 : 1) * (hours * 3600 + minutes * 60);
        return true;
    }

private:
    const uint8_t* p_;
    const uint8_t* const end_;
};

struct Moment {
    int64_t days = 0;    // since 1970
    int64_t nanos = 0;   // since midnight
    int64_t offset = 0;  // of its zone to UTC, in seconds
};

// A date, or a date and a time behind "T" or a space, with or without a zone.
inline bool parse_moment(const uint8_t* p, size_t n, Moment& out) {
    MomentReader reader(p, n);
    if (!reader.date(out.days)) return false;
    if (reader.is_at_end()) return true;
    if ((!reader.take('T') && !reader.take(' ')) || !reader.time(out.nanos)) return false;
    if (reader.is_at_end()) return true;
    reader.take(' ');
    return reader.zone(out.offset) && reader.is_at_end();
}

inline bool parse_time(const uint8_t* p, size_t n, int64_t& nanos) {
    MomentReader reader(p, n);
    return reader.time(nanos) && reader.is_at_end();
}

}  // namespace fastcql::ingest
