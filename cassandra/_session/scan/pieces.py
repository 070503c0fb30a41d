"""Scan events of a reading, and its error (L5). Values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException, tells
from cassandra._base.objects import public

if TYPE_CHECKING:
    from cassandra._core.columns import RecordBatch
    from cassandra._routing.token_ranges import TokenRange

    from .reading import Reading

BATCH = "batch"  # rows of the range, in the order of tokens, then of the clustering key
DONE = "done"  # the range is complete
RESTARTED = "restarted"  # the range restarts: its previous batches are void
FAILED = "failed"  # the range is abandoned (on_error="skip"): its batches are incomplete


class Piece:
    """A scan event of the range with this *number* in ``plan.ranges``. *batch*: for ``BATCH``; *error*: the reason of a
    restart or failure."""

    __slots__ = ("batch", "error", "kind", "number", "token_range")

    def __init__(
        self,
        number: int,
        token_range: TokenRange,
        kind: str,
        batch: RecordBatch | None = None,
        error: Exception | None = None,
    ) -> None:
        self.number = number
        self.token_range = token_range
        self.kind = kind
        self.batch = batch
        self.error = error

    def __repr__(self) -> str:
        what = "" if self.batch is None else f" of {len(self.batch)} rows"
        return f"<Piece {self.number}: {self.kind}{what}>"


@public("cassandra.scan")
@tells("host", "attempts", "elapsed")
class ScanError(DriverException):
    """A scan has ended because a part of the table could not be read; the cause is ``__cause__``.

    ``token_range`` is the part, ``page`` the number of its page, from 0, ``host`` the last coordinator. ``checkpoint``
    is the state of the fold before (see ``scan.fold``), None if nothing was folded. For ``scan_order`` the part is
    ``key``, one of the given keys.
    """

    token_range: TokenRange | None = None
    key: Any = None
    page: int | None = None
    checkpoint: Any = None

    def __init__(self, message: str, token_range: TokenRange | None = None, page: int | None = None) -> None:
        super().__init__(message)
        self.token_range = token_range
        self.page = page


class AsyncPieces:
    """Scan events of a reading, for one task."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __aiter__(self) -> AsyncPieces:
        return self

    async def __anext__(self) -> Piece:
        piece = await self._reading.next_async()
        if piece is None:
            raise StopAsyncIteration
        return piece
