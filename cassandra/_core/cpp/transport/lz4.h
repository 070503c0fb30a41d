// LZ4 blocks (lz4_Block_format.md), which segments of protocol v5 are compressed as.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastcql {

// Decompresses a block of *size* bytes into exactly *out_size* bytes. False when it is damaged, or of another size: what is
// in *out* then has no meaning. Neither reads nor writes beyond what it is given, whatever the bytes are.
bool lz4_decompress(const uint8_t* data, size_t size, uint8_t* out, size_t out_size);

}  // namespace fastcql
