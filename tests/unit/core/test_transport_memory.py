"""Frames are received into memory pools: their own, shared ones, full ones."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest

from cassandra._core.memory import MemoryPool
from cassandra._core.transport import CLOSED, DEFAULT_POOL_BYTES, Frame, Operation, Reactor
from tests.fakes.scripted import ScriptedServer
from tests.unit.core.transport_client import TIMEOUT, answer_of, ask, connect, echo, eventually, failure_of

pytestmark = [pytest.mark.long, pytest.mark.versions, pytest.mark.usefixtures("no_leaks")]

MIB = 1 << 20
BEYOND = 512 << 10  # bytes that may arrive before the limit is noticed
SIZES = [0, 1, 300, 16_000, 17_000, 131_072, MIB, 3 * MIB]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(echo) as server:
        yield server


def test_a_reactor_has_a_pool_of_its_own() -> None:
    reactor = Reactor(name="mine")
    try:
        assert reactor.pool.max_bytes == DEFAULT_POOL_BYTES
        assert reactor.pool.name == "mine"
        assert not reactor.pool.strict
    finally:
        assert reactor.stop(TIMEOUT)


def test_a_pool_of_another_type_is_refused() -> None:
    with pytest.raises(AttributeError, match="_native"):
        Reactor(pool=object())  # type: ignore[arg-type]


def test_frames_are_in_the_pool_until_they_are_gone(server: ScriptedServer) -> None:
    pool = MemoryPool(64 * MIB)
    reactor = Reactor(pool=pool)
    try:
        channel, _ = connect(reactor, server.address)
        for size in SIZES:
            operation = ask(channel, b"x" * size)
            assert operation._wait(TIMEOUT)
            stats = pool.stats()
            assert stats.in_use >= size
            assert stats.frames >= 1
            assert stats.pinned >= size if size > 16_000 else stats.pinned == 0
            assert (stats.oldest_pin > 0) == (size > 16_000)
            assert answer_of(operation) == b"x" * size
            del operation
        assert pool.stats().pinned == 0
        assert pool.stats().overflow_bytes == 0
    finally:
        assert reactor.stop(TIMEOUT)
    assert eventually(lambda: pool.stats().in_use == 0)
    assert pool.stats().frames == 0


def test_frames_outlive_reactor_and_pool(server: ScriptedServer) -> None:
    pool = MemoryPool(64 * MIB)
    reactor = Reactor(pool=pool)
    operations: list[Operation] = []
    try:
        channel, _ = connect(reactor, server.address)
        operations += [ask(channel, b"x" * size) for size in SIZES]
        assert all(operation._wait(TIMEOUT) for operation in operations)
    finally:
        assert reactor.stop(TIMEOUT)
    assert pool.stats().pinned >= 4 * MIB
    del pool, reactor, channel
    gc.collect()
    assert [answer_of(operation) for operation in operations] == [b"x" * size for size in SIZES]


def test_reactors_share_a_pool(server: ScriptedServer) -> None:
    pool = MemoryPool(64 * MIB)
    reactors = [Reactor(pool=pool), Reactor("poll", pool=pool)]
    try:
        channels = [connect(reactor, server.address)[0] for reactor in reactors]
        operations = [ask(channel, b"x" * MIB) for channel in channels for _ in range(4)]
        assert all(operation._wait(TIMEOUT) for operation in operations)
        assert pool.stats().pinned >= 8 * MIB
        assert all(answer_of(operation) == b"x" * MIB for operation in operations)
        assert pool.stats().pinned == 0
    finally:
        stopped = [reactor.stop(TIMEOUT) for reactor in reactors]
    assert stopped == [True, True]


def test_requests_never_fail_because_of_the_pool(server: ScriptedServer) -> None:
    """Beyond the limit frames take plain memory, which is counted."""
    pool = MemoryPool(MIB)
    reactor = Reactor(pool=pool)
    try:
        channel, _ = connect(reactor, server.address)
        operations = [ask(channel, bytes([number]) * 500_000) for number in range(8)]
        assert all(operation._wait(TIMEOUT) for operation in operations)
        stats = pool.stats()
        assert stats.in_use <= MIB
        assert stats.overflow_bytes >= 3 * MIB - 500_000
        assert stats.pinned >= 4_000_000
        for number, operation in enumerate(operations):
            assert answer_of(operation) == bytes([number]) * 500_000
        assert pool.stats().overflow_bytes == 0
    finally:
        assert reactor.stop(TIMEOUT)


# ---- strict pools


@pytest.fixture(params=["epoll", "poll"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("size", [300, 20_000, 500_000])
def test_a_strict_pool_holds_the_server_back(server: ScriptedServer, backend: str, size: int) -> None:
    """The consumer does nothing: nothing more is read. As it goes on, so does the connection."""
    pool = MemoryPool(MIB, strict=True)
    reactor = Reactor(backend, pool=pool)
    try:
        channel, _ = connect(reactor, server.address)
        operations = [ask(channel, b"x" * size) for _ in range(3 * MIB // (size + 200))]
        assert eventually(lambda: reactor.stats()["paused"] == 1)
        while operations:
            assert answer_of(operations.pop(0)) == b"x" * size
            stats = pool.stats()
            assert stats.in_use + stats.overflow_bytes <= MIB + BEYOND
        assert pool.stats().peak <= MIB + BEYOND
        assert eventually(lambda: reactor.stats()["paused"] == 0)
    finally:
        assert reactor.stop(TIMEOUT)


def test_a_released_block_lets_a_connection_go_on(server: ScriptedServer) -> None:
    pool = MemoryPool(MIB, strict=True)
    reactor = Reactor(pool=pool)
    try:
        channel, _ = connect(reactor, server.address)
        refs = [pool.commit(bytes(MIB // 16)) for _ in range(16)]
        operation = ask(channel, b"x" * 100_000)
        assert eventually(lambda: reactor.stats()["paused"] == 1)
        while refs:
            pool.release(refs.pop())
        assert answer_of(operation) == b"x" * 100_000
        assert eventually(lambda: pool.stats().in_use == 0)  # at the end of its turn the reactor holds nothing
        buffer = pool.reserve(MIB)
        operation = ask(channel, b"y" * 1000)
        assert eventually(lambda: reactor.stats()["paused"] == 1)
        buffer.abort()
        assert answer_of(operation) == b"y" * 1000
        assert eventually(lambda: pool.stats().in_use == 0)
        ref = pool.commit(bytes(MIB))
        view = pool.read(ref, zero_copy=True)
        pool.release(ref)
        operation = ask(channel, b"z" * 1000)
        assert eventually(lambda: reactor.stats()["paused"] == 1)
        view.release()
        assert answer_of(operation) == b"z" * 1000
    finally:
        assert reactor.stop(TIMEOUT)


def test_one_reactor_wakes_another(server: ScriptedServer) -> None:
    pool = MemoryPool(2 * MIB, strict=True)
    first, second = Reactor(pool=pool), Reactor("poll", pool=pool)
    try:
        one, _ = connect(first, server.address)
        other, _ = connect(second, server.address)
        kept = ask(one, b"x" * (3 * MIB // 2))
        assert kept._wait(TIMEOUT)
        operation = ask(other, b"y" * MIB)
        assert eventually(lambda: second.stats()["paused"] == 1)
        assert answer_of(kept) == b"x" * (3 * MIB // 2)
        del kept
        assert answer_of(operation) == b"y" * MIB
    finally:
        stopped = [first.stop(TIMEOUT), second.stop(TIMEOUT)]
    assert stopped == [True, True]


def test_a_frame_that_never_fits(server: ScriptedServer) -> None:
    reactor = Reactor(pool=MemoryPool(MIB, strict=True))
    try:
        channel, _ = connect(reactor, server.address)
        operation = ask(channel, b"x" * MIB)
        assert operation._wait(TIMEOUT)
        outcome = operation._take()
        assert outcome is not None and isinstance(outcome[1], Frame)
        assert outcome[1].skipped == MIB + 4 and len(outcome[1]) == 0
        assert answer_of(ask(channel, b"x" * 1000)) == b"x" * 1000
    finally:
        assert reactor.stop(TIMEOUT)


def test_a_pause_that_lasts_is_warned_of(server: ScriptedServer, caplog: pytest.LogCaptureFixture) -> None:
    pool = MemoryPool(MIB, strict=True)
    reactor = Reactor(pool=pool, starvation_warning=0.001)
    try:
        channel, _ = connect(reactor, server.address)
        ref = pool.commit(bytes(MIB))
        operation = ask(channel, b"x")
        assert eventually(lambda: "the strict memory pool of 1048576 bytes is full" in caplog.text)
        assert {record.name for record in caplog.records} == {"cassandra.memory"}
        pool.release(ref)
        assert answer_of(operation) == b"x"
    finally:
        assert reactor.stop(TIMEOUT)


def test_a_paused_connection_is_not_silent(server: ScriptedServer) -> None:
    """Heartbeats are for peers that send nothing; here the client does not read."""
    pool = MemoryPool(MIB, strict=True)
    reactor = Reactor(pool=pool)
    try:
        channel, _ = connect(reactor, server.address)
        ref = pool.commit(bytes(MIB))
        operation = ask(channel, b"x")
        assert eventually(lambda: reactor.stats()["paused"] == 1)
        since = time.monotonic()
        assert eventually(lambda: channel.idle_seconds < (time.monotonic() - since) / 2)
        pool.release(ref)
        assert answer_of(operation) == b"x"
    finally:
        assert reactor.stop(TIMEOUT)


def test_a_reactor_stops_while_channels_are_paused(server: ScriptedServer) -> None:
    pool = MemoryPool(MIB, strict=True)
    reactor = Reactor(pool=pool)
    try:
        channel, handler = connect(reactor, server.address)
        ref = pool.commit(bytes(MIB))
        operation = ask(channel, b"x")
        assert eventually(lambda: reactor.stats()["paused"] == 1)
    finally:
        assert reactor.stop(TIMEOUT)
    assert failure_of(operation).kind == CLOSED
    assert handler.closed.wait(TIMEOUT)
    pool.release(ref)
    assert pool.stats().in_use == 0


def test_a_strict_pool_that_is_too_small() -> None:
    with pytest.raises(ValueError, match="at least 1048576 bytes, got 1000"):
        Reactor(pool=MemoryPool(1000, strict=True))


def test_the_application_and_connections_share_a_limit(server: ScriptedServer) -> None:
    pool = MemoryPool(2 * MIB)
    reactor = Reactor(pool=pool)
    try:
        channel, _ = connect(reactor, server.address)
        ref = pool.commit(b"m" * (MIB - 100_000))
        operation = ask(channel, b"x" * MIB)
        assert operation._wait(TIMEOUT)
        assert pool.stats().overflow_bytes >= MIB
        assert answer_of(operation) == b"x" * MIB
        assert pool.read(ref) == b"m" * (MIB - 100_000)
        pool.release(ref)
    finally:
        assert reactor.stop(TIMEOUT)
