"""Memory pools: bounded, aligned memory for frames and for applications' own blocks. See :doc:`/memory`."""

from cassandra._base.memory import MemoryPoolStats, MemorySegment
from cassandra._core.memory import MemoryPool, WritableBuffer

__all__ = ["MemoryPool", "MemoryPoolStats", "MemorySegment", "WritableBuffer"]
