"""Round-robin over all hosts, or over an allow-list of them (L4)."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra._base.locks import caller_lock
from cassandra._base.objects import public
from cassandra._core.routing import Count, Rotation
from cassandra._net.endpoint import EndPoint

from .base import HostDistance, LoadBalancingPolicy, with_host, without_host
from .router import builtin

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .base import Wanted


@builtin
@public("cassandra.policies")
class RoundRobinPolicy(LoadBalancingPolicy):
    """Round-robin over all live hosts of all data centres. For clusters with one data centre."""

    def __init__(self) -> None:
        self._hosts: tuple[Host, ...] = ()
        self._turn = Count()
        self._changes = Count()
        self._lock = caller_lock("of a policy")

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._replace(tuple(hosts))

    def distance(self, host: Host) -> int:
        """Return LOCAL for every host."""
        return HostDistance.LOCAL

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return every live host once, starting at the next one of the round-robin."""
        return Rotation(self._hosts, self._turn.advance())

    def on_up(self, host: Host) -> None:
        with self._lock:
            self._replace(with_host(self._hosts, host))

    def on_down(self, host: Host) -> None:
        with self._lock:
            self._replace(without_host(self._hosts, host))

    def on_add(self, host: Host) -> None:
        with self._lock:
            self._replace(with_host(self._hosts, host))

    def on_remove(self, host: Host) -> None:
        with self._lock:
            self._replace(without_host(self._hosts, host))

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        return Rotation(self._hosts, self._turn.advance())

    def _near_to_far(self) -> Iterable[tuple[Host, ...]]:
        return (self._hosts,)

    def _replace(self, hosts: tuple[Host, ...]) -> None:
        self._hosts = hosts
        self._changes.advance()  # last, because makers of plans read it first


@builtin
@public("cassandra.policies")
class WhiteListRoundRobinPolicy(RoundRobinPolicy):
    """Round-robin over the given hosts only; every other host is ignored, even if it is up.

    For clients that must use certain nodes. *hosts* are addresses or names (resolved once, by the constructor), paths
    of Unix sockets, or endpoints, which are compared including the port.
    """

    def __init__(self, hosts: Iterable[str | EndPoint]) -> None:
        self._allowed_hosts = tuple(hosts)
        self._allowed_endpoints = frozenset(host for host in self._allowed_hosts if isinstance(host, EndPoint))
        names = (host for host in self._allowed_hosts if not isinstance(host, EndPoint))
        self._allowed_addresses = frozenset(address for name in names for address in _resolve(name))
        super().__init__()

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._replace(tuple(host for host in hosts if self._allows(host)))

    def distance(self, host: Host) -> int:
        """Return LOCAL for the hosts of the list, IGNORED for every other."""
        return HostDistance.LOCAL if self._allows(host) else HostDistance.IGNORED

    def on_up(self, host: Host) -> None:
        if self._allows(host):
            super().on_up(host)

    def on_add(self, host: Host) -> None:
        if self._allows(host):
            super().on_add(host)

    def _allows(self, host: Host) -> bool:
        return host.endpoint.address in self._allowed_addresses or host.endpoint in self._allowed_endpoints


def _resolve(name: Any) -> list[str]:
    if not isinstance(name, str):
        raise TypeError(f"a host must be an address, a name or an endpoint, got {name!r}")
    if name.startswith("/"):
        return [name]
    found = socket.getaddrinfo(name, None, socket.AF_UNSPEC, socket.SOCK_STREAM)
    return [str(sockaddr[0]) for *_, sockaddr in found]
