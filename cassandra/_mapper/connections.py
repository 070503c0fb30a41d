"""Registry of sessions by name, for models, query sets and batches; and the default keyspace of models.

A :class:`Connection` has a session, or the arguments to connect one on first use. The registry is a plain dictionary of
connections by name; ``DEFAULT_CONNECTION`` is the key of the connection that is used if none is named. It is read, and
replaced item by item, which the GIL makes atomic. A lazy connection is connected by one thread, under
``lazy_connect_lock``, or by one task of a loop; the first of both that connects is adopted, under
``_adoption_lock``, which covers only that step.

``DEFAULT_KEYSPACE`` is a setting of all models; programs assign ``cassandra.cqlengine.models.DEFAULT_KEYSPACE``.

A fork needs no special handling: sessions work in the child as they are, and a connection that another thread was
connecting at that moment is not connected yet in the child.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from cassandra._base.errors import UserTypeDoesNotExist
from cassandra._base.locks import caller_lock
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.process import in_child, renew
from cassandra._core.models import ConnectionFields
from cassandra._session.cluster import Cluster
from cassandra._session.session import Session
from cassandra._wire.rows import dict_factory

from .errors import CQLEngineException

if TYPE_CHECKING:
    import asyncio

log = get_logger("cassandra.cqlengine.connection")

#: Keyspace of models that set none and inherit none; ``setup()`` sets it.
DEFAULT_KEYSPACE: str | None = None


class _Default:
    """Type of the key of the default connection."""

    def __repr__(self) -> str:
        return "DEFAULT_CONNECTION"


DEFAULT_CONNECTION: Final = _Default()  #: Name of the default connection.

#: Connections by name.
_connections: dict[Any, Connection] = {}

#: Classes of user types by keyspace and type name, for clusters that are connected later.
udt_by_keyspace: defaultdict[str, dict[str, type]] = defaultdict(dict)

# Both are looked up at each access.
cluster: Cluster | None  #: The cluster of the default connection; None before it is connected.
session: Session | None  #: The session of the default connection; None before it is connected.

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in ("cluster", "session"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(_connections.get(DEFAULT_CONNECTION), name, None)


@public("cassandra.cqlengine.connection")
class Connection(ConnectionFields):
    """A session by name, or the arguments to connect one.

    *hosts* are contact points, *cluster_options* further arguments of ``Cluster``, *consistency* is the consistency
    level of statements that have none of their own.
    """

    name: Any = None  #: Name of the connection.
    hosts: Any = None  #: Contact points.
    consistency: Any = None  #: Default consistency level.
    retry_connect: bool = False  #: True tries again later when no node can be reached.
    lazy_connect: bool = False  #: True connects at the first request.
    lazy_connect_lock: Any = None  #: Held while it connects.
    cluster_options: Any = None  #: Further options of the :class:`~cassandra.cluster.Cluster`.
    cluster: Cluster | None = None  #: The cluster; None before it is connected.
    session: Session | None = None  #: The session; None before it is connected.

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("session", "lazy_connect"):
            super().__setattr__("_ready", None if self.lazy_connect else self.session)

    def __init__(
        self,
        name: Any,
        hosts: Any,
        consistency: Any = None,
        lazy_connect: bool = False,
        retry_connect: bool = False,
        cluster_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.hosts = hosts
        self.name = name
        self.consistency = consistency
        self.lazy_connect = lazy_connect
        self.retry_connect = retry_connect
        self.cluster_options = {} if cluster_options is None else cluster_options
        self.lazy_connect_lock = caller_lock("of connecting when first used")
        self._adoption_lock = caller_lock("of adopting a session")
        self._connecting: asyncio.Task[None] | None = None

    @classmethod
    def from_session(cls, name: Any, session: Any) -> Connection:
        """Return a connection for *session*, whose row factory becomes ``dict_factory``."""
        connection = cls(name=name, hosts=session.hosts)
        connection.cluster, connection.session = session.cluster, session
        connection.setup_session()
        return connection

    def setup(self) -> None:
        """Connect, unless the connection is lazy: then it connects on first use."""
        if not self.lazy_connect:
            self._connect()

    def _connect(self) -> None:
        made, lazily = self._new_cluster(), self.lazy_connect
        try:
            session = made.connect()
            adopted = self._adopt(made, session, lazily)
        except BaseException:
            self._give_back(made, lazily)
            made.shutdown()
            self._failed()
            raise
        if not adopted:
            made.shutdown()

    async def _connect_async(self) -> None:
        made, lazily = self._new_cluster(), self.lazy_connect
        try:
            session = await made.connect_async()
            adopted = self._adopt(made, session, lazily)
        except BaseException:
            self._give_back(made, lazily)
            await made.shutdown_async()
            self._failed()
            raise
        if not adopted:
            await made.shutdown_async()

    def _new_cluster(self) -> Cluster:
        hosts = () if self.hosts is None else (self.hosts,)
        return Cluster(*hosts, **self.cluster_options)

    def _adopt(self, made: Cluster, session: Session, lazily: bool) -> bool:
        """Adopt the session; return False if another session was adopted first: a thread and a task can use a lazy
        connection at the same time."""
        with self._adoption_lock:
            if lazily and not self.lazy_connect:
                return False
            self.cluster, self.session = made, session
            log.debug(
                format_log_context("connection initialized with internally created session", connection=self.name)
            )
            self.setup_session()
            self.lazy_connect = False
        return True

    def _give_back(self, made: Cluster, lazily: bool) -> None:
        """*made* is shut down: adopting it was interrupted, by the handler of a signal say, or did not begin."""
        if self.cluster is made:
            self.lazy_connect = lazily
            self.cluster = self.session = None

    def _failed(self) -> None:
        if self.retry_connect:
            message = "connect failed, setting up for re-attempt on first use"
            log.warning(format_log_context(message, connection=self.name))
            self.lazy_connect = True

    def setup_session(self) -> None:
        """Configure the session: rows as dictionaries, the consistency of the connection, and the known user types."""
        assert self.session is not None
        encoder = self.session.encoder
        encoder.mapping[tuple] = encoder.cql_encode_tuple  # otherwise unprepared statements encode a tuple as a list
        _configure(self.session, "row_factory", dict_factory)
        if self.consistency is not None:
            _configure(self.session, "consistency_level", self.consistency)
        _register_known_types(self.session.cluster)

    def handle_lazy_connect(self) -> None:
        """Connect now if the connection is lazy. One of several threads connects, the others wait for it. If it fails,
        the next use of the connection tries again."""
        if not self.lazy_connect:
            return
        with self.lazy_connect_lock:
            if self.lazy_connect:
                log.debug(format_log_context("Lazy connect enabled", connection=self.name))
                self._connect()

    async def handle_lazy_connect_async(self) -> None:
        """As :meth:`handle_lazy_connect`, without blocking the running loop. One of several tasks connects."""
        import asyncio  # already imported in a program with a running loop; other programs do not load it

        while self.lazy_connect:
            task = self._connecting
            if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
                log.debug(format_log_context("Lazy connect enabled", connection=self.name))
                task = self._connecting = asyncio.ensure_future(self._connect_async())
            await asyncio.shield(task)


def _configure(session: Any, option: str, value: Any) -> None:
    """Set an option of a session in the default profile if the cluster uses profiles, or if setting it in a session is
    deprecated; otherwise in the session."""
    manager: Any = getattr(session.cluster, "profile_manager", None)  # the session may be a program's own class
    mode = getattr(getattr(manager, "mode", None), "name", None)
    if mode == "PROFILES" or (option == "consistency_level" and isinstance(mode, str)):
        setattr(manager.default, option, value)
    else:
        setattr(session, option if option == "row_factory" else f"default_{option}", value)


def _register_known_types(cluster: Cluster) -> None:
    for known, types in udt_by_keyspace.copy().items():
        keyspace = known or DEFAULT_KEYSPACE  # models with user types may be older than the default
        if not keyspace:
            continue
        for name, klass in types.copy().items():
            with contextlib.suppress(UserTypeDoesNotExist):  # sync_table creates it, and registers it again
                cluster.register_user_type(keyspace, name, klass)


# ---- the registry


@public("cassandra.cqlengine.connection")
def format_log_context(msg: str, connection: Any = None, keyspace: str | None = None) -> str:
    """Return *msg* prefixed with the connection, and with the keyspace if there is one."""
    told = "DEFAULT_CONNECTION" if connection is None else connection
    where = f"Connection: {told}" if keyspace is None else f"Connection: {told}, Keyspace: {keyspace}"
    return f"[{where}] {msg}"


@public("cassandra.cqlengine.connection")
def register_connection(
    name: Any,
    hosts: Any = None,
    consistency: Any = None,
    lazy_connect: bool = False,
    retry_connect: bool = False,
    cluster_options: Mapping[str, Any] | None = None,
    default: bool = False,
    session: Any = None,
) -> Connection:
    """Register a connection under *name*, with an existing *session* or with the arguments to connect one. *default*
    makes it the default connection.

    With *lazy_connect* the connection is connected on first use. With *retry_connect*, a failed connect raises its
    error, but the connection is registered and connected on first use.
    """
    if name in _connections:
        log.warning("Registering connection '%s' when it already exists.", name)
    if session is not None:
        if any((consistency, hosts, lazy_connect, retry_connect, cluster_options)):
            raise CQLEngineException("Session configuration arguments and 'session' argument are mutually exclusive")
        connection = Connection.from_session(name, session=session)
    else:
        connection = Connection(name, hosts, consistency, lazy_connect, retry_connect, cluster_options)
        try:
            connection.setup()
        except Exception:
            if connection.lazy_connect:  # the next use tries again
                _register(name, connection, default)
            raise
    _register(name, connection, default)
    return connection


def _register(name: Any, connection: Connection, default: bool) -> None:
    _connections[name] = connection
    if default:
        set_default_connection(name)


@public("cassandra.cqlengine.connection")
def unregister_connection(name: Any) -> None:
    """Remove the connection of that name, if there is one, and shut down its cluster."""
    connection = _connections.pop(name, None)
    if connection is None:
        return
    if connection is _connections.get(DEFAULT_CONNECTION):
        del _connections[DEFAULT_CONNECTION]
    if connection.cluster is not None:
        connection.cluster.shutdown()
    log.debug("Connection '%s' has been removed from the registry.", name)


@public("cassandra.cqlengine.connection")
def set_default_connection(name: Any) -> None:
    """Make the registered connection *name* the default."""
    if name not in _connections:
        raise CQLEngineException(f"Connection '{name}' doesn't exist.")
    log.debug("Connection '%s' has been set as default.", name)
    _connections[DEFAULT_CONNECTION] = _connections[name]


@public("cassandra.cqlengine.connection")
def get_connection(name: Any = None) -> Connection:
    """Return the connection of that name, or the default one; connect it if it is lazy."""
    connection = _find(name)
    if connection.lazy_connect:
        connection.handle_lazy_connect()
    return connection


async def get_connection_async(name: Any = None) -> Connection:
    """As :func:`get_connection`, without blocking the running loop."""
    connection = _find(name)
    if connection.lazy_connect:
        await connection.handle_lazy_connect_async()
    return connection


def known_connection(name: Any) -> Connection | None:
    """Return the connection of that name, or the default one, connected or not; None if there is none."""
    return _connections.get(name or DEFAULT_CONNECTION)


def _find(name: Any) -> Connection:
    connection = _connections.get(name or DEFAULT_CONNECTION)
    if connection is not None:
        return connection
    if name:
        raise CQLEngineException(f"Connection name '{name}' doesn't exist in the registry.")
    raise CQLEngineException(
        "Connection name 'DEFAULT_CONNECTION' doesn't exist in the registry. Call "
        "cassandra.cqlengine.connection.setup() or set_session() before models are used."
    )


@public("cassandra.cqlengine.connection")
def get_session(connection: Any = None) -> Session:
    """Return the session of the connection of that name, or of the default one."""
    found = get_connection(connection).session
    if found is None:
        raise _not_set_up(connection)
    return found


@public("cassandra.cqlengine.connection")
def get_cluster(connection: Any = None) -> Cluster:
    """Return the cluster of the connection of that name, or of the default one; raise CQLEngineException if none."""
    found = get_connection(connection).cluster
    if found is None:
        raise _not_set_up(connection)
    return found


def _not_set_up(name: Any) -> CQLEngineException:
    return CQLEngineException(f"Connection '{name or DEFAULT_CONNECTION}' is registered, but was not set up")


# ---- the default connection


@public("cassandra.cqlengine.connection")
def default() -> None:
    """Use a cluster on this machine, with default options."""
    if DEFAULT_CONNECTION in _connections:
        log.warning("configuring new default connection for cqlengine when one was already set")
    register_connection("default", hosts=None, default=True)
    log.debug("cqlengine connection initialized with default session to localhost")


@public("cassandra.cqlengine.connection")
def set_session(s: Any) -> None:
    """Use the session *s*. Its rows become dictionaries, and its keyspace, if any, the default keyspace of models."""
    global DEFAULT_KEYSPACE
    if DEFAULT_CONNECTION in _connections:
        log.warning("configuring new default session for cqlengine when one was already set")
    _connections["default"] = Connection.from_session("default", session=s)
    set_default_connection("default")
    if s.keyspace:
        DEFAULT_KEYSPACE = s.keyspace
    log.debug("cqlengine default connection initialized with %s", s)


@public("cassandra.cqlengine.connection")
def setup(
    hosts: Any,
    default_keyspace: str | None,
    consistency: Any = None,
    lazy_connect: bool = False,
    retry_connect: bool = False,
    **kwargs: Any,
) -> None:
    """Connect to *hosts*, and make this the default connection.

    *default_keyspace* is the keyspace of models without one. *kwargs* are further arguments of ``Cluster``. The other
    arguments are those of :func:`register_connection`.
    """
    global DEFAULT_KEYSPACE
    DEFAULT_KEYSPACE = default_keyspace
    register_connection(
        "default",
        hosts=hosts,
        consistency=consistency,
        lazy_connect=lazy_connect,
        retry_connect=retry_connect,
        cluster_options=kwargs,
        default=True,
    )


@public("cassandra.cqlengine.connection")
def register_udt(keyspace: str, type_name: str, klass: type, connection: Any = None) -> None:
    """Read values of a user type as instances of *klass*, on the cluster of *connection* and on all clusters connected
    from now on. It is not an error if the type does not exist yet."""
    udt_by_keyspace[keyspace][type_name] = klass
    try:
        found = get_cluster(connection)
    except CQLEngineException:  # not set up yet
        return
    with contextlib.suppress(UserTypeDoesNotExist):
        found.register_user_type(keyspace, type_name, klass)


def _in_child() -> None:
    for connection in list(_connections.values()):
        renew(connection.lazy_connect_lock)
        renew(connection._adoption_lock)
        connection._connecting = None


in_child(_in_child)
