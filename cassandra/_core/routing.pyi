"""Typed contract of the routing extension: tokens, the vnode ring, tablets, route plans."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from typing_extensions import Buffer

def murmur3_token(key: Buffer) -> int:
    """Token of a partition key as Cassandra computes it: the first half of Murmur3 x64 128 with signed tails;
    the minimum token is replaced by the maximum."""

class TokenRing:
    """Immutable: sorted 64-bit tokens, each with an arbitrary owner; lookup by bisection without Python objects.

    *tokens* come in any order; a token that appears twice is a ValueError. A lookup in an empty ring is a LookupError.
    """

    owners: Final[tuple[Any, ...]]  # in token order
    @property
    def tokens(self) -> tuple[int, ...]:
        """Ascending; a new tuple per call."""
    def __init__(self, tokens: Sequence[int], owners: Sequence[Any]) -> None: ...
    def __len__(self) -> int: ...
    def owner(self, token: int) -> Any:
        """Owner of the range (previous, t] that contains *token*; wraps around."""
    def index(self, token: int) -> int:
        """Position of that range in :attr:`owners`."""

class Tablet:
    """A range of a table's tokens, ``(first_token, last_token]``, and the replicas that hold it. Immutable, no lock.

    *replicas*: ``(host_id, shard)`` pairs, read once; None stays None. A tablet whose first token is not below its last
    one wraps around the end of the ring. Tablets with the same content are equal. Tokens are signed 64-bit
    numbers, the version is one of 64 bits with or without a sign (else OverflowError).
    """

    first_token: Final[int]
    last_token: Final[int]
    @property
    def replicas(self) -> tuple[tuple[Any, int], ...] | None:
        """Host ids with their shards, in the order the server gave."""
    @property
    def tablet_version(self) -> int | None:
        """What servers call this state of the replicas; None if they do not (before tablets-routing-v2)."""
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
        """A tablet; None if there are no replicas."""
    def replica_contains_host_id(self, uuid: UUID) -> bool:
        """Whether the host with this id is a replica."""
    def get_replica_shard_id(self, host_id: UUID) -> int | None:
        """The shard on the host with this id; None if it is not a replica."""

class TabletMap:
    """Tablets by table and token. Each call is one step to other threads. Ids of hosts may be any hashable objects.

    What adds tablets raises ValueError for more than 255 replicas or a shard beyond 65535, OverflowError for more than
    65535 hosts over the life of the map.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def get_tablet_for_key(self, keyspace: str | None, table: str | None, t: Any) -> Tablet | None:
        """The tablet that covers *t*, a Token or its number; None if that is not known."""
    def table_has_tablets(self, keyspace: str | None, table: str | None) -> bool:
        """Whether any tablet of the table is known."""
    def add_tablet(self, keyspace: str, table: str, tablet: Tablet) -> None:
        """Put *tablet* in the place of all those that it overlaps."""
    def learn(self, keyspace: str, table: str, payload: Buffer) -> bool:
        """Add the tablet in *payload*, the bytes of ``tablets-routing-v1`` or ``-v2`` in a response's custom payload.

        False if it has no replicas: nothing was added. Bytes that are not a tablet, or a tablet that the map cannot
        take, are a DriverException.
        """
    def replace_tablets(self, keyspace: str, table: str, tablets: Iterable[Tablet]) -> None:
        """Forget what is known of the table and take *tablets*, a later one in place of those it overlaps. At once:
        nobody finds the table empty in between."""
    def drop_tablets(self, keyspace: str, table: str | None = None) -> None:
        """Forget the tablets of the table, or of all tables of the keyspace."""
    def drop_tablets_by_host_id(self, host_id: UUID | None) -> None:
        """Forget all tablets that have a replica on this host. None does nothing."""
    def table(self, keyspace: str, table: str) -> TabletTable:
        """A handle that finds the table's tablets without its names, whatever is added, dropped or added again."""
    def host_number(self, host_id: Any) -> int | None:
        """The number that stands for this host in native code; None if no tablet was on it. Never another host's."""
    def host_id(self, number: int) -> Any:
        """The id of the host with a number that :meth:`host_number` or a native lookup gave."""
    @property
    def changes(self) -> int:
        """Goes up with every change."""
    @property
    def nbytes(self) -> int:
        """Native memory of all tablets."""
    def snapshot(self) -> tuple[int, dict[tuple[str, str], list[Tablet]]]:
        """All tablets by (keyspace, table), sorted by last token, and the count of changes they belong to."""

class TabletTable:
    """The tablets of one table, held by :meth:`TabletMap.table`. True if there are any."""

    keyspace: Final[str]
    table: Final[str]
    def find(self, token: int) -> Tablet | None:
        """The tablet that covers *token*; None if that is not known."""
    def __bool__(self) -> bool: ...

class HostState:
    """What routing reads of a host on every request. Base of ``Host``."""

    is_up: bool | None
    is_suspect: bool
    """Silent just now: last in plans, until it answers or is taken for down. Only of a host that is up; setting it of
    another one is without effect."""
    _hash: int

class Count:
    """Counts from 0, for many threads: the turn of a round-robin, the changes of something."""

    @property
    def value(self) -> int: ...
    def advance(self) -> int:
        """Goes on by one; gives what it was before."""

class Place:
    """Where a request goes. Plans give the same object for the same host and shard; equal ones compare equal."""

    host: Final[Any]
    shard: Final[int | None]  # None: whichever owns the token
    def __init__(self, host: Any, shard: int | None = None) -> None: ...

class Meter:
    """A moving average of latencies in seconds. It halves with every *half_life* seconds in which nothing was measured.

    :raises ValueError: a half-life that is not above 0.
    """

    def __init__(self, half_life: float) -> None: ...
    def add(self, seconds: float, now: float) -> None:
        """Something took *seconds*, and ended at *now* (of ``time.monotonic``)."""
    def read(self, now: float) -> float:
        """The average; 0 if nothing was ever measured."""

