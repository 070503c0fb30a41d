"""Compatibility aliases of statements that programs are known to use (L6); see ``attributes.py``."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any


class Statement:
    """Aliases of ``cassandra.query.Statement``."""

    def _get_routing_key(self: Any) -> Any:
        return self.routing_key

    def _set_routing_key(self: Any, key: Any) -> None:
        self.routing_key = key

    def _del_routing_key(self: Any) -> None:
        del self.routing_key

    def _get_serial_consistency_level(self: Any) -> int | None:
        level: int | None = self.serial_consistency_level
        return level

    def _set_serial_consistency_level(self: Any, serial_consistency_level: int | None) -> None:
        self.serial_consistency_level = serial_consistency_level

    def _del_serial_consistency_level(self: Any) -> None:
        del self.serial_consistency_level

    def _key_parts_packed(self: Any, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the encoded parts of a partition key with several columns."""
        for part in parts:
            yield struct.pack(f">H{len(part)}sB", len(part), part, 0)


class PreparedStatement:
    """Aliases of ``cassandra.query.PreparedStatement``."""

    @property
    def _result_metadata_and_id(self: Any) -> Any:
        return self.result_metadata_and_id

    @property
    def _routing_key_index_set(self: Any) -> set[int] | None:
        return set(self.routing_key_indexes) if self.routing_key_indexes else None
