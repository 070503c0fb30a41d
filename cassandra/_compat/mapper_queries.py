"""Names of query sets and writes that packages with an awaitable object mapper (aiocqlengine) use (L6).

They execute the statement of a query set themselves and assign its rows, which are dictionaries, to the query set for
iteration. These names are aliases in ``cassandra.cqlengine.query``; query sets do not use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cassandra._mapper.conditions import name_and_operator
from cassandra._mapper.execution import run


class _Given:
    """Pages of rows that were read elsewhere: one page with all rows."""

    has_more = True
    passed = 0

    def __init__(self, rows: Iterator[Mapping[str, Any]]) -> None:
        self.rows = rows
        self._read: list[Mapping[str, Any]] | None = None

    def next(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        if self._read is None:
            self._read = list(self.rows)
        names = tuple(self._read[0]) if self._read else ()
        return names, [tuple(row.values()) for row in self._read]

    async def anext(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        return self.next()

    def taken(self, passed: int) -> None:
        self._read = []
        self.passed = passed
        self.has_more = False


class _ResultGenerator:
    def __get__(self, queryset: Any, owner: Any = None) -> Any:
        if queryset is None:
            return self
        return getattr(queryset._pages, "rows", None)

    def __set__(self, queryset: Any, rows: Iterator[Mapping[str, Any]]) -> None:
        queryset._pages = _Given(rows)


class AbstractQuerySet:
    """Aliases of ``cassandra.cqlengine.query.AbstractQuerySet``."""

    _result_generator = _ResultGenerator()
    #: True if all rows have to be read at once.
    _materialize_results = False

    def _get_result_constructor(self) -> Any:
        """Return the constructor of results. The driver does not call it, as it makes the results of a page at once."""
        return dict

    def _maybe_inject_deferred(self, constructor: Any) -> Any:
        return constructor

    def _parse_filter_arg(self, arg: str) -> tuple[str, str | None]:
        """Split ``name__operator`` into the column and the operator, None if there is none."""
        return name_and_operator(arg)


class DMLQuery:
    """Aliases of ``cassandra.cqlengine.query.DMLQuery``."""

    def _delete_null_columns(self: Any, conditionals: Any = None) -> None:
        """Delete values that were set to null."""
        run(self._deleting_nulls(conditionals))
