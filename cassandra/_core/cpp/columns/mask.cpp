#include "columns/mask.h"

#include "columns/packing.h"

namespace fastcql::columns {

void Mask::count() noexcept {
    selected = 0;
    for (const uint64_t word : yes) selected += __builtin_popcountll(word);
}

void Mask::set_and(const Mask& a, const Mask& b) {
    rows = a.rows;
    yes.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) yes[i] = a.yes[i] & b.yes[i];
    if (!a.no.empty() || !b.no.empty()) {
        no.resize(yes.size());
        for (size_t i = 0; i < yes.size(); ++i) no[i] = a.no_at(i) | b.no_at(i);
    }
    count();
}

void Mask::set_or(const Mask& a, const Mask& b) {
    rows = a.rows;
    yes.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) yes[i] = a.yes[i] | b.yes[i];
    if (!a.no.empty() || !b.no.empty()) {
        no.resize(yes.size());
        for (size_t i = 0; i < yes.size(); ++i) no[i] = a.no_at(i) & b.no_at(i);
    }
    count();
}

void Mask::set_not(const Mask& a) {
    rows = a.rows;
    yes.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) yes[i] = a.no_at(i);
    if (!a.no.empty()) no = a.yes;
    count();
}

void Mask::set_bytes(const uint8_t* bytes, int64_t n) {
    rows = n;
    yes.resize(words_of(n));
    pack_rows(n, yes.data(), [bytes](int64_t i) { return bytes[i] != 0; });
    count();
}

void Mask::set_bits(const uint8_t* bits, const uint8_t* known, int64_t offset, int64_t n) {
    rows = n;
    yes.resize(words_of(n));
    if (known) no.resize(yes.size());
    for (size_t w = 0; w < yes.size(); ++w) {
        const int64_t at = static_cast<int64_t>(w) * 64;
        const int64_t here = n - at < 64 ? n - at : 64;
        yes[w] = bits_at(bits, offset + at, here);
        if (known) {
            const uint64_t valid = bits_at(known, offset + at, here);
            no[w] = ~yes[w] & valid;
            yes[w] &= valid;
        }
    }
    count();
}

void Mask::set_unknown(int64_t n) {
    rows = n;
    selected = 0;
    yes.assign(words_of(n), 0);
    no = yes;
}

void Mask::set_known(const Mask& a, const Mask& known) {
    rows = a.rows;
    yes.resize(a.yes.size());
    no.resize(a.yes.size());
    for (size_t i = 0; i < yes.size(); ++i) {
        yes[i] = a.yes[i] & known.yes[i];
        no[i] = a.no_at(i) & known.yes[i];
    }
    count();
}

void Mask::append(const Mask& other) {
    const auto at = static_cast<size_t>(rows / 64);
    const auto shift = static_cast<int>(rows % 64);
    const size_t size = words_of(rows + other.rows);
    if (no.empty() && !other.no.empty()) {
        no.resize(yes.size());
        for (size_t i = 0; i < yes.size(); ++i) no[i] = ~yes[i] & bits_before(rows, static_cast<int64_t>(i) * 64);
    }
    const bool with_no = !no.empty() || !other.no.empty();
    yes.resize(size);
    if (with_no) no.resize(size);
    const auto put = [at, shift](std::vector<uint64_t>& words, size_t i, uint64_t word) {
        words[at + i] |= word << shift;
        if (shift && at + i + 1 < words.size()) words[at + i + 1] |= word >> (64 - shift);
    };
    for (size_t i = 0; i < other.yes.size(); ++i) {
        put(yes, i, other.yes[i]);
        if (with_no) put(no, i, other.no_at(i));
    }
    rows += other.rows;
    count();
}

int64_t Mask::run_count() const noexcept {
    int64_t runs = 0;
    uint64_t before = 0;  // the last bit of the word before
    for (const uint64_t word : yes) {
        runs += __builtin_popcountll(word & ~(word << 1 | before));
        before = word >> 63;
    }
    return runs;
}

}  // namespace fastcql::columns
