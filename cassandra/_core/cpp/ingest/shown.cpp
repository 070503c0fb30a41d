// Values in messages.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "codec/civil.h"
#include "columns/numbers.h"
#include "ingest/encode.h"

namespace fastcql::ingest {

namespace {

constexpr size_t kShown = 80;  // bytes of text

std::string number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", v);
    if (double shorter = 0; std::isfinite(v)) {
        for (int digits = 1; digits < 17; ++digits) {
            std::snprintf(text, sizeof text, "%.*g", digits, v);
            if (std::sscanf(text, "%lf", &shorter) == 1 && shorter == v) break;
            std::snprintf(text, sizeof text, "%.17g", v);
        }
    }
    return text;
}

const char* name_of(int64_t unit) { return unit == 1 ? " s" : unit == 1000 ? " ms" : unit == 1000000 ? " us" : " ns"; }

// In ISO notation if the year has four digits, else as a number of units.
std::string moment(int64_t v, int64_t unit) {
    const int64_t per_day = 86400 * unit;
    const int64_t days = floor_div(v, per_day);
    const int64_t rest = v % per_day < 0 ? v % per_day + per_day : v % per_day;
    CivilTime at{};
    if (days < -719162 || days > 2932896 || !split_timestamp(days * kDayMs, &at)) {
        return std::to_string(v) + name_of(unit);
    }
    char text[64];
    const auto seconds = static_cast<int>(rest / unit);
    int size = std::snprintf(text, sizeof text, "%04d-%02d-%02d %02d:%02d:%02d", at.year, at.month, at.day, seconds / 3600,
                             seconds / 60 % 60, seconds % 60);
    std::string found(text, static_cast<size_t>(size));
    if (rest % unit == 0) return found;
    const int digits = unit == 1000 ? 3 : unit == 1000000 ? 6 : 9;
    size = std::snprintf(text, sizeof text, ".%0*lld", digits, static_cast<long long>(rest % unit));
    return found + std::string(text, static_cast<size_t>(size));
}

std::string decimal(const Input& input, int64_t i) {
    uint64_t words[4];
    const size_t count = words_at(input, i, words);
    uint8_t bytes[32];
    for (size_t k = 0; k < count; ++k) store64(bytes + 8 * k, words[count - 1 - k]);
    std::string text(columns::text_room(sizeof bytes), '\0');
    text.resize(columns::decimal_text(bytes, 8 * count, input.how->source->scale, text.data()));
    return text;
}

std::string interval(const Input& input, int64_t i) {
    const uint8_t* p = input.values + (input.offset + i) * input.width;
    const auto part = [p](int64_t which) { return std::to_string(load<int32_t>(p, which)); };
    switch (input.how->source->shape) {
        case Shape::Months: return part(0) + " months";
        case Shape::DayTime: return part(0) + " days, " + part(1) + " ms";
        case Shape::MonthDayNano: return part(0) + " months, " + part(1) + " days, " + std::to_string(load<int64_t>(p, 1)) + " ns";
        default: return std::to_string(load<int64_t>(p, 0)) + name_of(input.how->source->unit);
    }
}

}  // namespace

std::string shown_text(const uint8_t* p, size_t n) {
    std::string found = "'";
    for (size_t i = 0; i < std::min(n, kShown); ++i) {
        char escaped[8];
        if (p[i] >= 0x20 && p[i] != 0x7f) {
            found += static_cast<char>(p[i]);
        } else {
            std::snprintf(escaped, sizeof escaped, "\\x%02x", p[i]);
            found += escaped;
        }
    }
    return found + (n > kShown ? "'..." : "'");
}

std::string shown(const Input& input, int64_t i) {
    const Source& source = *input.how->source;
    bool too_large = false;
    switch (source.shape) {
        case Shape::Integer: {
            const int64_t v = integer_at(input, i, too_large);
            return too_large ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v);
        }
        case Shape::Floating: return number(floating_at(input, i));
        case Shape::Date:
            return input.width == 4 ? moment(int64_t{input.at<int32_t>(i)} * 86400, 1) : moment(input.at<int64_t>(i), 1000);
        case Shape::Timestamp: return moment(input.at<int64_t>(i), source.unit);
        case Shape::Time:
            return (input.width == 4 ? std::to_string(input.at<int32_t>(i)) : std::to_string(input.at<int64_t>(i))) + name_of(source.unit);
        case Shape::Decimal: return decimal(input, i);
        case Shape::Elapsed:
        case Shape::Months:
        case Shape::DayTime:
        case Shape::MonthDayNano: return interval(input, i);
        default: return "a value of " + source.text();
    }
}

}  // namespace fastcql::ingest
