"""Binary layouts and the header of a frame, under scylla-driver's names (L6)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from cassandra._base.datastax_values import LineString
from cassandra._base.objects import public

frame_header_v3 = struct.Struct(">BhBi")
v3_header_struct = struct.Struct(">BBhB")
point_be, point_le = struct.Struct(">dd"), struct.Struct("<dd")
circle_be, circle_le = struct.Struct(">ddd"), struct.Struct("<ddd")


def _make_packer(format_string: str) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
    """Return functions that pack and unpack one value."""
    layout = struct.Struct(format_string)
    return layout.pack, lambda data: layout.unpack(data)[0]


@public("cassandra.connection")
class _Frame:
    """The position of a frame in a buffer, and the fields of its header."""

    def __init__(self, version: int, flags: int, stream: int, opcode: int, body_offset: int, end_pos: int) -> None:
        self.version = version
        self.flags = flags
        self.stream = stream
        self.opcode = opcode
        self.body_offset = body_offset
        self.end_pos = end_pos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Frame) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        length = self.end_pos - self.body_offset
        return (
            f"ver({self.version}); flags({self.flags:04b}); stream({self.stream}); op({self.opcode}); "
            f"offset({self.body_offset}); len({length})"
        )


@public("cassandra.util")
class _LinearRing:
    """A ring of a polygon."""

    __slots__ = ("coords",)

    def __init__(self, coords: Any = ()) -> None:
        self.coords = LineString(coords).coords if coords else ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LinearRing) and self.coords == other.coords

    def __hash__(self) -> int:
        return hash(self.coords)

    def __str__(self) -> str:
        if not self.coords:
            return "LINEARRING EMPTY"
        return f"LINEARRING ({', '.join(' '.join(map(repr, point)) for point in self.coords)})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.coords!r})"
