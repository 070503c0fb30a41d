"""Compatibility aliases of policies that programs are known to use, and change (L6); see ``attributes.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cassandra._base.locks import lock_of_programs


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
