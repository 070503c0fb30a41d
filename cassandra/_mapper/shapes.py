"""Shapes of statements: the text with ``?`` is built once, and prepared once per session.

A :class:`Shape` is a text and the order of its values, independent of sessions. A :class:`Prepared` belongs to one
session and contains its prepared statements by shape; it is stored in the session. Both are bounded, so that programs
that put values into texts do not fill memory. There are no locks: if two threads prepare the same shape, the results
are equal.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._core.models import Statements
from cassandra._session.statements.statement import FETCH_SIZE_UNSET, Sentinel

from .clauses import InQuoter
from .statements import BaseCQLStatement

if TYPE_CHECKING:
    from cassandra._session.cluster import Cluster
    from cassandra._session.session import Session
    from cassandra._session.statements.prepared import PreparedStatement

#: Limits of cached shapes, and of prepared statements per session.
SHAPES_KEPT = 2048
PREPARED_KEPT = 1024

#: Attribute of a session that contains its :class:`Prepared`.
PREPARED = "_shapes"

PLACEHOLDER = re.compile(r"%\((\w+)\)s")
NUMBER = r" (-?\d+)(?=$| )"


class Shape:
    """CQL with ``?``, and the keys of the context whose values are bound, in the order of the text."""

    __slots__ = ("cql", "is_conditional", "keys", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_conditional = has_condition(text)
        self.keys = tuple(PLACEHOLDER.findall(text))
        self.cql = PLACEHOLDER.sub("?", text)

    def __repr__(self) -> str:
        return f"<Shape {self.cql}>"

    def values(self, context: Mapping[str, Any]) -> list[Any]:
        """Return the values to bind, from the context of a statement."""
        return [bindable(context[key]) for key in self.keys]


def has_condition(text: str) -> bool:
    """True if the statement is conditional; also for names that contain " IF ", which is harmless."""
    return " IF " in text


def bindable(value: Any) -> Any:
    return list(value.value) if isinstance(value, InQuoter) else value


_shapes: dict[str, Shape] = {}


def shape_of(text: str) -> Shape:
    """Return the shape of a text with named placeholders."""
    shape = _shapes.get(text)
    if shape is None:
        shape = _shapes[text] = Shape(text)
        if len(_shapes) > SHAPES_KEPT:
            _forget_oldest(_shapes)
    return shape


def _forget_oldest(known: dict[Any, Any]) -> None:
    for key in list(known)[: len(known) // 4]:
        known.pop(key, None)


def shape_and_values(statement: Any) -> tuple[Shape, list[Any]]:
    """Return shape and values of a statement. Numbers in its text that may vary (TTL, timestamp, limit) are bound,
    too."""
    if type(statement) is WrittenLater:
        return statement.shape, statement.values
    text, context = str(statement), statement.get_context()
    for keyword, value in (
        ("USING TTL", getattr(statement, "ttl", None)),
        ("TIMESTAMP", statement.timestamp_normalized),
        ("LIMIT", getattr(statement, "limit", None)),
    ):
        if value and type(value) is int:
            key = keyword.rpartition(" ")[2].lower()
            head, found, tail = text.rpartition(f"{keyword} {value}")
            if found:
                text = f"{head}{keyword} %({key})s{tail}"
                context[key] = value
    shape = shape_of(text)
    return shape, shape.values(context)


class Prepared(Statements):
    """Prepared statements of one session, by shape, consistency and fetch size."""

    __slots__ = ("_refused",)

    statements: dict[Any, PreparedStatement]

    def __init__(self) -> None:
        self._refused: set[Shape] = set()

    def __len__(self) -> int:
        return len(self.statements)

    def find(
        self, shape: Shape, consistency: int | None = None, fetch_size: Any = FETCH_SIZE_UNSET
    ) -> PreparedStatement | None:
        """Return the prepared statement, unless its table was recreated with columns of other types."""
        found = self.statements.get(_key(shape, consistency, fetch_size))
        return None if found is None or found._outdated is not None else found

    def forget(self, shape: Shape, consistency: int | None, fetch_size: Any) -> None:
        """Remove it, so that the next use prepares again: the server accepted values that could not be bound."""
        self.statements.pop(_key(shape, consistency, fetch_size), None)

    def takes(self, shape: Shape) -> bool:
        """True unless the server has refused to prepare it."""
        return shape not in self._refused

    def refuse(self, shape: Shape) -> None:
        """Record that the server does not prepare it; it is executed by text."""
        if len(self._refused) >= PREPARED_KEPT:
            self._refused.clear()
        self._refused.add(shape)

    def add(
        self,
        shape: Shape,
        statement: PreparedStatement,
        consistency: int | None = None,
        fetch_size: Any = FETCH_SIZE_UNSET,
    ) -> PreparedStatement:
        """Cache a prepared statement. Its options are set once, so that an execute plan can be compiled for it."""
        if consistency is not None or not isinstance(fetch_size, Sentinel):
            statement = copy.copy(statement)
            statement.consistency_level = consistency
            if not isinstance(fetch_size, Sentinel):
                statement.fetch_size = fetch_size
        if len(self.statements) >= PREPARED_KEPT:
            _forget_oldest(self.statements)
        self.statements[_key(shape, consistency, fetch_size)] = statement
        return statement


def forget_prepared(cluster: Cluster) -> None:
    """Drop the prepared statements: a type was altered, and they would omit its new fields."""
    for session in list(cluster.sessions):
        session.__dict__.pop(PREPARED, None)
        session.keep(None)


def _key(shape: Shape, consistency: int | None, fetch_size: Any) -> Any:
    return shape if consistency is None and fetch_size is FETCH_SIZE_UNSET else (shape, consistency, fetch_size)


def prepared_of(session: Session) -> Prepared:
    """Return the prepared statements of *session*."""
    found = session.__dict__.get(PREPARED)
    if found is None:
        found = session.__dict__.setdefault(PREPARED, Prepared())
    return found  # type: ignore[no-any-return]


class WrittenLater(BaseCQLStatement):
    """A statement with known shape and values: *write* builds it when it is accessed."""

    def __init__(self, shape: Shape, values: list[Any], write: Callable[[], BaseCQLStatement]) -> None:
        self.shape = shape
        self.values = values
        self._write = write

    def __getattr__(self, name: str) -> Any:
        if name == "_written":
            self._written = self._write()
            return self._written
        return getattr(self._written, name)

    @property
    def timestamp_normalized(self) -> int | None:
        return self._written.timestamp_normalized

    def get_context(self) -> dict[str, Any]:
        return self._written.get_context()

    def update_context_id(self, i: int) -> None:
        self._written.update_context_id(i)

    def partition_key_values(self, field_index_map: Mapping[str, int]) -> list[Any]:
        return self._written.partition_key_values(field_index_map)

    def add_where(self, column: Any, operator: Any, value: Any, quote_field: bool = True) -> None:
        raise TypeError("the statement is complete")

    def add_conditional_clause(self, clause: Any) -> None:
        raise TypeError("the statement is complete")

    def __unicode__(self) -> str:
        return str(self._written)
