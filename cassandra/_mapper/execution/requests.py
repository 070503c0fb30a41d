"""Execution of one statement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cassandra._base.errors import DriverException, InvalidRequest
from cassandra._base.server_errors import SyntaxException
from cassandra._core.models import ReadyStatements
from cassandra._mapper import connections
from cassandra._mapper.connections import DEFAULT_CONNECTION, get_connection_async, get_session
from cassandra._mapper.shapes import PREPARED, Shape, WrittenLater, prepared_of, shape_and_values
from cassandra._mapper.statements import BaseCQLStatement
from cassandra._session.session import Session
from cassandra._session.statements.statement import FETCH_SIZE_UNSET, NOT_SET
from cassandra._wire.rows import dict_factory, tuple_factory

from .applied import check_applied
from .order import wait_for_later, wait_for_later_async
from .text import PLAIN, by_text, by_text_async, can_prepare, check_rounding, simple

#: Fast path that sends a statement without a :class:`Request`.
READY = ReadyStatements(PLAIN, PREPARED, connections._connections, DEFAULT_CONNECTION, by_text.__globals__)
REFUSED = (InvalidRequest, SyntaxException)


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
        self.consistency = consistency
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
            if type(statement) is not WrittenLater:  # a WrittenLater statement reads nothing
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
            known = prepared_of(session)
            prepared = known.find(shape, self.consistency, self.fetch_size)
            if prepared is None and known.takes(shape):
                try:
                    made = session.prepare(shape.cql)
                except REFUSED:
                    refused = True
                else:
                    prepared = known.add(shape, made, self.consistency, self.fetch_size)
            future = None if prepared is None else self._sent(session, prepared, values)
        if future is not None:
            try:
                return self._applied(future.result())
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
        return self._applied(result)

    async def execute_async(self) -> Any:
        """As :meth:`execute`, without blocking the running loop."""
        session: Any = (await get_connection_async(self.connection)).session
        if self.conditional:
            await wait_for_later_async(session)
        future = prepared = None
        refused = False
        if can_prepare(session):
            shape, values = self.shaped()
            known = prepared_of(session)
            prepared = known.find(shape, self.consistency, self.fetch_size)
            if prepared is None and known.takes(shape):
                try:
                    made = await session.prepare_async(shape.cql)
                except REFUSED:
                    refused = True
                else:
                    prepared = known.add(shape, made, self.consistency, self.fetch_size)
            future = None if prepared is None else self._sent(session, prepared, values)
        if future is not None:
            try:
                return self._applied(await future)
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
        return self._applied(result)

    def _sent(self, session: Session, prepared: Any, values: Any) -> Any:
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

    def _applied(self, result: Any) -> Any:
        if self.conditional:
            check_applied(result)
        return result
