"""Rows of a query set: read page by page, converted to instances, and kept for later accesses.

Rows of a result are tuples and become instances natively, unless a model overrides the construction.

Several threads may read a query set at a time, or several tasks of a loop: one of them reads a page, the others wait
for it and then find its rows. The handler of a signal may raise at any point: each step can be repeated, and no row is
added twice (``Pages.passed``).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

from cassandra._base.conditions import NativeWith
from cassandra._base.locks import caller_lock
from cassandra._base.real import green, threading
from cassandra._core.models import OVERRIDES, InstanceLayout, load_instances, new_loaded
from cassandra._session.request.result import ResultSet

from .errors import CQLEngineException
from .execution import arun, run
from .instances import query_set_method

T = TypeVar("T")

#: Limit of shapes and layouts per model: bounds the memory of programs that select many sets of columns.
KEPT = 512
LOADS = OVERRIDES["load"]
#: Cached where no result is possible.
NONE = object()

#: Attributes with the locks of concurrent readers.
LOCKS = ("_turns", "_lock_of_loop")
#: Attributes of a query set that has been read; copies do not have them.
READ = ("_result_cache", "_pages", "_count", *LOCKS)

POLLED = 0.001  # seconds between two looks of a greenlet at a lock


# ---- results per model, and instances from rows


def keep(model: Any, key: Any, found: Any) -> Any:
    """Cache *found* for *model*, until an attribute of the model is set or the cache is full."""
    shapes = model._shapes
    if len(shapes) >= KEPT:
        shapes.clear()
    shapes[key] = found
    return found


def is_native(model: Any) -> bool:
    """True if the model does not override instance construction."""
    return not model._plan.overrides() & LOADS


def layout_of(model: Any, names: tuple[str, ...], shared: tuple[str, ...]) -> InstanceLayout:
    key = (names, shared)
    layout: InstanceLayout | None = model._shapes.get(key)
    if layout is None:
        layout = keep(model, key, model._plan.layout_of(names, shared))
    return layout


def from_tuples(
    model: Any, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]], deferred: Mapping[str, Any]
) -> list[Any]:
    """Return the instances of rows with these columns. *deferred* are values of further columns, the same for all rows,
    by their names in the table."""
    if model._is_polymorphic:
        return _of_several(model, names, rows, deferred)
    if not is_native(model):
        return [from_dict(model, dict(zip(names, row, strict=True)), deferred) for row in rows]
    shared, values = _shared(model, deferred)
    return load_instances(model, layout_of(model, names, shared), rows, values)


def _shared(model: Any, deferred: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    if not deferred:
        return (), ()
    columns = [model._get_column_by_db_name(name) for name in deferred]
    values = [column.to_python(value) for column, value in zip(columns, deferred.values(), strict=True)]
    return tuple([column.column_name for column in columns]), tuple(values)


def _of_several(
    model: Any, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]], deferred: Mapping[str, Any]
) -> list[Any]:
    """Return the instances of rows of models that share a table: the discriminator of a row selects its model."""
    discriminator = model._discriminator_column.db_field_name
    place = names.index(discriminator) if discriminator in names else None
    common = deferred.get(discriminator)
    made = []
    for row in rows:
        kind = model._class_of(row[place] if place is not None and common is None else common)
        if is_native(kind):
            shared, values = _shared(kind, deferred)
            made.append(new_loaded(kind, layout_of(kind, names, shared), row, values))
        else:
            made.append(from_dict(model, dict(zip(names, row, strict=True)), deferred))
    return made


def from_dict(model: Any, row: Mapping[str, Any], deferred: Mapping[str, Any]) -> Any:
    """Return the instance of a row, built by the model's own methods."""
    return model._construct_instance({**row, **deferred} if deferred else row)


# ---- rows of a query set


class Pages:
    """Columns and rows of a result, page by page. Owned by the thread or task that reads them, which confirms each page
    by ``taken()``; until then, the same page is returned again."""

    __slots__ = ("_result", "_waits", "passed")

    def __init__(self, result: Any) -> None:
        self._result = result
        self._waits = True
        self.passed = 0  # rows of the confirmed pages

    @property
    def has_more(self) -> bool:
        """True if there are rows after the confirmed ones."""
        return self._waits or getattr(self._result, "has_more_pages", False) is True  # a mock may return any object

    def next(self) -> tuple[tuple[str, ...], Any]:
        """Return the unconfirmed page, or else the next one, if there is one."""
        if not self._is_here():
            self._result.fetch_next_page()
        self._waits = True
        return self._rows()

    async def anext(self) -> tuple[tuple[str, ...], Any]:
        """As :meth:`next`, without blocking the running loop."""
        if not self._is_here():
            await self._result.fetch_next_page_async()
        self._waits = True
        return self._rows()

    def _is_here(self) -> bool:
        """True if a page was fetched and not confirmed."""
        return self._waits or (type(self._result) is ResultSet and bool(self._result._current_rows))

    def taken(self, passed: int) -> None:
        """Confirm the page. *passed*: number of rows up to its end. May be called again after an interrupt."""
        if type(self._result) is ResultSet:
            self._result._current_rows = []
        self.passed = passed
        self._waits = False

    def _rows(self) -> tuple[tuple[str, ...], Any]:
        result = self._result
        if type(result) is not ResultSet:
            return tuple(getattr(result, "column_names", None) or ()), list(getattr(result, "current_rows", result))
        # A copy: its rows are replaced by instances, and after an interrupt the instances are built from the rows
        # again.
        return () if result._plan is None else result._plan.names, list(result.current_rows)


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

    @query_set_method("read")
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

    @query_set_method("read")
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
