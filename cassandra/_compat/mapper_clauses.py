"""Internal results of clauses, for programs written for another object mapper (L6).

They are aliases in the clauses of ``cassandra.cqlengine.statements``, see ``_base/aliases.py``.
"""

from __future__ import annotations

from typing import Any

from cassandra._mapper.statements import ADD, ASSIGN, PREPEND, PUT, REMOVE


def _part(text: str) -> Any:
    """Return a property for the value of the part of a clause with this text; None if there is none."""

    def find(clause: Any) -> Any:
        return next((values[0] for found, values in clause._parts if found is text), None)

    return property(find)


class ContainerUpdateClause:
    def _analyze(self: Any) -> None:
        self._parts  # noqa: B018

    @property
    def _analyzed(self) -> bool:
        return "_parts" in self.__dict__

    _assignments = _part(ASSIGN)


class SetUpdateClause:
    @property
    def _assignments(self: Any) -> Any:
        return None if self.value is None else next((v[0] for text, v in self._parts if text is ASSIGN), None)

    _additions = _part(ADD)
    _removals = _part(REMOVE)


class ListUpdateClause:
    _append = _part(ADD)
    _prepend = _part(PREPEND)


class MapUpdateClause:
    @property
    def _updates(self: Any) -> list[Any] | None:
        return [values[0] for text, values in self._parts if text is PUT] or ([] if self.is_assignment else None)

    _removals = _part(REMOVE)


class MapDeleteClause:
    def _analyze(self) -> None:
        """Do nothing: there is nothing to precompute."""

    _analyzed = True
