"""Compatibility aliases of public classes that other packages are known to read, change or wrap (L6).

Facades such as ``cassandra.cluster`` add them (``_base/aliases.py``): a class here holds the aliases of the public
class with the same name. The public classes do not use them.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from cassandra._base import threads
from cassandra._base.constants import ConsistencyLevel
from cassandra._base.locks import lock_of_programs
from cassandra._base.process import AutoResetEvent
from cassandra._base.real import Future
from cassandra._routing.policies import NoSpeculativeExecutionPlan
from cassandra._routing.schema import MaterializedViewMetadata, ddl
from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra._session.request.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra._wire.handlers import _ProtocolHandler

from .hooks import Final, end_with_exception, end_with_result
from .names import _ConfigMode, _ConsistencyMode
from .protocol import LazyParser, ListParser

# ---- sessions, clusters, requests


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
        return list(self._listeners.value)

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
            over = AutoResetEvent()
            self._request.add_callbacks(over.set, over.set)
            over.wait(timeout)
        return self.is_set()


class ResponseFuture:
    """Aliases of ``cassandra.cluster.ResponseFuture``."""

    _continuous_paging_session = None  # DSE only

    @property
    def _connection(self: Any) -> Any:
        """The connection that the last attempt was sent on; None after the end of the request."""
        attempts = self._attempts
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


# ---- load balancing policies


class LoadBalancingPolicy:
    """Aliases of ``cassandra.policies.LoadBalancingPolicy``: a lock per policy that the driver does not acquire."""

    @property
    def _hosts_lock(self: Any) -> Any:
        return lock_of_programs(self)


class _LiveHosts:
    """The hosts of a policy, as a frozenset; assigned hosts replace them."""

    def __get__(self, policy: Any, owner: type | None = None) -> Any:
        return self if policy is None else frozenset(policy._hosts)

    def __set__(self, policy: Any, hosts: Iterable[Any]) -> None:
        policy._replace(tuple(hosts))


class _ByPlace(dict[Any, Any]):
    """The hosts of a policy by datacenter or rack; changes are applied to the policy."""

    def __init__(self, policy: Any, place: Callable[[Any], Any]) -> None:
        self._policy = policy
        for host in policy._view.hosts:
            super().__setitem__(place(host), (*self.get(place(host), ()), host))

    def __setitem__(self, place: Any, hosts: Any) -> None:
        super().__setitem__(place, hosts)
        self._changed()

    def __delitem__(self, place: Any) -> None:
        super().__delitem__(place)
        self._changed()

    def pop(self, *args: Any) -> Any:
        found = super().pop(*args)
        self._changed()
        return found

    def _changed(self) -> None:
        self._policy._replace(tuple(host for hosts in self.values() for host in hosts))


class RoundRobinPolicy:
    """Aliases of ``cassandra.policies.RoundRobinPolicy`` that subclasses use, and change."""

    _live_hosts = _LiveHosts()

    @property
    def _position(self: Any) -> int:
        return int(self._turn.value)


class DCAwareRoundRobinPolicy:
    """Aliases of ``cassandra.policies.DCAwareRoundRobinPolicy``."""

    _position = RoundRobinPolicy._position

    def _dc(self: Any, host: Any) -> Any:
        """Return the datacenter of *host*, or the local one if it is unknown."""
        return host.datacenter or self.local_dc

    @property
    def _dc_live_hosts(self: Any) -> Any:
        return _ByPlace(self, lambda host: host.datacenter or self.local_dc)


class RackAwareRoundRobinPolicy:
    """Aliases of ``cassandra.policies.RackAwareRoundRobinPolicy``."""

    _position = RoundRobinPolicy._position
    _dc = DCAwareRoundRobinPolicy._dc
    _dc_live_hosts = DCAwareRoundRobinPolicy._dc_live_hosts

    def _rack(self: Any, host: Any) -> Any:
        """Return the rack of *host*, or the local one if it is unknown."""
        return host.rack or self.local_rack

    @property
    def _live_hosts(self: Any) -> Any:
        return _ByPlace(self, lambda host: (host.datacenter or self.local_dc, host.rack or self.local_rack))


# ---- schema metadata

# In scylla-driver the control connection stores the schema by these methods. Here it publishes snapshots; a change that
# a program makes to one lasts until the next schema change is read.

_KEPT = ("tables", "user_types", "indexes", "functions", "aggregates", "views")  # retained if a keyspace is altered


class Metadata:
    """Aliases of ``cassandra.metadata.Metadata``."""

    @property
    def _hosts(self: Any) -> dict[UUID | None, Any]:
        return dict(self.all_hosts_items())

    @property
    def _hosts_lock(self: Any) -> Any:
        """A lock for programs; the driver does not acquire it."""
        return lock_of_programs(self)

    def _get_host_by_address(self: Any, address: str, port: int | None = None) -> Any:
        return self.get_host(address, port)

    def _update_keyspace(self: Any, keyspace_meta: Any, new_user_types: Any = None) -> None:
        """Add a keyspace, or replace the one with its name, whose contents it takes over."""
        known = self.keyspaces.get(keyspace_meta.name)
        if known is not None:
            for name in _KEPT:
                setattr(keyspace_meta, name, getattr(known, name))
        if new_user_types is not None:
            keyspace_meta.user_types = new_user_types
        self.keyspaces = {**self.keyspaces, keyspace_meta.name: keyspace_meta}

    def _drop_keyspace(self: Any, keyspace: str) -> None:
        self.keyspaces = {name: known for name, known in self.keyspaces.items() if name != keyspace}

    def _update_table(self: Any, meta: Any) -> None:
        """Add a table or a view."""
        keyspace = self.keyspaces.get(meta.keyspace_name)
        if keyspace is not None:
            is_view = isinstance(meta, MaterializedViewMetadata)
            (keyspace._add_view_metadata if is_view else keyspace._add_table_metadata)(meta)

    def _drop_table(self: Any, keyspace: str, table: str) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace]._drop_table_metadata(table)

    def _update_type(self: Any, type_meta: Any) -> None:
        self.keyspaces[type_meta.keyspace].user_types[type_meta.name] = type_meta

    def _update_function(self: Any, function_meta: Any) -> None:
        self.keyspaces[function_meta.keyspace].functions[function_meta.signature] = function_meta

    def _update_aggregate(self: Any, aggregate_meta: Any) -> None:
        self.keyspaces[aggregate_meta.keyspace].aggregates[aggregate_meta.signature] = aggregate_meta

    def _drop_type(self: Any, keyspace: str, type: str) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace].user_types.pop(type, None)

    def _drop_function(self: Any, keyspace: str, function: Any) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace].functions.pop(function.signature, None)

    def _drop_aggregate(self: Any, keyspace: str, aggregate: Any) -> None:
        if keyspace in self.keyspaces:
            self.keyspaces[keyspace].aggregates.pop(aggregate.signature, None)


class KeyspaceMetadata:
    """Aliases of ``cassandra.metadata.KeyspaceMetadata``."""

    _exc_info = None
    _consistency_mode = _ConsistencyMode.EVENTUAL

    def _add_table_metadata(self: Any, table_metadata: Any) -> None:
        """Add a table, or replace the one with its name, whose views it takes over."""
        known = self.tables.get(table_metadata.name)
        if known is not None:
            table_metadata.views = known.views
            for index in known.indexes:
                self.indexes.pop(index, None)
        self.tables[table_metadata.name] = table_metadata
        self.indexes.update(table_metadata.indexes)

    def _add_view_metadata(self: Any, view_metadata: Any) -> None:
        """Add a view, if its table is known."""
        table = self.tables.get(view_metadata.base_table_name)
        if table is not None:
            table.views[view_metadata.name] = self.views[view_metadata.name] = view_metadata

    def _drop_table_metadata(self: Any, table_name: str) -> None:
        """Drop a table with its indexes and views, or a view."""
        table = self.tables.pop(table_name, None)
        if table is not None:
            for index in table.indexes:
                self.indexes.pop(index, None)
            for view in table.views:
                self.views.pop(view, None)
            return
        view = self.views.pop(table_name, None)
        if view is not None and view.base_table_name in self.tables:
            self.tables[view.base_table_name].views.pop(table_name, None)


class TableMetadata:
    """Aliases of ``cassandra.metadata.TableMetadata``."""

    _exc_info = None

    def _all_as_cql(self: Any) -> str:
        """Return the statements that create the table with its indexes and views."""
        return str(self.export_as_string())

    @classmethod
    def _property_string(
        cls: Any, formatted: bool, clustering_key: Any, options_map: Any, is_compact_storage: bool = False
    ) -> str:
        """Return the table properties that follow WITH."""
        properties = ["COMPACT STORAGE"] if is_compact_storage else []
        properties += ddl.clustering_order(clustering_key) + cls._make_option_strings(options_map)
        return ("\n    AND " if formatted else " AND ").join(properties)


class ColumnMetadata:
    """Aliases of ``cassandra.metadata.ColumnMetadata``."""

    _cass_type = None


# ---- statements and prepared statements


class Statement:
    """Aliases of ``cassandra.query.Statement``."""

    def _get_routing_key(self: Any) -> Any:
        return self.routing_key

    def _set_routing_key(self: Any, key: Any) -> None:
        self.routing_key = key

    def _del_routing_key(self: Any) -> None:
        del self.routing_key

    def _get_serial_consistency_level(self: Any) -> int | None:
        level: int | None = self.serial_consistency_level
        return level

    def _set_serial_consistency_level(self: Any, serial_consistency_level: int | None) -> None:
        self.serial_consistency_level = serial_consistency_level

    def _del_serial_consistency_level(self: Any) -> None:
        del self.serial_consistency_level

    def _key_parts_packed(self: Any, parts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the encoded parts of a partition key with several columns."""
        for part in parts:
            yield struct.pack(f">H{len(part)}sB", len(part), part, 0)


class PreparedStatement:
    """Aliases of ``cassandra.query.PreparedStatement``."""

    @property
    def _result_metadata_and_id(self: Any) -> Any:
        return self.result_metadata_and_id

    @property
    def _routing_key_index_set(self: Any) -> set[int] | None:
        return set(self.routing_key_indexes) if self.routing_key_indexes else None
