"""Frames of a server that means harm, on real connections: bounded memory, and an exception that says why."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import lz4.block
import pytest

from cassandra._base import errors
from cassandra._core.transport import Reactor
from cassandra._net.auth import PlainTextAuthProvider
from cassandra._wire.messages.requests import QueryMessage
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.patience import PATIENCE
from tests.unit.net.openings import connect, fails
from tests.unit.net.reactors import made_reactor

SIZE = 50_000_000


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    made = made_reactor()
    yield made
    assert made.stop(PATIENCE)


def bomb(opcode: int, size: int = SIZE) -> bytes:
    """A compressed body of *size* zeros."""
    body = size.to_bytes(4, "big") + lz4.block.compress(bytes(size), store_size=False)
    return Envelope(0x84, wire.COMPRESSED, 0, opcode, body).pack()


@pytest.mark.parametrize("opcode", [wire.READY, wire.AUTHENTICATE, wire.ERROR])
def test_before_log_in(opcode: int, reactor: Reactor) -> None:
    data = bomb(opcode)

    def script(connection: ScriptedConnection, request: Envelope) -> bool:
        if request.opcode != wire.STARTUP:
            return False
        connection.send_raw(data[:2] + request.stream.to_bytes(2, "big") + data[4:])
        return True

    with ScriptedServer(script) as server:
        tracemalloc.start()
        try:
            error = fails(
                reactor, server, protocol_version=4, compression="lz4", auth_provider=PlainTextAuthProvider("me", "pw")
            )
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert isinstance(error, errors.ProtocolError) and f"claim to hold {SIZE} bytes" in str(error)
    assert peak < 10 << 20


def test_after_log_in_a_large_answer_is_read(reactor: Reactor) -> None:
    """Zeros compress well, and a server may send them."""

    def script(connection: ScriptedConnection, request: Envelope) -> bool:
        if request.opcode != wire.QUERY:
            return False
        column = wire.int32(1) + wire.int32(1) + wire.string("ks") + wire.string("t") + wire.string("b") + wire.short(3)
        connection.answer(request, wire.RESULT, wire.int32(2) + column + wire.int32(1) + wire.bytes_(bytes(2_000_000)))
        return True

    with ScriptedServer(script) as server:
        connection = connect(reactor, server, protocol_version=4, compression="lz4")
        message = connection.request(QueryMessage("SELECT", 1), PATIENCE)
        assert message.parsed_rows == [(bytes(2_000_000),)]
        connection.close()
