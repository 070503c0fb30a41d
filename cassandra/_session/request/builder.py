"""RequestBuilder: builds a ResponseFuture, with the message to send, from a statement, its parameters and a profile.

L5. The server resolves unqualified names in a statement by the keyspace that the request is sent with. Text uses the
keyspace of its statement, else that of the session. A bound statement uses the keyspace it was prepared in; its
keyspace attribute is not sent. A server takes one keyspace per request, on protocol 5 from the request, on older ones
from the connection, which is in that of the session. A request that would be executed in another keyspace than
requested is rejected (:func:`keyspace_to_send`, which is pure). The keyspace for *routing* is independent of this, see
``Statement.keyspace``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import ConnectionException, NoHostAvailable, UnsupportedOperation
from cassandra._base.versions import request_timeout
from cassandra._core.codec import ResultPlan
from cassandra._core.routing import murmur3_token
from cassandra._routing.host import Host
from cassandra._routing.policies import NoSpeculativeExecutionPolicy
from cassandra._session.profiles import ResolvedProfile
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._session.statements.statement import Sentinel, SimpleStatement, Statement, bind_params, shortened
from cassandra._wire.messages.requests import BatchMessage, ExecuteMessage, QueryMessage

from .future import ResponseFuture
from .plans import is_strict, plan_for

if TYPE_CHECKING:
    from cassandra._net.endpoint import EndPoint
    from cassandra._routing.policies import SpeculativeExecutionPlan
    from cassandra._session.session import Session


class RequestBuilder:
    """Builds the requests of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def build(
        self,
        query: str | Statement | PreparedStatement,
        parameters: Sequence[Any] | Mapping[str, Any] | None,
        trace: bool,
        custom_payload: Mapping[str, bytes | None] | None,
        timeout: float | Sentinel | None,
        execution_profile: Any,
        paging_state: bytes | None,
        host: Host | EndPoint | str | None,
    ) -> ResponseFuture:
        """Return a future that is ready to be sent. Raises TypeError or ValueError for arguments that cannot be
        sent."""
        session = self._session
        encryption = session._encryption
        if encryption is not None and encryption.is_on:
            encryption.check(query)
        profile = session._resolve_profile(execution_profile)
        if isinstance(timeout, Sentinel):
            timeout = profile.request_timeout
            if not trace and custom_payload is None and paging_state is None and host is None:
                plan = plan_for(session, query, profile)
                if plan is not None:
                    return plan.request(session, query, parameters, timeout)
        else:
            timeout = request_timeout(timeout)
        statement = self._statement(query, parameters, profile)
        message, query_plan = self._message(statement, parameters, profile, paging_state)
        message.tracing = trace
        if statement.custom_payload:
            message.update_custom_payload(statement.custom_payload)
        if custom_payload:
            message.update_custom_payload(custom_payload)
        speculation = self._speculation(statement, profile)
        metrics = session.cluster.metrics
        future = ResponseFuture(
            session,
            message,
            statement,
            timeout,
            None if metrics is None else metrics.of_message(message, profile._name),
            statement.prepared_statement if isinstance(statement, BoundStatement) else None,
            statement.retry_policy or profile.retry_policy,
            profile.row_factory,
            profile.load_balancing_policy,
            None,
            None if speculation is None else speculation(),
            None,
            self._host(host, query, profile),
            query_plan,
            _token(statement),
        )
        future._execution.sending.new_speculation = speculation
        future._prefetch = profile.prefetch
        return future

    def _statement(
        self,
        query: str | Statement | PreparedStatement,
        parameters: Sequence[Any] | Mapping[str, Any] | None,
        profile: ResolvedProfile,
    ) -> Statement:
        if isinstance(query, str):
            return SimpleStatement(query)
        if isinstance(query, PreparedStatement):
            query._check()
            values: Any = () if parameters is None else parameters
            if type(query) is PreparedStatement:
                return query._bind(values, is_strict(self._session, query, profile))
            return query.bind(values)
        if isinstance(query, Statement):
            return query
        raise TypeError(f"expected CQL text or a statement, got {type(query).__name__}")

    def _message(
        self,
        statement: Statement,
        parameters: Sequence[Any] | Mapping[str, Any] | None,
        profile: ResolvedProfile,
        paging_state: bytes | None,
    ) -> tuple[Any, ResultPlan | None]:
        """Return the message, and the result plan that it was built for (the response may have no metadata)."""
        session = self._session
        encryption = session._encryption
        keyspace = keyspace_to_send(statement, session.keyspace, session.cluster.protocol_version)
        consistency = statement.consistency_level
        if consistency is None:
            consistency = profile.consistency_level
        serial = statement.serial_consistency_level
        if serial is None:
            serial = profile.serial_consistency_level
        generator = session.timestamp_generator
        timestamp = generator() if session.use_client_timestamp and generator is not None else None
        fetch_size = statement.fetch_size
        if isinstance(fetch_size, Sentinel):
            fetch_size = session.default_fetch_size
        if isinstance(statement, BoundStatement):
            return self._execute_message(statement, consistency, serial, fetch_size, paging_state, timestamp)
        if isinstance(statement, SimpleStatement):
            text = statement.query_string
            if parameters:
                text = bind_params(text, parameters, session.encoder)
            if encryption is not None and encryption.is_on:
                encryption.check_text(text, keyspace or session.keyspace)
            return (
                QueryMessage(text, consistency, serial, fetch_size, paging_state, timestamp, keyspace=keyspace),
                None,
            )
        if isinstance(statement, BatchStatement):
            if parameters:
                raise ValueError("expected no parameters for a batch: pass those of its statements to add()")
            for prepared in statement._prepared.values():
                prepared._check()
                prepared._last_use.note(monotonic())
            entries = list(statement._statements_and_parameters)  # a copy: later changes do not affect the request
            if encryption is not None and encryption.is_on:
                for _, query, _ in entries:
                    if isinstance(query, str):
                        encryption.check_text(query, keyspace or session.keyspace)
            return BatchMessage(statement.batch_type, entries, consistency, serial, timestamp, keyspace), None
        raise UnsupportedOperation(f"unsupported type of statement: {type(statement).__name__}")

    def _execute_message(
        self,
        statement: BoundStatement,
        consistency: int,
        serial: int | None,
        fetch_size: Any,
        paging_state: bytes | None,
        timestamp: int | None,
    ) -> tuple[ExecuteMessage, ResultPlan | None]:
        prepared = statement.prepared_statement
        prepared._check()
        prepared._last_use.note(monotonic())
        bound = statement._bound
        if bound is None:
            bound = prepared._bind_plan.bind((), prepared.protocol_version, strict=prepared._is_strict(None))
        plan, metadata_id = prepared._snapshot
        message = ExecuteMessage(
            prepared.query_id,
            bound,
            consistency,
            serial,
            fetch_size,
            paging_state,
            timestamp,
            skip_meta=plan is not None and metadata_id is not None,  # without the id the server cannot signal changes
            result_metadata_id=metadata_id,
        )
        return message, plan

    def _host(self, host: Host | EndPoint | str | None, query: Any, profile: ResolvedProfile) -> Host | None:
        """Return the only host that the request may go to; None if there is no such restriction."""
        if host is None:
            host = getattr(query, "target_host", None)
            if isinstance(host, str) and hasattr(profile.load_balancing_policy, "_targets_hosts"):
                return None  # the policy puts it first, and others after it
        if host is None or isinstance(host, Host):
            return host
        metadata = self._session.cluster.metadata
        found: Host | None = metadata.get_host(host)
        if found is None:
            known = ", ".join(sorted(str(one.endpoint) for one in metadata.all_hosts())) or "none"
            text = f"The request must go to {host}, but no host has that address; known hosts: {known}"
            raise NoHostAvailable(text, {str(host): ConnectionException(f"unknown host: {host}")})
        return found

    def _speculation(
        self, statement: Statement, profile: ResolvedProfile
    ) -> Callable[[], SpeculativeExecutionPlan] | None:
        """Return the function that makes the plan of one page; None without speculative executions."""
        policy, session = profile.speculative_execution_policy, self._session
        if not statement.is_idempotent or type(policy) is NoSpeculativeExecutionPolicy:
            return None
        return lambda: policy.new_plan(statement.keyspace or session.keyspace, statement)


