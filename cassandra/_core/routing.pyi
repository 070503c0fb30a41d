"""Typed contract of the routing extension: tokens, the vnode ring, tablets, route plans."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from typing_extensions import Buffer

def murmur3_token(key: Buffer) -> int:
    """Return the token of a partition key as Cassandra computes it: the first half of Murmur3 x64 128 with signed
    tails; the minimum token is replaced by the maximum."""

class TokenRing:
    """Immutable: sorted 64-bit tokens, each with an arbitrary owner; lookup by bisection without Python objects.

    *tokens* come in any order; a duplicate token is a ValueError. A lookup in an empty ring is a LookupError.
    """

    owners: Final[tuple[Any, ...]]  # in token order
    @property
    def tokens(self) -> tuple[int, ...]:
        """Ascending; a new tuple per call."""
    def __init__(self, tokens: Sequence[int], owners: Sequence[Any]) -> None: ...
    def __len__(self) -> int: ...
    def owner(self, token: int) -> Any:
        """Return the owner of the range (previous, t] that contains *token*; wraps around."""
    def index(self, token: int) -> int:
        """Return the position of that range in :attr:`owners`."""

class Tablet:
    """A range of a table's tokens, ``(first_token, last_token]``, and the replicas that hold it. Immutable, no lock.

    *replicas*: ``(host_id, shard)`` pairs, read once; None stays None. A tablet whose first token is not below its last
    one wraps around the end of the ring. Tablets with the same content are equal. Tokens are signed 64-bit
    numbers, the version is one of 64 bits with or without a sign (else OverflowError).
    """

    first_token: Final[int]  #: Token before the first one.
    last_token: Final[int]  #: The last token.
    @property
    def replicas(self) -> tuple[tuple[Any, int], ...] | None:
        """Host ids with their shards, in the server's order."""
    @property
    def tablet_version(self) -> int | None:
        """The server's version of this set of replicas; None without one (before tablets-routing-v2)."""
    @property
    def leader(self) -> Any:
        """Host id of the first replica, the leader of a strongly consistent tablet; None without replicas."""
    @property
    def _replica_dict(self) -> dict[Any, int]:
        """Shards by host id."""
    def __init__(
        self,
        first_token: int = 0,
        last_token: int = 0,
        replicas: Iterable[tuple[Any, int]] | None = None,
        tablet_version: int | None = None,
    ) -> None: ...
    @staticmethod
    def from_row(
        first_token: int,
        last_token: int,
        replicas: Iterable[tuple[Any, int]] | None,
        tablet_version: int | None = None,
    ) -> Tablet | None:
        """Return a tablet; None if there are no replicas."""
    def replica_contains_host_id(self, uuid: UUID) -> bool:
        """True if the host with this id is a replica."""
    def get_replica_shard_id(self, host_id: UUID) -> int | None:
        """Return the shard on the host with this id; None if it is not a replica."""

