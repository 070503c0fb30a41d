"""MemoryPool: blocks by reference, views that pin, limits, upkeep."""

from __future__ import annotations

import array
import gc
import os
import pickle
import random
import sys
import threading
import weakref
from typing import Any

import pytest

from cassandra._core.memory import debug_counters
from cassandra.memory import MemoryPool, MemoryPoolStats, WritableBuffer

MIB = 1 << 20
SIZES = [1, 63, 64, 65, 100, 128, 129, 511, 512, 513, 4095, 4096, 4097, 65_536, 100_000, MIB - 1, MIB, MIB + 1, 3 * MIB]


@pytest.fixture
def pool() -> MemoryPool:
    return MemoryPool(64 * MIB)


def pattern(size: int, seed: int = 0) -> bytes:
    return random.Random(size * 31 + seed).randbytes(size)


# ---- commit, read, release


@pytest.mark.parametrize("size", [0, *SIZES])
def test_committed_data_is_read_back(pool: MemoryPool, size: int) -> None:
    data = pattern(size)
    ref = pool.commit(data)
    assert ref > 0
    assert pool.read(ref) == data
    view = pool.read(ref, zero_copy=True)
    assert view == data and view.nbytes == size
    view.release()
    pool.release(ref)
    assert pool.stats().in_use == 0


@pytest.mark.parametrize(
    "make",
    [bytes, bytearray, memoryview, lambda data: array.array("B", data)],
    ids=["bytes", "bytearray", "view", "array"],
)
def test_any_contiguous_buffer_is_committed(pool: MemoryPool, make: Any) -> None:
    assert pool.read(pool.commit(make(b"abc"))) == b"abc"


@pytest.mark.parametrize("data", ["text", 5, None, [1, 2]])
def test_commit_refuses_objects_without_a_buffer(pool: MemoryPool, data: Any) -> None:
    with pytest.raises(TypeError):
        pool.commit(data)
    assert pool.stats().in_use == 0


def test_a_buffer_with_gaps_is_refused(pool: MemoryPool) -> None:
    with pytest.raises(BufferError):
        pool.commit(memoryview(b"abcdef")[::2])


def test_a_commit_is_a_copy(pool: MemoryPool) -> None:
    data = bytearray(b"abc")
    ref = pool.commit(data)
    data[0] = 0
    assert pool.read(ref) == b"abc"


def test_blocks_do_not_overlap(pool: MemoryPool) -> None:
    written = {pool.commit(pattern(size, seed)): (size, seed) for size in SIZES[:-2] for seed in range(5)}
    for ref, (size, seed) in written.items():
        assert pool.read(ref) == pattern(size, seed)


@pytest.mark.parametrize("alignment", [64, 256, 4096])
def test_blocks_are_aligned(alignment: int) -> None:
    pool = MemoryPool(64 * MIB, alignment=alignment)
    assert pool.alignment == alignment
    for size in SIZES:
        view = pool.read(pool.commit(bytes(size)), zero_copy=True)
        assert address_of(view) % alignment == 0
        del view


