"""Execution of statements, prepared or by text, on a blocking thread or in a task: no other file executes any.

A :class:`Request` executes one statement, a :class:`BatchRequest` many as one batch. Sequences of requests are
generators that yield requests and receive their results. Each sequence is written once; :func:`run` and :func:`arun`
differ in how they wait. An :class:`Explanation` describes the execution of a request: CQL, parameters, target hosts.

A :class:`Shape` is the text of a statement with ``?``, built once, and the order of its values, independent of
sessions. A :class:`PreparedCache` belongs to one session and contains its prepared statements by shape, each prepared
once; it is stored in the session. Both are bounded, so that programs that put values into texts do not fill memory.
There are no locks: if two threads prepare the same shape, the results are equal.

A statement is executed by text, with literals in place of placeholders, if

* the session is not a session of the driver, or a program has replaced its ``execute`` or
  ``cassandra.cqlengine.connection.execute``, to see the executed statements;
* ``CQLENG_PREPARE=0`` is set;
* the server does not prepare it, or a value cannot be bound: then the server reports the error.

Conditional writes (lightweight transactions) are not older than the plain writes before them. Cassandra gives a
conditional write whole milliseconds of its own clock as its timestamp (a Paxos ballot), while a plain write has
microseconds of the client's clock. A conditional write executed in the same millisecond as a plain write of the same
row is therefore older: it is applied, and has no effect. So a conditional write that would be sent in the millisecond
of the last plain write waits for the next millisecond. Reads have timestamps, too, and cause the same wait: telling
them apart would cost every request. If the clocks of servers and clients differ by more than that, the client cannot
correct it.
"""

from __future__ import annotations

import copy
import os
import re
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cassandra._base.constants import ProtocolVersion
from cassandra._base.display import rich_display
from cassandra._base.errors import DriverException, InvalidRequest
from cassandra._base.objects import public
from cassandra._base.server_errors import SyntaxException
from cassandra._core.models import PreparedEntry, ReadyStatements, Statements, UnmodifiedMethods, Write
from cassandra._session.session import Session
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.statement import FETCH_SIZE_UNSET, NOT_SET, BatchType, Sentinel, SimpleStatement
from cassandra._wire.rows import dict_factory, tuple_factory

from . import connections
from .clauses import InQuoter
from .connections import DEFAULT_CONNECTION, get_connection_async, get_session
from .display import explanation_tables
from .errors import CQLEngineException, LWTException, ValidationError
from .statements import BaseCQLStatement

if TYPE_CHECKING:
    from cassandra._session.cluster import Cluster
    from cassandra._session.statements.prepared import PreparedStatement

T = TypeVar("T")
Steps = Generator[Any, Any, T]

#: Check for sessions of the driver whose ``execute`` and ``execute_async`` are not replaced.
PLAIN = UnmodifiedMethods(Session, ("execute", "execute_async"))

#: True if statements are prepared; the variable is read once per process.
PREPARING = os.environ.get("CQLENG_PREPARE", "1") != "0"

#: Limits of cached shapes, and of prepared statements per session.
SHAPES_KEPT = 2048
PREPARED_KEPT = 1024

#: Attribute of a session that contains its :class:`PreparedCache`.
PREPARED = "_shapes"

PLACEHOLDER = re.compile(r"%\((\w+)\)s")

#: Errors of servers that do not prepare a statement; it is executed by text.
REFUSED = (InvalidRequest, SyntaxException)

#: Batches of more statements are sent by text: the protocol allows no more.
MOST = 0xFFFF

#: Limit of attempts, so that a stopped clock does not block a write forever.
TRIES = 64


# ---- statements by text


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


# ---- shapes, and their prepared statements


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
    if type(statement) is DeferredStatement:
        return statement.write.shape, statement.write.values
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


class Entry(PreparedEntry):
    """A prepared statement of :class:`PreparedCache`."""

    __slots__ = ()

    def is_ready(self) -> bool:
        self.plans = self.statement._plans
        return self.statement._outdated is None


