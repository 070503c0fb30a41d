"""Paging states: the end of a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cassandra.testing import _wire as wire
from cassandra.testing._schema import Table
from cassandra.testing.errors import InvalidRequest, ProtocolError

MAGIC = b"sim1"


@dataclass(frozen=True)
class Position:
    """The last row of a page: its partition, its clustering key (None: it had none), the rest of LIMIT, and its number
    in its partition."""

    raw: bytes | None = None
    key: tuple[Any, ...] | None = None
    left: int | None = None
    count: int = 0

    def encode(self, table: Table) -> bytes:
        parts = [MAGIC, table.id.bytes, wire.bytes_(self.raw), wire.int32(-1 if self.left is None else self.left)]
        parts += [wire.int32(self.count), wire.byte(self.key is not None)]
        for column, value in zip(table.clustering, self.key or (), strict=False):
            parts.append(wire.bytes_(column.type.encode(value)))
        return b"".join(parts)

    @staticmethod
    def decode(state: bytes, table: Table) -> Position:
        """Decode a paging state of *table*; raise ProtocolError for an invalid one."""
        wrong = ProtocolError("Invalid value for the paging state")
        try:
            reader = wire.Reader(state)
            if reader.take(4) != MAGIC or reader.take(16) != table.id.bytes:
                raise wrong
            raw, left, count = reader.bytes_(), reader.int32(), reader.int32()
            has_key = reader.byte()
            values = [(column, reader.bytes_()) for column in table.clustering] if has_key else []
            key = tuple(column.type.decode(value or b"") for column, value in values)
        except (ProtocolError, InvalidRequest):
            raise wrong from None
        if raw is None or reader.left:
            raise wrong
        return Position(raw, key if has_key else None, None if left < 0 else left, count)

    def order(self, table: Table) -> tuple[Any, ...] | None:
        """Return the sort key of the row; None if all rows of the partition come after it."""
        return None if self.key is None else table.order(self.key)
