"""How a process that has a task of a scan gets a session: one for each cluster, made with the first task.

L5. Of the cluster a task carries addresses, plain options and the policy, never credentials: these the process gets
itself, from a function that is pickled as its name. The four sessions that were used last stay until the process ends,
or :func:`close_sessions`; others are closed when nobody uses them. A forked child goes on with those that its parent
has, as with every session.

``_lock`` guards ``_sessions``, for moments. Who finds no session there connects under the lock of that entry.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from cassandra._base.locks import caller_lock
from cassandra._base.process import in_child, renew
from cassandra._base.public import public
from cassandra._net.endpoint import DefaultEndPointFactory

if TYPE_CHECKING:
    from ..session import Session

Importable = Callable[[], Any] | str  # a function of a module, or "module:function"

MOST_KEPT = 4

#: Options of a cluster that are as they are elsewhere.
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

#: Those that are secret, or of this process.
OWN = ("client_routes_config", "cloud", "column_encryption_policy", "ssl_context", "ssl_options")


class _Kept:
    """A session that was or will be connected."""

    def __init__(self) -> None:
        self.lock = caller_lock("of connecting for tasks")
        self.session: Session | None = None
        self.users = 0


_lock = caller_lock("of the sessions of tasks")
_sessions: dict[bytes, _Kept] = {}  # those used last are last


def _in_child() -> None:
    renew(_lock)
    for kept in _sessions.values():
        renew(kept.lock)
        kept.users = 0  # they are threads of the parent


in_child(_in_child)


@public("cassandra.scan")
def close_sessions() -> None:
    """Shut down the sessions that tasks of scans have made in this process, with their clusters, unless a task is using
    them; the next task makes a new one. A process that ends need not do that."""
    _close(0)


def _close(most: int) -> None:
    """Those that nobody uses, until *most* are left."""
    with _lock:
        unused = [key for key, kept in _sessions.items() if not kept.users]
        closing = [_sessions.pop(key) for key in unused[: max(0, len(_sessions) - most)]]
    for kept in closing:
        if kept.session is not None:
            kept.session.cluster.shutdown()


class Origin:
    """Where the session of a task comes from: in the process that made the task it is the one that it was made of.

    *connect* makes a session; without, one is made of the addresses, with what *credentials* returns, an auth provider
    or a user and a password. Both are functions that the other process imports. ``__reduce__`` says what is missing:
    threads never need it. The policy is pickled for itself: cloudpickle would take apart a class whose public module is
    not imported.
    """

    def __init__(self, session: Session, connect: Importable | None, credentials: Importable | None) -> None:
        self._here: Callable[[], Session | None] = weakref.ref(session)
        self._connect = None if connect is None else name_of("connect", connect)
        self._credentials = None if credentials is None else name_of("credentials", credentials)
        self._keyspace = session.keyspace
        self._reached: dict[str, Any] = {}
        self._policy = b""
        # Whoever has the same may have the same session. The policy knows which hosts are up at the moment, and options
        # may be objects that are pickled otherwise each time: it goes by the cluster that they are of.
        self._key = pickle.dumps((self._connect, self._credentials, self._keyspace, session.cluster.session_id))
        self._refusal = "" if connect is not None else self._describe(session)

    def _describe(self, session: Session) -> str:
        """What makes such a session elsewhere; why there can be none."""
        cluster = session.cluster
        own = [name for name in OWN if getattr(cluster, name) is not None]
        options = cluster.options
        for name in ("address_translator", "connection_class"):
            if getattr(options, name) is not getattr(type(options), name):
                own.append(name)
        if type(cluster.endpoint_factory) is not DefaultEndPointFactory:
            own.append("endpoint_factory")
        if own:
            return f"{', '.join(own)} of its cluster cannot be: give connect=, a function that makes a session"
        if cluster.auth_provider is not None and self._credentials is None:
            return "credentials are never pickled: give credentials=, a function that returns them, or connect="
        try:
            self._policy = pickle.dumps(cluster.profile_manager.default.load_balancing_policy)
        except Exception as error:
            return f"its load balancing policy cannot be, {error}: give connect=, a function that makes a session"
        self._reached = {name: getattr(cluster, name) for name in PLAIN}
        self._reached["contact_points"] = list(cluster.contact_points)
        self._reached["shard_aware_options"] = dict(vars(cluster.shard_aware_options))
        if cluster.versions.is_given:
            self._reached["protocol_version"] = cluster.protocol_version
        return ""

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The session of this process, for as long as it is used."""
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
    """``"module:function"``: what a function has in it, secrets perhaps, is not pickled."""
    if isinstance(function, str):
        module, _, name = function.partition(":")
        if not module or not name:
            raise TypeError(
                f'{argument}= is a function that workers can import, or "module:function", not {function!r}'
            )
        return function
    name = f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', None)}"
    try:
        found = imported(argument, name)
    except ImportError:
        found = None
    if found is not function:
        raise TypeError(f"{argument}= is a function that workers can import, a function of a module, not {function!r}")
    return name


def imported(argument: str, name: str) -> Any:
    """What is called ``"module:function"``."""
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise ImportError(f"a task of a scan needs {name}, its {argument}=, which is not there: {error}") from error
    return found


def _provider(given: Any) -> Any:
    if isinstance(given, tuple):
        from cassandra._net.handshake.auth import PlainTextAuthProvider

        return PlainTextAuthProvider(*given)
    return given
