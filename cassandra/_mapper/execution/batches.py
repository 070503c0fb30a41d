"""Many writes as one request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cassandra._base.errors import DriverException
from cassandra._mapper.connections import get_connection_async, get_session
from cassandra._mapper.shapes import prepared_of
from cassandra._session.session import Session
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.sentinels import NOT_SET
from cassandra._session.statements.statements import BatchType
from cassandra._wire.rows import dict_factory

from .applied import check_applied
from .requests import REFUSED, Request, is_outdated
from .text import by_text, by_text_async, can_prepare

#: A batch of so many statements goes by its text: the protocol has no more.
MOST = 0xFFFF


class BatchRequest:
    """Statements that are executed as one. *text* writes all of them, with their context."""

    __slots__ = ("_connection", "_consistency", "_kind", "_queries", "_text", "_timeout", "_used")

    def __init__(
        self,
        queries: Sequence[Any],
        kind: BatchType | None,
        text: Callable[[], tuple[str, dict[str, Any]]],
        consistency: int | None,
        timeout: Any,
        connection: Any,
    ) -> None:
        """*kind*: None for what only a text can tell."""
        self._queries = queries
        self._kind = kind
        self._text = text
        self._consistency = consistency
        self._timeout = timeout
        self._connection = connection
        self._used: list[Any] = []

    def execute(self) -> Any:
        session = get_session(self._connection)
        missing = self._missing(session)
        future = None
        if missing is not None:
            try:
                for request in missing:
                    shape, _ = request.shaped()
                    prepared_of(session).add(shape, None, request.fetch_size, session.prepare(shape.cql))
            except REFUSED:
                pass  # the server says of the text what is wrong, if that is
            else:
                future = self._sent(session)
        if future is not None:
            try:
                result = future.result()
            except DriverException as error:
                if not is_outdated(error, self._used):
                    raise
                return self.execute()
        else:
            text, context = self._text()
            result = by_text(text, context, self._consistency, self._timeout, self._connection)
        check_applied(result)
        return result

    async def execute_async(self) -> Any:
        session: Any = (await get_connection_async(self._connection)).session
        missing = self._missing(session)
        future = None
        if missing is not None:
            try:
                for request in missing:
                    shape, _ = request.shaped()
                    prepared_of(session).add(shape, None, request.fetch_size, await session.prepare_async(shape.cql))
            except REFUSED:
                pass
            else:
                future = self._sent(session)
        if future is not None:
            try:
                result = await future
            except DriverException as error:
                if not is_outdated(error, self._used):
                    raise
                return await self.execute_async()
        else:
            text, context = self._text()
            result = await by_text_async(session, text, context, self._consistency, self._timeout)
        check_applied(result)
        return result

    def _missing(self, session: Any) -> list[Request] | None:
        """What is to be prepared yet; None if the batch goes by its text."""
        if self._kind is None or len(self._queries) > MOST or not can_prepare(session):
            return None
        known = prepared_of(session)
        return [one for one in self._queries if known.find(one.shaped()[0], None, one.fetch_size) is None]

    def _sent(self, session: Session) -> Any:
        known = prepared_of(session)
        self._used = []
        batch = BatchStatement(self._kind, consistency_level=self._consistency)  # type: ignore[arg-type]
        try:
            for request in self._queries:
                shape, values = request.shaped()
                prepared = known.find(shape, None, request.fetch_size)
                if prepared is None:  # so many that the first ones were forgotten
                    return None
                self._used.append(prepared)
                if prepared.query_id in batch._prepared:  # what it says of the batch is known
                    bound = prepared._bind_plan.bind(values, prepared.protocol_version, want_token=False)
                    batch._append(True, prepared.query_id, bound)
                else:
                    batch.add(prepared, values)
        except (TypeError, ValueError, OverflowError):
            return None
        options: Any = {} if self._timeout is NOT_SET else {"timeout": self._timeout}
        future = session.execute_async(batch, **options)
        future.row_factory = dict_factory
        return future
