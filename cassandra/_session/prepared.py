"""The prepared statements of a cluster by id, and re-preparing them on a host that comes up.

L5. The registry is weak: a statement that the application dropped is removed, and not prepared again. It has no lock:
any thread adds, copies and drops statements, garbage collection anywhere, each by one atomic operation of a dict.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import ref

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import DriverException
from cassandra._base.logs import get_logger
from cassandra._session.control.queries import gather_async
from cassandra._session.statements.prepared import describe_change
from cassandra._wire.messages.requests import PrepareMessage

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._session.statements.prepared import PreparedStatement

log = get_logger("cassandra.cluster")

IN_FLIGHT = 32  # concurrent PREPAREs: preparing costs a server far more than sending costs a client


class PreparedRegistry:
    """Statements by id, while they are referenced elsewhere."""

    def __init__(self) -> None:
        self._statements: dict[bytes, ref[PreparedStatement]] = {}
        self._all: dict[int, ref[PreparedStatement]] = {}  # by id()

    def add(self, query_id: bytes, prepared_statement: PreparedStatement) -> None:
        """Register *prepared_statement*, weakly, to prepare it on hosts that come up or lost it; it replaces an earlier
        one with the same id. Earlier ones are marked as outdated if it has other parameters."""
        known = self.get(query_id)

        def forget(gone: ref[PreparedStatement]) -> None:
            if self._statements.get(query_id) is gone:
                self._statements.pop(query_id, None)

        self._statements[query_id] = ref(prepared_statement, forget)
        self.note_copy(prepared_statement)
        if known is not None and describe_change(known._bind_plan, prepared_statement._bind_plan) is not None:
            for one in self.every():
                if one.query_id == query_id and one is not prepared_statement:
                    with contextlib.suppress(DriverException):  # raised again when the statement is executed
                        one._compare(prepared_statement._bind_plan)

    def note_copy(self, statement: PreparedStatement) -> None:
        """Register *statement*, a copy of a registered one, for :meth:`every`."""
        key = id(statement)

        def forget(gone: ref[PreparedStatement]) -> None:
            if self._all.get(key) is gone:  # another object may have this address by now
                self._all.pop(key, None)

        self._all[key] = ref(statement, forget)

    def get(self, query_id: bytes) -> PreparedStatement | None:
        """Return the statement with that id, if it is still referenced."""
        known = self._statements.get(query_id)
        return None if known is None else known()

    def every(self) -> list[PreparedStatement]:
        """Return every live statement, also several of one id."""
        return _alive(self._all)

    def all(self) -> list[PreparedStatement]:
        """Return one statement of every id."""
        return _alive(self._statements)


def _alive(references: Mapping[Any, ref[PreparedStatement]]) -> list[PreparedStatement]:
    return [statement for one in list(references.values()) if (statement := one()) is not None]


class Reprepare:
    """Prepares *statements* on *connection*'s node; then calls ``on_done()`` exactly once, on the I/O thread or the
    caller's.

    Failures are logged and otherwise ignored: a missing statement is prepared when it is executed.
    """

    def __init__(
        self,
        connection: Connection,
        statements: list[PreparedStatement],
        timeout: float,
        on_done: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._timeout = timeout
        self._on_done = on_done
        self._per_request = ProtocolVersion.uses_keyspace_flag(connection.protocol_version)
        ordered = sorted(statements, key=lambda statement: statement._home or "")
        self._remaining = iter(ordered)
        self._next_up: PreparedStatement | None = next(self._remaining, None)
        self._failed = 0
        self._chunk: list[PreparedStatement] = []

    def start(self) -> None:
        """Send the first PREPAREs."""
        if self._next_up is None or self._connection.is_closed:
            if self._failed:
                log.warning("%d statements could not be prepared on %s", self._failed, self._connection.endpoint)
            self._on_done()
            return
        keyspace = self._next_up._home
        if self._per_request or keyspace is None or keyspace == self._connection.keyspace:
            self._send(keyspace)
        else:
            self._connection.set_keyspace_async(
                keyspace, lambda _, error: self._on_keyspace_set(keyspace, error), self._timeout
            )

    def _on_keyspace_set(self, keyspace: str, error: BaseException | None) -> None:
        if error is None:
            self._send(keyspace)
        else:
            log.warning(
                "Could not use keyspace %s to prepare statements on %s: %s", keyspace, self._connection.endpoint, error
            )
            self._take(keyspace, None)
            self.start()

    def _send(self, keyspace: str | None) -> None:
        chunk = self._chunk = self._take(keyspace, IN_FLIGHT)
        messages = [PrepareMessage(one.query_string, keyspace if self._per_request else None) for one in chunk]
        gather_async(self._connection, messages, self._timeout, self._on_prepared)

    def _take(self, keyspace: str | None, limit: int | None) -> list[PreparedStatement]:
        """Take the next statements of *keyspace*."""
        taken: list[PreparedStatement] = []
        while self._next_up is not None and self._next_up._home == keyspace:
            if limit is not None and len(taken) >= limit:
                break
            taken.append(self._next_up)
            self._next_up = next(self._remaining, None)
        return taken

    def _on_prepared(self, answers: list[Any]) -> None:
        for statement, answer in zip(self._chunk, answers, strict=True):
            try:
                if isinstance(answer, BaseException):
                    raise answer
                if getattr(answer, "query_id", None) == statement.query_id:
                    statement._compare(answer.bind_plan)
            except Exception as error:
                self._failed += 1
                level = logging.DEBUG if error is answer else logging.WARNING
                log.log(level, "A statement could not be prepared on %s: %s", self._connection.endpoint, error)
        self.start()
