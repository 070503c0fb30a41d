"""After a fork: the child leaves threads and sockets to its parent, and opens its own on first use.

L5. In the child only the thread that forked continues; everything else of the driver is an unused copy. Three steps,
all in the child, so that a process that does not fork has no cost:

fork      ``_in_child`` (a hook of the interpreter, while the child has one thread; if the interpreter did not see the
          fork, the first use) drops connections, pools, queued work and the locks that other threads may have held,
          and closes its copies of the sockets, or connections would outlive a parent that is killed. It opens no
          connection: a child that only execs must not connect.
awaken    the first use (a request that finds no pool, or anything that needs the reactor) starts a reactor and opens
          the control connection and the pools, as if all of them had been lost: ``Life.awaken``. It never blocks.
wait      requests that come meanwhile wait in the PoolSet of their session, and are sent once its first pool is open.

The child keeps hosts, tokens, schema, profiles and policies, prepared statements, the keyspace, listeners. Requests
that were in flight are the parent's; in the child they fail (``Operation._on_forked``), and so do long-running calls,
like execute_concurrent, and waiting calls, like connect (``_base/process.py``).

Locks are renewed in place, because requests refer to those of their session. They were driver locks, held briefly, and
the threads that held them are not in the child.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from cassandra._base.process import in_child, renew
from cassandra._routing.policies.base import chain_of
from cassandra._session.hosts.pools import PoolSet
from cassandra._session.request.preparing import Repreparing

from . import aio
from .request import completion

if TYPE_CHECKING:
    from .cluster import Cluster

_clusters: WeakSet[Cluster] = WeakSet()


def watch(cluster: Cluster) -> None:
    """Watch *cluster* in children that are forked from now on."""
    _clusters.add(cluster)


def _in_child() -> None:
    aio.leave_to_parent()
    renew(completion._lock)
    completion._tenants.clear()
    for cluster in list(_clusters):
        _leave_to_parent(cluster)


def _leave_to_parent(cluster: Cluster) -> None:
    for lock in _locks(cluster):
        renew(lock)
    cluster.scheduler.leave_to_parent()
    cluster._versions.leave_to_parent()
    cluster.control_connection.leave_to_parent()
    cluster.membership.leave_to_parent()
    cluster.schema_changes.leave_to_parent()
    cluster.life.leave_to_parent()
    if cluster.metrics is not None:
        cluster.metrics.leave_to_parent()
    for session in cluster.sessions:
        session.is_shutdown = session.is_shutdown or cluster.is_shutdown
        for pool in session._pool_set.pools.values():
            pool.leave_to_parent()
        session._pool_set = PoolSet(session, reopening=not session.is_shutdown)
        session._ending.leave_to_parent()
        session._repreparing = Repreparing()


def _locks(cluster: Cluster) -> Iterator[Any]:
    """Yield the locks of all objects that continue in the child."""
    yield cluster.metadata._lock
    owners: list[Any] = [cluster.timestamp_generator, cluster.ssl_session_cache]
    for policy in cluster.profile_manager.policies():
        owners += chain_of(policy)
    if cluster.metrics is not None:
        owners += [sys.modules["cassandra._session.metrics"], cluster.metrics, *cluster.metrics.stats._stats.values()]
    for owner in owners:
        lock = getattr(owner, "_lock", None) or getattr(owner, "lock", None)
        if hasattr(lock, "_at_fork_reinit"):
            yield lock


in_child(_in_child)
