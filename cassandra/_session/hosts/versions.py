"""Protocol versions of the nodes, and the common version in use.

L5. During a rolling upgrade some nodes support a version that others do not. The cluster's version then is the highest
that all of them support: the features of a program do not depend on the coordinator of its request. No request fails
because of it. A connection is opened with the cluster's version, and with a lower one if the server rejects that
version; requests are encoded for the connection they are sent on, so connections of both versions work until those of
the wrong one are replaced, and each closes when its requests in flight have their responses.

The version of a node is derived from its latest connections: the versions that it lists (Cassandra), else that it
rejected a higher one, or accepted the highest. To notice an upgrade of servers that list no versions, connections to
nodes that come up, and the control connection, request the highest version first. The common version is reviewed
whenever a connection reported a new version, and when the node list has changed: a removed node no longer limits it. A
version that was given to ``Cluster`` is used with every node, always.

``in_use`` is one reference that any thread reads. ``_highest_versions`` is guarded by ``_lock``; no other component is
called with it held. ``record_version`` runs on the I/O thread, ``update_common_version`` on any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ProtocolVersion
from cassandra._base.delegation import NONE, Attribute
from cassandra._base.errors import DriverException
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.process import renew
from cassandra._session import config
from cassandra._session.statements.statement import Sentinel

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._net.endpoint import EndPoint
    from cassandra._session.cluster import Cluster

log = get_logger("cassandra.cluster")

MAX_LISTED_NODES = 10  # nodes that a warning lists


class Versions:
    """The versions of the nodes of *cluster*, and the version in use."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.in_use: int | None = None  # the version given or in use; None until it was negotiated
        self.is_given = False
        self._lock = driver_lock("Versions")
        self._highest_versions: dict[EndPoint, int] = {}  # the highest known version of each node
        self._has_warned = False

    def leave_to_parent(self) -> None:
        """Renew the lock in a forked child: its holder is not in this process."""
        renew(self._lock)

    def begin(self, given: int | Sentinel, default: int) -> None:
        """Use the version that was *given*, or the *default* of a subclass."""
        if isinstance(given, Sentinel):
            given = default
            if given == ProtocolVersion.MAX_SUPPORTED:
                return
        self.set_version(given)

    def set_version(self, version: int) -> None:
        """Use *version* with every node."""
        self.in_use = config.protocol_version(version)
        self.is_given = True

    def set_negotiated(self, version: int) -> None:
        """Record the version negotiated by the first connection."""
        if self.in_use is None:
            self.in_use = version

    def lower(self, host_endpoint: EndPoint, previous_version: int) -> None:
        """Use the next lower protocol version from now on. Raise DriverException if the version was given, or there is
        no lower one."""
        if self.is_given:
            raise DriverException(
                f"{host_endpoint} does not support protocol version {previous_version}, which was given"
            )
        lower = ProtocolVersion.get_lower_supported(previous_version)
        if not lower:
            raise DriverException(f"{host_endpoint} supports no protocol version of this driver")
        self.in_use = lower

    def record_version(self, connection: Connection) -> None:
        """Record the highest version of the server of an opened connection."""
        endpoint = connection.endpoint
        before = self._highest_versions.get(endpoint)
        highest = connection.highest_version
        if highest is None:  # no higher version was requested
            highest = max(connection.protocol_version, before or 0)
        if highest == before:
            return
        with self._lock:
            self._highest_versions[endpoint] = highest
        self.update_common_version()

    def update_common_version(self) -> None:
        """Use the highest version that all nodes support from now on."""
        current, known = self.in_use, {host.endpoint for host in self._cluster.metadata.all_hosts()}
        if self.is_given or current is None or not known:
            return
        with self._lock:
            highest = self._highest_versions = {
                endpoint: one for endpoint, one in self._highest_versions.items() if endpoint in known
            }
            common = min(highest.values(), default=current)
            is_mixed = common < max(highest.values(), default=current)
            should_warn, self._has_warned = is_mixed and not self._has_warned, is_mixed
            self.in_use = common
        if should_warn:
            _warn(highest, common)
        if common != current:
            if common > current:
                log.info("All nodes support protocol version %d: it is used from now on", common)
            self._apply()

    def _apply(self) -> None:
        """Update compiled plans and connections to the version in use."""
        for session in self._cluster.sessions:
            session._protocol_version = self._cluster.protocol_version
            for pool in session.get_pools():
                pool.follow_version()


class VersionInUse(Attribute[int]):
    """``protocol_version`` of a cluster: the version in use; until one was given, or negotiated by the first
    connection, the highest supported one."""

    def __get__(self, whole: Any, owner: type | None = None) -> Any:
        if whole is None:
            return ProtocolVersion.MAX_SUPPORTED if self._default is NONE else self._default
        in_use = whole._versions.in_use  # read by each simple statement
        return ProtocolVersion.MAX_SUPPORTED if in_use is None else in_use

    def __set__(self, whole: Any, version: int) -> None:
        whole._versions.set_version(version)


def _warn(highest: Mapping[EndPoint, int], common: int) -> None:
    oldest = sorted(str(endpoint) for endpoint, version in highest.items() if version == common)
    names = ", ".join(oldest[:MAX_LISTED_NODES])
    if len(oldest) > MAX_LISTED_NODES:
        names += f" and {len(oldest) - MAX_LISTED_NODES} more"
    log.warning(
        "The nodes support different protocol versions: some only version %d (%s), others up to %d. Version %d is "
        "used with all of them until all support a higher one. This is expected while the cluster is being upgraded",
        common,
        names,
        max(highest.values()),
        common,
    )
