"""The steps from a cluster to a usable session.

L5. One command: the cluster is started (``life.py``), a session is made, its pools are opened, and the command waits
for one of them. If the wait of the caller is interrupted, the command continues, and its session is shut down.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import CancelledError
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException, NoHostAvailable
from cassandra._base.process import Bell
from cassandra._base.real import Future

from ..background import commands
from ..control.queries import UNBOUNDED
from ..request.fallback import falls_back
from ..session import Session

if TYPE_CHECKING:
    from .cluster import Cluster


def connect(cluster: Cluster, keyspace: str | None, wait_for_all_pools: bool) -> Session:
    """Implement :meth:`Cluster.connect`."""
    cluster.life.refuse_to_block()
    _load(cluster)
    return commands.run(_connect, cluster, keyspace, wait_for_all_pools, undo=_undo)


async def connect_async(cluster: Cluster, keyspace: str | None, wait_for_all_pools: bool) -> Session:
    """Implement :meth:`Cluster.connect_async`."""
    _load(cluster)
    return await commands.run_async(_connect, cluster, keyspace, wait_for_all_pools, undo=_undo)


def _load(cluster: Cluster) -> None:
    """Load modules. Runs on the caller's thread, because it imports."""
    if not cluster.life.is_started:
        cluster.connections.load()


def _undo(session: Session) -> None:
    session.shutdown()


def _connect(cluster: Cluster, keyspace: str | None, wait_for_all_pools: bool) -> Session:
    """Start the cluster and make a session. On a driver thread."""
    started, opened = Bell(), Bell()
    try:
        started.result(cluster.life.start())
    except CancelledError:
        raise DriverException("The cluster was shut down") from None
    session = new_session(cluster, keyspace)
    try:
        await_pools(session, session.update_created_pools(), wait_for_all_pools, opened)
    except BaseException:
        session.shutdown()
        raise
    return session


def new_session(cluster: Cluster, keyspace: str | None) -> Session:
    """Return a session of a started cluster; it has no pools yet."""
    session: Any = Session.__new__(Session)
    session._by_connect = True
    session.__init__(cluster, cluster.metadata.all_hosts(), keyspace or None)  # tracers wrap the attribute
    cluster.sessions.add(session)
    if cluster.is_shutdown or cluster.life.is_draining:
        session.shutdown()
        raise DriverException("Cluster is already shut down")
    made: Session = session
    return made


def await_pools(session: Session, opening: Collection[Future[bool]], wait_for_all: bool, bell: Bell) -> None:
    timeout = session.cluster.options.connect_timeout
    # Pools have time limits of their own; this is a second safeguard.
    limit = 2 * (UNBOUNDED if timeout is None else timeout) + 5.0
    wait_until_open(opening, bell, limit, lambda: not wait_for_all and bool(session._pools))
    check_pools(session)


def wait_until_open(
    opening: Collection[Future[bool]], bell: Bell, limit: float, enough: Callable[[], bool] = lambda: False
) -> bool:
    """Wait until all pools are open or have failed, or *enough* returns True; return False if that takes longer than
    *limit*."""
    deadline = monotonic() + limit
    for future in opening:
        future.add_done_callback(bell.ring)
    while not (enough() or all(future.done() for future in opening)):
        if not bell.wait(deadline - monotonic()):
            return False
    return True


def check_pools(session: Session) -> None:
    """Raise NoHostAvailable if no pool of *session* could be opened, and requests cannot use the control connection."""
    if session._pools or falls_back(session.cluster):
        return
    if session.cluster.is_shutdown:
        raise DriverException("The cluster was shut down while it was connecting")
    using = f" using keyspace '{session.keyspace}'" if session.keyspace else ""
    raise NoHostAvailable(f"Unable to connect to any servers{using}", session._pool_set.reasons())
