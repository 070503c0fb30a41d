"""Construction of rows (L2): the row factories, and row plans, by which native code makes the rows of built-in ones.

A built-in factory is recognised by identity, and ``class_row`` by its type: the decoder then makes rows in their final
form. Any other callable is called with ``(column_names, list_of_tuples)``. ``named_tuple_factory`` caches its classes
by column names, so that repeated execution of a statement makes no new class.

Rows of a small page are all made at once. Those of a large one (``LARGE_PAGE`` bytes) are a :class:`PageRows`, which
makes them as they are consumed.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import index as as_index
from typing import Any

from cassandra._base.objects import public
from cassandra._base.tuples import row_class
from cassandra._core.codec import (
    LARGE_PAGE,
    LazyRows,
    ResultPlan,
    RowBatches,
    RowPlan,
    RowsOfBatches,
    RowsPage,
    explain_rows,
    named_rows,
    split_page,
)
from cassandra._wire.class_rows import ClassRow, class_row
from cassandra._wire.types.registry import type_class

RowFactory = Callable[[list[str], list[Any]], Any]
Rows = Iterable[Sequence[Any]]

row_class.complete = explain_rows


@public("cassandra.query")
def tuple_factory(colnames: Sequence[str], rows: Any) -> Any:
    """Return rows as plain tuples."""
    return rows


@public("cassandra.query")
def named_tuple_factory(colnames: Sequence[str], rows: Rows) -> list[Any]:
    """Return rows as named tuples, the default.

    Names that are not identifiers are cleaned (``count(*)`` becomes ``count``); a name that is still not an identifier,
    or is a keyword, is replaced by its position (``field_2_``); a repeated name gets underscores (``count_``).
    """
    return named_rows(row_class(tuple(colnames)), rows)


@public("cassandra.query")
def dict_factory(colnames: Sequence[str], rows: Rows) -> list[dict[str, Any]]:
    """Return rows as dicts."""
    return [dict(zip(colnames, row, strict=True)) for row in rows]


@public("cassandra.query")
def ordered_dict_factory(colnames: Sequence[str], rows: Rows) -> list[Any]:
    """Return rows as OrderedDicts."""
    return [OrderedDict(zip(colnames, row, strict=True)) for row in rows]


_KINDS: tuple[tuple[Any, str], ...] = (
    (None, "tuple"),
    (named_tuple_factory, "named"),
    (dict_factory, "dict"),
    (tuple_factory, "tuple"),
    (ordered_dict_factory, "ordered"),
)


def row_plan(result_plan: ResultPlan, factory: RowFactory | None) -> RowPlan | None:
    """Return the row plan for a built-in *factory* or a class, cached in the result plan; None for other callables."""
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
    """Return all rows of a page as made by *factory*; tuples for None. Rows of a built-in factory are a list, or a
    PageRows if the page is large. Raise DriverException if a value is not valid for the type of its column."""
    rows = page.made_by(factory)
    return _first_of_plan(page, factory) if rows is None else rows


def rows_and_page(page: RowsPage, factory: RowFactory | None, at_once: bool) -> tuple[Any, Any]:
    """Return the rows as :func:`decode_page` does, and the retained page for ``retained_page``. Rows may be LazyRows,
    unless *at_once* is true."""
    conversion = row_plan(page.plan, factory)
    if conversion is None or page.nbytes > LARGE_PAGE:
        return decode_page(page, factory), page if page.nbytes > LARGE_PAGE else page.detached()
    rows, kept = split_page(page, conversion)
    return rows.rows() if at_once and isinstance(rows, LazyRows) else rows, kept


def _first_of_plan(page: RowsPage, factory: RowFactory | None) -> Any:
    """Return the rows of a page outside the fast path: the first page of a plan, a user's factory, a large page."""
    conversion = row_plan(page.plan, factory)
    if conversion is not None:
        return PageRows(page, conversion) if page.nbytes > LARGE_PAGE else page.decode(conversion)
    assert factory is not None
    tuples = row_plan(page.plan, None)
    assert tuples is not None
    return _made_by(factory, list(page.plan.names), page.decode(tuples))


def _made_by(factory: Any, names: list[str], rows: Any) -> Any:
    """Call a row factory of a program. A class of rows in its place is a mistake: TypeError."""
    if isinstance(factory, type) and _is_row_class(factory, names):
        raise TypeError(_no_factory(factory))
    try:
        return factory(names, rows)
    except TypeError as error:
        if factory is class_row:
            raise TypeError("row_factory=class_row lacks the class of the rows: use class_row(YourClass)") from None
        if isinstance(factory, type) and error.__traceback__ is not None and error.__traceback__.tb_next is None:
            raise TypeError(f"{_no_factory(factory)} ({error})") from None
        raise


def _is_row_class(cls: type, names: list[str]) -> bool:
    """True if the fields of *cls* are the columns of the result, so that its instances are rows, not pages of rows."""
    fields: Any = getattr(cls, "__annotations__", None) or getattr(cls, "_fields", ())
    return bool(names) and len(names) == len(fields) and set(names) == set(fields)


def _no_factory(cls: type) -> str:
    return (
        f"row_factory should be callable with column names and rows, not the class {cls.__qualname__}: "
        f"use class_row({cls.__qualname__}) for rows of this class, dict_factory for dicts"
    )


def apply_factory(factory: Callable[[Any, Any], Any] | None, names: list[str] | None, rows: Any) -> Any:
    """Call *factory* with rows that a protocol handler decoded itself, and return the result. Columns, a dict by name,
    are returned unchanged for a built-in factory."""
    if factory is None or (isinstance(rows, dict) and any(factory is built_in for built_in, _ in _KINDS)):
        return rows
    return factory(names, rows)


def lazy_rows(page: RowsPage, size: int = 100) -> Iterator[Any]:
    """Return an iterator over the rows of *page* as tuples, which decodes *size* rows at a time on demand."""
    conversion = row_plan(page.plan, None)
    assert conversion is not None
    return rows_of(page.batches(conversion, size))


def rows_of(batches: RowBatches) -> Iterator[Any]:
    """Return an iterator over the rows of all *batches*."""
    return RowsOfBatches(batches)


def column_types(plan: ResultPlan) -> list[Any]:
    """Return the type classes of a result's columns, looked up once per plan."""
    types = plan.types
    if types is None:
        types = plan.types = tuple(type_class(codec) for codec in plan.codecs)
    return list(types)


class PageRows(Sequence[Any]):
    """The rows of a large page: a sequence that retains their bytes and makes rows on access.

    Iteration decodes in batches of about 256 kB and caches no rows, so that discarded rows use no memory. Every access
    decodes again: programs that need the rows twice use ``list(rows)``. Any number of threads may read one.

    A value that is not valid for the type of its column raises DriverException when its row is reached, not before, and
    at every later step of the iterator; the rows before it can be read.
    """

    __slots__ = ("_conversion", "_page")

    def __init__(self, page: RowsPage, conversion: RowPlan) -> None:
        self._page = page
        self._conversion = conversion

    def __len__(self) -> int:
        return len(self._page)

    def batches(self) -> RowBatches:
        """Return an iterator over lists of rows, each decoded on demand."""
        return self._page.batches(self._conversion)

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
            return self._page.decode(self._conversion, found[0], found[0] + 1)[0]
        chosen = range(len(self))[index]
        if not chosen:
            return []
        low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
        rows = self._page.decode(self._conversion, low, high + 1)
        return rows if chosen.step == 1 else rows[:: chosen.step]

    def __eq__(self, other: object) -> bool:
        """Compare as lists: the same rows in the same order."""
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
