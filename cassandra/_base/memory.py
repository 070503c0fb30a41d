"""What a memory pool tells about itself (L0)."""

from typing import NamedTuple, TypedDict

from cassandra._base.public import public


@public("cassandra.memory")
class MemoryPoolStats(NamedTuple):
    """Numbers of a :class:`MemoryPool` at one moment; sizes are bytes, counts are since the pool was made.

    Sizes of blocks are those of their size class, which is up to a quarter more than what was asked for.
    """

    in_use: int
    """In blocks that somebody owns: written, live, pinned, or received into by a connection."""
    retained: int
    """Held from the system beyond that, for blocks to come."""
    peak: int
    """The most that was ever in use."""
    pinned: int
    """In blocks that views keep where they are, and in received frames of 16 KiB and more that are still needed: pages
    whose rows were not all read yet."""
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
    frames: int
    """Blocks that connections receive into, and those with frames that are still needed."""
    oldest_pin: float
    """Seconds since the oldest of what is pinned was made or received, 0.0 without any; one that grows for ever is a
    leak."""


@public("cassandra.memory")
class MemorySegment(TypedDict):
    """One live block in :attr:`MemoryPool.used_segments`: bytes committed, bytes it takes, views out, latches."""

    length: int
    capacity: int
    pins: int
    latches: int
