"""What packages that make the object mapper awaitable by themselves (aiocqlengine) call of query sets and writes (L6).

They execute the statement of a query set in their own way and put its rows, which are dictionaries, where iterating
finds them. ``cassandra.cqlengine.query`` lends these names; query sets know nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cassandra._mapper.execution.steps import run
from cassandra._mapper.query.filters import name_and_operator


class _Given:
    """Pages of rows that somebody else has read: one, with all of them."""

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
    """Of ``cassandra.cqlengine.query.AbstractQuerySet``."""

    _result_generator = _ResultGenerator()
    #: Whether all rows have to be read at once.
    _materialize_results = False

    def _get_result_constructor(self) -> Any:
        """What makes of a row what the query set has; nobody calls it, as that is done for a page at a time."""
        return dict

    def _maybe_inject_deferred(self, constructor: Any) -> Any:
        return constructor

    def _parse_filter_arg(self, arg: str) -> tuple[str, str | None]:
        """The column, and the operator if it has one, of ``name__operator``."""
        return name_and_operator(arg)


class DMLQuery:
    """Of ``cassandra.cqlengine.query.DMLQuery``."""

    def _delete_null_columns(self: Any, conditionals: Any = None) -> None:
        """Delete values that were made null."""
        run(self._deleting_nulls(conditionals))
