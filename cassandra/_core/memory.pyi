"""Typed contract of the memory extension: a bounded pool of aligned blocks, for users and for received frames.

All functions may be called from any thread, in free-threaded builds too; none of them blocks for longer than it takes
to copy the bytes in question. The native part (arenas that connections receive into) is in cpp/memory: frames.h and
arena.h.
"""

from types import TracebackType
from typing import Any, Final

from typing_extensions import Buffer, Self

from cassandra._base.memory import MemoryPoolStats, MemorySegment

class WritableBuffer:
    """A block of a :class:`MemoryPool` that is being written; made by :meth:`MemoryPool.reserve`.

    It exports a writable buffer (``memoryview(buffer)``, ``sock.recv_into(buffer)``, ``numpy.frombuffer``). It belongs
    to its holder until :meth:`commit` or :meth:`abort`. A buffer that is dropped, or left by ``with`` uncommitted, is
    aborted. After that every method raises ValueError.

    Example::

        with pool.reserve(1 << 20) as buffer:
            length = file.readinto(buffer)
            ref = buffer.commit(length)
    """

    def __len__(self) -> int: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def capacity(self) -> int:
        """Bytes that the block takes: :meth:`resize` up to that is free. 0 when the buffer is finished."""
    def resize(self, size: int) -> None:
        """Change the length; the bytes up to the shorter length stay, further bytes are undefined, or zero if they were
        reserved with *zero*.

        Above 1 MiB it mostly grows in place. BufferError if it would have to move, or shrink, while views of it exist;
        MemoryError if the pool has no room. The buffer is then unchanged.
        """
    def commit(self, length: int | None = None) -> int:
        """Make the first *length* bytes (all of them by default) a live block and return its reference. BufferError
        while views of the buffer exist, ValueError for more bytes than it has."""
    def abort(self) -> None:
        """Give the block back. BufferError while views of the buffer exist."""

class MemoryPool:
    """A bounded pool of memory blocks with 64-byte alignment, addressed by integer references.

    *max_bytes*: bytes that may be in use at a time, counted in size classes (up to 25 % more than requested).
    *alignment*: of every block, a power of two from 64 to 4096. *retain_bytes*: unused memory that is kept for later
    blocks, by default 32 MiB or *max_bytes* if that is less; the rest goes back to the system. *strict*: connections
    that receive into a full pool stop reading (TCP then slows the server down) instead of taking memory beyond the
    limit. *name* appears in errors and ``repr``.

    Blocks up to 1 MiB come from slabs of one size class, larger blocks have their own address ranges. Every operation
    takes the same time for any number of live blocks. A reference is never used twice: a released reference, or one of
    another pool, raises ValueError and never gives another block's bytes (but two pools may give out equal numbers).

    Any thread may call any method. The memory of a pool lives as long as a view or buffer of it. After ``os.fork`` both
    processes have the blocks that were live, each its own copy.

    Example::

        pool = MemoryPool(64 << 20, name="cache")
        ref = pool.commit(b"some bytes")
        assert pool.read(ref) == b"some bytes"
        pool.release(ref)
    """

    name: Final[str]  #: Name of the pool, in errors and ``repr``.
    max_bytes: Final[int]  #: Bytes that may be in use at a time.
    retain_bytes: Final[int]  #: Unused memory that is kept for later blocks, in bytes.
    alignment: Final[int]  #: Alignment of every block, in bytes.
    strict: Final[bool]  #: True if connections stop reading while the pool is full.

    def __init__(
        self,
        max_bytes: int,
        *,
        name: str = "",
        alignment: int = 64,
        retain_bytes: int | None = None,
        strict: bool = False,
    ) -> None: ...
    @property
    def _native(self) -> Any:
        """Capsule ``fastcql::memory::FramePool`` for the other extensions (cpp/memory/frames.h); borrowed, valid while
        this object lives."""
    @property
    def _blocks(self) -> Any:
        """Capsule ``fastcql::memory::BlockPool`` (cpp/memory/frames.h), as ``_native``: blocks for columns."""
    def commit(self, data: Buffer) -> int:
        """Copy *data* (any contiguous buffer, also an empty one) into a block; return its reference, a positive int.

        MemoryError if the pool or the machine has no room; the pool is then unchanged.
        """
    def reserve(self, size: int, *, zero: bool = False) -> WritableBuffer:
        """Return a block of *size* bytes to be written in place. MemoryError as :meth:`commit`.

        The bytes are undefined: they may be those of a released block of the pool, with data received or committed
        before. With *zero* they are zero, also those that :meth:`WritableBuffer.resize` adds: for buffers that are read
        by others before they are written completely.
        """
    def read(self, ref: int, zero_copy: bool = False, latch: bool = False) -> Any:
        """Return the bytes of a live block: a copy, or, with *zero_copy*, a read-only memoryview.

        The view pins the block: it does not move, and its memory is not reused, while the view (or a slice, or an array
        over it) lives, also if the block is released meanwhile. *latch* calls :meth:`latch` in the same step.
        """
    def latch(self, ref: int) -> None:
        """Keep the block in place until :meth:`unlatch`; latches are counted. ValueError for an unknown reference."""
    def unlatch(self, ref: int) -> None:
        """Remove one latch. RuntimeError if there is none, ValueError for an unknown reference."""
    def release(self, ref: int) -> None:
        """Release the block, with its latches. Its memory is free at once, or when the last view of it is gone.
        ValueError for an unknown reference, so also for a second release."""
    def trim(self) -> int:
        """Return retained memory to the system; the number of bytes. Memory that connections retain follows at their
        next turn."""
    def compact(self, max_bytes: int = 1 << 20) -> int:
        """Move blocks that are neither pinned nor latched out of slabs that are at least half empty; return the bytes
        moved, *max_bytes* at most.

        No other call moves a block. Do not call it in an event loop's thread. The emptied slabs are retained:
        :meth:`trim`.
        """
    def available_space(self) -> int:
        """Bytes until the limit."""
    def fragmentation(self) -> float:
        """Return the unused part of the held memory, 0.0 to 1.0; retained memory counts."""
    @property
    def used_segments(self) -> dict[int, MemorySegment]:
        """Every live block by reference; built anew on each access, for debugging."""
    def stats(self) -> MemoryPoolStats:
        """Return the current :class:`MemoryPoolStats`."""

DEFAULT_RETAIN: Final[int]
MAX_BYTES: Final[int]

def debug_counters() -> dict[str, int]:
    """Native objects of this extension that exist in the process, for tests: pools, pool_arenas, pool_frames."""
