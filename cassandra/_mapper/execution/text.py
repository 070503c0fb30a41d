"""Statements executed by text, with literals in place of placeholders.

A statement is executed by text if

* the session is not a session of the driver, or a program has replaced its ``execute`` or
  ``cassandra.cqlengine.connection.execute``, to see the executed statements;
* ``CQLENG_PREPARE=0`` is set;
* the server does not prepare it, or a value cannot be bound: then the server reports the error.
"""

from __future__ import annotations

import os
from typing import Any

from cassandra._base.constants import ProtocolVersion
from cassandra._base.objects import public
from cassandra._core.models import Untouched
from cassandra._mapper import connections
from cassandra._mapper.errors import CQLEngineException, ValidationError
from cassandra._mapper.statements import BaseCQLStatement
from cassandra._session.session import Session
from cassandra._session.statements.statement import NOT_SET, SimpleStatement
from cassandra._wire.rows import dict_factory

#: Check for sessions of the driver whose ``execute`` and ``execute_async`` are not replaced.
PLAIN = Untouched(Session, ("execute", "execute_async"))

#: True if statements are prepared; the variable is read once per process.
PREPARING = os.environ.get("CQLENG_PREPARE", "1") != "0"


def can_prepare(session: Any) -> bool:
    """True for a session of the driver if no ``execute`` was replaced (see the module) and preparing is enabled."""
    return PREPARING and executed_by is execute and PLAIN.of(session)


def check_rounding(error: Exception) -> None:
    """Raise ValidationError if a number that could not be bound is out of the range of its column: servers read its
    literal as infinity."""
    if "floating point" in str(error):  # for an element of a collection it is a TypeError
        raise ValidationError(str(error)) from error


def by_text(query: Any, context: Any, consistency: int | None, timeout: Any, connection: Any) -> Any:
    """Execute *query* by the current ``cassandra.cqlengine.connection.execute``, and return its result."""
    return executed_by(query, context, consistency, timeout=timeout, connection=connection)


async def by_text_async(session: Any, query: Any, context: Any, consistency: int | None, timeout: Any) -> Any:
    """As :func:`by_text`, without blocking the running loop."""
    if not hasattr(session, "execute_async"):
        raise CQLEngineException(f"{session!r} has no execute_async(): it cannot be awaited")
    if isinstance(query, str):
        query = SimpleStatement(query, consistency_level=consistency)
    future = session.execute_async(query, context, **({} if timeout is NOT_SET else {"timeout": timeout}))
    future.row_factory = dict_factory
    return await future


def simple(model: Any, statement: BaseCQLStatement, consistency: int | None, session: Any) -> SimpleStatement:
    """Return *statement* as a ``SimpleStatement`` of the driver."""
    return SimpleStatement(
        str(statement),
        consistency_level=consistency,
        fetch_size=statement.fetch_size,
        **_routing_of(model, statement, session),
    )


def _routing_of(model: Any, statement: Any, session: Any) -> dict[str, Any]:
    """Return routing key and keyspace if the statement sets the whole partition key; otherwise an empty dictionary."""
    places = getattr(model, "_partition_key_index", None)
    if not places or not model.__compute_routing_key__:
        return {}
    values = statement.partition_key_values(places)
    if any(value is None for value in values):
        return {}
    try:
        parts = model._routing_key_from_values(values, session.cluster.protocol_version)
    except Exception:  # invalid values: the server reports the error
        return {}
    keyspace, version = model._get_keyspace(), session.cluster.protocol_version
    if keyspace != getattr(session, "keyspace", None) and not ProtocolVersion.uses_keyspace_flag(version):
        return {"routing_key": parts}  # this protocol version cannot send a keyspace; the text contains it
    return {"routing_key": parts, "keyspace": keyspace}


@public("cassandra.cqlengine.connection")
def execute(
    query: Any,
    params: Any = None,
    consistency_level: int | None = None,
    timeout: Any = NOT_SET,
    connection: Any = None,
) -> Any:
    """Execute *query* (a text, a statement of the driver or one of ``cassandra.cqlengine.statements``), and return its
    ``ResultSet``. *connection* is the name of a connection."""
    found = connections.get_connection(connection)
    if found.session is None:
        raise CQLEngineException("It is required to setup() cqlengine before executing queries")
    if isinstance(query, BaseCQLStatement):
        params = query.get_context()
        query = SimpleStatement(str(query), consistency_level=consistency_level, fetch_size=query.fetch_size)
    elif isinstance(query, str):
        query = SimpleStatement(query, consistency_level=consistency_level)
    return found.session.execute(query, params, timeout=timeout)


#: Current function for execution by text: ``cassandra.cqlengine.connection.execute``, or a program's replacement.
executed_by: Any = execute
