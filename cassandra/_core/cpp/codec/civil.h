// Days since 1970-01-01 to proleptic Gregorian dates and back, and the split of CQL timestamps into fields.
#pragma once

#include <cstdint>

namespace fastcql {

struct CivilTime {
    int year, month, day, hour, minute, second, microsecond;
};

inline int64_t floor_div(int64_t a, int64_t b) {
    const int64_t q = a / b;
    return a % b < 0 ? q - 1 : q;
}

// Counts in 400-year eras that start on 1 March, so that the leap day is the last of its year.
inline int64_t days_from_civil(int64_t year, int month, int day) noexcept {
    if (month <= 2) --year;
    const int64_t era = floor_div(year, 400);
    const int64_t year_of_era = year - era * 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

constexpr int64_t kDayMs = 86400000;
constexpr int64_t kFirstDatetimeMs = -62135596800000;  // 0001-01-01
constexpr int64_t kLastDatetimeMs = 253402300799999;   // 9999-12-31 23:59:59.999

// False when Python's datetime cannot hold it.
inline bool split_timestamp(int64_t ms, CivilTime* out) noexcept {
    if (ms < kFirstDatetimeMs || ms > kLastDatetimeMs) return false;
    const int64_t days = floor_div(ms, kDayMs);
    const uint32_t rest = static_cast<uint32_t>(ms - days * kDayMs);
    const uint32_t shifted = static_cast<uint32_t>(days + 719468);  // days since 0000-03-01, positive in this range
    const uint32_t era = shifted / 146097;
    const uint32_t day_of_era = shifted - era * 146097;
    const uint32_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    const uint32_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const uint32_t shifted_month = (5 * day_of_year + 2) / 153;
    out->day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    out->month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    out->year = static_cast<int>(year_of_era + era * 400) + (out->month <= 2 ? 1 : 0);
    const uint32_t seconds = rest / 1000;
    out->microsecond = static_cast<int>((rest - seconds * 1000) * 1000);
    out->hour = static_cast<int>(seconds / 3600);
    out->minute = static_cast<int>(seconds / 60 % 60);
    out->second = static_cast<int>(seconds % 60);
    return true;
}

}  // namespace fastcql
