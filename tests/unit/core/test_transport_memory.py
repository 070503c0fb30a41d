"""Frames are received into memory pools: their own, shared ones, full ones."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from cassandra._core.memory import MemoryPool
from cassandra._core.transport import DEFAULT_POOL_BYTES, Operation, Reactor
from tests.fakes.scripted import ScriptedServer
from tests.unit.core.transport_client import TIMEOUT, answer_of, ask, connect, echo, eventually

pytestmark = pytest.mark.usefixtures("no_leaks")

MIB = 1 << 20
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


def test_what_is_no_pool() -> None:
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
