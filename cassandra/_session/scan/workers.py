"""How a process that has a task of a scan gets a session: one for each cluster, made with the first task.

L5. Of the cluster a task carries addresses, port and policies, never credentials: these the process gets itself, from a
function that is pickled by its name. Sessions stay until the process ends, or :func:`close_sessions`; a forked child
goes on with those that its parent has, as with every session.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.process import in_child, renew
from cassandra._base.public import public
from cassandra._base.real import threading

if TYPE_CHECKING:
    from ..session import Session

_sessions: dict[bytes, Session] = {}
_lock = threading.RLock()  # while a session is made: others wait for it
in_child(lambda: renew(_lock))


@public("cassandra.scan")
def close_sessions() -> None:
    """Shut down the sessions that tasks of scans have made in this process, with their clusters; the next task makes a
    new one. A process that ends need not do that."""
    with _lock:
        for session in _sessions.values():
            session.cluster.shutdown()
        _sessions.clear()


class Origin:
    """Where the session of a task comes from: in the process that made the task it is the one that it was made of.

    *connect* makes a session; without, one is made of the addresses, with what *credentials* returns, an auth provider
    or a user and a password. Both are functions that the other process can import. ``__reduce__`` says what is missing:
    threads never need it. Policies are pickled for themselves: cloudpickle would take apart a class whose public module
    is not imported.
    """

    def __init__(
        self, session: Session, connect: Callable[[], Session] | None, credentials: Callable[[], Any] | None
    ) -> None:
        self._here: Callable[[], Session | None] = weakref.ref(session)
        self._connect = connect
        self._credentials = credentials
        self._reached: dict[str, Any] = {}
        self._refusal = "" if connect is not None else self._describe(session)

    def _describe(self, session: Session) -> str:
        """What makes such a session elsewhere; why there can be none."""
        from ..cluster.profiles import EXEC_PROFILE_DEFAULT

        cluster = session.cluster
        if cluster.ssl_context is not None or cluster.ssl_options is not None:
            return (
                "its cluster uses TLS, whose context cannot be pickled: give connect=, a function that makes a session"
            )
        if cluster.auth_provider is not None and self._credentials is None:
            return "credentials are never pickled: give credentials=, a function that returns them, or connect="
        policy = session._resolve_profile(EXEC_PROFILE_DEFAULT).load_balancing_policy or cluster.load_balancing_policy
        self._reached = {
            "contact_points": list(cluster.contact_points),
            "port": cluster.port,
            "protocol_version": cluster.protocol_version,
            "policy": policy,
        }
        return ""

    def session(self) -> Session:
        """The session of this process."""
        session = self._here()
        if session is not None and not session.is_shutdown:
            return session
        key = pickle.dumps(self)
        with _lock:
            session = _sessions.get(key)
            if session is None or session.is_shutdown:
                session = _sessions[key] = self._made()
        return session

    def _made(self) -> Session:
        if self._connect is not None:
            return self._connect()
        from ..cluster.cluster import Cluster
        from ..cluster.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile

        reached = dict(self._reached)
        profile = ExecutionProfile(load_balancing_policy=reached.pop("policy"))
        if self._credentials is not None:
            reached["auth_provider"] = _provider(self._credentials())
        return Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **reached).connect()

    def __reduce__(self) -> Any:
        if self._refusal:
            raise TypeError(f"a task of a scan cannot be pickled: {self._refusal}")
        return _arrived, (self._connect, self._credentials, pickle.dumps(self._reached))


def _arrived(connect: Any, credentials: Any, reached: bytes) -> Origin:
    origin = Origin.__new__(Origin)
    origin._here = _nobody
    origin._connect, origin._credentials, origin._refusal = connect, credentials, ""
    origin._reached = pickle.loads(reached)
    return origin


def _nobody() -> None:
    return None


def _provider(given: Any) -> Any:
    if isinstance(given, tuple):
        from cassandra._net.handshake.auth import PlainTextAuthProvider

        return PlainTextAuthProvider(*given)
    return given
