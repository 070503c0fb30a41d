"""Answers of many megabytes, and of more than a program allows, which fail their requests only."""

from __future__ import annotations

import pickle
import ssl
from collections.abc import Iterator

import pytest

from cassandra._base import errors
from cassandra._core.memory import MemoryPool
from cassandra._core.transport import Reactor
from cassandra._wire.messages.requests import OptionsMessage, QueryMessage
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope
from tests.patience import PATIENCE, eventually
from tests.servers.certificates import Certificates
from tests.unit.net.openings import connect
from tests.unit.net.reactors import made_reactor

MIB = 1 << 20
LIMIT = MIB
BLOB = wire.int32(1) + wire.int32(1) + wire.string("ks") + wire.string("t") + wire.string("b") + wire.short(3)


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    made = made_reactor()
    yield made
    assert made.stop(PATIENCE)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.generate(tmp_path_factory.mktemp("tls"), ["127.0.0.1"], ["localhost"])


def page(size: int, rows: int = 1) -> bytes:
    """A body with *rows* blobs of *size* bytes in all."""
    head = wire.int32(2) + BLOB + wire.int32(rows)
    return head + (wire.int32(size // rows) + bytes(size // rows)) * rows


def answers(connection: ScriptedConnection, request: Envelope) -> bool:
    """QUERY text is the size of the answer."""
    if request.opcode != wire.QUERY:
        return False
    connection.answer(request, wire.RESULT, page(int(wire.read_long_string(request.body))))
    return True


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("tls", [False, True])
def test_one_that_is_too_large_fails_its_request_only(
    reactor: Reactor, certificates: Certificates, version: int, compression_option: bool | str, tls: bool
) -> None:
    context = certificates.context() if tls else None
    server_side = None
    if tls:
        server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server_side.load_cert_chain(str(certificates.server))
    with ScriptedServer(answers, tls=server_side) as server:
        connection = connect(
            reactor,
            server,
            protocol_version=version,
            compression=compression_option,
            max_frame=LIMIT,
            ssl_context=context,
        )
        for _ in range(3):
            with pytest.raises(errors.ResponseTooLarge, match=r"max_response_bytes=") as caught:
                connection.request(QueryMessage(str(20 * MIB), 1), PATIENCE)
            assert caught.value.limit == LIMIT and f"{caught.value.size} bytes" in str(caught.value)
            assert 20 * MIB < (caught.value.size or 0) < 21 * MIB
            assert str(LIMIT) in str(caught.value)
            (row,) = connection.request(QueryMessage(str(LIMIT - 100), 1), PATIENCE).parsed_rows
            assert row == (bytes(LIMIT - 100),)
        assert not connection.is_closed and connection.in_flight == 0
        assert reactor.pool.stats().peak < 8 * MIB


@pytest.mark.parametrize("version", [4, 5])
def test_a_page_of_300_mebibytes(reactor: Reactor, version: int) -> None:
    body = page(300 * MIB, 300)

    def script(connection: ScriptedConnection, request: Envelope) -> bool:
        if request.opcode == wire.QUERY:
            connection.answer(request, wire.RESULT, body)
        return request.opcode == wire.QUERY

    with ScriptedServer(script) as server:
        connection = connect(reactor, server, protocol_version=version, compression=False)
        message = connection.request(QueryMessage("SELECT", 1), PATIENCE)
        rows = message.parsed_rows
        assert len(rows) == 300 and all(len(blob) == MIB and not any(blob[::4096]) for (blob,) in rows)
        assert connection.request(OptionsMessage(), PATIENCE) is not None


def test_an_announced_length_takes_no_memory(reactor: Reactor) -> None:
    """Of 2 GiB that are announced 20 MiB come."""

    def script(connection: ScriptedConnection, request: Envelope) -> bool:
        if request.opcode == wire.QUERY:
            connection.version = request.version
            head = Envelope(0x80 | request.version, 0, request.stream, wire.RESULT, b"").pack()[:5]
            connection.send_raw(head + wire.int32(0x7FFFFFFF) + bytes(20 * MIB))
        return request.opcode == wire.QUERY

    pool = MemoryPool(64 * MIB)
    own = made_reactor(pool=pool)
    try:
        with ScriptedServer(script) as server:
            connection = connect(own, server, protocol_version=4)
            channel = connection.channel
            assert channel is not None
            with pytest.raises(errors.OperationTimedOut):
                connection.request(QueryMessage("SELECT", 1), 0.5)
            assert eventually(lambda: channel.bytes_received > 20 * MIB)
            stats = pool.stats()
            assert stats.in_use + stats.overflow_bytes <= 34 * MIB
            connection.close()
            assert eventually(lambda: pool.stats().in_use < MIB)
    finally:
        assert own.stop(PATIENCE)


def test_growing_in_a_pool_that_is_full() -> None:
    """A body that outgrows the pool goes on in plain memory."""
    pool = MemoryPool(24 * MIB)
    own = made_reactor(pool=pool)
    try:
        with ScriptedServer(answers) as server:
            connection = connect(own, server, protocol_version=4, compression=False)
            for size in (17 * MIB, 40 * MIB, 70 * MIB, 16 * MIB + 1):
                ((blob,),) = connection.request(QueryMessage(str(size), 1), PATIENCE).parsed_rows
                assert len(blob) == size
            assert pool.stats().peak <= 24 * MIB
            connection.close()
            assert eventually(lambda: pool.stats().overflow_bytes == 0 and pool.stats().in_use < MIB)
    finally:
        assert own.stop(PATIENCE)


def test_beyond_a_strict_pool() -> None:
    pool = MemoryPool(2 * MIB, strict=True)
    own = made_reactor(pool=pool)
    try:
        with ScriptedServer(answers) as server:
            connection = connect(own, server, protocol_version=4, compression=False)
            for _ in range(2):
                with pytest.raises(errors.ResponseTooLarge, match=r"strict memory pool has 2097152 bytes") as caught:
                    connection.request(QueryMessage(str(5 * MIB), 1), PATIENCE)
                assert caught.value.limit is None
                ((blob,),) = connection.request(QueryMessage(str(MIB), 1), PATIENCE).parsed_rows
                assert len(blob) == MIB
                del blob
            assert not connection.is_closed
    finally:
        assert own.stop(PATIENCE)


def test_the_error_can_be_pickled() -> None:
    error = errors.ResponseTooLarge("text", 5, 4)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.size, again.limit) == ("text", 5, 4)