def address_of(view: memoryview) -> int:
    import ctypes

    class Buffer(ctypes.Structure):
        _fields_ = (
            ("buf", ctypes.c_void_p),
            ("obj", ctypes.py_object),
            ("len", ctypes.c_ssize_t),
            ("rest", ctypes.c_byte * 128),
        )

    raw = Buffer()
    get, release = ctypes.pythonapi.PyObject_GetBuffer, ctypes.pythonapi.PyBuffer_Release
    get.argtypes = (ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
    release.argtypes = (ctypes.c_void_p,)
    get(view, ctypes.addressof(raw), 0)
    try:
        return int(raw.buf)  # type: ignore[call-overload]
    finally:
        release(ctypes.addressof(raw))


# ---- references


@pytest.mark.parametrize("method", ["read", "release", "latch", "unlatch"])
def test_a_released_reference_is_refused(pool: MemoryPool, method: str) -> None:
    ref = pool.commit(b"first")
    pool.release(ref)
    second = pool.commit(b"second")  # in the same place
    with pytest.raises(ValueError, match=f"no live block has the reference {ref}"):
        getattr(pool, method)(ref)
    assert pool.read(second) == b"second" and second != ref


@pytest.mark.parametrize("method", ["read", "release", "latch", "unlatch"])
@pytest.mark.parametrize("ref", [0, -1, 1, 12345, 1 << 40, -(1 << 40), 1 << 80, -(1 << 80), True])
def test_a_foreign_reference_is_refused(pool: MemoryPool, method: str, ref: int) -> None:
    pool.commit(b"x")
    with pytest.raises(ValueError, match="no live block"):
        getattr(pool, method)(ref)


@pytest.mark.parametrize("method", ["read", "release", "latch", "unlatch"])
@pytest.mark.parametrize("ref", ["1", None, 1.0, b"1"])
def test_a_reference_is_an_int(pool: MemoryPool, method: str, ref: Any) -> None:
    with pytest.raises(TypeError, match="reference must be an int"):
        getattr(pool, method)(ref)


def test_a_reference_is_never_given_twice(pool: MemoryPool) -> None:
    seen = set()
    for _ in range(5000):
        ref = pool.commit(b"x")
        assert ref not in seen
        seen.add(ref)
        pool.release(ref)


# ---- views, latches


def test_a_view_is_read_only(pool: MemoryPool) -> None:
    view = pool.read(pool.commit(b"abc"), zero_copy=True)
    assert view.readonly
    with pytest.raises(TypeError):
        view[0] = 1


def test_a_view_outlives_the_release_of_its_block(pool: MemoryPool) -> None:
    ref = pool.commit(b"A" * 100)
    view = pool.read(ref, zero_copy=True)
    pool.release(ref)
    with pytest.raises(ValueError, match="no live block"):
        pool.read(ref)
    others = [pool.commit(b"B" * 100) for _ in range(2000)]
    assert view == b"A" * 100
    in_use = pool.stats().in_use
    view.release()
    assert pool.stats().in_use < in_use
    assert pool.read(others[0]) == b"B" * 100


def test_a_slice_of_a_view_pins_too(pool: MemoryPool) -> None:
    ref = pool.commit(b"A" * 100)
    part = pool.read(ref, zero_copy=True)[10:20]
    pool.release(ref)
    pool.commit(b"B" * 100)
    assert part == b"A" * 10
    del part
    gc.collect()
    assert pool.stats().pinned == 0


def test_a_view_outlives_its_pool() -> None:
    pool = MemoryPool(MIB)
    view = pool.read(pool.commit(b"A" * 1000), zero_copy=True)
    del pool
    gc.collect()
    assert debug_counters()["pools"] >= 1
    assert view == b"A" * 1000


def test_a_latched_block_is_released_at_once(pool: MemoryPool) -> None:
    """Latches belong to the reference: they go with it."""
    ref = pool.commit(b"abc")
    pool.latch(ref)
    pool.release(ref)
    assert pool.stats().in_use == 0
    with pytest.raises(ValueError, match="no live block"):
        pool.unlatch(ref)


def test_latches_are_counted(pool: MemoryPool) -> None:
    ref = pool.commit(b"abc")
    pool.latch(ref)
    assert pool.read(ref, latch=True) == b"abc"
    assert pool.used_segments[ref]["latches"] == 2
    pool.unlatch(ref)
    pool.unlatch(ref)
    with pytest.raises(RuntimeError, match="not latched"):
        pool.unlatch(ref)


def test_latch_and_view_in_one_step(pool: MemoryPool) -> None:
    ref = pool.commit(b"abc")
    view = pool.read(ref, zero_copy=True, latch=True)
    assert pool.used_segments[ref] == {"length": 3, "capacity": 64, "pins": 1, "latches": 1}
    view.release()
    assert pool.used_segments[ref] == {"length": 3, "capacity": 64, "pins": 0, "latches": 1}


def test_the_age_of_views_is_told(pool: MemoryPool) -> None:
    assert pool.stats().oldest_pin == 0.0
    ref = pool.commit(b"abc")
    view = pool.read(ref, zero_copy=True)
    first = pool.stats().oldest_pin
    assert first > 0.0
    assert pool.stats().oldest_pin > first
    assert pool.stats().pinned == 64
    del view
    assert pool.stats().oldest_pin == 0.0
    assert pool.stats().pinned == 0


# ---- writable buffers


def test_a_buffer_is_written_in_place(pool: MemoryPool) -> None:
    buffer = pool.reserve(1000)
    assert len(buffer) == 1000 and buffer.capacity >= 1000
    with memoryview(buffer) as view:
        assert not view.readonly
        view[:5] = b"hello"
    ref = buffer.commit(5)
    assert pool.read(ref) == b"hello"
    assert pool.used_segments[ref]["length"] == 5


def test_bytes_behind_the_length_are_zero_up_to_the_next_64(pool: MemoryPool) -> None:
    import ctypes

    buffer = pool.reserve(128)
    memoryview(buffer)[:] = b"\xff" * 128
    view = pool.read(buffer.commit(70), zero_copy=True)
    assert ctypes.string_at(address_of(view), 128) == b"\xff" * 70 + bytes(58)


@pytest.mark.parametrize("size", [1, 100, 5000, 1 << 20, 3 << 20])
def test_a_buffer_of_zeros_has_nothing_of_other_blocks(pool: MemoryPool, size: int) -> None:
    refs = [pool.commit(b"\xaa" * (2 * size)) for _ in range(2)] + [pool.commit(b"\xbb" * size) for _ in range(2)]
    for ref in refs:
        pool.release(ref)
    with pool.reserve(size, zero=True) as buffer:
        assert bytes(buffer) == bytes(size)
        memoryview(buffer)[:] = b"\xcc" * size
        buffer.resize(size // 2)
        buffer.resize(2 * size)
        assert bytes(buffer) == b"\xcc" * (size // 2) + bytes(2 * size - size // 2)
    assert pool.reserve(0, zero=True).commit() > 0


@pytest.mark.parametrize("finish", ["commit", "abort"])
def test_a_finished_buffer_is_refused(pool: MemoryPool, finish: str) -> None:
    buffer = pool.reserve(10)
    getattr(buffer, finish)()
    for method in (buffer.commit, buffer.abort, lambda: buffer.resize(5), buffer.__enter__):
        with pytest.raises(ValueError, match="finished"):
            method()
    with pytest.raises(BufferError, match="finished"):
        memoryview(buffer)
    assert buffer.capacity == 0 and "finished" in repr(buffer)


@pytest.mark.parametrize("method", ["commit", "abort"])
def test_a_buffer_with_views_is_not_finished(pool: MemoryPool, method: str) -> None:
    buffer = pool.reserve(10)
    view = memoryview(buffer)
    with pytest.raises(BufferError, match="1 views of the buffer exist"):
        getattr(buffer, method)()
    view.release()
    getattr(buffer, method)()


def test_more_than_the_buffer_has_is_not_committed(pool: MemoryPool) -> None:
    buffer = pool.reserve(10)
    with pytest.raises(ValueError, match="cannot commit 11 bytes of a buffer of 10"):
        buffer.commit(11)
    with pytest.raises(ValueError, match="must not be negative"):
        buffer.commit(-1)
    assert len(pool.read(buffer.commit())) == 10


def test_a_dropped_buffer_is_aborted(pool: MemoryPool) -> None:
    buffer = pool.reserve(10)
    watch = weakref.ref(buffer)
    del buffer
    assert watch() is None
    assert pool.stats().in_use == 0


def test_with_block_aborts_an_uncommitted_buffer(pool: MemoryPool) -> None:
    with pytest.raises(KeyError), pool.reserve(10):
        raise KeyError
    assert pool.stats().in_use == 0
    with pool.reserve(10) as buffer:
        ref = buffer.commit(0)
    assert pool.read(ref) == b""


@pytest.mark.parametrize("sizes", [(0, 10, 500), (10, 5000, MIB, 2 * MIB), (2 * MIB, 3 * MIB, 20 * MIB, 50 * MIB)])
def test_a_buffer_grows(pool: MemoryPool, sizes: tuple[int, ...]) -> None:
    buffer = pool.reserve(sizes[0])
    written = b""
    for size in sizes[1:]:
        buffer.resize(size)
        assert len(buffer) == size and buffer.capacity >= size
        view = memoryview(buffer)
        assert view[: len(written)] == written
        written = pattern(size)
        view[:] = written
        view.release()
    assert pool.read(buffer.commit()) == written


def test_a_large_buffer_grows_under_its_views(pool: MemoryPool) -> None:
    buffer = pool.reserve(2 * MIB)
    view = memoryview(buffer)
    view[:3] = b"abc"
    buffer.resize(8 * MIB)
    view[3:6] = b"def"
    with memoryview(buffer) as longer:
        assert longer[:6] == b"abcdef" and len(longer) == 8 * MIB
    view.release()
    buffer.abort()


def test_resize_that_would_move_is_refused_under_views(pool: MemoryPool) -> None:
    buffer = pool.reserve(100)
    view = memoryview(buffer)
    buffer.resize(buffer.capacity)  # there is room
    with pytest.raises(BufferError, match="cannot grow to 5000 bytes in place"):
        buffer.resize(5000)
    with pytest.raises(BufferError, match="cannot shrink"):
        buffer.resize(10)
    view.release()
    buffer.resize(5000)
    buffer.resize(10)
    assert len(pool.read(buffer.commit())) == 10


def test_a_writable_buffer_is_not_made_by_hand() -> None:
    with pytest.raises(TypeError, match="made by MemoryPool"):
        WritableBuffer()


# ---- limits


@pytest.mark.parametrize("strict", [False, True])
def test_the_limit_holds(strict: bool) -> None:
    pool = MemoryPool(10_000, name="small", strict=strict)
    refs = [pool.commit(b"x" * 1000) for _ in range(9)]
    with pytest.raises(MemoryError, match="pool 'small' has no room for 1000 bytes: 9216 of 10000 are in use"):
        pool.commit(b"x" * 1000)
    assert pool.stats().failed == 1
    pool.release(refs.pop())
    assert pool.read(pool.commit(b"y" * 1000)) == b"y" * 1000
    assert pool.available_space() == 10_000 - pool.stats().in_use


def test_more_than_the_pool_may_ever_have(pool: MemoryPool) -> None:
    for size in (64 * MIB + 1, 1 << 50, sys.maxsize):
        with pytest.raises(MemoryError, match=f"no room for {size} bytes"):
            pool.reserve(size)
    buffer = pool.reserve(2 * MIB)
    memoryview(buffer)[:3] = b"abc"
    with pytest.raises(MemoryError, match="no room to grow"):
        buffer.resize(65 * MIB)
    assert bytes(memoryview(buffer)[:3]) == b"abc"
    buffer.abort()
    assert pool.stats().in_use == 0


def test_a_large_block_takes_a_quarter_more_at_most() -> None:
    """Also when a much larger range is idle; that one goes when the limit wants it."""
    pool = MemoryPool(64 * MIB, retain_bytes=64 * MIB)
    pool.release(pool.commit(bytes(48 * MIB)))
    first = pool.commit(bytes(20 * MIB))
    assert pool.used_segments[first]["capacity"] <= 25 * MIB
    second = pool.commit(bytes(40 * MIB))
    assert pool.stats().in_use <= 64 * MIB
    pool.release(first)
    pool.release(second)


def test_an_idle_range_does_not_stand_in_the_way_of_the_limit() -> None:
    pool = MemoryPool(10 * MIB, retain_bytes=10 * MIB)
    pool.release(pool.commit(bytes(6 * MIB)))
    for _ in range(5):
        pool.commit(bytes(MIB))
    assert len(pool.read(pool.commit(bytes(5 * MIB)))) == 5 * MIB  # all that is left; the idle range has 6 MiB
    assert pool.available_space() == 0


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"max_bytes": 0}, ValueError),
        ({"max_bytes": -5}, ValueError),
        ({"max_bytes": 1 << 63}, ValueError),
        ({"max_bytes": "1"}, TypeError),
        ({"max_bytes": MIB, "alignment": 32}, ValueError),
        ({"max_bytes": MIB, "alignment": 96}, ValueError),
        ({"max_bytes": MIB, "alignment": 8192}, ValueError),
        ({"max_bytes": MIB, "retain_bytes": -1}, ValueError),
        ({"max_bytes": MIB, "name": 5}, TypeError),
    ],
    ids=str,
)
def test_wrong_options(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        MemoryPool(**options)


def test_a_negative_size_is_refused(pool: MemoryPool) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        pool.reserve(-1)


def test_pools_are_independent() -> None:
    one, two = MemoryPool(MIB), MemoryPool(MIB)
    ref = one.commit(b"one")
    assert one.read(ref) == b"one"
    assert two.stats().in_use == 0
    with pytest.raises(ValueError, match="no live block"):
        two.read(ref)


def test_a_pool_is_not_copied(pool: MemoryPool) -> None:
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(pool)


# ---- upkeep


def test_unused_memory_is_kept_up_to_the_retention() -> None:
    pool = MemoryPool(64 * MIB, retain_bytes=MIB)
    refs = [pool.commit(bytes(10_000)) for _ in range(1000)]
    refs += [pool.commit(bytes(2 * MIB)) for _ in range(3)]
    for ref in refs:
        pool.release(ref)
    stats = pool.stats()
    assert stats.in_use == 0 and 0 < stats.retained <= MIB
    assert pool.trim() == stats.retained
    assert pool.stats().retained == 0 and pool.stats().slabs == 0
    assert pool.trim() == 0


def test_retained_memory_is_used_again() -> None:
    pool = MemoryPool(64 * MIB)
    for size in (100, 10_000, 3 * MIB):
        pool.release(pool.commit(bytes(size)))
        held = pool.stats().retained
        pool.release(pool.commit(bytes(size)))
        assert pool.stats().retained == held


def test_retained_memory_gives_way_to_other_sizes() -> None:
    """The retained memory stays within the limit when sizes change."""
    pool = MemoryPool(8 * MIB, retain_bytes=8 * MIB)
    for size in (100, 5000, 70_000, 800_000, 3 * MIB, 100):
        refs = [pool.commit(bytes(size)) for _ in range(6 * MIB // max(size, 128) // 2)]
        for ref in refs:
            pool.release(ref)
        assert pool.stats().retained <= 8 * MIB


def test_compact_empties_sparse_slabs() -> None:
    pool = MemoryPool(64 * MIB, retain_bytes=0)
    written = {pool.commit(pattern(100, seed)): seed for seed in range(20_000)}
    for index, ref in enumerate(list(written)):
        if index % 10:
            pool.release(ref)
            del written[ref]
    before = pool.stats()
    assert pool.fragmentation() > 0.5
    moved = pool.compact(64 * MIB)
    after = pool.stats()
    assert moved > 0 and after.evacuated == moved // 128
    assert after.slabs < before.slabs / 3 and after.in_use == before.in_use
    assert pool.fragmentation() < 0.3
    for ref, seed in written.items():
        assert pool.read(ref) == pattern(100, seed)
    for ref in written:
        pool.release(ref)
    assert pool.stats().in_use == 0 and pool.stats().slabs == 0


def test_compact_moves_no_more_than_asked() -> None:
    pool = MemoryPool(64 * MIB)
    refs = [pool.commit(bytes(100)) for _ in range(10_000)]
    for ref in refs[::2] + refs[1::4]:
        pool.release(ref)
    assert 0 < pool.compact(1000) <= 1000
    assert pool.compact(0) == 0


def test_compact_leaves_pinned_and_latched_blocks() -> None:
    pool = MemoryPool(64 * MIB)
    refs = [pool.commit(pattern(100, seed)) for seed in range(3000)]
    kept = refs[::50]
    views = {ref: pool.read(ref, zero_copy=True) for ref in kept[::2]}
    places = {ref: address_of(view) for ref, view in views.items()}
    for ref in kept[1::2]:
        pool.latch(ref)
        view = pool.read(ref, zero_copy=True)
        places[ref] = address_of(view)
        view.release()
    buffer = pool.reserve(100)
    with memoryview(buffer) as view:
        place = address_of(view)
    for ref in set(refs) - set(kept):
        pool.release(ref)
    pool.compact(64 * MIB)
    for ref in kept:
        view = pool.read(ref, zero_copy=True)
        assert address_of(view) == places[ref]
        view.release()
    with memoryview(buffer) as view:
        assert address_of(view) == place


def test_statistics(pool: MemoryPool) -> None:
    assert pool.stats() == MemoryPoolStats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0)
    first, second = pool.commit(b"x" * 100), pool.commit(b"y" * 1000)
    pool.read(first)
    pool.release(first)
    stats = pool.stats()
    assert (stats.in_use, stats.peak, stats.commits, stats.reads, stats.releases) == (1024, 1152, 2, 1, 1)
    assert stats.retained == stats.slabs * 65_536 - 1024
    assert pool.used_segments == {second: {"length": 1000, "capacity": 1024, "pins": 0, "latches": 0}}
    assert repr(pool) == f"<MemoryPool: 1024 of {64 * MIB} bytes in use>"
    assert repr(MemoryPool(5, name="tiny")) == "<MemoryPool 'tiny': 0 of 5 bytes in use>"


def test_segments_of_many_blocks(pool: MemoryPool) -> None:
    refs = [pool.commit(b"x") for _ in range(3000)]
    assert set(pool.used_segments) == set(refs)
    pool.release(refs[0])
    assert len(pool.used_segments) == 2999


# ---- threads, fork


def test_threads_share_a_pool() -> None:
    pool = MemoryPool(256 * MIB)
    barrier = threading.Barrier(4)
    handed: list[list[tuple[int, int]]] = [[] for _ in range(4)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            barrier.wait()
            source = random.Random(number)
            for _ in range(3000):
                seed = source.randrange(1000)
                handed[number].append((pool.commit(pattern(source.randrange(300), seed)), seed))
                if source.random() < 0.01:
                    pool.compact(10_000)
                other = handed[source.randrange(4)]
                if other and source.random() < 0.9:
                    try:
                        ref, seed = other.pop()
                    except IndexError:
                        continue
                    data = pool.read(ref)
                    assert data == pattern(len(data), seed)
                    pool.release(ref)
        except BaseException as error:
            errors.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    left = [item for items in handed for item in items]
    assert len(pool.used_segments) == len(left)
    for ref, seed in left:
        data = pool.read(ref)
        assert data == pattern(len(data), seed)
        pool.release(ref)
    assert pool.stats().in_use == 0


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_has_the_blocks_and_its_own_pool(pool: MemoryPool) -> None:
    ref = pool.commit(b"before")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = b"failed"
        try:
            assert pool.read(ref) == b"before"
            pool.release(ref)
            assert pool.read(pool.commit(b"child")) == b"child"
            status = b"fine"
        finally:
            os.write(write, status)
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        assert pipe.read() == b"fine"
    os.waitpid(child, 0)
    assert pool.read(ref) == b"before"


def test_a_pool_in_a_cycle_is_collected() -> None:
    class Owner:
        pool: MemoryPool
        view: memoryview

    owner = Owner()
    owner.pool = MemoryPool(MIB)
    owner.view = owner.pool.read(owner.pool.commit(b"x"), zero_copy=True)
    owner.me = owner  # type: ignore[attr-defined]
    watch = weakref.ref(owner.pool)
    del owner
    gc.collect()
    assert watch() is None


def test_nothing_is_left() -> None:
    gc.collect()
    before = debug_counters()
    for size in (0, 100, 10_000, 2 * MIB):
        pool = MemoryPool(64 * MIB)
        ref = pool.commit(bytes(size))
        pool.release(pool.commit(bytes(size)))
        view, buffer = pool.read(ref, zero_copy=True), pool.reserve(size)
        view_of_released = pool.read(ref, zero_copy=True)
        pool.release(ref)
        assert debug_counters()["pools"] == before["pools"] + 1
        del pool, view, buffer, view_of_released
        assert debug_counters() == before