class PreparedCache(Statements):
    """Prepared statements of one session, by shape, consistency and fetch size."""

    __slots__ = ("_refused",)

    def __init__(self) -> None:
        self._refused: set[Shape] = set()

    def __len__(self) -> int:
        return len(self.statements)

    def find(
        self, shape: Shape, consistency: int | None = None, fetch_size: Any = FETCH_SIZE_UNSET
    ) -> PreparedStatement | None:
        """Return the prepared statement, unless its table was recreated with columns of other types."""
        found = self.statements.get(_key(shape, consistency, fetch_size))
        return None if found is None or found.statement._outdated is not None else found.statement

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
        self.statements[_key(shape, consistency, fetch_size)] = Entry(statement, statement._plans)
        return statement


def forget_prepared(cluster: Cluster) -> None:
    """Drop the prepared statements: a type was altered, and they would omit its new fields."""
    for session in list(cluster.sessions):
        session.__dict__.pop(PREPARED, None)
        session._keep(None)


def _key(shape: Shape, consistency: int | None, fetch_size: Any) -> Any:
    return shape if consistency is None and fetch_size is FETCH_SIZE_UNSET else (shape, consistency, fetch_size)


def prepared_cache_of(session: Session) -> PreparedCache:
    """Return the prepared statements of *session*."""
    found = session.__dict__.get(PREPARED)
    if found is None:
        found = session.__dict__.setdefault(PREPARED, PreparedCache())
    return found  # type: ignore[no-any-return]


class DeferredStatement(BaseCQLStatement):
    """A statement that writes an instance: its shape and values are known, its text is composed if it is needed."""

    _written: BaseCQLStatement

    def __init__(self, write: Write) -> None:
        self.write = write

    def __getattr__(self, name: str) -> Any:
        if name == "_written":
            self._written = self.write.statement()
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


# ---- conditional writes


@public("cassandra.cqlengine.query")
def check_applied(result: Any) -> None:
    """Raise LWTException with the row that prevented it if a conditional write was not applied."""
    try:
        applied = result.was_applied
    except Exception:
        applied = True  # the result does not support was_applied
    if not applied:
        raise LWTException(result.one())


def remaining_millisecond(session: Any) -> float:
    """Return the seconds until a conditional write may be sent: 0, unless the last timestamp of *session* is in the
    current millisecond. At most one millisecond, for any setting of the clock."""
    generator = getattr(session, "timestamp_generator", None)
    last = getattr(generator, "last", None)
    if type(last) is not int or not getattr(session, "use_client_timestamp", False):
        return 0.0
    now = time.time_ns() // 1000
    return (1000 - now % 1000) * 1e-6 if now // 1000 == last // 1000 else 0.0


def wait_for_later(session: Any) -> None:
    """Wait until a conditional write may be sent."""
    left = remaining_millisecond(session)
    if left:
        time.sleep(left)


async def wait_for_later_async(session: Any) -> None:
    """As :func:`wait_for_later`, without blocking the running loop."""
    left = remaining_millisecond(session)
    if not left:
        return
    import asyncio  # already imported in a program with a running loop; other programs do not load it

    over = time.monotonic() + left
    for _ in range(TRIES):  # a timer of a loop may fire up to a millisecond early, the resolution of some loops
        await asyncio.sleep(left)
        left = over - time.monotonic()
        if left <= 0:
            return


# ---- requests and their sequences

#: Fast path that sends a statement without a :class:`Request`.
READY = ReadyStatements(PLAIN, PREPARED, connections._connections, DEFAULT_CONNECTION, by_text.__globals__)


def is_outdated(error: Exception, used: Iterable[Any]) -> bool:
    """True if *error* reports that a table was recreated with other types after the *used* statements were prepared.
    Such a request was not executed. A request whose response cannot be decoded was executed, and raises another
    error."""
    reasons = [one._outdated for one in used if one is not None and one._outdated is not None]
    return type(error) is DriverException and any(reason in str(error) for reason in reasons)


