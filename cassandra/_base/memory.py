"""What a memory pool tells about itself (L0)."""

from typing import NamedTuple, TypedDict

from cassandra._base.public import public


@public("cassandra.memory")
class MemoryPoolStats(NamedTuple):
    """Numbers of a :class:`MemoryPool` at one moment; sizes are bytes, counts are since the pool was made.

    Sizes of blocks are those of their size class, which is up to a quarter more than what was asked for.
    """

    in_use: int
    """In blocks that somebody owns: written, live, pinned, or received into."""
    retained: int
    """Held from the system beyond that, for blocks to come."""
    peak: int
    """The most that was ever in use."""
    pinned: int
    """In blocks that views keep where they are."""
    overflow_bytes: int
    """In frames that were received beyond ``max_bytes``, which are not the pool's."""
    commits: int
    reads: int
    releases: int
    failed: int
    """Requests for a block that the pool had no room for."""
    slabs: int
    """Slabs held now."""
    evacuated: int
    """Blocks that :meth:`MemoryPool.compact` moved."""
    oldest_pin: float
    """Seconds since the oldest view that is still out was made, 0.0 without any; one that grows for ever is a leak."""


@public("cassandra.memory")
class MemorySegment(TypedDict):
    """One live block in :attr:`MemoryPool.used_segments`: bytes committed, bytes it takes, views out, latches."""

    length: int
    capacity: int
    pins: int
    latches: int
