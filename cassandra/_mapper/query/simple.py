"""SimpleQuerySet: rows of a table without a model."""

from __future__ import annotations

from typing import Any

from cassandra._base.objects import public

from .base import AbstractQuerySet


@public("cassandra.cqlengine.query")
class ResultObject(dict[str, Any]):
    """A row: a dictionary whose items are attributes, too."""

    def __getattr__(self, item: str) -> Any:
        try:
            return self[item]
        except KeyError:
            raise AttributeError(f"the row has no column {item!r}") from None


@public("cassandra.cqlengine.query")
class SimpleQuerySet(AbstractQuerySet[ResultObject]):
    """Rows of a named table, as :class:`ResultObject`."""

    def _made_of(self, names: tuple[str, ...], rows: Any) -> list[Any]:
        made = []
        for row in rows:
            known = zip(names, row, strict=True) if type(row) is tuple else row
            made.append(ResultObject(known))
            made[-1].update(self._deferred_values)
        return made
