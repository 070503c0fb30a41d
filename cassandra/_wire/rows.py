"""How rows are made (L2): the row factories, and the plan that lets native code make the rows of a built-in one.

A built-in factory is chosen by identity, and ``class_row`` by its type: rows then come out of the decoder in their
final form. Any other callable gets ``(column_names, list_of_tuples)``. ``named_tuple_factory`` caches its classes by
column names, so that a statement that is executed again makes no new class.

Rows of a small page are all made at once. Those of a large one (``LARGE_PAGE`` bytes) are a :class:`PageRows`, which
makes them as they are consumed.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import index as as_index
from typing import Any

from cassandra._base.public import public
from cassandra._base.tuples import row_class
from cassandra._core.codec import LARGE_PAGE, ResultPlan, RowBatches, RowPlan, RowsPage, UnmadeRows, split_page
from cassandra._wire.class_rows import ClassRow
from cassandra._wire.types.registry import type_class

RowFactory = Callable[[list[str], list[Any]], Any]
Rows = Iterable[Sequence[Any]]


@public("cassandra.query")
def tuple_factory(colnames: Sequence[str], rows: Any) -> Any:
    """Rows as plain tuples."""
    return rows


@public("cassandra.query")
def named_tuple_factory(colnames: Sequence[str], rows: Rows) -> list[Any]:
    """Rows as named tuples, the default.

    Names that are no identifiers are cleaned (``count(*)`` is ``count``); what is still none, or is a keyword, is named
    by its position (``field_2_``); a name that comes again gets underscores (``count_``).
    """
    cls = row_class(tuple(colnames))
    return [cls._make(row) for row in rows]


@public("cassandra.query")
def dict_factory(colnames: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    """Rows as dicts."""
    return [dict(zip(colnames, row, strict=True)) for row in rows]


@public("cassandra.query")
def ordered_dict_factory(colnames: Sequence[str], rows: Rows) -> list[Any]:
    """Rows as OrderedDicts."""
    return [OrderedDict(zip(colnames, row, strict=True)) for row in rows]


_KINDS: tuple[tuple[Any, str], ...] = (
    (None, "tuple"),
    (named_tuple_factory, "named"),
    (dict_factory, "dict"),
    (tuple_factory, "tuple"),
    (ordered_dict_factory, "ordered"),
)


def row_plan(result_plan: ResultPlan, factory: RowFactory | None) -> RowPlan | None:
    """The native plan for a built-in *factory* or a class, kept with the result plan; None for any other callable."""
    known = result_plan.row_plan(factory)
    if known is not None:
        return known
    for built_in, kind in _KINDS:
        if factory is built_in:
            cls = row_class(result_plan.names) if kind == "named" else None
            return result_plan.note_row_plan(factory, RowPlan(result_plan, kind, cls))
    if type(factory) is ClassRow:
        maker = factory.maker(result_plan.names)
        return result_plan.note_row_plan(factory, RowPlan(result_plan, "instance", None, maker))
    return None


def decode_page(page: RowsPage, factory: RowFactory | None) -> Any:
    """All rows of a page as *factory* makes them; None gives tuples. Those of a built-in factory are a list, or a
    PageRows when the page is large. DriverException when a value is not what its column says."""
    rows = page.made_by(factory)
    return _first_of_plan(page, factory) if rows is None else rows


def rows_and_page(page: RowsPage, factory: RowFactory | None, at_once: bool) -> tuple[Any, Any]:
    """As :func:`decode_page`, and what is kept of the page for ``kept_page``. Rows may be UnmadeRows unless they are
    wanted *at_once*."""
    how = row_plan(page.plan, factory)
    if how is None or page.nbytes > LARGE_PAGE:
        return decode_page(page, factory), page if page.nbytes > LARGE_PAGE else page.detached()
    rows, kept = split_page(page, how)
    return rows.rows() if at_once and isinstance(rows, UnmadeRows) else rows, kept


def _first_of_plan(page: RowsPage, factory: RowFactory | None) -> Any:
    """What does not go the short way: the first page of a plan, a user's factory, a large page."""
    how = row_plan(page.plan, factory)
    if how is not None:
        return PageRows(page, how) if page.nbytes > LARGE_PAGE else page.decode(how)
    assert factory is not None
    tuples = row_plan(page.plan, None)
    assert tuples is not None
    return factory(list(page.plan.names), page.decode(tuples))


