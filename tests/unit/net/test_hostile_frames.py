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
def test_before_log_in(opcode: int, reactor: Reactor, lz4_library: str) -> None:
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


def test_after_log_in_a_large_answer_is_read(reactor: Reactor, lz4_library: str) -> None:
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


@pytest.mark.parametrize("version", [4, 5])
def test_contents_beyond_their_length_take_no_memory(version: int, reactor: Reactor, lz4_library: str) -> None:
    """The length of a response is 1000 bytes, that of its contents 30 million."""
    block = lz4.block.compress(bytes(30_000_000), store_size=False)
    if version == 5:
        block = block[:100_000]  # of a segment: 25 million bytes, the last sequence is incomplete

    def script(connection: ScriptedConnection, request: Envelope) -> bool:
        if request.opcode != wire.QUERY:
            return False
        if version == 5:
            segments = wire.Segments(lambda data: block, lambda data, length: data)
            connection.send_raw(segments.pack(Envelope(0x85, 0, request.stream, wire.RESULT, bytes(100_500)).pack()))
        else:
            body = (1000).to_bytes(4, "big") + block
            connection.send_raw(Envelope(0x84, wire.COMPRESSED, request.stream, wire.RESULT, body).pack())
        return True

    with ScriptedServer(script) as server:
        connection = connect(reactor, server, protocol_version=version, compression="lz4")
        tracemalloc.start()
        try:
            with pytest.raises((errors.ProtocolError, errors.ConnectionException), match=r"LZ4 block|decompress"):
                connection.request(QueryMessage("SELECT", 1), PATIENCE)
            assert tracemalloc.get_traced_memory()[1] < 1 << 20
        finally:
            tracemalloc.stop()
        connection.close()
