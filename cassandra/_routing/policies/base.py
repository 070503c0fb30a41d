"""What every load balancing policy is, and the two ways the driver asks one (L4).

A policy of the user is asked for ``make_query_plan(keyspace, statement)``: an iterator of hosts, best first. From a
chain of built-in policies a native plan is made that gives just the first host, with nothing allocated; ``fallback``
yields the others when that host fails. ``router.py`` chooses between the two ways, once per profile.

Policies are called from many threads. What one knows of the cluster is a single immutable value (its *view*)
which event handlers replace under a lock; a plan reads it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.copies import set_state, state_of
from cassandra._base.public import public
from cassandra._core.routing import Place

if TYPE_CHECKING:
    from cassandra._core.routing import Count, Tablet
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
        """Called once, with the hosts known so far, before anything else but a first :meth:`make_query_plan`."""
        raise NotImplementedError

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """The hosts to try for one request, best first, made while they are asked for. *query* is the statement; None
        for PREPARE and for the control connection, whose first plan is asked for before :meth:`populate`: a policy
        that knows no host by then gives none, and the contact points are tried."""
        raise NotImplementedError

    def check_supported(self) -> None:
        """Raise if the policy cannot work in this cluster. Called after :meth:`populate`."""

    def __getstate__(self) -> dict[str, Any]:
        """A copy knows what this one knows at that moment, and hears of no host until it is given to a cluster."""
        return state_of(self, ("_cluster_metadata",))

    def __setstate__(self, state: dict[str, Any]) -> None:
        set_state(self, state)


class Wanted:
    """What a request is routed by."""

    __slots__ = ("keyspace", "level", "state", "statement", "tablet", "token")

    def __init__(
        self,
        state: ClusterState,
        keyspace: str | None,
        token: Any,
        tablet: Tablet | None,
        statement: Any,
        level: int | None = None,
    ) -> None:
        self.state = state
        # The statement's, or else the session's.
        self.keyspace = keyspace
        # The token of the partition, as this cluster's partitioner makes it; None if it is not known.
        self.token = token
        # The tablet that covers the token; None if that is not known.
        self.tablet = tablet
        self.statement = statement
        # The consistency level of the request; None if only the statement's own is known.
        self.level = level

    @classmethod
    def of(
        cls, state: ClusterState, keyspace: str | None, token: int | None, statement: Any, level: int | None = None
    ) -> Wanted:
        """*token*: the Murmur3 token of the partition if it is known. *level*: the consistency level of the request."""
        value = state.routing_token(token, statement)
        tablet = state.tablet(keyspace, getattr(statement, "table", None), value)
        return cls(state, keyspace, value, tablet, statement, level)

    @property
    def ordered(self) -> bool:
        """Whether replicas are tried in the order of the tablet or the ring."""
        return keeps_order(self.statement, self.level)

    def replicas(self) -> Sequence[Host]:
        """The hosts that hold the partition, in the order of the tablet or the ring; empty if they are not known."""
        if self.tablet is not None:
            by_id = self.state.topology.by_id
            return [by_id[host_id] for host_id, _ in self.tablet.replicas or () if host_id in by_id]
        if self.token is None or self.keyspace is None:
            return ()
        return self.state.replicas(self.keyspace, self.token)

    def place(self, host: Host) -> Place:
        """*host*, with the shard of the tablet there."""
        shard = None if self.tablet is None else self.tablet.get_replica_shard_id(host.host_id)  # type: ignore[arg-type]
        return Place(host, shard)


class BuiltIn(Protocol):
    """What built-in policies offer besides :class:`LoadBalancingPolicy`."""

    def distance(self, host: Host) -> int: ...

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """The whole plan, lazily; callers skip what they have tried."""


class Leaf(BuiltIn, Protocol):
    """One that has no child: native plans go by the hosts that it knows."""

    #: Goes on after whatever plans depend on has changed.
    _changes: Count
    #: Whose turn it is.
    _turn: Count

    def _near_to_far(self) -> Iterable[tuple[Host, ...]]:
        """The hosts to use, those at the same distance together."""


def with_host(hosts: tuple[Host, ...], host: Host) -> tuple[Host, ...]:
    """*hosts* with *host* last; an equal one (a node replaced at the same address) gives way."""
    return (*(other for other in hosts if other != host), host)


def without_host(hosts: tuple[Host, ...], host: Host) -> tuple[Host, ...]:
    return tuple(other for other in hosts if other != host)


def routing_keyspace(working_keyspace: str | None, query: Any) -> str | None:
    """The keyspace a request is routed in: the statement's own, or the session's."""
    own: str | None = getattr(query, "keyspace", None)
    return own or working_keyspace


def keeps_order(statement: Any, level: int | None = None) -> bool:
    """Whether replicas are tried in the order of the ring: all clients should prefer the same one for conditional
    statements and for reads at a serial consistency level, which contend in Paxos. *level* is the consistency level of
    the request; None if only the statement's own is known."""
    if ConsistencyLevel.is_serial(getattr(statement, "consistency_level", None) if level is None else level):
        return True
    return statement is not None and bool(statement.is_lwt())
