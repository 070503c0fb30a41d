"""Policies around another policy: host filters and targeted hosts (L4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._core.routing import ReplicasFirst

from .base import HostDistance, LoadBalancingPolicy, Wanted
from .foreign import state_of
from .router import builtin, fallback_of

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.snapshot import ClusterState


@public("cassandra.policies")
class WrapperPolicy(LoadBalancingPolicy):
    """Delegates all methods to a child; a base class for policies that override some of them."""

    def __init__(self, child_policy: LoadBalancingPolicy) -> None:
        self._child_policy: Any = child_policy

    def distance(self, *args: Any, **kwargs: Any) -> int:
        distance: int = self._child_policy.distance(*args, **kwargs)
        return distance

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._child_policy.populate(cluster, hosts)

    def check_supported(self) -> None:
        self._child_policy.check_supported()

    def on_up(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_up(*args, **kwargs)

    def on_down(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_down(*args, **kwargs)

    def on_add(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_add(*args, **kwargs)

    def on_remove(self, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_remove(*args, **kwargs)


@builtin
@public("cassandra.policies")
class DefaultLoadBalancingPolicy(WrapperPolicy):
    """Uses a child's plan, with the target host of the statement (its ``target_host``, an address) first."""

    _cluster_metadata: Any = None
    _targets_hosts = True

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._cluster_metadata = cluster.metadata
        super().populate(cluster, hosts)

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the target host if there is one and it is up, then the child's plan."""
        keyspace = (getattr(query, "keyspace", None) or working_keyspace) if query is not None else working_keyspace
        address = getattr(query, "target_host", None)
        if address is not None and self._cluster_metadata is not None:
            target = state_of(self._cluster_metadata).host_at(address)
            if target is not None and target.is_up:
                return ReplicasFirst([target], _plan_of, self._child_policy, (keyspace, query))
        return iter(self._child_policy.make_query_plan(keyspace, query))

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        target = _target(wanted.state, wanted.statement)
        if target is None:
            return fallback_of(self._child_policy, wanted)
        return ReplicasFirst([target], fallback_of, self._child_policy, wanted)


def _plan_of(policy: LoadBalancingPolicy, asked: tuple[str | None, Any]) -> Iterator[Host]:
    return policy.make_query_plan(*asked)


def _target(state: ClusterState, statement: Any) -> Host | None:
    address = getattr(statement, "target_host", None)
    if address is None:
        return None
    host = state.host_at(address)
    return host if host is not None and host.is_up else None


@builtin
@public("cassandra.policies")
class HostFilterPolicy(LoadBalancingPolicy):
    """Uses the hosts of a child's plan for which *predicate* is true; every other host is ignored.

    The predicate is called for every host of every plan and may change its result; it must be fast. Filtering happens
    after the child has ordered the hosts, so in a round-robin the hosts after a filtered one get its share::

        HostFilterPolicy(RoundRobinPolicy(), lambda host: host.address != "10.0.0.7")
    """

    def __init__(self, child_policy: LoadBalancingPolicy, predicate: Callable[[Host], bool]) -> None:
        self._child_policy: Any = child_policy
        self._predicate = predicate

    @property
    def predicate(self) -> Callable[[Host], bool]:
        """Function of a host, true if the host may be used. Set by the constructor, read-only."""
        return self._predicate

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        self._child_policy.populate(cluster, hosts)

    def check_supported(self) -> None:
        self._child_policy.check_supported()

    def distance(self, host: Host) -> int:
        """Return IGNORED for filtered hosts, for the others the child's distance."""
        if not self._predicate(host):
            return HostDistance.IGNORED
        distance: int = self._child_policy.distance(host)
        return distance

    def make_query_plan(self, working_keyspace: str | None = None, query: Any = None) -> Iterator[Host]:
        """Return the child's plan without the filtered hosts."""
        return filter(self._predicate, self._child_policy.make_query_plan(working_keyspace, query))

    def on_up(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_up(host, *args, **kwargs)

    def on_down(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_down(host, *args, **kwargs)

    def on_add(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_add(host, *args, **kwargs)

    def on_remove(self, host: Host, *args: Any, **kwargs: Any) -> None:
        self._child_policy.on_remove(host, *args, **kwargs)

    def fallback(self, wanted: Wanted) -> Iterator[Host]:
        return filter(self._predicate, fallback_of(self._child_policy, wanted))
