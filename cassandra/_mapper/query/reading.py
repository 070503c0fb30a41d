"""Rows that a query set has read: page by page, kept for later accesses.

Several threads may read a query set at a time, or several tasks of a loop: one of them reads a page, the others wait
for it and then find its rows. The handler of a signal may raise at any point: each step can be repeated, and no row is
added twice (``Pages.passed``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, Generic, TypeVar

from cassandra._base.conditions import NativeWith
from cassandra._base.locks import caller_lock
from cassandra._base.real import green, threading
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.execution.steps import arun, run
from cassandra._mapper.instances import left_out

from .loading import Pages

T = TypeVar("T")

#: Attributes with the locks of concurrent readers.
LOCKS = ("_turns", "_lock_of_loop")
#: Attributes of a query set that has been read; copies do not have them.
READ = ("_result_cache", "_pages", "_count", *LOCKS)


POLLED = 0.001  # seconds


class Turns(NativeWith):
    """A lock that is held while a greenlet waits for a page: other greenlets poll it, sleeping in their hub.

    The ``with`` statement is native and does not wake greenlets: hence the polling.
    """

    def __init__(self) -> None:
        self.native = threading.Lock()

    @property
    def __enter__(self) -> Any:
        while self.native.locked():
            green.sleep(POLLED)
        return self.native.__enter__


class Reading(Generic[T]):
    """Reading of the rows of a query set."""

    _result_cache: list[Any] | None = None
    _pages: Pages | None = None
    _count: int | None = None
    _batch: Any = None
    _lock_of_loop: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in LOCKS}

    def _select_request(self) -> Any:
        raise NotImplementedError

    def _refuse_batch(self) -> None:
        if self._batch is not None:
            raise CQLEngineException("Only inserts, updates, and deletes are available in batch mode")

    def _made_of(self, names: tuple[str, ...], rows: Any) -> list[Any]:
        """Convert rows of the result."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _made_of()")

    def _reading(self) -> Any:
        """Yield the request of the first page."""
        self._refuse_batch()
        self._pages = Pages((yield self._select_request()))

    @left_out
    def _execute_query(self) -> None:
        """Execute the query, unless it was executed."""
        self._refuse_batch()
        if self._result_cache is None:
            with self._turn():
                if self._result_cache is None:
                    if self._pages is None:
                        run(self._reading())
                    self._more()

    async def _aexecute_query(self) -> None:
        self._refuse_batch()
        if self._result_cache is None:
            async with self._aturn():
                if self._result_cache is None:
                    if self._pages is None:
                        await arun(self._reading())
                    await self._amore()

    def _turn(self) -> Any:
        """Return the lock of reading: one thread at a time reads a page; the others then find its rows."""
        turns = self.__dict__.get("_turns")
        if turns is None:
            turns = self.__dict__.setdefault("_turns", caller_lock("of a query set") if green is None else Turns())
        if green is None and turns._is_owned():
            raise CQLEngineException("recursive read: this thread is already reading the query set")
        return turns

    def _aturn(self) -> Any:
        """As :meth:`_turn`, for the tasks of the running loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        if self._lock_of_loop is None or self._lock_of_loop[0] is not loop:
            self._lock_of_loop = (loop, asyncio.Lock())
        return self._lock_of_loop[1]

    def _more(self) -> None:
        """Read one more page, if there is one. Callers that may run concurrently hold the lock."""
        pages = self._pages
        if pages is not None and pages.has_more:
            self._add(pages, *pages.next())

    async def _amore(self) -> None:
        pages = self._pages
        if pages is not None and pages.has_more:
            self._add(pages, *await pages.anext())

    def _add(self, pages: Pages, names: tuple[str, ...], rows: Any) -> None:
        cache = self._result_cache
        if len(cache or ()) == pages.passed:  # otherwise an interrupted call has already added the rows
            found = self._made_of(names, rows)
            if cache is None:  # no other thread has a reference to it
                self._result_cache = cache = found
            else:
                cache += found
        assert cache is not None
        pages.taken(len(cache))
        if not pages.has_more:
            self._pages = None
            self._count = len(cache)

    def _has(self, at: int) -> bool:
        """True if there is a row at index *at*. Reads pages until that is decided: a page may have no rows."""
        rows: Any = self._result_cache
        while len(rows) <= at:
            with self._turn():
                if len(rows) <= at:
                    if self._pages is None or not self._pages.has_more:
                        return False
                    self._more()
        return True

    async def _ahas(self, at: int) -> bool:
        rows: Any = self._result_cache
        while len(rows) <= at:
            async with self._aturn():
                if len(rows) <= at:
                    if self._pages is None or not self._pages.has_more:
                        return False
                    await self._amore()
        return True

    def _fill_result_cache(self) -> list[Any]:
        """Return all rows."""
        self._execute_query()
        assert self._result_cache is not None
        while self._has(len(self._result_cache)):
            pass
        return self._result_cache

    @left_out
    def _fill_result_cache_to_idx(self, idx: int) -> list[Any]:
        """Return the rows read, at least up to index *idx* if there are so many."""
        self._execute_query()
        assert self._result_cache is not None
        self._has(idx)
        return self._result_cache

    async def _afill_to(self, idx: int) -> list[Any]:
        await self._aexecute_query()
        assert self._result_cache is not None
        await self._ahas(idx)
        return self._result_cache

    def __len__(self) -> int:
        """Return the number of rows; reads them."""
        return len(self._fill_result_cache())

    def __iter__(self) -> Iterator[T]:
        self._execute_query()
        if self._pages is None:
            return iter(self._result_cache or ())
        return self._page_by_page()

    def _page_by_page(self) -> Iterator[T]:
        rows: Any = self._result_cache
        at = 0
        while at < len(rows) or self._has(at):
            upto = len(rows)
            yield from rows[at:upto]
            at = upto

    async def __aiter__(self) -> AsyncIterator[T]:
        await self._aexecute_query()
        rows: Any = self._result_cache
        at = 0
        while at < len(rows) or await self._ahas(at):
            yield rows[at]
            at += 1
