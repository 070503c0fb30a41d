"""Sessions that programs create themselves, by ``Session(cluster, hosts, keyspace)`` or as a subclass (L6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cassandra._base.process import Bell
from cassandra._session import scheduler
from cassandra._session.cluster import Cluster, await_pools


def make(session: Any, init: Callable[..., None], cluster: Any, hosts: Any, keyspace: str | None = None) -> None:
    """Initialise *session* as ``Cluster.connect`` does: pass the hosts, and open its pools. Raise NoHostAvailable if
    none opens.

    With a cluster that is not connected, or that is a mock, the session has no pools."""
    is_ours = issubclass(type(cluster), Cluster)
    if is_ours:
        scheduler.run(cluster.life.prepare)
    init(session, cluster, hosts, keyspace)
    if not is_ours or not cluster.life.is_started:
        return
    scheduler.run(_open, session, cluster)


def _open(session: Any, cluster: Cluster) -> None:
    cluster.sessions.add(session)
    opened = Bell()
    try:
        await_pools(session, session.update_created_pools(), False, opened)
    except BaseException:
        session.shutdown()
        raise
