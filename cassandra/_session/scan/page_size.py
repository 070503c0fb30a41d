"""Rows per page, and estimate of the rows of a batch of several pages (L5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra._core.codec import RowsPage

PAGE_BYTES = 1 << 20  # larger ones strain Cassandra, whose heap contains the rows of all pages in flight
GROWTH = 4  # maximum ratio to the first number of rows
MORE = 1.05  # allowance for ranges with more rows than another range of the same size


class PageSize:
    """``rows`` of the next page of a reading; None leaves it to the servers, and pages are not cut.

    A page has a fixed cost for client and server. So pages have *first* rows until the width of the rows is known, and
    then so many that they have ``PAGE_BYTES``, up to *most*. The widest page decides: rows may be wider elsewhere in
    the table. Belongs to the thread that reads.
    """

    __slots__ = ("_first", "_most", "_width", "rows")

    def __init__(self, first: int | None, most: int | None = None) -> None:
        self.rows = self._first = first
        self._most = most or first
        self._width = 0.0  # bytes per row

    def came(self, page: RowsPage) -> None:
        """Record the size of a received page."""
        if self._first != self._most and len(page):
            self._width = max(self._width, page.nbytes / len(page))
            self._fit()

    def has_grown(self, rows: int | None) -> bool:
        """True if a page of so many rows was requested because pages have grown."""
        return rows is not None and self._first is not None and rows > self._first

    def too_much(self) -> None:
        """Return to the first size: a server timed out on a page, refused it, or warned of it."""
        self._most = self.rows = self._first

    def _fit(self) -> None:
        assert self._first is not None and self._most is not None
        self.rows = max(self._first, min(self._most, int(PAGE_BYTES / self._width)))


class BatchSize:
    """Estimated rows of a batch: as many as the largest one so far, up to *most*, and at most *share* bytes, as all
    open ranges have a batch under construction. Belongs to the thread that reads."""

    __slots__ = ("_most", "_rows", "_share")

    def __init__(self, most: int, share: int) -> None:
        self._most = most
        self._share = share
        self._rows = 0

    def was(self, rows: int) -> None:
        """Record the number of rows of a batch."""
        self._rows = max(self._rows, int(rows * MORE))

    def likely(self, page: RowsPage) -> int:
        """Return the estimate for a batch that begins with *page*; 0 while it is unknown."""
        return min(self._most, self._rows, self._share * len(page) // max(1, page.nbytes))
