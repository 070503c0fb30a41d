"""How rows are made (L2): the row factories, and the plan that lets native code make the rows of a built-in one.

A built-in factory is chosen by identity: rows then come out of the decoder in their final form. Any other callable
gets ``(column_names, list_of_tuples)``. ``named_tuple_factory`` caches its classes by column names, so that a statement
that is executed again makes no new class.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cassandra._base.public import public
from cassandra._base.tuples import row_class
from cassandra._core.codec import ResultPlan, RowPlan, RowsPage

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


_KINDS: dict[Any, str] = {
    None: "tuple",
    tuple_factory: "tuple",
    named_tuple_factory: "named",
    dict_factory: "dict",
    ordered_dict_factory: "ordered",
}


def row_plan(result_plan: ResultPlan, factory: RowFactory | None) -> RowPlan | None:
    """The native plan for a built-in *factory*, kept with the result plan; None for any other callable."""
    kind = _kind(factory)
    return None if kind is None else _planned(result_plan, kind)


def decode_page(page: RowsPage, factory: RowFactory | None) -> Any:
    """All rows of a page as *factory* makes them; None gives tuples."""
    kind = _kind(factory)
    if kind is None and factory is not None:
        return factory(list(page.plan.names), page.decode(_planned(page.plan, "tuple")))
    return page.decode(_planned(page.plan, kind or "tuple"))


def _kind(factory: RowFactory | None) -> str | None:
    try:
        return _KINDS.get(factory)
    except TypeError:  # an unhashable callable
        return None


def _planned(result_plan: ResultPlan, kind: str) -> RowPlan:
    plans = result_plan.extra
    if plans is None:
        plans = result_plan.extra = {}
    plan: RowPlan | None = plans.get(kind)
    if plan is None:
        cls = row_class(result_plan.names) if kind == "named" else None
        plan = plans[kind] = RowPlan(result_plan, kind, cls)
    return plan
