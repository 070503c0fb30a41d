"""PREPARE: on one host for the response, on the others so that the first execution there is fast.

L5. Preparing twice changes nothing. So if a host has not responded after a part of the timeout, PREPARE is sent to the
next one as well, and the first response is used. The other hosts, where the statement is prepared ahead, get as much
time, and never more than the whole call; a host that misses it prepares the statement when it first gets an execution.

Preparing is a command. If the wait of a caller is interrupted, the command continues: the statement is registered as if
the caller had received it, but weakly, so it is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import UnsupportedOperation
from cassandra._base.logs import get_logger
from cassandra._routing.policies import SpeculativeExecutionPlan
from cassandra._wire.messages.requests import PrepareMessage

from ..background import commands
from ..cluster.profiles import EXEC_PROFILE_DEFAULT
from ..statements.prepared import PreparedStatement
from ..statements.sentinels import NOT_SET, Sentinel
from ..statements.statements import SimpleStatement
from .attempts import KEYSPACE_PER_REQUEST
from .future import ResponseFuture

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from ..session import Session

log = get_logger("cassandra.cluster")

Payload = Mapping[str, bytes | None]


FURTHER_HOSTS = 3  # at most, besides the first one
PER_HOST = 2.0  # seconds, or less with a short timeout: preparing takes a few milliseconds


class NextHost(SpeculativeExecutionPlan):
    """Tries the next host, up to *others* times, when one has not responded within its part of *timeout*."""

    def __init__(self, timeout: float | None, others: int) -> None:
        self._others = others
        self._delay = PER_HOST if timeout is None else min(PER_HOST, timeout / (others + 2))

    def next_execution(self, host: Host | None) -> float:
        self._others -= 1
        return self._delay if self._others >= 0 else -1


class Preparer:
    """Prepares the statements of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prepare(self, query: str, custom_payload: Payload | None, keyspace: str | None) -> PreparedStatement:
        """See Session.prepare."""
        return commands.run(self._prepare, query, custom_payload, keyspace)

    def _prepare(self, query: str, custom_payload: Payload | None, keyspace: str | None) -> PreparedStatement:
        """Prepare, on a driver thread."""
        self._check_text(query, keyspace)
        future = self._send(query, keyspace, custom_payload)
        statement = self._made_of(future, future._wait_for_result(), query, keyspace)
        for other in self._ahead(query, keyspace, future):
            self._settled(other)
        return statement

    async def prepare_async(
        self, query: str, custom_payload: Payload | None, keyspace: str | None
    ) -> PreparedStatement:
        """See Session.prepare_async."""
        return await commands.run_async(self._prepare, query, custom_payload, keyspace)

    @commands.command
    def prepare_on_all_hosts(self, query: str, excluded_host: Host | None, keyspace: str | None) -> None:
        """See Session.prepare_on_all_hosts."""
        for future in self._spread(query, excluded_host, keyspace, NOT_SET):
            self._settled(future)

    def _check_text(self, query: str, keyspace: str | None) -> None:
        """Raise DriverException if the text has values of encrypted columns: then PREPARE is not sent."""
        cluster = self._session.cluster
        if cluster.column_encryption_policy is not None:
            cluster.encryption.check_text(query, keyspace or self._session.keyspace)

    def _send(
        self,
        query: str,
        keyspace: str | None,
        payload: Payload | None = None,
        host: Host | None = None,
        timeout: float | Sentinel | None = NOT_SET,
    ) -> ResponseFuture:
        session = self._session
        session._check_open()
        profile = session._resolve_profile(EXEC_PROFILE_DEFAULT)
        versioned = session.cluster.protocol_version >= KEYSPACE_PER_REQUEST
        if keyspace is not None and not versioned and keyspace != session.keyspace:
            raise UnsupportedOperation(
                f"prepare(keyspace={keyspace!r}) requires protocol version 5, and the version is "
                f"{session.cluster.protocol_version}; qualify the table in the statement, or use a session with that "
                "keyspace"
            )
        if isinstance(timeout, Sentinel):
            timeout = profile.request_timeout
        others = 0 if host is not None else min(FURTHER_HOSTS, len(session._pools) - 1)
        message = PrepareMessage(query, keyspace if versioned else None)
        message.update_custom_payload(payload)
        future = ResponseFuture(
            session,
            message,
            SimpleStatement(query, keyspace=keyspace, is_idempotent=True),  # parsing twice changes nothing
            timeout,
            metrics=session.cluster.metrics,
            retry_policy=profile.retry_policy,
            load_balancer=profile.load_balancing_policy,
            speculative_execution_plan=NextHost(timeout, others) if others > 0 else None,
            host=host,
        )
        future.send_request()
        return future

    def _made_of(self, future: ResponseFuture, message: Any, query: str, keyspace: str | None) -> PreparedStatement:
        cluster = self._session.cluster
        statement = PreparedStatement.from_message(
            message.query_id,
            message.bind_plan,
            message.pk_indexes,
            cluster.metadata,
            query,
            keyspace,
            cluster.protocol_version,
            message.plan,
            message.result_metadata_id,
            message.is_lwt,
        )
        statement._session_keyspace = self._session.keyspace
        if future._custom_payload:
            statement.custom_payload = future._custom_payload
        cluster.add_prepared(message.query_id, statement)
        statement._registry = cluster.prepared
        if cluster.column_encryption_policy is not None:
            cluster.encryption.apply(statement)
            statement._check_encryption()
        return statement

    def _ahead(self, query: str, keyspace: str | None, future: ResponseFuture) -> list[ResponseFuture]:
        """Send PREPARE, as of *future*, to all other hosts, if that is enabled and there is time; return the
        futures."""
        remaining = future._remaining()
        late = self._session._draining or (remaining is not None and remaining <= 0)
        if late or not self._session.cluster.prepare_on_all_hosts:
            return []
        timeout = PER_HOST if remaining is None else min(PER_HOST, remaining)
        return self._spread(query, future.coordinator_host, keyspace, timeout)

    def _spread(
        self, query: str, excluded: Host | None, keyspace: str | None, timeout: float | Sentinel
    ) -> list[ResponseFuture]:
        """Send PREPARE to every connected host except *excluded*, concurrently; return the futures."""
        hosts = [host for host in self._session._pools if host != excluded and host.is_up and not host.is_suspect]
        return [self._send(query, keyspace, host=host, timeout=timeout) for host in hosts]

    @staticmethod
    def _settled(future: ResponseFuture) -> None:
        try:
            future._wait_for_result()
        except Exception as error:
            _log_failure(future, error)


def _log_failure(future: ResponseFuture, error: BaseException) -> None:
    log.warning(
        "A statement could not be prepared on %s ahead of its use: %s", future._execution.sending.plan.only, error
    )
