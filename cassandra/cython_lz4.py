"""LZ4 in the format of protocol 3 and 4, which starts with the length before compression."""

from cassandra._net.compression import lz4_compress, lz4_decompress

__all__ = ["lz4_compress", "lz4_decompress"]
