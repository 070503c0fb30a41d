"""Many writes as one request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cassandra._base.errors import DriverException
from cassandra._mapper.connections import get_connection_async, get_session
from cassandra._mapper.shapes import has_condition, prepared_of, shape_and_values
from cassandra._session.session import Session
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.statement import NOT_SET, BatchType
from cassandra._wire.rows import dict_factory

from .applied import check_applied
from .order import wait_for_later, wait_for_later_async
from .requests import REFUSED, is_outdated
from .text import by_text, by_text_async, can_prepare, check_rounding

#: Batches of more statements are sent by text: the protocol allows no more.
MOST = 0xFFFF


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
        gathered = self._gathered(session)
        future = None
        if gathered is not None:
            known = prepared_of(session)
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
                future = self._sent(session, gathered)
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
        gathered = self._gathered(session)
        future = None
        if gathered is not None:
            known = prepared_of(session)
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
                future = self._sent(session, gathered)
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

    def _gathered(self, session: Any) -> list[list[Any]] | None:
        """Return shape, values and prepared statement (None if not prepared yet) of each; None to send the batch by
        text."""
        if self._kind is None or len(self._queries) > MOST or not can_prepare(session):
            return None
        known = prepared_of(session)
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

    def _sent(self, session: Session, gathered: list[list[Any]]) -> Any:
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