def _token(statement: Statement) -> int | None:
    """Return the routing token of *statement*; hashed once, while binding if that is possible."""
    if statement.routing_token is not None:
        return statement.routing_token
    if isinstance(statement, BoundStatement) and statement._routing_key is None:
        return statement._bound.token if statement._bound is not None else None
    if isinstance(statement, BatchStatement) and statement._bound_token is not None:
        return statement._bound_token
    key = statement.routing_key
    return None if key is None else murmur3_token(key.encode() if isinstance(key, str) else key)


# ---- the keyspace of a request


def keyspace_to_send(statement: Statement, session_keyspace: str | None, version: int) -> str | None:
    """Return the keyspace to send with the request for *statement*; None for that of the connection, the session's.
    Raise UnsupportedOperation if it would be executed in another keyspace than its own."""
    if isinstance(statement, BoundStatement):
        statement._check_keyspace()
        return None
    if isinstance(statement, BatchStatement):
        wanted = _of_batch(statement, session_keyspace)
        subject = "a batch"
    else:
        wanted = statement.keyspace
        subject = "a statement"
    if wanted is None or ProtocolVersion.uses_keyspace_flag(version):
        return wanted
    if wanted != session_keyspace:
        raise UnsupportedOperation(
            f"keyspace={wanted!r} of {subject} needs protocol version 5, but this is {version}; it would be executed "
            f"in {_keyspace_text(session_keyspace)}. Name the keyspace in the text, or execute it in a session of that "
            "keyspace"
        )
    return None


def _of_batch(batch: BatchStatement, session_keyspace: str | None) -> str | None:
    explicit = batch._explicit_keyspace
    said: dict[str | None, str] = {}
    for keyspace, text in batch._wanted.items():
        said.setdefault(keyspace or explicit, text)
    if not said:
        return None  # only bound statements
    meant = {keyspace or session_keyspace: text for keyspace, text in said.items()}
    if len(meant) > 1:
        parts = "; ".join(f"{_keyspace_text(keyspace)}: {shortened(text)}" for keyspace, text in meant.items())
        raise UnsupportedOperation(
            "The statements of a batch are sent with one keyspace, but the texts of this one are for several. Name the "
            f"keyspace in them, prepare them, or use a batch for each. The first of each: {parts}"
        )
    return next((keyspace for keyspace in said if keyspace is not None), None)


def _keyspace_text(keyspace: str | None) -> str:
    return "no keyspace" if keyspace is None else f"keyspace {keyspace!r}"
