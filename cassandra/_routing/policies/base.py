"""Base classes of load balancing policies, and the two interfaces by which the driver uses them (L4).

For a user's policy the driver calls ``make_query_plan(keyspace, statement)``: an iterator of hosts, best first. For a
chain of built-in policies it makes a native plan that returns only the first host, without allocation; ``fallback``
yields the other hosts if that one fails. ``router.py`` chooses the interface, once per profile.

Policies are called from many threads. The hosts of a policy are a single immutable value (its *view*), which event
handlers replace under a lock; a plan reads it once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.objects import public, set_state, state_of
from cassandra._core.routing import Target

if TYPE_CHECKING:
    from cassandra._core.routing import Count, Tablet
    from cassandra._routing.host import Host
    from cassandra._routing.metadata import ClusterState

_LONGEST_CHAIN = 16  # nested policies


@public("cassandra.policies")
class HostDistance:
    """Distance of a host: determines if connections to it are opened, and its position in query plans."""

    #: Never used: no connections are opened to it.
    IGNORED = -1
    #: Same rack as the client.
    LOCAL_RACK = 0
    #: Same datacenter as the client.
    LOCAL = 1
    #: Another datacenter: used after the local ones.
    REMOTE = 2


@public("cassandra.policies")
class HostStateListener:
    """Receives events of hosts: added, removed, up, down."""

    def on_up(self, host: Host) -> None:
        """Handle a host that came up."""
        raise NotImplementedError

    def on_down(self, host: Host) -> None:
        """Handle a host that went down."""
        raise NotImplementedError

    def on_add(self, host: Host) -> None:
        """Handle a host that joined the cluster; it counts as up."""
        raise NotImplementedError

    def on_remove(self, host: Host) -> None:
        """Handle a host that left the cluster."""
        raise NotImplementedError


@public("cassandra.policies")
class LoadBalancingPolicy(HostStateListener):
    """Selects and orders the hosts for requests. Subclass it for your own rules.

    Its methods are called from many threads and may run concurrently.
    """

    def __init__(self) -> None:
        pass

    def distance(self, host: Host) -> int:
        """Return the :class:`HostDistance` of *host*. Called again whenever hosts change."""
        raise NotImplementedError

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        """Called once with the known hosts, before all other methods except a first :meth:`make_query_plan`."""
        raise NotImplementedError

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return an iterator over the hosts to try for one request, best first, evaluated lazily. *query* is the
        statement; None for PREPARE and for the control connection, whose first plan is made before :meth:`populate`:
        if that plan is empty, the contact points are tried."""
        raise NotImplementedError

    def check_supported(self) -> None:
        """Raise if the policy cannot work in this cluster. Called after :meth:`populate`."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the current state. A copy receives no host events until it is passed to a cluster."""
        return state_of(self, ("_cluster_metadata",))

    def __setstate__(self, state: dict[str, Any]) -> None:
        set_state(self, state)


def chain_of(policy: Any) -> Iterator[Any]:
    """Yield *policy*, the policy that it wraps, and so on.

    Ends at a child that is no policy: a mock has attributes of any name, each of them another mock.
    """
    yield policy
    for _ in range(_LONGEST_CHAIN):
        policy = getattr(policy, "_child_policy", None)
        if not issubclass(type(policy), LoadBalancingPolicy):  # not isinstance(), which mocks pass
            return
        yield policy


class Wanted:
    """Routing parameters of a request."""

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
        # The token of the partition by this cluster's partitioner; None if it is not known.
        self.token = token
        # The tablet that covers the token; None if it is not known.
        self.tablet = tablet
        self.statement = statement
        # The consistency level of the request; None if only the statement's own is known.
        self.level = level

    @classmethod
    def of(
        cls, state: ClusterState, keyspace: str | None, token: int | None, statement: Any, level: int | None = None
    ) -> Wanted:
        """Make one; *token*: the Murmur3 token of the partition or None, *level*: the request's consistency level."""
        value = state.routing_token(token, statement)
        tablet = state.tablet(keyspace, getattr(statement, "table", None), value)
        return cls(state, keyspace, value, tablet, statement, level)

    @property
    def ordered(self) -> bool:
        """True if replicas are tried in the order of the tablet or the ring."""
        return keeps_order(self.statement, self.level)

    def replicas(self) -> Sequence[Host]:
        """Return the replicas of the partition in the order of the tablet or the ring; empty if they are not known."""
        if self.tablet is not None:
            by_id = self.state.topology.by_id
            return [by_id[host_id] for host_id, _ in self.tablet.replicas or () if host_id in by_id]
        if self.token is None or self.keyspace is None:
            return ()
        return self.state.replicas(self.keyspace, self.token)

    def target(self, host: Host) -> Target:
        """Return *host* as a target, with the shard of the tablet on it."""
        shard = None if self.tablet is None else self.tablet.get_replica_shard_id(host.host_id)  # type: ignore[arg-type]
        return Target(host, shard)


class BuiltIn(Protocol):
    """Interface of built-in policies besides :class:`LoadBalancingPolicy`."""

    def distance(self, host: Host) -> int: ...

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        """Return the whole plan, evaluated lazily; callers skip hosts that they have tried."""


class Leaf(BuiltIn, Protocol):
    """A policy without a child: native plans use its hosts."""

    #: Incremented after each change of the data that plans depend on.
    _changes: Count
    #: Position of the round-robin.
    _turn: Count

    def _near_to_far(self) -> Iterable[tuple[Host, ...]]:
        """Return the hosts to use in groups of equal distance, nearest first."""


def with_host(hosts: tuple[Host, ...], host: Host) -> tuple[Host, ...]:
    """Return *hosts* with *host* last; it replaces an equal one (a replaced node at the same address)."""
    return (*(other for other in hosts if other != host), host)


def without_host(hosts: tuple[Host, ...], host: Host) -> tuple[Host, ...]:
    return tuple(other for other in hosts if other != host)


def routing_keyspace(working_keyspace: str | None, query: Any) -> str | None:
    """Return the keyspace for routing a request: the statement's own, or else *working_keyspace*."""
    own: str | None = getattr(query, "keyspace", None)
    return own or working_keyspace


def keeps_order(statement: Any, level: int | None = None) -> bool:
    """True if replicas are tried in the order of the ring: all clients should prefer the same replica for conditional
    statements and for reads at a serial consistency level, which contend in Paxos. *level* is the consistency level of
    the request; None if only the statement's own is known."""
    if ConsistencyLevel.is_serial(getattr(statement, "consistency_level", None) if level is None else level):
        return True
    return statement is not None and bool(statement.is_lwt())