def apply_factory(factory: Callable[[Any, Any], Any] | None, names: list[str] | None, rows: Any) -> Any:
    """What *factory* makes of rows that a protocol handler decoded itself. Columns, which are a dict by name, are left
    as they are by the built-in ones."""
    if factory is None or (isinstance(rows, dict) and any(factory is built_in for built_in, _ in _KINDS)):
        return rows
    return factory(names, rows)


def lazy_rows(page: RowsPage, size: int = 100) -> Iterator[Any]:
    """The rows of *page* as tuples, *size* of them decoded at a time, when the first of them is asked for."""
    how = row_plan(page.plan, None)
    assert how is not None
    return rows_of(page.batches(how, size))


def rows_of(batches: RowBatches) -> Iterator[Any]:
    """The rows of all *batches*. A row that cannot be decoded raises, and so does every call after that: the rows
    behind it are not to be had, and whoever goes on must not take their absence for the end."""
    return chain.from_iterable(_until_broken(batches))


def _until_broken(batches: RowBatches) -> Iterator[Iterable[Any]]:
    """Never raises: chain would take that for the end."""
    while True:
        try:
            batch = next(batches, None)
        except Exception as error:
            yield _Broken(error)
            return
        if batch is None:
            return
        yield batch


class _Broken:
    """An iterator that raises *error* each time."""

    __slots__ = ("_error",)

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __iter__(self) -> "_Broken":
        return self

    def __next__(self) -> Any:
        raise self._error


def column_types(plan: ResultPlan) -> list[Any]:
    """The type classes of a result's columns, found once per plan."""
    types = plan.types
    if types is None:
        types = plan.types = tuple(type_class(codec) for codec in plan.codecs)
    return list(types)


class PageRows(Sequence[Any]):
    """The rows of a large page: a sequence that keeps their bytes and makes rows when they are asked for.

    Iterating decodes in batches of about 256 kB and keeps nothing, so that rows which are dropped cost no memory. Every
    access decodes anew: who needs the rows twice takes ``list(rows)``. Any number of threads may read one.

    A value that is not what its column says raises DriverException when its row is reached, not before, and whenever
    the iterator is asked after that; the rows in front of it can be had.
    """

    __slots__ = ("_how", "_page")

    def __init__(self, page: RowsPage, how: RowPlan) -> None:
        self._page = page
        self._how = how

    def __len__(self) -> int:
        return len(self._page)

    def batches(self) -> RowBatches:
        """The rows as lists, each decoded when it is asked for."""
        return self._page.batches(self._how)

    def __iter__(self) -> Iterator[Any]:
        return rows_of(self.batches())

    def __reversed__(self) -> Iterator[Any]:
        yield from self[::-1]

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            at = as_index(index)
            found = range(len(self))[at : at + 1 or None]
            if not found:
                raise IndexError(f"a page of {len(self)} rows has no row {at}")
            return self._page.decode(self._how, found[0], found[0] + 1)[0]
        chosen = range(len(self))[index]
        if not chosen:
            return []
        low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
        rows = self._page.decode(self._how, low, high + 1)
        return rows if chosen.step == 1 else rows[:: chosen.step]

    def __eq__(self, other: object) -> bool:
        """As lists: the same rows in the same order."""
        if not isinstance(other, (list, PageRows)):
            return NotImplemented
        return len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> list[Any]:
        return [*other, *self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)

    def __repr__(self) -> str:
        return f"<PageRows: {len(self)} rows in {self._page.nbytes} bytes>"


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)
