"""LZ4 as protocol 3 and 4 have it: the length before compression comes first."""

from cassandra._net.handshake.compression import lz4_compress, lz4_decompress

__all__ = ["lz4_compress", "lz4_decompress"]