class Request:
    """One statement to execute, with its options.

    *statement* may be a function that returns it if *shape* and *values* are given: it is called when the text is
    needed. *rows*: the rows become instances, and are fetched as tuples. *conditional*: raise LWTException if the write
    was not applied.
    """

    __slots__ = (
        "conditional",
        "connection",
        "consistency",
        "fetch_size",
        "model",
        "rows",
        "shape",
        "statement",
        "timeout",
        "values",
    )

    def __init__(
        self,
        model: Any,
        statement: Any,
        consistency: int | None = None,
        timeout: Any = NOT_SET,
        connection: Any = None,
        *,
        shape: Shape | None = None,
        values: Any = None,
        rows: bool = False,
        conditional: bool = False,
    ) -> None:
        self.model = model
        self.statement = statement
        self.consistency = consistency  #: Name of the consistency level.
        self.timeout = timeout
        self.connection = connection
        self.shape = shape
        self.values = values
        self.rows = rows
        self.conditional = conditional
        self.fetch_size: Any = FETCH_SIZE_UNSET

    def written(self) -> BaseCQLStatement:
        """Return the statement, built on first use."""
        if not isinstance(self.statement, BaseCQLStatement):
            self.statement = self.statement()
        return self.statement

    def shaped(self) -> tuple[Shape, Any]:
        """Return the shape of the statement and the values to bind."""
        if self.shape is None:
            statement = self.written()
            self.shape, self.values = shape_and_values(statement)
            if type(statement) is not DeferredStatement:  # a WrittenLater statement reads nothing
                self.fetch_size = statement.fetch_size
        return self.shape, self.values

    def execute(self) -> Any:
        """Execute the statement and return its result."""
        session = get_session(self.connection)
        if self.conditional:
            wait_for_later(session)
        future = prepared = None
        refused = False
        if can_prepare(session):
            shape, values = self.shaped()
            known = prepared_cache_of(session)
            prepared = known.find(shape, self.consistency, self.fetch_size)
            if prepared is None and known.takes(shape):
                try:
                    made = session.prepare(shape.cql)
                except REFUSED:
                    refused = True
                else:
                    prepared = known.add(shape, made, self.consistency, self.fetch_size)
            future = None if prepared is None else self._send(session, prepared, values)
        if future is not None:
            try:
                return self._check_applied(future.result())
            except DriverException as error:
                if not is_outdated(error, [prepared]):
                    raise
            return self.execute()  # nothing was executed; prepare again for the current table
        statement = self.written()
        query = simple(self.model, statement, self.consistency, session)
        result = by_text(query, statement.get_context(), self.consistency, self.timeout, self.connection)
        if refused:
            known.refuse(shape)
        elif prepared is not None:
            known.forget(shape, self.consistency, self.fetch_size)
        return self._check_applied(result)

    async def execute_async(self) -> Any:
        """As :meth:`execute`, without blocking the running loop."""
        session: Any = (await get_connection_async(self.connection)).session
        if self.conditional:
            await wait_for_later_async(session)
        future = prepared = None
        refused = False
        if can_prepare(session):
            shape, values = self.shaped()
            known = prepared_cache_of(session)
            prepared = known.find(shape, self.consistency, self.fetch_size)
            if prepared is None and known.takes(shape):
                try:
                    made = await session.prepare_async(shape.cql)
                except REFUSED:
                    refused = True
                else:
                    prepared = known.add(shape, made, self.consistency, self.fetch_size)
            future = None if prepared is None else self._send(session, prepared, values)
        if future is not None:
            try:
                return self._check_applied(await future)
            except DriverException as error:
                if not is_outdated(error, [prepared]):
                    raise
            return await self.execute_async()
        statement = self.written()
        query = simple(self.model, statement, self.consistency, session)
        result = await by_text_async(session, query, statement.get_context(), self.consistency, self.timeout)
        if refused:
            known.refuse(shape)
        elif prepared is not None:
            known.forget(shape, self.consistency, self.fetch_size)
        return self._check_applied(result)

    def _send(self, session: Session, prepared: Any, values: Any) -> Any:
        """Send the request and return its future; None if its values cannot be bound."""
        try:
            if self.timeout is NOT_SET:
                future = session.execute_async(prepared, values)
            else:
                future = session.execute_async(prepared, values, timeout=self.timeout)
        except (TypeError, ValueError, OverflowError) as error:
            check_rounding(error)
            if prepared._encrypts:
                raise  # the text would contain the values unencrypted
            return None
        future.row_factory = tuple_factory if self.rows else dict_factory
        return future

    def _check_applied(self, result: Any) -> Any:
        if self.conditional:
            check_applied(result)
        return result