class RouteHosts:
    """Hosts with their distances, as long as *epoch* has the value *made_in*. They become known as they are seen.

    *distance* is asked once for each host, in far less than a request; *by_id* finds the hosts of tablets, whose map is
    *tablets*. *tiers* are the hosts to use in *turn* for want of replicas, near to far. *predicates* are asked for
    every host, every time.

    With *meter_of*, asked once for each host, two of those to choose from are taken by chance. It is the first one
    unless its product of latency and requests in flight, which *in_flight* tells, is clearly above the other's.
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
        meter_of: Callable[[Any], Meter] | None = None,
        in_flight: Callable[[Any], int] | None = None,
    ) -> None: ...
    @property
    def is_current(self) -> bool:
        """Whether nothing has changed since it was made."""

class RouteRing:
    """Replicas of the ranges of *ring*, worked out when first asked for. *replicas* gives them by position."""

    hosts: Final[RouteHosts]
    def __init__(self, hosts: RouteHosts, ring: TokenRing | None = None, replicas: Any = None) -> None: ...

class RoutePlan:
    """Picks the first host and shard of requests by their tokens: one of the nearest live replicas, by chance; else the
    next host in turn. Suspects are picked only for want of others.

    :param make: gives the hosts and the ring to go by; called now, and when those are not current any more.
    :param table: the tablets that are asked before the ring.
    :param ordered: keep the order of the replicas instead of leaving it to chance.
    :param leader_first: ask the leader of a tablet, however far it is, while it is live and not ignored.
    """

    def __init__(
        self,
        make: Callable[[], RouteRing],
        table: TabletTable | None = None,
        ordered: bool = False,
        leader_first: bool = False,
    ) -> None: ...
    def pick(self, token: int | None) -> Place | None:
        """Where a request with this token goes first; None if there are no hosts at all."""
    def __call__(self, token: int | None) -> Place | None:
        """As :meth:`pick`."""
    def locate(self, token: int | None) -> tuple[Place | None, Tablet | None]:
        """:meth:`pick`, with the tablet it went by."""

class SuspectsLast:
    """The hosts of *plan*, in its order, but suspects behind all others. The plan is followed as this is."""

    def __init__(self, plan: Iterable[Any]) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

class Rotation:
    """*hosts* once around, beginning at position *turn*, which may be any number from 0."""

    def __init__(self, hosts: tuple[Any, ...], turn: int) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def __length_hint__(self) -> int: ...

class TierPlan:
    """``Rotation(hosts_of(key), turn)`` for each key of *near*, then of ``far_keys()``. Both are called when their turn
    comes."""

    def __init__(
        self,
        near: tuple[Any, ...],
        far_keys: Callable[[], tuple[Any, ...]],
        hosts_of: Callable[[Any], tuple[Any, ...]],
        turn: int,
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

class ReplicasFirst:
    """Those of *replicas* that are up when their turn comes; then the other hosts of ``plan_of(policy, wanted)``, which
    is called when its turn comes. No replica comes twice."""

    def __init__(
        self, replicas: list[Any], plan_of: Callable[[Any, Any], Iterable[Any]], policy: Any, wanted: Any
    ) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

class ShardingInfo:
    """How a ScyllaDB node maps tokens to its shards, as it says in SUPPORTED. Immutable; compares by value."""

    shards_count: Final[int]
    partitioner: Final[str]
    sharding_algorithm: Final[str]
    sharding_ignore_msb: Final[int]
    """How many of a token's highest bits do not count."""
    shard_aware_port: Final[int | None]
    """Where clients choose the shard of a connection by their own port; None: the node does not say."""
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
        """*shard_id*, of the connection that told, is not kept. ValueError without shards or for more ignored bits than
        a token has."""
    def shard_id_from_token(self, token_input: int) -> int:
        """The shard that owns a Murmur3 token."""

class ShardPicker:
    """Picks among *places*, one per shard, None where there is nothing. It does not change but for whose turn it is;
    any thread, no lock."""

    places: Final[tuple[Any, ...]]
    def __init__(self, sharding: ShardingInfo, places: Iterable[Any]) -> None:
        """ValueError unless there are as many places as shards."""
    def pick(self, token: int | None = None, shard: int | None = None) -> Any:
        """The place of *shard*; if it is None or not one of the node, that of the shard that owns *token*; if that is
        None or no token, the next one with something in it."""

class SessionFields:
    """Base of sessions: what every request reads of them, as fields that cost nothing to read. Any thread, no lock."""

    _scope: Any  # another object whenever something was set on the session
    _pool_set: Any  # a PoolSetFields
    def keep(self, found: object) -> None:
        """Until something is set on the session again."""
    def kept(self) -> Any:
        """What was kept; None if nothing was since then."""

class PoolSetFields:
    """Base of the pools of one session."""

    pools: dict[Any, Any]  # PoolFields by host; replaced, never changed

class PoolFields:
    """Base of the pool of one host."""

    picks: Any  # its connections as they are now

class MetadataFields:
    """Base of the metadata of a cluster."""

    state: Any  # the current snapshot: requests compare it with the one that they were compiled in

class ProfileFields:
    """Base of execution profiles."""

    _version: int  # another one whenever something was set

class CompiledCache:
    """What is kept of a prepared statement, until a setting of that is changed: where it is (*place*), how it was
    compiled last, by which lane its requests went last, and *others*. A copy of it is empty."""

    place: tuple[str, str] | tuple[()] | None
    last: Any
    lane: Any
    others: dict[tuple[int, int], Any]
