"""Compatibility aliases of public classes that other packages are known to read or wrap (L6).

``cassandra.cluster`` and other facades add them (``_base/aliases.py``): a class here holds the aliases of the public
class with the same name. The public classes do not use them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from cassandra._base import threads
from cassandra._base.constants import ConsistencyLevel
from cassandra._base.locks import lock_of_programs
from cassandra._base.process import Bell
from cassandra._base.real import Future
from cassandra._routing.policies import NoSpeculativeExecutionPlan
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra._session.request.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra._wire.handlers import _ProtocolHandler

from .finals import Final, end_with_exception, end_with_result
from .internals import _ConfigMode
from .parsing import LazyParser, ListParser


class Session:
    """Aliases of ``cassandra.cluster.Session``."""

    _default_consistency_level = ConsistencyLevel.LOCAL_ONE
    _default_serial_consistency_level = None

    @property
    def _default_timeout(self: Any) -> float | None:
        timeout: float | None = self.default_timeout
        return timeout

    @property
    def _row_factory(self: Any) -> Any:
        return self.row_factory

    @property
    def _lock(self: Any) -> Any:
        """A lock for programs; the driver does not acquire it."""
        return lock_of_programs(self)

    @property
    def _profile_manager(self: Any) -> Any:
        return self.cluster.profile_manager

    @property
    def _request_init_callbacks(self: Any) -> list[Any]:
        """A copy of the listeners added by ``add_request_init_listener``."""
        return list(self._listeners)

    def _create_response_future(
        self: Any,
        query: Any,
        parameters: Any,
        trace: bool,
        custom_payload: Any,
        timeout: Any,
        execution_profile: Any = EXEC_PROFILE_DEFAULT,
        paging_state: bytes | None = None,
        host: Any = None,
    ) -> Any:
        """Return a future as ``execute_async`` does, but do not send the request: its ``send_request()`` does."""
        return self._builder.build(
            query, parameters, trace, custom_payload, timeout, execution_profile, paging_state, host
        )

    def _maybe_get_execution_profile(self: Any, ep: Any) -> Any:
        """Return the profile with this name; a profile is returned unchanged."""
        if isinstance(ep, ExecutionProfile):
            return ep
        profiles = self.cluster.profile_manager.profiles
        if ep not in profiles:
            raise ValueError(f"There is no execution profile {ep!r}; there are: {', '.join(map(repr, profiles))}")
        return profiles[ep]

    @property
    def _load_balancer(self: Any) -> Any:
        return self.cluster.load_balancing_policy

    @property
    def _metrics(self: Any) -> Any:
        return self.cluster.metrics

    # cassandra-driver 3.30 has the functions of cassandra.concurrent here, too.

    def execute_concurrent(
        self: Any,
        statements_and_parameters: Iterable[Any],
        concurrency: int = 100,
        raise_on_first_error: bool = True,
        results_generator: bool = False,
        execution_profile: Any = EXEC_PROFILE_DEFAULT,
    ) -> Any:
        """Call :func:`cassandra.concurrent.execute_concurrent`."""
        return execute_concurrent(
            self, statements_and_parameters, concurrency, raise_on_first_error, results_generator, execution_profile
        )

    def execute_concurrent_with_args(
        self: Any, statement: Any, parameters: Iterable[Any], *args: Any, **kwargs: Any
    ) -> Any:
        """Call :func:`cassandra.concurrent.execute_concurrent_with_args`."""
        return execute_concurrent_with_args(self, statement, parameters, *args, **kwargs)

    def execute_concurrent_async(
        self: Any,
        statements_and_parameters: Iterable[Any],
        concurrency: int = 100,
        raise_on_first_error: bool = False,
        execution_profile: Any = EXEC_PROFILE_DEFAULT,
    ) -> Future[Any]:
        """Run :meth:`execute_concurrent` on a separate thread; the list of outcomes is the future's result."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                outcomes = execute_concurrent(
                    self, statements_and_parameters, concurrency, raise_on_first_error, False, execution_profile
                )
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(outcomes)

        threads.start(run)
        return future