class TabletMap:
    """Tablets by table and token. Each call is atomic for other threads. Ids of hosts may be any hashable objects.

    Methods that add tablets raise ValueError for more than 255 replicas or a shard beyond 65535, OverflowError for more
    than 65535 hosts over the life of the map.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def get_tablet_for_key(self, keyspace: str | None, table: str | None, t: Any) -> Tablet | None:
        """Return the tablet that covers *t*, a Token or its number; None if it is unknown."""
    def table_has_tablets(self, keyspace: str | None, table: str | None) -> bool:
        """True if any tablet of the table is known."""
    def add_tablet(self, keyspace: str, table: str, tablet: Tablet) -> None:
        """Put *tablet* in place of all tablets that it overlaps."""
    def learn(self, keyspace: str, table: str, payload: Buffer) -> bool:
        """Add the tablet in *payload*, the bytes of ``tablets-routing-v1`` or ``-v2`` in a response's custom payload.

        False if it has no replicas: nothing is added. Bytes that are not a tablet, or a tablet that exceeds the map's
        limits, are a DriverException.
        """
    def replace_tablets(self, keyspace: str, table: str, tablets: Iterable[Tablet]) -> None:
        """Drop the table's known tablets and add *tablets*, a later one in place of those it overlaps. Atomic: readers
        never find the table empty in between."""
    def drop_tablets(self, keyspace: str, table: str | None = None) -> None:
        """Drop the tablets of the table, or of all tables of the keyspace."""
    def drop_tablets_by_host_id(self, host_id: UUID | None) -> None:
        """Drop all tablets that have a replica on this host. None does nothing."""
    def table(self, keyspace: str, table: str) -> TabletTable:
        """Return a handle that finds the table's tablets without its names. It stays valid when tablets are added,
        dropped or added again."""
    def host_number(self, host_id: Any) -> int | None:
        """Return the number of this host in native code; None if no tablet was on it. Numbers are never reassigned."""
    def host_id(self, number: int) -> Any:
        """Return the id of the host with a number from :meth:`host_number` or a native lookup."""
    @property
    def changes(self) -> int:
        """Counter that increases with every change."""
    @property
    def nbytes(self) -> int:
        """Native memory of all tablets, in bytes."""
    def snapshot(self) -> tuple[int, dict[tuple[str, str], list[Tablet]]]:
        """Return all tablets by (keyspace, table), sorted by last token, and the change count of this state."""

class TabletTable:
    """The tablets of one table, held by :meth:`TabletMap.table`. True if there are any."""

    keyspace: Final[str]
    table: Final[str]
    def find(self, token: int) -> Tablet | None:
        """Return the tablet that covers *token*; None if it is unknown."""
    def __bool__(self) -> bool: ...

class HostState:
    """The fields of a host that routing reads on every request. Base of ``Host``."""

    is_up: bool | None  #: True up, False down, None not yet known.
    is_suspect: bool
    """Silent at present: last in plans, until it responds or is marked down. Only of a host that is up; setting it on
    any other host has no effect."""
    _hash: int

def set_sharding(host: HostState, sharding: ShardingInfo | None) -> None:
    """Count the requests to *host* by its shards; None: all together."""

def least_loaded_first(hosts: list[Any], shards: list[Any] | None, token: int | None) -> None:
    """Order *hosts* by load, those of equal load as they are. *shards*: the shard of each that counts; without them,
    the shard of *token*, else the first one. No effect if one of the hosts is not a :class:`HostState`."""

class Count:
    """Counts from 0, for many threads: the turn of a round-robin, or a number of changes."""

    @property
    def value(self) -> int: ...
    def advance(self) -> int:
        """Increment; return the value before."""

class Target:
    """Target of a request. Plans give the same object for the same host and shard; equal ones compare equal."""

    host: Final[Any]
    shard: Final[int | None]  # None: the one that owns the token
    def __init__(self, host: Any, shard: int | None = None) -> None: ...

class LatencyAverage:
    """A moving average of latencies in seconds. It halves with every *half_life* seconds without a measurement.

    :raises ValueError: if *half_life* is not positive.
    """

    def __init__(self, half_life: float) -> None: ...
    def add(self, seconds: float, now: float) -> None:
        """Record a latency of *seconds* that ended at *now* (of ``time.monotonic``)."""
    def read(self, now: float) -> float:
        """Return the average; 0 without any measurement."""

class RouteHosts:
    """Hosts with their distances, valid as long as *epoch* has the value *made_in*. Hosts are added on first sight.

    *distance* is called once for each host, in far less time than a request takes; *by_id* finds the hosts of tablets,
    whose map is *tablets*. *tiers* are the hosts to use in *turn* if no replica is available, near to far. *predicates*
    are called for every host, every time.

    With *average_of*, called once for each host, two of the candidates are drawn at random. The first one is used
    unless its product of latency and requests in flight, which *in_flight* returns, is clearly above the other's.
    Otherwise, with *by_load*, two replicas are drawn, and the less loaded one is used (``cpp/routing/load.h``).
    """

    def __init__(
        self,
        epoch: Count,
        made_in: int,
        turn: Count,
        distance: Callable[[Any], int],
        by_id: Mapping[Any, Any],
        tiers: Iterable[Iterable[Any]],
        predicates: Iterable[Callable[[Any], bool]],
        tablets: TabletMap | None,
        seed: int,
        average_of: Callable[[Any], LatencyAverage] | None = None,
        in_flight: Callable[[Any], int] | None = None,
        by_load: bool = False,
    ) -> None: ...
    @property
    def is_current(self) -> bool:
        """True if nothing has changed since it was made."""

class RouteRing:
    """Replicas of the ranges of *ring*, computed on first use. *replicas* gives them by position."""

    hosts: Final[RouteHosts]
    def __init__(self, hosts: RouteHosts, ring: TokenRing | None = None, replicas: Any = None) -> None: ...

class RoutePlan:
    """Selects the first host and shard of requests by their tokens: one of the nearest live replicas, at random or by
    load; else
    the next host in turn. Suspects are selected only if there are no others.

    :param make: returns the hosts and the ring to use; called now, and when those are no longer current.
    :param table: the tablets, which take precedence over the ring.
    :param ordered: keep the order of the replicas instead of a random choice.
    :param leader_first: select the leader of a tablet, at any distance, while it is live and not ignored.
    """

    def __init__(
        self,
        make: Callable[[], RouteRing],
        table: TabletTable | None = None,
        ordered: bool = False,
        leader_first: bool = False,
    ) -> None: ...
    def pick(self, token: int | None) -> Target | None:
        """Return the first target of a request with this token; None if there are no hosts at all."""
    def __call__(self, token: int | None) -> Target | None:
        """Return the same as :meth:`pick`."""
    def locate(self, token: int | None) -> tuple[Target | None, Tablet | None]:
        """Return the result of :meth:`pick` and the tablet that it used."""

class SuspectsLast:
    """The hosts of *plan*, in its order, but suspects behind all others. *plan* is consumed lazily."""

    def __init__(self, plan: Iterable[Any]) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

class Rotation:
    """One round over *hosts*, beginning at position *turn*, which may be any number from 0."""

    def __init__(self, hosts: tuple[Any, ...], turn: int) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def __length_hint__(self) -> int: ...

class TierPlan:
    """``Rotation(hosts_of(key), turn)`` for each key of *near*, then of ``far_keys()``. Both are called only when they
    are needed."""

    def __init__(
        self,
        near: tuple[Any, ...],
        far_keys: Callable[[], tuple[Any, ...]] | None,
        hosts_of: Callable[[Any], tuple[Any, ...]],
        turn: int,
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

class ReplicasFirst:
    """Those of *replicas* that are up when they are reached; then the other hosts of ``plan_of(policy, wanted)``, which
    is called only when it is needed. No replica is repeated."""

    def __init__(
        self, replicas: list[Any], plan_of: Callable[[Any, Any], Iterable[Any]], policy: Any, wanted: Any
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

class ShardingInfo:
    """A ScyllaDB node's mapping of tokens to its shards, as given in SUPPORTED. Immutable; compares by value."""

    shards_count: Final[int]  #: Number of shards.
    partitioner: Final[str]  #: Class name of the partitioner.
    sharding_algorithm: Final[str]  #: Name of the mapping of tokens to shards.
    sharding_ignore_msb: Final[int]
    """Number of a token's highest bits that are ignored."""
    shard_aware_port: Final[int | None]
    """Port at which clients choose the shard of a connection by their own port; None: not given by the node."""
    shard_aware_port_ssl: Final[int | None]
    """The same for TLS."""
    def __init__(
        self,
        shard_id: int,
        shards_count: int,
        partitioner: str,
        sharding_algorithm: str,
        sharding_ignore_msb: int,
        shard_aware_port: int | None = None,
        shard_aware_port_ssl: int | None = None,
    ) -> None:
        """*shard_id*, the shard of the connection, is not kept. ValueError without shards or for more ignored bits than
        a token has."""
    def shard_id_from_token(self, token_input: int) -> int:
        """Return the shard that owns a Murmur3 token."""

