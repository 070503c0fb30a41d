"""Statistics of memory pools (L0)."""

from typing import NamedTuple, TypedDict

from .objects import public


@public("cassandra.memory")
class MemoryPoolStats(NamedTuple):
    """Figures of a :class:`MemoryPool` at one moment; sizes are bytes, counts are since the creation of the pool.

    Sizes of blocks are those of their size class, which is up to a quarter more than the requested size.
    """

    in_use: int
    """In owned blocks: written, live, pinned, or received into by a connection."""
    retained: int
    """Allocated from the system beyond ``in_use``, for future blocks."""
    peak: int
    """Maximum of ``in_use``."""
    pinned: int
    """In blocks that views keep at their address, and in received frames of 16 KiB and more that are still needed:
    pages whose rows were not all read yet."""
    overflow_bytes: int
    """In frames that were received beyond ``max_bytes``, outside the pool."""
    commits: int
    """Blocks that were written and committed."""
    reads: int
    """Reads of blocks."""
    releases: int
    """Blocks that were released."""
    failed: int
    """Requests for a block that failed because the pool was full."""
    slabs: int
    """Slabs held now."""
    evacuated: int
    """Blocks that :meth:`MemoryPool.compact` moved."""
    frames: int
    """Blocks that connections receive into, and blocks with frames that are still needed."""
    oldest_pin: float
    """Age in seconds of the oldest pinned view or frame, 0.0 without any; an age that always grows is a leak."""


@public("cassandra.memory")
class MemorySegment(TypedDict):
    """One live block in :attr:`MemoryPool.used_segments`: committed bytes, size of the block, open views, latches."""

    length: int  #: Bytes of the data.
    capacity: int  #: Bytes of the block.
    pins: int  #: Number of views.
    latches: int  #: Number of latches.
