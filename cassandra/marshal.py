"""Packing and unpacking of numbers in the format of the protocol."""

# fmt: off
# isort: off
from cassandra._base.aliases import add_names
from cassandra._wire.marshal import (
    bit_length, decode_zig_zag, double_pack, double_unpack, encode_zig_zag, float_pack, float_unpack,
    int8_pack, int8_unpack, int16_pack, int16_unpack, int32_pack, int32_unpack, int64_pack, int64_unpack,
    uint8_pack, uint8_unpack, uint16_pack, uint16_unpack, uint32_le_pack, uint32_le_unpack, uint32_pack,
    uint32_unpack, uint64_pack, uint64_unpack, uvint_pack, uvint_unpack, v3_header_pack, v3_header_unpack,
    varint_pack, varint_unpack, vints_pack, vints_unpack,
)

__all__ = [
    "bit_length", "decode_zig_zag", "double_pack", "double_unpack", "encode_zig_zag", "float_pack",
    "float_unpack", "int8_pack", "int8_unpack", "int16_pack", "int16_unpack", "int32_pack", "int32_unpack",
    "int64_pack", "int64_unpack", "uint8_pack", "uint8_unpack", "uint16_pack", "uint16_unpack",
    "uint32_le_pack", "uint32_le_unpack", "uint32_pack", "uint32_unpack", "uint64_pack", "uint64_unpack",
    "uvint_pack", "uvint_unpack", "v3_header_pack", "v3_header_unpack", "varint_pack", "varint_unpack",
    "vints_pack", "vints_unpack",
]

add_names(__name__, {
    "cassandra._compat.names": "_make_packer circle_be circle_le point_be point_le v3_header_struct",
})  # fmt: skip
