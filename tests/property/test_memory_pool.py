"""MemoryPool against a dict: any order of operations gives the same bytes, and the books balance."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from cassandra.memory import MemoryPool

LIMIT = 3 << 20
SIZES = st.one_of(st.integers(0, 300), st.integers(0, 70_000), st.sampled_from([1 << 20, (1 << 20) + 1, 2 << 20]))


class Pools(RuleBasedStateMachine):
    refs: Bundle[int] = Bundle("refs")
    views: Bundle[Any] = Bundle("views")
    buffers: Bundle[Any] = Bundle("buffers")

    def __init__(self) -> None:
        super().__init__()
        self.pool = MemoryPool(LIMIT, retain_bytes=1 << 20)
        self.model: dict[int, bytes] = {}
        self.latches: dict[int, int] = {}

    @rule(target=refs, size=SIZES, value=st.integers(0, 255))
    def commit(self, size: int, value: int) -> int:
        data = bytes([value]) * size
        try:
            ref = self.pool.commit(data)
        except MemoryError:
            assert self.pool.available_space() < size + size // 4 + (1 << 16)
            return 0
        assert ref not in self.model
        self.model[ref] = data
        return ref

    @rule(target=buffers, size=st.integers(0, 70_000), value=st.integers(0, 255))
    def reserve(self, size: int, value: int) -> Any:
        try:
            buffer = self.pool.reserve(size)
        except MemoryError:
            return None
        memoryview(buffer)[:] = bytes([value]) * size
        return buffer, value

    @rule(target=refs, item=consumes(buffers), size=st.integers(0, 70_000))
    def resize_and_commit(self, item: Any, size: int) -> int:
        if item is None:
            return 0
        buffer, value = item
        before = len(buffer)
        try:
            buffer.resize(size)
        except MemoryError:
            buffer.abort()
            return 0
        kept = min(before, size)
        assert bytes(memoryview(buffer)[:kept]) == bytes([value]) * kept
        ref: int = buffer.commit(kept)
        self.model[ref] = bytes([value]) * kept
        return ref

    @rule(item=consumes(buffers))
    def abort(self, item: Any) -> None:
        if item is not None:
            item[0].abort()

    @rule(ref=refs)
    def read(self, ref: int) -> None:
        if ref in self.model:
            assert self.pool.read(ref) == self.model[ref]
        else:
            with pytest.raises(ValueError, match="no live block"):
                self.pool.read(ref)

    @rule(target=views, ref=refs)
    def view(self, ref: int) -> Any:
        return (self.pool.read(ref, zero_copy=True), self.model[ref]) if ref in self.model else None

    @rule(item=consumes(views))
    def drop_view(self, item: Any) -> None:
        if item is not None:
            assert item[0] == item[1]
            item[0].release()

    @rule(ref=refs)
    def latch(self, ref: int) -> None:
        if ref in self.model:
            self.pool.latch(ref)
            self.latches[ref] = self.latches.get(ref, 0) + 1

    @rule(ref=refs)
    def unlatch(self, ref: int) -> None:
        if ref not in self.model:
            return
        if self.latches.get(ref):
            self.pool.unlatch(ref)
            self.latches[ref] -= 1
        else:
            with pytest.raises(RuntimeError, match="not latched"):
                self.pool.unlatch(ref)

    @rule(ref=refs)
    def release(self, ref: int) -> None:
        if self.model.pop(ref, None) is None:
            with pytest.raises(ValueError, match="no live block"):
                self.pool.release(ref)
        else:
            self.pool.release(ref)
            self.latches.pop(ref, None)

    @rule(most=st.integers(0, 1 << 20))
    def compact(self, most: int) -> None:
        assert 0 <= self.pool.compact(most) <= most

    @rule()
    def trim(self) -> None:
        self.pool.trim()

    @invariant()
    def the_books_balance(self) -> None:
        segments = self.pool.used_segments
        assert {ref: segment["length"] for ref, segment in segments.items()} == {
            ref: len(data) for ref, data in self.model.items()
        }
        stats = self.pool.stats()
        assert sum(segment["capacity"] for segment in segments.values()) <= stats.in_use <= LIMIT
        assert stats.overflow_bytes == 0


TestPools = Pools.TestCase
TestPools.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
