"""What every load balancing policy is, and the two ways the driver asks one (L4).

A policy of the user is asked for ``make_query_plan(keyspace, statement)``: an iterator of hosts, best first. A
chain of built-in policies is asked to ``pick`` just the first host, with nothing allocated; ``fallback`` yields
the others when that host fails. ``router.py`` chooses between the two ways, once per profile.

Policies are called from many threads. What one knows of the cluster is a single immutable value (its *view*)
which event handlers replace under a lock; a plan reads it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._base.public import public

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.snapshot import ClusterState


@public("cassandra.policies")
class HostDistance:
    """How far a host is: decides whether it gets connections, and how early it comes in a query plan."""

    #: Never used: no connections are opened to it.
    IGNORED = -1
    #: Same rack as the client.
    LOCAL_RACK = 0
    #: Same data centre as the client.
    LOCAL = 1
    #: Another data centre: used after the local ones.
    REMOTE = 2


@public("cassandra.policies")
class HostStateListener:
    """Is told about hosts that come, go, and change state."""

    def on_up(self, host: Host) -> None:
        """A host came up."""
        raise NotImplementedError

    def on_down(self, host: Host) -> None:
        """A host went down."""
        raise NotImplementedError

    def on_add(self, host: Host) -> None:
        """A host joined the cluster; it counts as up."""
        raise NotImplementedError

    def on_remove(self, host: Host) -> None:
        """A host left the cluster."""
        raise NotImplementedError


@public("cassandra.policies")
class LoadBalancingPolicy(HostStateListener):
    """Decides which hosts get requests, in which order. Subclass it to route by your own rules.

    Its methods are called from many threads, also while other methods run.
    """

    def __init__(self) -> None:
        pass

    def distance(self, host: Host) -> int:
        """The :class:`HostDistance` of *host*. Asked again whenever hosts change."""
        raise NotImplementedError

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        """Called once, before anything else, with the hosts known so far."""
        raise NotImplementedError

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """The hosts to try for one request, best first, made while they are asked for. *query* is the statement
        or None."""
        raise NotImplementedError

    def check_supported(self) -> None:
        """Raise if the policy cannot work in this cluster. Called after :meth:`populate`."""


class Picker(Protocol):
    """What built-in policies offer besides :class:`LoadBalancingPolicy`.

    *keyspace* is the statement's, or else the session's; *token* the Murmur3 token of the partition if the caller knows
    it; *state* the snapshot to route by. A pick and a fallback of the same request need not agree on rotation.
    """

    @property
    def epoch(self) -> object:
        """Changes identity whenever a ``distance`` may have changed; None: distances must be asked for every time."""

    def distance(self, host: Host) -> int: ...

    def pick(self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any) -> Host | None:
        """The first host of a plan; None when there is none."""

    def fallback(self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any) -> Iterator[Host]:
        """The whole plan, lazily; callers skip what they have tried."""


def with_host(hosts: tuple[Host, ...], host: Host) -> tuple[Host, ...]:
    """*hosts* with *host* last; an equal one (a node replaced at the same address) gives way."""
    return (*(other for other in hosts if other != host), host)


def without_host(hosts: tuple[Host, ...], host: Host) -> tuple[Host, ...]:
    return tuple(other for other in hosts if other != host)


def rotated(hosts: tuple[Host, ...], position: int) -> Iterator[Host]:
    """*hosts* once around, beginning at *position*."""
    count = len(hosts)
    for step in range(count):
        yield hosts[(position + step) % count]


def routing_keyspace(working_keyspace: str | None, query: Any) -> str | None:
    """The keyspace a request is routed in: the statement's own, or the session's."""
    own: str | None = getattr(query, "keyspace", None)
    return own or working_keyspace


def is_lwt(statement: Any) -> bool:
    """Whether *statement* is known to be conditional: then all clients should prefer the same replica."""
    return statement is not None and bool(statement.is_lwt())