class BatchRequest:
    """Statements that are executed as one batch. *text* returns the text of the whole batch and its context."""

    __slots__ = ("_connection", "_consistency", "_kind", "_queries", "_text", "_timeout")

    def __init__(
        self,
        queries: Sequence[Any],
        kind: BatchType | None,
        text: Callable[[], tuple[str, dict[str, Any]]],
        consistency: int | None,
        timeout: Any,
        connection: Any,
    ) -> None:
        """*kind*: None if the batch can only be expressed as text."""
        self._queries = queries
        self._kind = kind
        self._text = text
        self._consistency = consistency
        self._timeout = timeout
        self._connection = connection

    def execute(self) -> Any:
        session = get_session(self._connection)
        gathered = self._gather(session)
        future = None
        if gathered is not None:
            known = prepared_cache_of(session)
            try:
                for part in gathered:
                    if part[2] is None:
                        part[2] = known.find(part[0])  # an earlier part may have the same text
                    if part[2] is None:
                        part[2] = known.add(part[0], session.prepare(part[0].cql))
            except REFUSED:
                pass  # the batch is sent by text, and the server reports the error, if any
            else:
                if any(shape.is_conditional for shape, _, _ in gathered):
                    wait_for_later(session)
                future = self._send(session, gathered)
        if gathered is not None and future is not None:
            try:
                result = future.result()
            except DriverException as error:
                if not is_outdated(error, [prepared for _, _, prepared in gathered]):
                    raise
                return self.execute()
        else:
            text, context = self._text()
            if has_condition(text):
                wait_for_later(session)
            result = by_text(text, context, self._consistency, self._timeout, self._connection)
        check_applied(result)
        return result

    async def execute_async(self) -> Any:
        session: Any = (await get_connection_async(self._connection)).session
        gathered = self._gather(session)
        future = None
        if gathered is not None:
            known = prepared_cache_of(session)
            try:
                for part in gathered:
                    if part[2] is None:
                        part[2] = known.find(part[0])  # an earlier part may have the same text
                    if part[2] is None:
                        part[2] = known.add(part[0], await session.prepare_async(part[0].cql))
            except REFUSED:
                pass
            else:
                if any(shape.is_conditional for shape, _, _ in gathered):
                    await wait_for_later_async(session)
                future = self._send(session, gathered)
        if gathered is not None and future is not None:
            try:
                result = await future
            except DriverException as error:
                if not is_outdated(error, [prepared for _, _, prepared in gathered]):
                    raise
                return await self.execute_async()
        else:
            text, context = self._text()
            if has_condition(text):
                await wait_for_later_async(session)
            result = await by_text_async(session, text, context, self._consistency, self._timeout)
        check_applied(result)
        return result

    def _gather(self, session: Any) -> list[list[Any]] | None:
        """Return shape, values and prepared statement (None if not prepared yet) of each; None to send the batch by
        text."""
        if self._kind is None or len(self._queries) > MOST or not can_prepare(session):
            return None
        known = prepared_cache_of(session)
        found = []
        before = prepared = None
        for query in self._queries:
            shape, values = shape_and_values(query)
            if shape is not before:  # consecutive statements often share a shape
                if not known.takes(shape):
                    return None
                before, prepared = shape, known.find(shape)
            found.append([shape, values, prepared])
        return found

    def _send(self, session: Session, gathered: list[list[Any]]) -> Any:
        batch = BatchStatement(self._kind, consistency_level=self._consistency)  # type: ignore[arg-type]
        inside = batch._prepared
        try:
            for _, values, prepared in gathered:
                if prepared.query_id in inside:  # the batch has already taken the properties of this statement
                    bound = prepared._bind_plan.bind(values, prepared.protocol_version, want_token=False)
                    batch._append(True, prepared.query_id, bound)
                else:
                    batch.add(prepared, values)
        except (TypeError, ValueError, OverflowError) as error:
            check_rounding(error)
            if any(prepared._encrypts for _, _, prepared in gathered):
                raise  # the text would contain the values unencrypted
            return None
        options: Any = {} if self._timeout is NOT_SET else {"timeout": self._timeout}
        future = session.execute_async(batch, **options)
        future.row_factory = dict_factory
        return future


