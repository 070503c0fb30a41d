"""Writes of instances, each alone (:class:`DMLQuery`) or many together (:class:`BatchQuery`).

The statements of a write come from the plan of the model (``plans``). ``save()`` and ``update()`` of an instance
execute them without a :class:`DMLQuery`, unless the model, or a program, overrides one of its methods.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from cassandra._base.names import integer_literal
from cassandra._base.objects import public
from cassandra._core.models import Write
from cassandra._session.statements.statement import NOT_SET
from cassandra._session.statements.statement import BatchType as DriversBatchType

from .connections import known_connection
from .errors import CQLEngineException
from .execution import BatchRequest, DeferredStatement, Request, arun, run
from .statements import BaseCQLStatement, microseconds

#: Types of batches of the driver, by their names in CQL.
KINDS = {
    "": DriversBatchType.LOGGED,
    "LOGGED": DriversBatchType.LOGGED,
    "UNLOGGED": DriversBatchType.UNLOGGED,
    "COUNTER": DriversBatchType.COUNTER,
}


# ---- writes that are executed together


@public("cassandra.cqlengine.query")
class BatchType:
    """Types of batches; the default is a logged batch."""

    Unlogged = "UNLOGGED"  #: A batch that may be executed in part.
    Counter = "COUNTER"  #: A batch of changes of counters.


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
        self.queries: list[Any] = []  #: Statements of the batch so far.
        self.batch_type = batch_type  #: Kind of the batch, a :class:`BatchType`; None for a logged one.
        self.timestamp: datetime | timedelta | None = timestamp  #: Write time of its statements.
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
        """Set the consistency level of the batch."""
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


# ---- writes of one instance


@public("cassandra.cqlengine.query")
class DMLQuery:
    """Writes one instance: its changes, and its nulls."""

    _ttl: int | None = None
    _consistency: int | None = None
    _timestamp: Any = None
    _if_not_exists = False
    _if_exists = False

    def __init__(
        self,
        model: Any,
        instance: Any = None,
        batch: BatchQuery | None = None,
        ttl: int | None = None,
        consistency: int | None = None,
        timestamp: Any = None,
        if_not_exists: bool = False,
        conditional: Any = None,
        timeout: Any = NOT_SET,
        if_exists: bool = False,
    ) -> None:
        self.model = model  #: The model.
        self.instance = instance  #: The instance.
        self._batch = batch
        self._ttl = ttl
        self._consistency = consistency
        self._timestamp = timestamp
        self._if_not_exists = if_not_exists
        self._if_exists = if_exists
        self._conditional = conditional
        self._timeout = timeout

    @property
    def column_family_name(self) -> str:
        """Name of the table in CQL."""
        return str(self.model.column_family_name())

    def batch(self, batch_obj: BatchQuery | None) -> DMLQuery:
        """Make writes part of this batch."""
        if batch_obj is not None and not isinstance(batch_obj, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        self._batch = batch_obj
        return self

    def save(self) -> None:
        """Insert the row, or update it if it exists already."""
        run(self.saving())

    async def asave(self) -> None:
        """Do as :meth:`save`, without blocking the running loop."""
        await arun(self.saving())

    def update(self) -> None:
        """Write only the changes."""
        run(self.updating())

    async def aupdate(self) -> None:
        """Do as :meth:`update`, without blocking the running loop."""
        await arun(self.updating())

    def delete(self) -> None:
        """Delete the row."""
        run(self.deleting())

    async def adelete(self) -> None:
        """Do as :meth:`delete`, without blocking the running loop."""
        await arun(self.deleting())

    # ---- steps

    def _execute(self, statement: Any) -> Request | None:
        """Return the request of a write; None if it is part of a batch."""
        connection = self.instance._get_connection() if self.instance is not None else self.model._get_connection()
        if self._batch is not None:
            self._batch._join(statement, connection)
            return None
        conditional = bool(self._if_not_exists or self._if_exists or self._conditional)
        return Request(self.model, statement, self._consistency, self._timeout, connection, conditional=conditional)

    def _of_instance(self) -> Any:
        if self.instance is None:
            raise CQLEngineException("DML Query instance attribute is None")
        assert type(self.instance) is self.model, f"{self.instance!r} is not an instance of {self.model.__name__}"
        return self.instance

    def _executing(self, writes: Iterable[Write]) -> Any:
        for write in writes:
            if (request := self._execute(DeferredStatement(write))) is not None:
                yield request

    def saving(self) -> Any:
        """Yield the steps of :meth:`save`."""
        instance = self._of_instance()
        return self._executing(self.model._plan.saves(instance, {**vars(self)}, instance._can_update()))

    def updating(self) -> Any:
        """Yield the steps of :meth:`update`."""
        instance = self._of_instance()
        return self._executing(self.model._plan.updates(instance, {**vars(self)}, instance._can_update()))

    def deleting(self) -> Any:
        """Yield the steps of :meth:`delete`."""
        return self._executing([self.model._plan.deletes(self._of_instance(), {**vars(self)})])

    def _deleting_nulls(self, conditions: Any) -> Any:
        return self._executing(self.model._plan.deletes_nulls(self._of_instance(), {**vars(self)}, conditions))
