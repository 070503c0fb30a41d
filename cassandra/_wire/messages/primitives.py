"""Protocol primitives on file-like objects, the ``read_*``/``write_*`` functions of ``cassandra.protocol`` (L2).

For protocol handlers of programs; the driver itself decodes with ``codec.Reader``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from socket import AF_INET, AF_INET6, inet_ntop, inet_pton
from typing import Any

from cassandra._base.errors import ProtocolError
from cassandra._core.codec import UNSET
from cassandra._wire.messages.base import ReadableFile, WritableFile

__all__ = [
    "int32_pack",
    "read_binary_longstring",
    "read_binary_string",
    "read_byte",
    "read_bytesmap",
    "read_consistency_level",
    "read_error_code_map",
    "read_inet",
    "read_inet_addr_only",
    "read_int",
    "read_longstring",
    "read_short",
    "read_string",
    "read_stringlist",
    "read_stringmap",
    "read_stringmultimap",
    "read_uint_le",
    "read_value",
    "uint16_pack",
    "uint32_le_pack",
    "uint32_pack",
    "uint64_pack",
    "uint8_pack",
    "v3_header_pack",
    "write_byte",
    "write_bytesmap",
    "write_consistency_level",
    "write_inet",
    "write_int",
    "write_long",
    "write_longstring",
    "write_short",
    "write_string",
    "write_stringlist",
    "write_stringmap",
    "write_stringmultimap",
    "write_uint",
    "write_uint_le",
    "write_value",
]

int32_pack: Callable[[int], bytes] = struct.Struct(">i").pack
uint8_pack: Callable[[int], bytes] = struct.Struct(">B").pack
uint16_pack: Callable[[int], bytes] = struct.Struct(">H").pack
uint32_pack: Callable[[int], bytes] = struct.Struct(">I").pack
uint64_pack: Callable[[int], bytes] = struct.Struct(">Q").pack
uint32_le_pack: Callable[[int], bytes] = struct.Struct("<I").pack
v3_header_pack: Callable[[int, int, int, int], bytes] = struct.Struct(">BBhB").pack


def _take(f: ReadableFile, size: int) -> bytes:
    data = f.read(size)
    if len(data) != size:
        raise ProtocolError(f"message ends {size - len(data)} bytes early")
    return data


def _unpack(f: ReadableFile, layout: str, size: int) -> int:
    value: int = struct.unpack(layout, _take(f, size))[0]
    return value


def read_byte(f: ReadableFile) -> int:
    return _unpack(f, ">b", 1)


def read_short(f: ReadableFile) -> int:
    return _unpack(f, ">H", 2)


def read_int(f: ReadableFile) -> int:
    return _unpack(f, ">i", 4)


def read_uint_le(f: ReadableFile, size: int = 4) -> int:
    return int.from_bytes(_take(f, size), "little")


def read_consistency_level(f: ReadableFile) -> int:
    return read_short(f)


def read_binary_string(f: ReadableFile) -> bytes:
    return _take(f, read_short(f))


def read_string(f: ReadableFile) -> str:
    return read_binary_string(f).decode("utf8")


def read_binary_longstring(f: ReadableFile) -> bytes:
    return _take(f, read_int(f))


def read_longstring(f: ReadableFile) -> str:
    return read_binary_longstring(f).decode("utf8")


def read_value(f: ReadableFile) -> bytes | None:
    size = read_int(f)
    return None if size < 0 else _take(f, size)


def read_stringlist(f: ReadableFile) -> list[str]:
    return [read_string(f) for _ in range(read_short(f))]


def read_stringmap(f: ReadableFile) -> dict[str, str]:
    return {read_string(f): read_string(f) for _ in range(read_short(f))}


def read_stringmultimap(f: ReadableFile) -> dict[str, list[str]]:
    return {read_string(f): read_stringlist(f) for _ in range(read_short(f))}


def read_bytesmap(f: ReadableFile) -> dict[str, bytes | None]:
    return {read_string(f): read_value(f) for _ in range(read_short(f))}


def read_error_code_map(f: ReadableFile) -> dict[str, int]:
    return {read_inet_addr_only(f): read_short(f) for _ in range(read_int(f))}


def read_inet_addr_only(f: ReadableFile) -> str:
    size = _unpack(f, ">B", 1)
    if size not in (4, 16):
        raise ProtocolError(f"an address has 4 or 16 bytes, not {size}")
    return inet_ntop(AF_INET if size == 4 else AF_INET6, _take(f, size))


def read_inet(f: ReadableFile) -> tuple[str, int]:
    return read_inet_addr_only(f), read_int(f)


def write_byte(f: WritableFile, b: int) -> None:
    f.write(struct.pack(">b", b))


def write_short(f: WritableFile, s: int) -> None:
    f.write(uint16_pack(s))


def write_int(f: WritableFile, i: int) -> None:
    f.write(int32_pack(i))


def write_uint(f: WritableFile, i: int) -> None:
    f.write(uint32_pack(i))


def write_uint_le(f: WritableFile, i: int, size: int = 4) -> None:
    f.write(i.to_bytes(size, "little"))


def write_long(f: WritableFile, i: int) -> None:
    f.write(struct.pack(">q", i))


def write_consistency_level(f: WritableFile, cl: int) -> None:
    write_short(f, cl)


def _as_bytes(s: str | bytes) -> bytes:
    return s.encode("utf8") if isinstance(s, str) else s


def write_string(f: WritableFile, s: str | bytes) -> None:
    data = _as_bytes(s)
    write_short(f, len(data))
    f.write(data)


def write_longstring(f: WritableFile, s: str | bytes) -> None:
    data = _as_bytes(s)
    write_int(f, len(data))
    f.write(data)


def write_value(f: WritableFile, v: Any) -> None:
    """Write a value: None as null, UNSET as unset."""
    if v is None:
        write_int(f, -1)
    elif v is UNSET:
        write_int(f, -2)
    else:
        write_int(f, len(v))
        f.write(v)


def write_stringlist(f: WritableFile, stringlist: Sequence[str]) -> None:
    write_short(f, len(stringlist))
    for item in stringlist:
        write_string(f, item)


def write_stringmap(f: WritableFile, strmap: Mapping[str, str]) -> None:
    write_short(f, len(strmap))
    for key, value in strmap.items():
        write_string(f, key)
        write_string(f, value)


def write_stringmultimap(f: WritableFile, strmmap: Mapping[str, Sequence[str]]) -> None:
    write_short(f, len(strmmap))
    for key, values in strmmap.items():
        write_string(f, key)
        write_stringlist(f, values)


def write_bytesmap(f: WritableFile, bytesmap: Mapping[str, bytes | None]) -> None:
    write_short(f, len(bytesmap))
    for key, value in bytesmap.items():
        write_string(f, key)
        write_value(f, value)


def write_inet(f: WritableFile, addrtuple: tuple[str, int]) -> None:
    address, port = addrtuple
    packed = inet_pton(AF_INET6 if ":" in address else AF_INET, address)
    f.write(uint8_pack(len(packed)))
    f.write(packed)
    write_int(f, port)