def run(steps: Steps[T]) -> T:
    """Run all requests, waiting for each."""
    try:
        request = next(steps)
        while True:
            request = steps.send(request.execute())
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def arun(steps: Steps[T]) -> T:
    """Run all requests, awaiting each."""
    try:
        request = next(steps)
        while True:
            request = steps.send(await request.execute_async())
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


# ---- explanations of requests


@public("cassandra.cqlengine.query")
@rich_display(explanation_tables)
class Explanation:
    """``cql``, its ``parameters``, ``prepared`` (if False, ``reason`` is set), and the routing: ``token`` of the
    partition, None if there are several, and ``replicas`` of that token."""

    def __init__(
        self,
        cql: str,
        parameters: Any,
        prepared: bool,
        reason: str,
        token: int | None = None,
        replicas: Sequence[Any] = (),
    ) -> None:
        self.cql = cql  #: Statement of a range.
        self.parameters = parameters
        self.prepared = prepared
        self.reason = reason
        self.token = token
        self.replicas = list(replicas)

    def __repr__(self) -> str:
        return f"<Explanation {self.cql!r}, {'prepared' if self.prepared else 'by text'}>"

    def __str__(self) -> str:
        hosts = ", ".join(str(host.endpoint) for host in self.replicas) or "unknown replicas"
        routed = "to any node" if self.token is None else f"to the replicas of token {self.token}: {hosts}"
        how = "prepared" if self.prepared else f"by text: {self.reason}"
        return f"{self.cql}\n  parameters: {self.parameters!r}\n  {how}\n  routed {routed}"


def explain(request: Request) -> Explanation:
    """Return the explanation of a request, which is prepared but not executed."""
    session: Any = get_session(request.connection)
    if not can_prepare(session):
        reason = "execute() of the session or the mapper is replaced" if PREPARING else "CQLENG_PREPARE=0 is set"
        return _by_text(request, session, reason)
    shape, values = request.shaped()
    known = prepared_cache_of(session)
    prepared = known.find(shape, request.consistency, request.fetch_size)
    if prepared is None:
        try:
            prepared = known.add(shape, session.prepare(shape.cql), request.consistency, request.fetch_size)
        except REFUSED as error:
            return _by_text(request, session, f"preparing failed: {error}")
    try:
        bound = prepared.bind(values)
    except (TypeError, ValueError, OverflowError) as error:
        return _by_text(request, session, f"the values cannot be bound: {error}")
    token, replicas = _replicas(session, bound.keyspace, bound.routing_key)
    return Explanation(shape.cql, values, True, "", token, replicas)


def _by_text(request: Request, session: Any, reason: str) -> Explanation:
    statement = request.written()
    query = simple(request.model, statement, request.consistency, session)
    token, replicas = _replicas(session, query.keyspace, query.routing_key)
    return Explanation(str(statement), statement.get_context(), False, reason, token, replicas)


def _replicas(session: Any, keyspace: str | None, key: bytes | None) -> tuple[int | None, Sequence[Any]]:
    metadata: Any = getattr(session.cluster, "metadata", None)
    ring = getattr(metadata, "token_map", None)
    if key is None or keyspace is None or ring is None:
        return None, ()
    token = ring.token_class.from_key(key)
    return token.value, metadata.get_replicas(keyspace, key)