class Cluster:
    """Aliases of ``cassandra.cluster.Cluster``."""

    @property
    def _is_setup(self: Any) -> bool:
        """True once a connect was requested."""
        return bool(self.life.is_started)

    @property
    def _listeners(self: Any) -> set[Any]:
        """A copy of the listeners registered by ``register_listener``."""
        return set(self.host_listeners.registered)

    @property
    def _user_types(self: Any) -> dict[str, dict[str, Any]]:
        """The classes registered for user types, by keyspace and type."""
        found: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for keyspace, name, klass in self.user_types:
            found[keyspace][name] = klass
        return found

    @property
    def _default_retry_policy(self: Any) -> Any:
        return self.default_retry_policy

    @property
    def _default_load_balancing_policy(self: Any) -> Any:
        """The policy of requests without a named profile."""
        return self.profile_manager.default.load_balancing_policy

    @property
    def _prepared_statements(self: Any) -> Mapping[bytes, Any]:
        """The prepared statements that are in use, by id."""
        return {statement.query_id: statement for statement in self.prepared.all()}

    @property
    def _config_mode(self: Any) -> int:
        return int(getattr(_ConfigMode, self.profile_manager.mode.name))


class ControlConnection:
    """Aliases of ``cassandra.cluster.ControlConnection``."""

    @property
    def _connection(self: Any) -> Any:
        return self.connection


class OrderedMapSerializedKey:
    """Aliases of ``cassandra.util.OrderedMapSerializedKey``."""

    def _insert(self: Any, key: Any, value: Any) -> None:
        """Execute ``self[key] = value``."""
        self[key] = value

    def _insert_unchecked(self: Any, key: Any, flat_key: Any, value: Any) -> None:
        """Execute ``self[key] = value``; *flat_key*, the key's bytes, is ignored, and computed on demand."""
        self[key] = value


class _Event:
    """The completion of a request, with methods of ``threading.Event``."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def is_set(self) -> bool:
        has_come: bool = self._request._has_come()
        return has_come

    def wait(self, timeout: float | None = None) -> bool:
        if not self.is_set():
            over = Bell()
            self._request.add_callbacks(over.ring, over.ring)
            over.wait(timeout)
        return self.is_set()


class ResponseFuture:
    """Aliases of ``cassandra.cluster.ResponseFuture``."""

    _continuous_paging_session = None  # DSE only

    @property
    def _connection(self: Any) -> Any:
        """The connection that the last attempt was sent on; None after the end of the request."""
        attempts = list(self._attempts.values())
        return attempts[-1].connection if attempts else None

    @property
    def _req_id(self: Any) -> int | None:
        stream: int | None = self._last_stream
        return stream

    @property
    def _host(self: Any) -> Any:
        """The only host that the request may be sent to; None if there are several."""
        return self._execution.sending.plan.only

    @property
    def _load_balancer(self: Any) -> Any:
        return self._execution.sending.plan.router.policy

    @property
    def _spec_execution_plan(self: Any) -> Any:
        return self._execution.sending.speculation or NoSpeculativeExecutionPlan()

    @property
    def _query_retries(self: Any) -> int:
        return int(self._execution._retries)

    @property
    def _query_traces(self: Any) -> list[Any] | None:
        return list(self._traces) or None

    @property
    def _protocol_handler(self: Any) -> Any:
        return self.session.client_protocol_handler

    @property
    def _time_remaining(self: Any) -> float | None:
        left: float | None = self._remaining()
        return left

    _set_final_result = Final("_set_final_result", end_with_result)
    _set_final_exception = Final("_set_final_exception", end_with_exception)

    @property
    def _event(self: Any) -> _Event:
        return _Event(self)

    @property
    def _current_host(self: Any) -> Any:
        """The host that the request was last sent to."""
        return self.coordinator_host

    @property
    def _col_names(self: Any) -> list[str] | None:
        """Names of the columns of the response; None before it arrives, and if it has none."""
        if self._final_result is None:
            return None
        names: list[str] | None = self.result().column_names
        return names

    @property
    def _col_types(self: Any) -> list[Any] | None:
        """Types of the columns of the response; None as for ``_col_names``."""
        return None if self._final_result is None else self.result().column_types


class ProtocolHandler:
    """Aliases of ``cassandra.protocol.ProtocolHandler``."""

    col_parser = ListParser()
    my_opcodes = _ProtocolHandler.message_types_by_opcode


class LazyProtocolHandler:
    """Aliases of ``cassandra.protocol.LazyProtocolHandler``."""

    col_parser = LazyParser()
    my_opcodes = _ProtocolHandler.message_types_by_opcode
