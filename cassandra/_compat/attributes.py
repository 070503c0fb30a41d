"""Attributes of public classes that other packages are known to read or wrap (L6).

``cassandra.cluster`` and its like lend them (``_base/lending.py``): the class named as the public one holds what is
lent to it. The public classes know nothing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar
from uuid import UUID

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.real import threading
from cassandra._wire.handlers import _ProtocolHandler

from .finals import Final, end_with_exception, end_with_result
from .internals import _ConfigMode
from .parsing import LazyParser, ListParser


class Session:
    """Of ``cassandra.cluster.Session``."""

    _default_consistency_level = ConsistencyLevel.LOCAL_ONE

    @property
    def _load_balancer(self: Any) -> Any:
        return self.cluster.load_balancing_policy

    @property
    def _metrics(self: Any) -> Any:
        return self.cluster.metrics


class Cluster:
    """Of ``cassandra.cluster.Cluster``."""

    @property
    def _prepared_statements(self: Any) -> Mapping[bytes, Any]:
        """Those that are in use, by id."""
        return {statement.query_id: statement for statement in self.prepared.all()}

    @property
    def _config_mode(self: Any) -> int:
        return int(getattr(_ConfigMode, self.profile_manager.mode.name))


class Metadata:
    """Of ``cassandra.metadata.Metadata``."""

    @property
    def _hosts(self: Any) -> dict[UUID | None, Any]:
        return dict(self.all_hosts_items())


class ControlConnection:
    """Of ``cassandra.cluster.ControlConnection``."""

    @property
    def _connection(self: Any) -> Any:
        return self.connection


class LoadBalancingPolicy:
    """Of ``cassandra.policies.LoadBalancingPolicy``: a lock that nothing of the driver takes, one per policy."""

    _one_at_a_time: ClassVar[Any] = threading.Lock()

    @property
    def _hosts_lock(self: Any) -> Any:
        with LoadBalancingPolicy._one_at_a_time:
            return self.__dict__.setdefault("_lent_hosts_lock", threading.RLock())


class _LiveHosts:
    """The hosts that a policy knows, as a frozenset; what is assigned takes their place."""

    def __get__(self, policy: Any, owner: type | None = None) -> Any:
        return self if policy is None else frozenset(policy._hosts)

    def __set__(self, policy: Any, hosts: Iterable[Any]) -> None:
        policy._replace(tuple(hosts))


class _ByPlace(dict[Any, Any]):
    """The hosts that a policy knows by where they are; what is changed here is changed there."""

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
    """Of ``cassandra.policies.RoundRobinPolicy``: what subclasses use, and change."""

    _live_hosts = _LiveHosts()

    @property
    def _position(self: Any) -> int:
        return int(self._turn.value)


class DCAwareRoundRobinPolicy:
    """Of ``cassandra.policies.DCAwareRoundRobinPolicy``."""

    _position = RoundRobinPolicy._position

    @property
    def _dc_live_hosts(self: Any) -> Any:
        return _ByPlace(self, lambda host: host.datacenter or self.local_dc)


class RackAwareRoundRobinPolicy:
    """Of ``cassandra.policies.RackAwareRoundRobinPolicy``."""

    _position = RoundRobinPolicy._position
    _dc_live_hosts = DCAwareRoundRobinPolicy._dc_live_hosts

    @property
    def _live_hosts(self: Any) -> Any:
        return _ByPlace(self, lambda host: (host.datacenter or self.local_dc, host.rack or self.local_rack))


class OrderedMapSerializedKey:
    """Of ``cassandra.util.OrderedMapSerializedKey``."""

    def _insert(self: Any, key: Any, value: Any) -> None:
        """``self[key] = value``"""
        self[key] = value

    def _insert_unchecked(self: Any, key: Any, flat_key: Any, value: Any) -> None:
        """The same; *flat_key*, the key's bytes, is worked out when it is needed."""
        self[key] = value


class _Event:
    """Whether a request is over, as a ``threading.Event`` has it."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def is_set(self) -> bool:
        return self._request._outcome is not None

    def wait(self, timeout: float | None = None) -> bool:
        if not self.is_set():
            over = threading.Event()
            self._request.add_callbacks(lambda *_: over.set(), lambda *_: over.set())
            over.wait(timeout)
        return self.is_set()


class ResponseFuture:
    """Of ``cassandra.cluster.ResponseFuture``."""

    _set_final_result = Final("_set_final_result", end_with_result)
    _set_final_exception = Final("_set_final_exception", end_with_exception)

    @property
    def _event(self: Any) -> _Event:
        return _Event(self)

    @property
    def _current_host(self: Any) -> Any:
        """The host that was asked last."""
        return self.coordinator_host

    @property
    def _col_names(self: Any) -> list[str] | None:
        """Names of the columns of the answer, None before it came and where it has none."""
        if self._final_result is None:
            return None
        names: list[str] | None = self.result().column_names
        return names

    @property
    def _col_types(self: Any) -> list[Any] | None:
        """Types of the columns."""
        return None if self._final_result is None else self.result().column_types


class ProtocolHandler:
    """Of ``cassandra.protocol.ProtocolHandler``."""

    col_parser = ListParser()
    my_opcodes = _ProtocolHandler.message_types_by_opcode


class LazyProtocolHandler:
    """Of ``cassandra.protocol.LazyProtocolHandler``."""

    col_parser = LazyParser()
    my_opcodes = _ProtocolHandler.message_types_by_opcode