class ShardPicker:
    """Selects among *slots*, one per shard, None for an empty one. Immutable except for its round-robin counter; any
    thread, no lock."""

    slots: Final[tuple[Any, ...]]
    def __init__(self, sharding: ShardingInfo, slots: Iterable[Any]) -> None:
        """ValueError unless the number of slots is that of the shards."""
    def pick(self, token: int | None = None, shard: int | None = None) -> Any:
        """Return the slot of *shard*; if it is None or not one of the node, that of the shard that owns *token*; if
        that is None or not a token, the next slot that is not empty."""

class SessionFields:
    """Base of sessions: the attributes that every request reads, as C fields, which cost nothing to read. Any thread,
    no lock."""

    _settings_epoch: Any  # replaced by another object when any setting of the session changes
    _pool_set: Any  # a PoolSetFields
    _reactor: Any  # of its cluster
    _on_io_thread: Callable[[], bool]  # True on the I/O thread of that
    def _keep(self, found: object) -> None:
        """Cache *found* until a setting of the session changes."""
    def _kept_now(self) -> Any:
        """Return the cached object; None if there is none since the last change."""
    def _resolve_profile(self, key: Any) -> Any:
        """Override: return the resolved profile of *key*."""
    def execute_async(self, query: Any, parameters: Any = None) -> Any:
        """Override: send *query* and return its future, a :class:`~cassandra._core.transport.Request`."""

class PoolSetFields:
    """Base of the pools of one session."""

    pools: dict[Any, Any]  # PoolFields by host; replaced, never changed

class PoolFields:
    """Base of the pool of one host."""

    picks: Any  # the selector of its present connections
    def pick(self, token: int | None = None, shard: int | None = None) -> Any:
        """Override: return a connection that takes requests, or raise."""

class MetadataFields:
    """Base of the metadata of a cluster."""

    state: Any  # the current snapshot: requests compare it with the one that they were compiled in

class ProfileFields:
    """Base of execution profiles."""

    _version: int  # changes when any setting changes

class PlanCache:
    """Cached data of a prepared statement, valid until one of its settings changes: its table (*place*), the plan of
    its last requests, and *others*. A copy of it is empty."""

    place: tuple[str, str] | tuple[()] | None
    last: Any  # None once the cache is discarded
    others: dict[tuple[int, int], Any]
    def discard(self) -> None:
        """Drop the last plan and keep no other: a setting of the statement has changed, which has another cache."""

class LastUse:
    """When a prepared statement was sent last, by the monotonic clock, exact to a second. Any thread."""

    at: float
    def __init__(self, now: float) -> None: ...
    def note(self, now: float) -> None:
        """Record a use."""
