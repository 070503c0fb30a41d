"""Events that the driver does not know, or cannot decode: each costs itself, on any connection."""

from __future__ import annotations

import logging
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra.connection import OptionsMessage
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import DEADLINE, Connect, eventually


def event(kind: str, rest: bytes = b"") -> bytes:
    return struct.pack(">H", len(kind)) + kind.encode() + rest


#: Bodies of events of unknown types.
UNKNOWN = [
    event("FUTURE"),
    event("TRACE_COMPLETE", bytes(16)),
    event("GRACEFUL_DISCONNECT"),
    event(""),
    event("status_changes", b"\xff" * 100),
    event("recv_body"),
    event("__class__"),
    event("\n\x1b[31m" + "x" * 60_000),
]

#: Bodies that cannot be decoded.
MALFORMED = [
    b"",
    b"\xff\xff",
    b"\0\4\xff\xfe\xfd\xfc",
    event("STATUS_CHANGE"),
    event("STATUS_CHANGE", event("DOWN") + b"\xff"),
    event("TOPOLOGY_CHANGE", event("NEW_NODE") + b"\5" + bytes(9)),
    event("SCHEMA_CHANGE", event("UPDATED") + event("TABLE")),
    event("SCHEMA_CHANGE", event("UPDATED") + event("FUNCTION") + event("ks") + event("f") + b"\xff\xff"),
]


class Lines(logging.Handler):
    """Levels and texts of log lines. (Records would keep the connections alive.)"""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelno, record.getMessage()))


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lines]:
    logger, lines = logging.getLogger("cassandra.connection"), Lines()
    monkeypatch.setattr(logger, "propagate", False)
    monkeypatch.setattr(logger, "level", logging.DEBUG)
    logger.addHandler(lines)
    yield lines
    logger.removeHandler(lines)


@pytest.mark.parametrize("bodies", [UNKNOWN, MALFORMED], ids=["unknown", "malformed"])
def test_they_end_nothing(simulated: SimulatedCluster, connect: Connect, lines: Lines, bodies: list[bytes]) -> None:
    session = connect(simulated)
    eventually(lambda: sum(state["open_count"] for state in session.get_pool_state().values()) == 12)
    connections: list[Any] = [one for pool in session.get_pools() for one in pool.get_connections()]
    control = session.cluster.control_connection.connection
    assert control is not None
    for body in bodies:
        for node in simulated.nodes:
            node.push_event(body)
    for connection in (*connections, control):
        connection.request(OptionsMessage(), DEADLINE)  # its response comes after the events
    simulated.execute("CREATE KEYSPACE later WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    eventually(lambda: "later" in session.cluster.metadata.keyspaces)  # by an event
    assert session.cluster.control_connection.connection is control
    assert not any(one.is_closed or one.is_draining for one in (*connections, control))
    warned = [text for level, text in lines.lines if level >= logging.WARNING]
    if bodies is UNKNOWN:
        assert not warned
        assert sum("of the unknown type FUTURE" in text for _, text in lines.lines) == 13, "one for each connection"
    else:
        assert len(warned) == 13, "one for each connection"


def test_watchers_get_events_of_any_type(simulated: SimulatedCluster, connect: Connect) -> None:
    """A program that has registered for one knows it."""
    session = connect(simulated)
    control = session.cluster.control_connection.connection
    assert control is not None
    seen: list[Any] = []
    control._watchers["FUTURE"] = [seen.append]
    for node in simulated.nodes:
        node.push_event(event("FUTURE", b"1"), "STATUS_CHANGE")
    eventually(lambda: seen == [{}])
