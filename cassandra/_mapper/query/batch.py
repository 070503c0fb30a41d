"""BatchQuery: writes that are executed together."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from cassandra._base.names import integer_literal
from cassandra._base.objects import public
from cassandra._mapper.connections import known_connection
from cassandra._mapper.errors import CQLEngineException
from cassandra._mapper.execution.batches import BatchRequest
from cassandra._mapper.execution.steps import arun, run
from cassandra._mapper.statements import BaseCQLStatement, microseconds
from cassandra._session.statements.statement import NOT_SET
from cassandra._session.statements.statement import BatchType as DriversBatchType


@public("cassandra.cqlengine.query")
class BatchType:
    """Types of batches; the default is a logged batch."""

    Unlogged = "UNLOGGED"
    Counter = "COUNTER"


KINDS = {
    "": DriversBatchType.LOGGED,
    "LOGGED": DriversBatchType.LOGGED,
    "UNLOGGED": DriversBatchType.UNLOGGED,
    "COUNTER": DriversBatchType.COUNTER,
}


@public("cassandra.cqlengine.query")
class BatchQuery:
    """Writes that are collected, and executed together at the end of a ``with`` or ``async with`` block.

    Example::

        with BatchQuery() as batch:
            Product.batch(batch).create(id=1)
            Product.objects(id=2).batch(batch).delete()
    """

    #: True if executing a batch twice warns.
    warn_multiple_exec = True

    _consistency: int | None = None
    _connection: Any = None
    _connection_explicit = False
    _joined = False  # True if statements of models are part of it

    def __init__(
        self,
        batch_type: str | None = None,
        timestamp: datetime | timedelta | None = None,
        consistency: int | None = None,
        execute_on_exception: bool = False,
        timeout: Any = NOT_SET,
        connection: Any = None,
    ) -> None:
        """*execute_on_exception*: execute the collected statements also if the block is left by an exception."""
        if timestamp is not None and not isinstance(timestamp, (datetime, timedelta)):
            raise CQLEngineException("timestamp object must be an instance of datetime")
        self.queries: list[Any] = []
        self.batch_type = batch_type
        self.timestamp: datetime | timedelta | None = timestamp
        self._consistency = consistency
        self._execute_on_exception = execute_on_exception
        self._timeout = timeout
        self._callbacks: list[tuple[Callable[..., Any], tuple[Any, ...], Mapping[str, Any]]] = []
        self._executed = False
        self._context_entered = False
        self._connection = connection
        self._connection_explicit = connection is not None

    def add_query(self, query: Any) -> None:
        """Add a statement of ``cassandra.cqlengine.statements``."""
        if not isinstance(query, BaseCQLStatement):
            raise CQLEngineException("only BaseCQLStatements can be added to a batch query")
        self.queries.append(query)

    def _join(self, statement: Any, connection: Any) -> None:
        """Add a statement of a model that uses this connection."""
        if not self._joined or connection != self._connection:
            self._choose(connection)
        self.add_query(statement)

    def _choose(self, connection: Any) -> None:
        """Set the connection of the batch. A statement for one connection must not go to another one because it is in a
        batch. A model without a connection uses the default one, if there is one."""
        if not self._connection_explicit and self._joined and (connection or self._connection):
            found, chosen = known_connection(connection), known_connection(self._connection)
            both = connection and self._connection
            if both or (found is not None and chosen is not None and found is not chosen):
                raise CQLEngineException("BatchQuery queries must be executed on the same connection")
        self._connection = self._connection or connection
        self._joined = True

    def consistency(self, consistency: int | None) -> None:
        self._consistency = consistency

    def add_callback(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call ``fn(*args, **kwargs)`` after the batch was executed."""
        if not callable(fn):
            raise ValueError(f"Value for argument 'fn' is {type(fn)} and is not a callable object.")
        self._callbacks.append((fn, args, kwargs))

    def _execute_callbacks(self) -> None:
        for fn, args, kwargs in self._callbacks:
            fn(*args, **kwargs)

    def execute(self) -> None:
        """Execute the collected statements, and then the callbacks."""
        run(self._executing())

    async def aexecute(self) -> None:
        """As :meth:`execute`, without blocking the running loop."""
        await arun(self._executing())

    def _executing(self) -> Any:
        if self._executed and self.warn_multiple_exec:
            hint = " If using the context manager, it is not necessary to call ``execute()`` directly."
            warnings.warn(f"Batch executed multiple times.{hint if self._context_entered else ''}", stacklevel=4)
        self._executed = True
        if self.queries:
            kind = None if self.timestamp else KINDS.get(str(self.batch_type or "").upper())
            yield BatchRequest(self.queries, kind, self._text, self._consistency, self._timeout, self._connection)
            self.queries = []
        self._execute_callbacks()

    def _text(self) -> tuple[str, dict[str, Any]]:
        """Return all statements as one text, and the values of the placeholders."""
        kind = f"{self.batch_type} " if str(self.batch_type or "LOGGED") != "LOGGED" else ""
        if kind.strip().upper() not in KINDS:
            raise CQLEngineException(f"invalid batch type: {self.batch_type!r}")
        using = ""
        if self.timestamp:
            using = f" USING TIMESTAMP {integer_literal(microseconds(self.timestamp), 'timestamp')}"
        lines = [f"BEGIN {kind} BATCH{using}"]
        context: dict[str, Any] = {}
        for query in self.queries:
            query.update_context_id(len(context))
            context.update(query.get_context())
            lines.append(f"  {query}")
        lines.append("APPLY BATCH;")
        return "\n".join(lines), context

    def __enter__(self) -> BatchQuery:
        self._context_entered = True
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        if exc_type is None or self._execute_on_exception:
            self.execute()

    async def __aenter__(self) -> BatchQuery:
        return self.__enter__()

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        if exc_type is None or self._execute_on_exception:
            await self.aexecute()
