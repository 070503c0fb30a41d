"""A node of the cluster (L4). Made by the control connection, shared by all components."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cassandra._base.display import rich_display
from cassandra._base.locks import driver_lock, lock_of_programs
from cassandra._base.logs import printable
from cassandra._base.objects import public, set_state, state_of
from cassandra._base.process import in_child, renew
from cassandra._base.threads import command
from cassandra._core.routing import HostState
from cassandra._net.endpoint import DefaultEndPoint, EndPoint

from .display import host_table

if TYPE_CHECKING:
    from cassandra._routing.policies.connection import ConvictionPolicy

_handlers = driver_lock("of reconnection handlers")
in_child(lambda: renew(_handlers))


@public("cassandra.pool")
@rich_display(host_table)
class Host(HostState):
    """A node: its address, its attributes, and its state (up or down).

    Hosts compare, order and hash by :attr:`endpoint`; one is also equal to the text of its address. Attributes that
    describe the node are written by the control connection only; ``is_up`` (True up, False down, None not yet known)
    and the reconnection handler change on driver threads.

    :raises ValueError: no endpoint or no conviction policy factory.
    """

    #: Unique id of the node, None until the control connection has read it.
    host_id: UUID | None = None
    #: Decides if a connection failure means that the node is down.
    conviction_policy: ConvictionPolicy = None  # type: ignore[assignment]
    #: Server version as the node reports it, such as ``"5.0.6"``.
    release_version: str | None = None

    #: Address of the node for other nodes; None if the server has no value.
    broadcast_address: str | None = None
    broadcast_port: int | None = None  #: Port of the node for other nodes; None if the server has no value.
    broadcast_rpc_address: str | None = None  #: Address of the node for clients; None if the server has no value.
    broadcast_rpc_port: int | None = None  #: Port of the node for clients; None if the server has no value.
    listen_address: str | None = None  #: Address that the node listens on; None if the server has no value.
    listen_port: int | None = None  #: Port that the node listens on; None if the server has no value.

    #: Shards of the node (ScyllaDB), None otherwise.
    sharding_info: Any = None

    #: Always None: DSE is not supported.
    dse_version: None = None
    dse_workload: None = None  #: Always None: DSE is not supported.
    dse_workloads: None = None  #: Always None: DSE is not supported.

    def __init__(
        self,
        endpoint: EndPoint | str,
        conviction_policy_factory: Callable[[Host], ConvictionPolicy],
        datacenter: str | None = None,
        rack: str | None = None,
        host_id: UUID | None = None,
    ) -> None:
        if endpoint is None:
            raise ValueError("endpoint may not be None")
        if conviction_policy_factory is None:
            raise ValueError("conviction_policy_factory may not be None")
        self.endpoint = endpoint if isinstance(endpoint, EndPoint) else DefaultEndPoint(endpoint)
        self.host_id = host_id
        self._datacenter = datacenter
        self._rack = rack
        self._reconnection_handler: Any = None
        self.conviction_policy = conviction_policy_factory(self)

    @property
    def lock(self) -> Any:
        """A re-entrant lock for programs. The driver does not acquire it."""
        return lock_of_programs(self)

    @property
    def endpoint(self) -> EndPoint:
        """Endpoint that the driver connects to."""
        return self._endpoint

    @endpoint.setter
    def endpoint(self, endpoint: EndPoint) -> None:
        self._endpoint = endpoint
        self._hash = hash(endpoint)  # a host is looked up by hash on every request

    @property
    def address(self) -> str:
        """IP address (or path of the Unix socket) the driver connects to; see also :attr:`endpoint`."""
        return self.endpoint.address

    @property
    def datacenter(self) -> str | None:
        """Datacenter the node is in, None if not known."""
        return self._datacenter

    @property
    def rack(self) -> str | None:
        """Rack the node is in, None if not known."""
        return self._rack

    def set_location_info(self, datacenter: str | None, rack: str | None) -> None:
        """Set datacenter and rack. Replicas change when the token map is rebuilt."""
        self._datacenter = datacenter
        self._rack = rack

    def set_up(self) -> None:
        """Mark the node up and reset its failures."""
        self.conviction_policy.reset()
        self.is_up = True

    def set_down(self) -> None:
        """Mark the node down."""
        self.is_up = False

    def signal_connection_failure(self, connection_exc: BaseException) -> bool:
        """Pass a connection failure to the conviction policy. Return True if it convicts the host."""
        return self.conviction_policy.add_failure(connection_exc)

    def is_currently_reconnecting(self) -> bool:
        """True if there is a reconnection handler."""
        return self._reconnection_handler is not None

    @command
    def get_and_set_reconnection_handler(self, new_handler: Any) -> Any:
        """Replace the reconnection handler atomically (None: no reconnection); return the previous one."""
        with _handlers:
            old, self._reconnection_handler = self._reconnection_handler, new_handler
            return old

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the state of the node at this moment; the copy is not updated."""
        state = {**state_of(self), "_reconnection_handler": None, "is_up": self.is_up}
        state.pop("_watch", None)  # it belongs to the connections of this object
        return _restore, (type(self), state.pop("_endpoint")), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.is_up = state.pop("is_up")
        set_state(self, state)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Host):
            return self.endpoint == other.endpoint
        return self.address == other if isinstance(other, str) else NotImplemented

    def __lt__(self, other: Host) -> bool:
        return bool(_sort_key(self) < _sort_key(other)) if isinstance(other, Host) else NotImplemented

    def __le__(self, other: Host) -> bool:
        return self == other or self < other

    def __gt__(self, other: Host) -> bool:
        return bool(_sort_key(other) < _sort_key(self)) if isinstance(other, Host) else NotImplemented

    def __ge__(self, other: Host) -> bool:
        return self == other or self > other

    __hash__ = HostState.__hash__  # native

    def __str__(self) -> str:
        return str(self.endpoint)

    def __repr__(self) -> str:
        location = f" {printable(self._datacenter, 256)}" if self._datacenter else ""
        return f"<Host: {self.endpoint}{location}>"


def _restore(kind: type[Host], endpoint: EndPoint) -> Host:
    """Return a host with its hash set before the rest of the state, which may refer to the host."""
    host: Host = kind.__new__(kind)
    host.endpoint = endpoint
    return host


def _sort_key(host: Host) -> Any:
    return host.endpoint  # endpoints of one class are ordered; EndPoint itself does not guarantee an order
