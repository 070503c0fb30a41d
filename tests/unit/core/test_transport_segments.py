"""Protocol v5 on the wire: segments, compressed ones, checksums, and what corrupts them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import lz4.block
import pytest

from cassandra._base.errors import CrcException, ProtocolError
from cassandra._core.memory import MemoryPool
from cassandra._core.transport import PROTOCOL, Channel, Decompressor, Frame, Operation, Reactor
from tests.fakes import wire
from tests.fakes.scripted import ScriptedConnection, ScriptedServer
from tests.fakes.wire import Envelope, Segments
from tests.lz4_libraries import LIBRARIES
from tests.unit.core.transport_client import (
    TIMEOUT,
    Handler,
    connect,
    eventually,
    failure_of,
    on_reactor,
    running_reactor,
    void,
)
from tests.unit.core.transport_client import answer_of as answer
from tests.unit.core.transport_client import request as legacy_request

pytestmark = pytest.mark.usefixtures("no_leaks")


def compress(data: bytes) -> bytes:
    return bytes(lz4.block.compress(data, store_size=False))


def decompress(data: bytes, length: int) -> bytes:
    return bytes(lz4.block.decompress(data, uncompressed_size=length))


def decompress_into(data: memoryview, memory: memoryview, length: int) -> int:
    plain = lz4.block.decompress(data, uncompressed_size=length)
    memory[: len(plain)] = plain
    return len(plain)


Functions = tuple[Callable[[Any], Any], Decompressor]
#: A compressor and a decompressor of each kind, and those of each library that is installed.
FUNCTIONS: dict[str, Functions] = {
    "bytes": (compress, Decompressor(decompress)),
    "in place": (compress, Decompressor(decompress_into, True)),
    **{name: (library.compress, library.decompress) for name, library in LIBRARIES.items()},
}
with_functions = pytest.mark.parametrize("functions", FUNCTIONS.values(), ids=FUNCTIONS)
with_and_without = pytest.mark.parametrize("functions", [None, *FUNCTIONS.values()], ids=["plain", *FUNCTIONS])


def request(body: bytes = b"") -> bytes:
    return legacy_request(body, version=5)


class Startup(Operation):
    """Switches to segments when READY comes, as a handshake does."""

    def __init__(self, channel: Channel, functions: Functions | None) -> None:
        super().__init__()
        self.channel = channel
        self.functions = functions
        self.ready = threading.Event()

    def _on_outcome(self) -> None:
        outcome = self._take()
        assert outcome is not None and isinstance(outcome[1], Frame)
        self.channel.set_protocol(5)
        if self.functions is None:
            self.channel.enable_segments()
        else:
            self.channel.enable_segments(*self.functions)
        self.ready.set()


def echo(connection: ScriptedConnection, incoming: Envelope) -> bool:
    if incoming.opcode != wire.QUERY:
        return False
    connection.answer(incoming, wire.RESULT, void(incoming.body))
    return True


@pytest.fixture
def reactor() -> Iterator[Reactor]:
    with running_reactor() as reactor:
        yield reactor


def start(reactor: Reactor, server: ScriptedServer, functions: Functions | None) -> tuple[Channel, Handler]:
    channel, handler = connect(reactor, server.address)
    startup = Startup(channel, functions)
    options = wire.short(1) + wire.string("COMPRESSION") + wire.string("lz4") if functions else wire.short(0)
    channel.submit(Envelope(5, 0, 0, wire.STARTUP, options).pack(), startup)
    assert startup.ready.wait(TIMEOUT)
    return channel, handler


def ask(channel: Channel, body: bytes = b"") -> Operation:
    operation = Operation()
    channel.submit(request(body), operation, 0, TIMEOUT)
    return operation


@with_and_without
def test_requests_and_answers(reactor: Reactor, functions: Functions | None) -> None:
    generator = random.Random(1)
    bodies = [generator.randbytes(generator.choice([0, 10, 1000, 70_000])) for _ in range(40)]
    bodies += [b"a" * size for size in (131_050, 131_071 - 9, 131_071 - 8, 131_072, 500_000)]
    bodies += [generator.randbytes(400_000)]
    with ScriptedServer(echo) as server:
        channel, _ = start(reactor, server, functions)
        operations = [ask(channel, body) for body in bodies]
        for operation, body in zip(operations, bodies, strict=True):
            assert answer(operation) == body


@with_and_without
def test_segments_into_a_strict_pool(functions: Functions | None) -> None:
    """Envelopes of many segments, of which few fit into the pool at a time."""
    pool = MemoryPool(1 << 20, strict=True)
    reactor = Reactor(pool=pool)
    bodies = [random.Random(size).randbytes(size) for size in (400_000, 10, 700_000, 200_000, 90_000, 500_000) * 2]
    try:
        with ScriptedServer(echo) as server:
            channel, _ = start(reactor, server, functions)
            operations = [ask(channel, body) for body in bodies]
            assert eventually(lambda: reactor.stats()["paused"] == 1)
            while operations:
                assert answer(operations.pop(0)) == bodies.pop(0)
            assert pool.stats().peak < 2 << 20
    finally:
        assert reactor.stop(TIMEOUT)


def test_small_requests_share_segments(reactor: Reactor) -> None:
    """Those that are submitted in one turn of the reactor."""
    with ScriptedServer(echo) as server:
        channel, _ = start(reactor, server, None)
        before = channel.bytes_sent
        operations: list[Operation] = on_reactor(reactor, lambda: [ask(channel, b"x" * 91) for _ in range(100)])
        for operation in operations:
            answer(operation)
        assert channel.bytes_sent - before == 100 * 100 + 6 + 4


def test_short_payloads_are_not_compressed(reactor: Reactor) -> None:
    """It would save nothing."""
    with ScriptedServer(echo) as server:
        channel, _ = start(reactor, server, FUNCTIONS["bytes"])
        for size, sent in ((100, 8 + 9 + 100 + 4), (118, 8 + 9 + 118 + 4)):
            before = channel.bytes_sent
            assert answer(ask(channel, b"x" * size)) == b"x" * size
            assert channel.bytes_sent - before == sent
        before = channel.bytes_sent
        assert answer(ask(channel, b"x" * 119)) == b"x" * 119
        assert channel.bytes_sent - before < 60


def test_several_envelopes_in_one_segment(reactor: Reactor) -> None:
    waiting: list[Envelope] = []

    def collect(connection: ScriptedConnection, incoming: Envelope) -> bool:
        if incoming.opcode != wire.QUERY:
            return False
        waiting.append(incoming)
        if len(waiting) == 20:
            answers = [Envelope(0x85, 0, one.stream, wire.RESULT, void(one.body)).pack() for one in waiting]
            assert connection.segments is not None
            connection.send_raw(connection.segments.pack(b"".join(answers)))
        return True

    with ScriptedServer(collect) as server:
        channel, _ = start(reactor, server, None)
        operations = [ask(channel, str(number).encode()) for number in range(20)]
        assert [answer(operation) for operation in operations] == [str(number).encode() for number in range(20)]


def test_segments_byte_by_byte(reactor: Reactor) -> None:
    def dribble(connection: ScriptedConnection, incoming: Envelope) -> bool:
        if incoming.opcode != wire.QUERY:
            return False
        assert connection.segments is not None
        data = Envelope(0x85, 0, incoming.stream, wire.RESULT, void(incoming.body)).pack()
        for byte in connection.segments.pack(data):
            connection.send_raw(bytes([byte]))
        return True

    with ScriptedServer(dribble) as server:
        channel, _ = start(reactor, server, None)
        assert answer(ask(channel, b"slowly")) == b"slowly"


def corrupt(position: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :]


@with_and_without
@pytest.mark.parametrize(
    ("spoil", "expected"),
    [(corrupt(0), "CRC24"), (corrupt(4), "CRC24"), (corrupt(20), "CRC32"), (corrupt(-1), "CRC32")],
    ids=["header", "header checksum", "payload", "payload checksum"],
)
def test_corrupted_segments(
    reactor: Reactor, functions: Functions | None, spoil: Callable[[bytes], bytes], expected: str
) -> None:
    def answer_badly(connection: ScriptedConnection, incoming: Envelope) -> bool:
        if incoming.opcode != wire.QUERY:
            return False
        assert connection.segments is not None
        data = Envelope(0x85, 0, incoming.stream, wire.RESULT, void(b"body" * 20)).pack()
        connection.send_raw(spoil(connection.segments.pack(data)))
        return True

    with ScriptedServer(answer_badly) as server:
        channel, handler = start(reactor, server, functions)
        failure = failure_of(ask(channel))
        assert failure.kind == PROTOCOL and expected in failure.message
        assert isinstance(handler.error, CrcException) and expected in str(handler.error)


def send_payload(payload: bytes, segments: Segments | None = None) -> Any:
    def script(connection: ScriptedConnection, incoming: Envelope) -> bool:
        if incoming.opcode != wire.QUERY:
            return False
        packer = segments or connection.segments
        assert packer is not None
        connection.send_raw(packer.pack(payload))
        return True

    return script


def test_a_segment_with_half_an_envelope(reactor: Reactor) -> None:
    half = Envelope(0x85, 0, 0, wire.RESULT, void(b"x" * 100)).pack()[:50]
    with ScriptedServer(send_payload(half)) as server:
        channel, handler = start(reactor, server, None)
        assert "self-contained" in failure_of(ask(channel)).message
        assert isinstance(handler.error, ProtocolError)


@with_functions
def test_a_payload_that_cannot_be_decompressed(reactor: Reactor, functions: Functions) -> None:
    damaged: list[Callable[[bytes], bytes]] = [
        lambda data: b"\xff" * 30,
        lambda data: compress(data + b"longer"),
        lambda data: compress(data[:-1]),
        lambda data: compress(data)[:-3],
    ]
    for packed in damaged:
        segments = Segments(packed, decompress)
        data = Envelope(0x85, 0, 0, wire.RESULT, void(b"y" * 200)).pack()
        with ScriptedServer(send_payload(data, segments)) as server:
            channel, handler = start(reactor, server, functions)
            assert "decompress" in failure_of(ask(channel)).message
            assert isinstance(handler.error, ProtocolError)


def test_a_compressor_that_raises_closes_the_channel_and_nothing_was_sent(reactor: Reactor) -> None:
    broken = threading.Event()

    def fragile(data: bytes) -> bytes:
        if broken.is_set():
            raise ZeroDivisionError
        return compress(data)

    class Fragile(Startup):
        def _on_outcome(self) -> None:
            self._take()
            self.channel.enable_segments(fragile, Decompressor(decompress))
            self.ready.set()

    with ScriptedServer(echo) as server:
        channel, handler = connect(reactor, server.address)
        startup = Fragile(channel, None)
        options = wire.short(1) + wire.string("COMPRESSION") + wire.string("lz4")
        channel.submit(Envelope(5, 0, 0, wire.STARTUP, options).pack(), startup)
        assert startup.ready.wait(TIMEOUT)
        broken.set()
        failure = failure_of(ask(channel, b"x" * 200))
        assert not failure.sent and isinstance(failure.cause, ZeroDivisionError)
        assert isinstance(handler.error, ZeroDivisionError)
        assert channel.in_flight == 0


def test_segments_are_enabled_once(reactor: Reactor) -> None:
    with ScriptedServer(echo) as server:
        channel, _ = start(reactor, server, None)
        with pytest.raises(RuntimeError, match="once"):
            on_reactor(reactor, channel.enable_segments)
        with pytest.raises(ValueError, match="together"):
            on_reactor(reactor, lambda: channel.enable_segments(compress, None))
        assert answer(ask(channel, b"fine")) == b"fine"


def test_decompressors() -> None:
    """Both kinds return bytes, also if the block has another length than the caller says."""
    for data in (b"a" * 1000, random.Random(2).randbytes(5000), bytes(200_000)):
        for _, decompressor in FUNCTIONS.values():
            for block in (compress(data), memoryview(compress(data)), bytearray(compress(data))):
                plain = decompressor(block, len(data))
                assert type(plain) is bytes and plain == data
            assert decompressor(compress(data), len(data) + 10) == data


@with_functions
def test_many_threads_compress_at_once(reactor: Reactor, functions: Functions) -> None:
    with ScriptedServer(echo) as server:
        channel, _ = start(reactor, server, functions)
        wrong: list[bytes] = []

        def run(mark: bytes) -> None:
            bodies = [mark * (1 + number * 37 % 3000) for number in range(100)]
            operations = [ask(channel, body) for body in bodies]
            wrong.extend(b for op, b in zip(operations, bodies, strict=True) if answer(op) != b)

        threads = [threading.Thread(target=run, args=(bytes([65 + number]),)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TIMEOUT)
        assert not wrong and eventually(lambda: channel.in_flight == 0)
