"""How a request asks a load balancing policy: :func:`router_for`, once per policy, then the router per request (L4).

Why not always ``make_query_plan``: a plan costs a generator, and with token awareness a shuffled list and a
set, for every request, though all but the first host is thrown away unless a host fails. Identity decides: only
an unmodified built-in class, all the way down its children, is asked by ``pick``; a subclass may have
overridden anything, so its own plan is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.snapshot import ClusterState

    from .base import LoadBalancingPolicy, Picker

T = TypeVar("T")

_BUILTIN: set[type] = set()
_METHODS = frozenset(("distance", "make_query_plan"))


def builtin(cls: type[T]) -> type[T]:
    """Register a policy class that has ``pick`` and ``fallback``."""
    _BUILTIN.add(cls)
    return cls


def is_unmodified(policy: Any) -> TypeGuard[Picker]:
    """Whether *policy* is of a built-in class itself, with no method put on the instance."""
    return type(policy) in _BUILTIN and not _METHODS & vars(policy).keys()


def is_builtin(policy: Any) -> TypeGuard[Picker]:
    """Whether *policy* and all its children are unmodified built-in ones."""
    if not is_unmodified(policy):
        return False
    child = getattr(policy, "_child_policy", None)
    return child is None or is_builtin(child)


def fallback_of(
    policy: Any, state: ClusterState, keyspace: str | None, token: int | None, statement: Any
) -> Iterator[Host]:
    """The plan of any policy: a built-in one's for this state and token, or the one a user's policy makes."""
    if is_unmodified(policy):
        return policy.fallback(state, keyspace, token, statement)
    return iter(policy.make_query_plan(keyspace, statement))


class Router:
    """Asks one policy for the hosts of requests. Stateless; any thread.

    Take the host of :meth:`start`; when it fails go on with the rest of the plan, or, if there is none yet, with
    :meth:`fallback`.
    """

    __slots__ = ("policy",)

    def __init__(self, policy: LoadBalancingPolicy | Picker) -> None:
        self.policy: Any = policy

    def start(
        self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any
    ) -> tuple[Host | None, Iterator[Host] | None]:
        """The first host (None: there is none) and, if it was made already, the rest of the plan.

        *keyspace* is the statement's, or else the session's; *token* the Murmur3 token of the request's partition if
        it is known.
        """
        plan = fallback_of(self.policy, state, keyspace, token, statement)
        return next(plan, None), plan

    def fallback(
        self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any, picked: Host | None
    ) -> Iterator[Host]:
        """The other hosts, when :meth:`start` gave no rest and its host failed."""
        return (host for host in fallback_of(self.policy, state, keyspace, token, statement) if host is not picked)


class PickingRouter(Router):
    """For a chain of built-in policies."""

    __slots__ = ()

    def start(
        self, state: ClusterState, keyspace: str | None, token: int | None, statement: Any
    ) -> tuple[Host | None, Iterator[Host] | None]:
        return self.policy.pick(state, keyspace, token, statement), None

    def route(self, state: ClusterState, keyspace: str | None, statement: Any) -> Callable[[int | None], Host | None]:
        """The first hosts of many requests of one *statement* by their tokens, as long as *state* is the snapshot."""
        policy = self.policy
        route: Callable[[int | None], Host | None]
        if hasattr(policy, "route"):
            route = policy.route(state, keyspace, statement)
        else:

            def route(token: int | None) -> Host | None:
                host: Host | None = policy.pick(state, keyspace, token, statement)
                return host

        return route


def router_for(policy: LoadBalancingPolicy) -> Router:
    """The way to ask *policy*; for the caller to keep."""
    return PickingRouter(policy) if is_builtin(policy) else Router(policy)
