"""A statement to be run, and how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cassandra._base.errors import DriverException, InvalidRequest
from cassandra._base.errors_messages import SyntaxException
from cassandra._core.models import ReadyStatements
from cassandra._mapper import connections
from cassandra._mapper.connections import DEFAULT_CONNECTION, get_connection_async, get_session
from cassandra._mapper.shapes import PREPARED, Shape, WrittenLater, prepared_of, shape_and_values
from cassandra._mapper.statements import BaseCQLStatement
from cassandra._session.session import Session
from cassandra._session.statements.sentinels import FETCH_SIZE_UNSET, NOT_SET
from cassandra._wire.rows import dict_factory, tuple_factory

from . import text
from .applied import check_applied
from .order import wait_for_later, wait_for_later_async
from .text import PLAIN, by_text, by_text_async, can_prepare, check_rounding, simple

#: What is sent without a :class:`Request`.
READY = ReadyStatements(PLAIN, PREPARED, connections._connections, DEFAULT_CONNECTION, vars(text))
REFUSED = (InvalidRequest, SyntaxException)


def is_outdated(error: Exception, used: Iterable[Any]) -> bool:
    """Whether it says that a table was made again, with other types, since the statements that were *used* were
    prepared. Such a request was not executed; one whose answer cannot be read was, which is another error."""
    reasons = [one._outdated for one in used if one is not None and one._outdated is not None]
    return type(error) is DriverException and any(reason in str(error) for reason in reasons)


class Request:
    """A statement to be run, and how.

    *statement* may be what makes it, where *shape* and *values* are given: it is written when it is needed. *rows*: its
    rows become instances, and are wanted as tuples. *conditional*: LWTException if it was not applied.
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
        """The statement itself."""
        if not isinstance(self.statement, BaseCQLStatement):
            self.statement = self.statement()
        return self.statement

    def shaped(self) -> tuple[Shape, Any]:
        """Its shape, and what is bound."""
        if self.shape is None:
            statement = self.written()
            self.shape, self.values = shape_and_values(statement)
            if type(statement) is not WrittenLater:  # which reads nothing
                self.fetch_size = statement.fetch_size
        return self.shape, self.values

    def execute(self) -> Any:
        """Its result."""
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
            return self.execute()  # nothing was executed; it is prepared for the table that is there now
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
        """The future of the request that was sent; None if its values cannot be bound."""
        try:
            if self.timeout is NOT_SET:
                future = session.execute_async(prepared, values)
            else:
                future = session.execute_async(prepared, values, timeout=self.timeout)
        except (TypeError, ValueError, OverflowError) as error:
            check_rounding(error)
            if prepared._encrypts:
                raise  # its text would have the values as they are
            return None
        future.row_factory = tuple_factory if self.rows else dict_factory
        return future

    def _applied(self, result: Any) -> Any:
        if self.conditional:
            check_applied(result)
        return result
