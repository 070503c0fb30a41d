"""Assignments that change a container or a counter instead of replacing it.

Each compares its value with the previous one, or gets an operation, and consists of *parts*: texts with placeholders
and their values. The parts are computed on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

from cassandra._base.cached import cached_property
from cassandra._base.names import escape_name
from cassandra._base.objects import public
from cassandra._mapper.clauses import HOME, AssignmentClause, placeholder, sorted_keys
from cassandra._mapper.columns.containers import List, Map, Set
from cassandra._mapper.columns.counter import Counter

#: Text of a part, with ``{field}`` and ``{0}``, ``{1}`` for its placeholders; and the values of these.
Part = tuple[str, tuple[Any, ...]]

ASSIGN = "{field} = {0}"
ADD = "{field} = {field} + {0}"
REMOVE = "{field} = {field} - {0}"
PREPEND = "{field} = {0} + {field}"
PUT = "{field}[{0}] = {1}"


@public(HOME)
class ContainerUpdateTypeMapMeta(type):
    """Registers each clause by the class of columns that it updates."""

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        if not hasattr(cls, "type_map"):
            cls.type_map: dict[type, Any] = {}
        else:
            cls.type_map[cls.col_type] = cls  # type: ignore[attr-defined]
        super().__init__(name, bases, dct)


@public(HOME)
class ContainerUpdateClause(AssignmentClause, metaclass=ContainerUpdateTypeMapMeta):
    """A change of a container by *operation*; without one, by the difference of *value* and *previous*.

    An operation with an empty value has no parts.
    """

    col_type: ClassVar[type]
    #: Methods by operation.
    _operations: ClassVar[Mapping[str, Callable[[Any], Iterator[Part]]]] = {}

    def __init__(self, field: str, value: Any, operation: str | None = None, previous: Any = None) -> None:
        super().__init__(field, value)
        self.previous = previous
        self._operation = operation

    def _to_do(self) -> Callable[[Any], Iterator[Part]] | None:
        """Return the method of the given operation; None if there is no such operation."""
        return self._operations.get(self._operation) if isinstance(self._operation, str) else None

    def _difference(self) -> Iterator[Part]:
        """Yield the parts if no operation is given."""
        raise NotImplementedError(f"{type(self).__name__} does not implement _difference()")

    def _unchanged(self) -> bool:
        return self.value is None or bool(self.value == self.previous)

    @cached_property
    def _parts(self) -> list[Part]:
        if self._unchanged():
            return []
        operation = self._to_do()
        if operation is None or self.value is None:
            return list(self._difference())
        return list(operation(self)) if self.value else []

    def __unicode__(self) -> str:
        field, number, texts = escape_name(self.field), 0, []
        for text, values in self._parts:
            ids = (self.context_id + i if i else self.context_id for i in range(number, number + len(values)))
            texts.append(text.format(*map(placeholder, ids), field=field))
            number += len(values)
        return ", ".join(texts)

    def get_context_size(self) -> int:
        return sum(len(values) for _, values in self._parts)

    def update_context(self, ctx: dict[str, Any]) -> None:
        values = (value for _, values in self._parts for value in values)
        for i, value in enumerate(values):
            ctx[str(self.context_id + i)] = value


@public(HOME)
class SetUpdateClause(ContainerUpdateClause):
    """``"s" = "s" + %(0)s, "s" = "s" - %(1)s``."""

    col_type = Set

    def _unchanged(self) -> bool:
        return self.previous is not None and super()._unchanged()

    def _difference(self) -> Iterator[Part]:
        if self.previous is None:
            yield ASSIGN, (set() if self.value is None else self.value,)
            return
        if added := self.value - self.previous:
            yield ADD, (added,)
        if removed := self.previous - self.value:
            yield REMOVE, (removed,)

    def _to_add(self) -> Iterator[Part]:
        yield ADD, (self.value,)

    def _to_remove(self) -> Iterator[Part]:
        yield REMOVE, (self.value,)

    _operations = {"add": _to_add, "remove": _to_remove}


@public(HOME)
class ListUpdateClause(ContainerUpdateClause):
    """``"l" = %(0)s + "l", "l" = "l" + %(1)s``, or the whole list if additions do not produce it."""

    col_type = List

    def _difference(self) -> Iterator[Part]:
        start = self._previous_begins_at()
        if start is None:
            yield ASSIGN, (self.value,)
            return
        end = start + len(self.previous)
        if start:
            yield PREPEND, (self.value[:start],)
        if end < len(self.value):
            yield ADD, (self.value[end:],)

    def _previous_begins_at(self) -> int | None:
        """Return the index of the previous list, whole, in the new one; None if it is not there."""
        if not self.previous:
            return None
        size = len(self.previous)
        starts = range(len(self.value) - size + 1)
        return next((start for start in starts if self.value[start : start + size] == self.previous), None)

    def _to_append(self) -> Iterator[Part]:
        yield ADD, (self.value,)

    def _to_prepend(self) -> Iterator[Part]:
        yield PREPEND, (self.value,)

    _operations = {"append": _to_append, "prepend": _to_prepend}


@public(HOME)
class MapUpdateClause(ContainerUpdateClause):
    """``"m"[%(0)s] = %(1)s``, per changed key. Removed keys are deleted by a ``MapDeleteClause``."""

    col_type = Map

    def _unchanged(self) -> bool:
        return self.value is None or (self._to_do() is None and super()._unchanged())

    def _difference(self) -> Iterator[Part]:
        previous = self.previous or {}
        changed = [key for key, value in self.value.items() if previous.get(key) != value]
        if not changed and self.previous is None:
            yield ASSIGN, ({},)
        for key in sorted_keys(changed):
            yield PUT, (key, self.value[key])

    def _to_update(self) -> Iterator[Part]:
        for key, value in self.value.items():
            yield PUT, (key, value)

    def _to_remove(self) -> Iterator[Part]:
        yield REMOVE, (set(self.value),)

    _operations = {"update": _to_update, "remove": _to_remove}

    @property
    def is_assignment(self) -> bool:
        """True if it replaces the map, by an empty one."""
        return any(text is ASSIGN for text, _ in self._parts)


@public(HOME)
class CounterUpdateClause(AssignmentClause):
    """``"c" = "c" + %(0)s``: adds the difference of *value* and *previous*."""

    col_type = Counter

    def __init__(self, field: str, value: int, previous: int | None = None) -> None:
        super().__init__(field, value)
        self.previous = previous or 0

    def update_context(self, ctx: dict[str, Any]) -> None:
        ctx[str(self.context_id)] = abs(self.value - self.previous)

    def __unicode__(self) -> str:
        sign = "-" if self.value < self.previous else "+"
        field = escape_name(self.field)
        return f"{field} = {field} {sign} {placeholder(self.context_id)}"
