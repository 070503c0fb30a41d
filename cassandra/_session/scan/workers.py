"""Sessions of processes that run tasks of a scan: one per cluster, connected by the first task.

L5. A task contains addresses, plain options and the policy of the cluster, never credentials: the process gets these
itself, from a function that is pickled as its name. The four sessions used last stay until the process ends, or until
:func:`close_sessions`; others are closed when they are unused. A forked child continues with the sessions of its
parent, as with every session.

``_lock`` guards ``_sessions`` and is held briefly. A missing session is connected under the lock of its entry.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cassandra._base.locks import caller_lock
from cassandra._base.objects import public
from cassandra._base.process import in_child, renew
from cassandra._net.endpoint import DefaultEndPointFactory

if TYPE_CHECKING:
    from ..session import Session

Importable = Callable[[], Any] | str  # a function of a module, or "module:function"

MOST_KEPT = 4

#: Options of a cluster that are copied to other processes.
PLAIN = (
    "allowed_addresses",
    "allowed_authenticators",
    "allow_beta_protocol_version",
    "compression",
    "connect_timeout",
    "control_connection_timeout",
    "cql_version",
    "idle_heartbeat_interval",
    "idle_heartbeat_timeout",
    "max_request_wait",
    "max_requests_per_connection",
    "max_requests_per_host",
    "max_requests_per_session",
    "max_response_bytes",
    "max_waiting_requests",
    "no_compact",
    "port",
    "security_warnings",
)

#: Options that are secret, or bound to this process.
OWN = ("client_routes_config", "cloud", "column_encryption_policy", "ssl_context", "ssl_options")


class _Kept:
    """A session, connected or to be connected."""

    def __init__(self) -> None:
        self.lock = caller_lock("of connecting for tasks")
        self.session: Session | None = None
        self.users = 0


_lock = caller_lock("of the sessions of tasks")
_sessions: dict[bytes, _Kept] = {}  # in order of last use


def _in_child() -> None:
    renew(_lock)
    for kept in _sessions.values():
        renew(kept.lock)
        kept.users = 0  # the users are threads of the parent


in_child(_in_child)


@public("cassandra.scan")
def close_sessions() -> None:
    """Shut down the sessions that tasks of scans have made in this process, with their clusters, unless a task is using
    them; the next task makes a new one. Not needed before a process ends."""
    _close(0)


def _close(most: int) -> None:
    """Close the sessions without users, until *most* are left."""
    with _lock:
        unused = [key for key, kept in _sessions.items() if not kept.users]
        closing = [_sessions.pop(key) for key in unused[: max(0, len(_sessions) - most)]]
    for kept in closing:
        if kept.session is not None:
            kept.session.cluster.shutdown()


class Origin:
    """Source of the session of a task: in the process that made the task, its own session.

    *connect* makes a session; without it, one is made from the addresses and the result of *credentials*, an auth
    provider or a user and a password. Both are functions that the other process imports. Missing functions raise only
    in ``__reduce__``, as threads do not need them. The policy is pickled separately: cloudpickle would pickle the
    contents of a class whose public module is not imported.
    """

    def __init__(self, session: Session, connect: Importable | None, credentials: Importable | None) -> None:
        self._here: Callable[[], Session | None] = weakref.ref(session)
        self._connect = None if connect is None else name_of("connect", connect)
        self._credentials = None if credentials is None else name_of("credentials", credentials)
        self._keyspace = session.keyspace
        self._reached: dict[str, Any] = {}
        self._policy = b""
        # Tasks with equal keys share a session. The key has the cluster and not its policy, which contains the hosts
        # that are currently up, or its options, which may be objects that are pickled differently each time.
        self._key = pickle.dumps((self._connect, self._credentials, self._keyspace, session.cluster.session_id))
        self._refusal = "" if connect is not None else self._describe(session)

    def _describe(self, session: Session) -> str:
        """Set the description of such a session; return the reason if it cannot be made in another process."""
        cluster = session.cluster
        own = [name for name in OWN if getattr(cluster, name) is not None]
        options = cluster.options
        for name in ("address_translator", "connection_class"):
            if getattr(options, name) is not getattr(type(options), name):
                own.append(name)
        if type(cluster.endpoint_factory) is not DefaultEndPointFactory:
            own.append("endpoint_factory")
        if own:
            return f"{', '.join(own)} of its cluster cannot be: use connect=, a function that makes a session"
        if cluster.auth_provider is not None and self._credentials is None:
            return "credentials are never pickled: use credentials=, a function that returns them, or connect="
        try:
            self._policy = pickle.dumps(cluster.profile_manager.default.load_balancing_policy)
        except Exception as error:
            return f"its load balancing policy cannot be, {error}: use connect=, a function that makes a session"
        self._reached = {name: getattr(cluster, name) for name in PLAIN}
        self._reached["contact_points"] = list(cluster.contact_points)
        self._reached["shard_aware_options"] = dict(vars(cluster.shard_aware_options))
        if cluster.versions.is_given:
            self._reached["protocol_version"] = cluster.protocol_version
        return ""

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The session of this process, as a context manager that counts its users."""
        session = self._here()
        if session is not None and not session.is_shutdown:
            yield session
            return
        with _lock:
            kept = _sessions.pop(self._key, None) or _Kept()
            _sessions[self._key] = kept
            kept.users += 1
        try:
            with kept.lock:
                session = kept.session
                if session is None or session.is_shutdown:
                    session = kept.session = self._made()
            yield session
        finally:
            with _lock:
                kept.users -= 1
            if len(_sessions) > MOST_KEPT:
                _close(MOST_KEPT)

    def _made(self) -> Session:
        if self._connect is not None:
            made: Session = imported("connect", self._connect)()
            return made
        from ..cluster.cluster import Cluster
        from ..cluster.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile

        reached = dict(self._reached)
        if self._credentials is not None:
            reached["auth_provider"] = _provider(imported("credentials", self._credentials)())
        profile = ExecutionProfile(load_balancing_policy=pickle.loads(self._policy))
        cluster = Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **reached)
        try:
            return cluster.connect(self._keyspace)
        except BaseException:
            cluster.shutdown()
            raise

    def __reduce__(self) -> Any:
        if self._refusal:
            raise TypeError(f"a task of a scan cannot be pickled: {self._refusal}")
        state = {name: value for name, value in self.__dict__.items() if name != "_here"}
        return _arrived, (state,)


def _arrived(state: dict[str, Any]) -> Origin:
    origin = Origin.__new__(Origin)
    origin._here = _nobody
    origin.__dict__.update(state)
    return origin


def _nobody() -> None:
    return None


def name_of(argument: str, function: Importable) -> str:
    """Return ``"module:function"``: the contents of a function, which may be secret, are not pickled."""
    if isinstance(function, str):
        module, _, name = function.partition(":")
        if not module or not name:
            raise TypeError(
                f'{argument}= must be an importable function of a module, or "module:function", got {function!r}'
            )
        return function
    name = f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', None)}"
    try:
        found = imported(argument, name)
    except ImportError:
        found = None
    if found is not function:
        raise TypeError(f"{argument}= must be a function of a module that workers can import, got {function!r}")
    return name


def imported(argument: str, name: str) -> Any:
    """Import the object named ``"module:function"``."""
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise ImportError(f"a task of a scan cannot import {name}, its {argument}=: {error}") from error
    return found


def _provider(given: Any) -> Any:
    if isinstance(given, tuple):
        from cassandra._net.auth import PlainTextAuthProvider

        return PlainTextAuthProvider(*given)
    return given
