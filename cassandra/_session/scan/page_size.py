"""How many rows a page is asked for, and how many a batch of several pages is likely to have (L5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra._core.codec import RowsPage

PAGE_BYTES = 1 << 20  # larger ones bother a Cassandra, whose heap has the rows of all pages in flight
GROWTH = 4  # times as many rows as at first, at most
MORE = 1.05  # times the rows of one range may another have, whose part of the ring is as large


class PageSize:
    """``rows`` of the next page of a reading; None leaves it to the servers, and pages are not cut.

    A page costs the client and the server some work whatever is in it. So there are *first* rows in a page until it is
    known how wide they are, then so many as make ``PAGE_BYTES``, up to *most*. The widest page decides: rows may be
    wider elsewhere in the table. Belongs to the thread that reads.
    """

    __slots__ = ("_first", "_most", "_width", "rows")

    def __init__(self, first: int | None, most: int | None = None) -> None:
        self.rows = self._first = first
        self._most = most or first
        self._width = 0.0  # bytes of a row

    def came(self, page: RowsPage) -> None:
        """This was the answer."""
        if self._first != self._most and len(page):
            self._width = max(self._width, page.nbytes / len(page))
            self._fit()

    def has_grown(self, rows: int | None) -> bool:
        """Whether a page was asked for so many rows because pages grow."""
        return rows is not None and self._first is not None and rows > self._first

    def too_much(self) -> None:
        """A server could not make a page in time, refused to or warned of it: they are as at first from now on."""
        self._most = self.rows = self._first

    def _fit(self) -> None:
        assert self._first is not None and self._most is not None
        self.rows = max(self._first, min(self._most, int(PAGE_BYTES / self._width)))


class BatchSize:
    """How many rows a batch is likely to have: as many as the largest one before, up to *most*, and no more than
    *share* bytes hold: all open ranges have a batch that is being made. Belongs to the thread that reads."""

    __slots__ = ("_most", "_rows", "_share")

    def __init__(self, most: int, share: int) -> None:
        self._most = most
        self._share = share
        self._rows = 0

    def was(self, rows: int) -> None:
        """One had so many."""
        self._rows = max(self._rows, int(rows * MORE))

    def likely(self, page: RowsPage) -> int:
        """Of one that begins with *page*; 0 while nobody knows."""
        return min(self._most, self._rows, self._share * len(page) // max(1, page.nbytes))
