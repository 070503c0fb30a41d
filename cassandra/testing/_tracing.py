"""Traces of requests, in the tables of ``system_traces``."""

from __future__ import annotations

import ipaddress
from typing import Any
from uuid import UUID

from cassandra.testing._connection import Connection
from cassandra.testing._database import Database
from cassandra.testing._schema import Table
from cassandra.testing._storage import Cell
from cassandra.testing._topology import token_of
from cassandra.testing._types import Collection

ACTIVITIES = ("Parsing a statement", "Processing a statement", "Done processing - preparing a result")


class Tracer:
    """One traced request."""

    def __init__(self, database: Database, node: Any, connection: Connection) -> None:
        self._database = database
        self._node = node
        self._connection = connection
        self._started = database.engine.clock.microseconds()

    def finish(self, query: str, consistency: str) -> UUID:
        """Write the session and its events; return its id."""
        engine = self._database.engine
        session = engine.new_timeuuid()
        duration = engine.clock.microseconds() - self._started
        tables = self._database.schema.keyspaces["system_traces"].tables
        parameters = (("consistency_level", consistency), ("query", query))
        self._put(tables["sessions"], (session,), (), {
            "client": ipaddress.ip_address(self._connection.peer[0]).packed, "command": "QUERY",
            "coordinator": self._node.packed_address, "duration": duration, "parameters": parameters,
            "request": "Execute CQL3 query", "started_at": self._started // 1000,
        })  # fmt: skip
        for n, activity in enumerate(ACTIVITIES):
            self._put(tables["events"], (session,), (engine.new_timeuuid(),), {
                "activity": activity, "source": self._node.packed_address, "thread": f"shard {self._connection.shard}",
                "source_elapsed": duration * n // len(ACTIVITIES),
            })  # fmt: skip
        return session

    def _put(self, table: Table, key: tuple[Any, ...], clustering: tuple[Any, ...], values: dict[str, Any]) -> None:
        raw = table.partition_bytes(key)
        row = table.data.partition(key, raw, token_of(raw)).row(table.order(clustering), clustering)
        row.mark(Cell(True, self._started), 0)
        for name, value in values.items():
            if isinstance(table.columns[name].type, Collection):
                for item, text in value:
                    row.put_element(name, item, Cell(text, self._started), 0)
            else:
                row.put(name, Cell(value, self._started), 0)
