"""Replication strategies: the hosts that hold a range of the ring, and :class:`TokenMap`, their public view (L4).

The rules are those of the server's ``locator`` package. The driver itself routes by ``ring.ReplicaMap``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra._base.logs import get_logger
from cassandra._base.names import map_literal
from cassandra._base.objects import public

from .tokens import Finder, ReplicaMap, Ring, Token, token_class_of

if TYPE_CHECKING:
    from cassandra._routing.schema.model import KeyspaceMetadata

    from .host import Host
    from .metadata import ClusterState

log = get_logger("cassandra.metadata")

# ---- replication strategies

#: Package of the server's classes of replication strategies.
REPLICATION_STRATEGY_CLASS_PREFIX = "org.apache.cassandra.locator."


@public("cassandra.metadata")
class ReplicationFactor:
    """Number of replicas and, among them, of transient replicas (which hold only unrepaired data)."""

    #: Number of replicas, transient ones included.
    all_replicas: int = None  # type: ignore[assignment]
    #: Number of replicas that hold all data.
    full_replicas: int = None  # type: ignore[assignment]
    #: Number of transient replicas, None if there are none.
    transient_replicas: int | None = None

    def __init__(self, all_replicas: int, transient_replicas: int | None = None) -> None:
        self.all_replicas = all_replicas
        self.transient_replicas = transient_replicas
        self.full_replicas = all_replicas - (transient_replicas or 0)

    @staticmethod
    def create(rf: int | str) -> ReplicationFactor:
        """Parse ``3``, ``"3"`` or, with transient replicas, ``"3/1"``. Raises ValueError for any other value."""
        everything, slash, transient = str(rf).partition("/")
        try:
            return ReplicationFactor(int(everything), int(transient) if slash else None)
        except ValueError:
            raise ValueError(f"Unable to determine replication factor from: {rf}") from None

    def __str__(self) -> str:
        return f"{self.all_replicas}/{self.transient_replicas}" if self.transient_replicas else str(self.all_replicas)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicationFactor):
            return False
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


@public("cassandra.metadata")
class ReplicationStrategyTypeType(type):
    """Registers strategies by class name; a user's subclass is used for keyspaces with a strategy of that name."""

    registry: ClassVar[dict[str, Any]] = {}  #: Strategies by name.

    def __new__(mcs, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> Any:
        dct.setdefault("name", name)
        cls = super().__new__(mcs, name, bases, dct)
        if not name.startswith("_"):
            mcs.registry[name] = cls
        return cls


@public("cassandra.metadata")
class _ReplicationStrategy(metaclass=ReplicationStrategyTypeType):
    """Placement of a keyspace's replicas on hosts. Subclasses implement :meth:`make_token_replica_map`."""

    name: str  #: Name of the strategy.
    options_map: Mapping[str, Any] | None = None  #: Options of the strategy, as in the schema.

    def __init__(self, options_map: Mapping[str, Any] | None = None) -> None:
        self.options_map = options_map

    @classmethod
    def create(cls, strategy_class: str | None, options_map: Mapping[str, Any] | None) -> _ReplicationStrategy | None:
        """Return the strategy for a row of the schema tables; an unknown or invalid one has no replica map."""
        if not strategy_class:
            return None
        name = strategy_class.removeprefix(REPLICATION_STRATEGY_CLASS_PREFIX)
        options = options_map or {}
        known = ReplicationStrategyTypeType.registry.get(name)
        if known is None:
            return _UnknownStrategy(name, options)
        try:
            strategy: _ReplicationStrategy = known(options)
            return strategy
        except Exception as error:
            log.warning("Invalid replication strategy %s with options %s: %s", name, dict(options), error)
            return _UnknownStrategy(name, options)

    def make_token_replica_map(
        self, token_to_host_owner: Mapping[Token, Host], ring: Sequence[Token]
    ) -> dict[Token, list[Host]]:
        """Return the replicas of the range ending at each token, in ring order."""
        if not ring:
            return {}
        walked = Ring(type(ring[0]), {token.value: token_to_host_owner[token] for token in ring})
        find = self.finder(walked)
        return {token: list(find(position)) for position, token in enumerate(walked.tokens)} if find else {}

    def export_for_schema(self) -> str:
        """Return the strategy as the value of ``replication`` in ``CREATE KEYSPACE``."""
        raise NotImplementedError

    def finder(self, ring: Ring) -> Finder | None:
        """Return a function for the replicas of one range at a time; None if the strategy does not support routing."""
        return None


def finder_for(strategy: _ReplicationStrategy, ring: Ring) -> Finder | None:
    """Return the finder of replicas on *ring*. If a class overrides only ``make_token_replica_map``, call it once."""
    for cls in type(strategy).__mro__:
        if "finder" in vars(cls):
            return strategy.finder(ring)
        if "make_token_replica_map" in vars(cls):
            break
    replicas = strategy.make_token_replica_map(ring.token_to_host_owner, ring.tokens)
    tokens = ring.tokens
    return lambda position: tuple(replicas.get(tokens[position], ()))


@public("cassandra.metadata")
class _UnknownStrategy(_ReplicationStrategy):
    """An unknown strategy: kept for printing; token-aware routing falls back to the child policy."""

    def __init__(self, name: str, options_map: Mapping[str, Any] | None) -> None:
        self.name = name
        self.options_map = dict(options_map or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _UnknownStrategy) and self.name == other.name and self.options_map == other.options_map

    def __hash__(self) -> int:
        return hash(self.name)

    def export_for_schema(self) -> str:
        options = {**(self.options_map or {}), "class": self.name}
        return map_literal(options)


@public("cassandra.metadata")
class SimpleStrategy(_ReplicationStrategy):
    """Each range is on the next *n* different hosts of the ring, in any datacenter and rack."""

    #: The replication factor including transient replicas.
    replication_factor_info: ReplicationFactor = None  # type: ignore[assignment]

    def __init__(self, options_map: Mapping[str, Any]) -> None:
        self.options_map = dict(options_map)
        self.replication_factor_info = ReplicationFactor.create(options_map["replication_factor"])

    @property
    def replication_factor(self) -> int:
        """Number of full replicas."""
        return self.replication_factor_info.full_replicas

    def export_for_schema(self) -> str:
        """Return the value of ``replication`` in ``CREATE KEYSPACE``."""
        return _replication_literal("SimpleStrategy", {"replication_factor": str(self.replication_factor_info)})

    def finder(self, ring: Ring) -> Finder | None:
        nodes, numbers = ring.nodes, ring.owner_numbers
        size = len(numbers)
        factor = self.replication_factor_info
        wanted = min(factor.all_replicas, len(nodes)) - (factor.transient_replicas or 0)

        def find(position: int) -> tuple[Host, ...]:
            found: list[int] = []
            for step in range(position, position + size):
                if len(found) >= wanted:
                    break
                number = numbers[step % size]
                if number not in found:
                    found.append(number)
            return tuple(nodes[number] for number in found)

        return find

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SimpleStrategy) and self.replication_factor_info == other.replication_factor_info

    def __hash__(self) -> int:
        return hash(self.replication_factor_info)


@public("cassandra.metadata")
class NetworkTopologyStrategy(_ReplicationStrategy):
    """A number of replicas per datacenter, on different racks if there are enough of them."""

    #: Datacenter name to its number of full replicas.
    dc_replication_factors: dict[str, int] = None  # type: ignore[assignment]
    #: Datacenter name to its replication factor including transient replicas.
    dc_replication_factors_info: dict[str, ReplicationFactor] = None  # type: ignore[assignment]

    def __init__(self, dc_replication_factors: Mapping[str, int | str]) -> None:
        self.options_map = dict(dc_replication_factors)
        self.dc_replication_factors_info = {
            str(dc): ReplicationFactor.create(rf) for dc, rf in dc_replication_factors.items()
        }
        self.dc_replication_factors = {
            dc: factor.full_replicas for dc, factor in self.dc_replication_factors_info.items()
        }

    def export_for_schema(self) -> str:
        """Return the value of ``replication`` in ``CREATE KEYSPACE``."""
        factors = {dc: str(factor) for dc, factor in sorted(self.dc_replication_factors_info.items())}
        return _replication_literal("NetworkTopologyStrategy", factors)

    def finder(self, ring: Ring) -> Finder | None:
        return _RackWalk(ring, self.dc_replication_factors_info)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, NetworkTopologyStrategy)
            and self.dc_replication_factors_info == other.dc_replication_factors_info
        )

    def __hash__(self) -> int:
        return hash(frozenset(self.dc_replication_factors_info.items()))


class _RackWalk:
    """Walks the ring once for all datacenters, as the server's NetworkTopologyStrategy does since 4.0.

    In each datacenter the next host of a new rack is selected. Hosts of a rack with a replica are selected too, in
    ring order, but at most as many as the number of replicas exceeds the number of racks.
    """

    def __init__(self, ring: Ring, factors: Mapping[str, ReplicationFactor]) -> None:
        self._nodes = ring.nodes
        self._numbers = ring.owner_numbers
        self._locations = [(host.datacenter or "", host.rack or "") for host in ring.nodes]
        self._wanted: dict[str, int] = {}
        self._next_positions: dict[str, int] = {}  # the remaining replicas are transient ones, which are not selected
        self._repeats: dict[str, int] = {}
        for dc, factor in factors.items():
            racks = [rack for place, rack in self._locations if place == dc]
            wanted = min(factor.all_replicas, len(racks))
            transient = factor.transient_replicas or 0
            if wanted > transient:
                self._wanted[dc] = wanted
                self._next_positions[dc] = transient
                self._repeats[dc] = factor.all_replicas - len(set(racks))

    def __call__(self, position: int) -> tuple[Host, ...]:
        left = dict(self._wanted)
        repeats = dict(self._repeats)
        racks_met: set[tuple[str, str]] = set()
        found: list[int] = []
        size = len(self._numbers)
        for step in range(position, position + size):
            if not left:
                break
            number = self._numbers[step % size]
            place = self._locations[number]
            dc = place[0]
            if dc not in left or number in found:
                continue
            if place in racks_met:
                if repeats[dc] <= 0:
                    continue
                repeats[dc] -= 1
            racks_met.add(place)
            found.append(number)
            left[dc] -= 1
            if left[dc] <= self._next_positions[dc]:
                del left[dc]
        return tuple(self._nodes[number] for number in found)


@public("cassandra.metadata")
class LocalStrategy(_ReplicationStrategy):
    """Every host has its own data: system keyspaces. Not used for routing."""

    def __init__(self, options_map: Mapping[str, Any]) -> None:
        self.options_map = dict(options_map)

    def export_for_schema(self) -> str:
        """Return the value of ``replication`` in ``CREATE KEYSPACE``."""
        return _replication_literal("LocalStrategy", {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalStrategy)

    def __hash__(self) -> int:
        return hash(LocalStrategy)


@public("cassandra.metadata")
class EverywhereStrategy(_ReplicationStrategy):
    """Every host is a replica of all data (ScyllaDB)."""

    def __init__(self, options_map: Mapping[str, Any]) -> None:
        self.options_map = dict(options_map)

    def export_for_schema(self) -> str:
        return _replication_literal("EverywhereStrategy", {})

    def finder(self, ring: Ring) -> Finder | None:
        nodes, numbers = ring.nodes, ring.owner_numbers

        def find(position: int) -> tuple[Host, ...]:
            return tuple(nodes[number] for number in dict.fromkeys(numbers[position:] + numbers[:position]))

        return find

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EverywhereStrategy)

    def __hash__(self) -> int:
        return hash(EverywhereStrategy)


def _replication_literal(name: str, options: Mapping[str, str]) -> str:
    return map_literal({"class": name, **options})


# ---- public view of ring and replicas


@public("cassandra.metadata")
class TokenMap:
    """Owners of tokens, and replicas of keyspaces. Available as ``cluster.metadata.token_map``."""

    #: The class of the tokens.
    token_class: type[Token] = None  # type: ignore[assignment]
    #: For each keyspace with computed replicas: hosts by token.
    tokens_to_hosts_by_ks: dict[str, dict[Token, list[Host]]] = None  # type: ignore[assignment]

    def __init__(
        self,
        token_class: type[Token],
        token_to_host_owner: Mapping[Token, Host],
        all_tokens: Sequence[Token],
        metadata: Any,
    ) -> None:
        owners = {token.value: token_to_host_owner[token] for token in all_tokens}
        self._start(Ring(token_class, owners), metadata)

    @classmethod
    def _of(cls, state: ClusterState) -> TokenMap | None:
        ring = state.topology.ring
        if ring is None:
            token_class = token_class_of(state.topology.partitioner)
            if token_class is None:
                return None
            ring = Ring(token_class, {})
        made = cls.__new__(cls)
        made._start(ring, state)
        return made

    def _start(self, ring: Ring, metadata: Any) -> None:
        self._ring = ring
        self._metadata = metadata
        self.token_class = ring.token_class
        self.tokens_to_hosts_by_ks = {}

    @property
    def ring(self) -> list[Token]:
        """All tokens, ascending."""
        return self._ring.tokens

    @property
    def token_to_host_owner(self) -> dict[Token, Host]:
        """Owner of each token."""
        return self._ring.token_to_host_owner

    def get_replicas(self, keyspace: str, token: Token) -> list[Host]:
        """Return the hosts that hold the partitions with *token*, in ring order; empty for an unknown keyspace."""
        self.rebuild_keyspace(keyspace, build_if_absent=True)
        replicas = self.tokens_to_hosts_by_ks.get(keyspace)
        return list(replicas.get(self.ring[self._ring.index(token.value)], ())) if replicas else []

    def rebuild_keyspace(self, keyspace: str, build_if_absent: bool = False) -> None:
        """Recompute the replicas of *keyspace* if they are present; with *build_if_absent*, only if they are not."""
        if build_if_absent == (keyspace in self.tokens_to_hosts_by_ks):
            return
        known = self._metadata.keyspaces.get(keyspace)
        if known is not None:
            self.tokens_to_hosts_by_ks[keyspace] = self.replica_map_for_keyspace(known)

    def replica_map_for_keyspace(self, ks_metadata: KeyspaceMetadata) -> dict[Token, list[Host]]:
        """Return the replicas of each token under the replication of *ks_metadata*."""
        strategy = ks_metadata.replication_strategy
        find = finder_for(strategy, self._ring) if strategy is not None else None
        if find is None:
            return {}
        replicas = ReplicaMap(self._ring, find)
        return {token: list(replicas[position]) for position, token in enumerate(self.ring)}

    def remove_keyspace(self, keyspace: str) -> None:
        """Remove the replicas of *keyspace*."""
        self.tokens_to_hosts_by_ks.pop(keyspace, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the current ring and replication strategies; the copy is not updated."""
        ring = self._ring
        owners = dict(zip(ring.values, ring.owners, strict=True))
        known = self._metadata.keyspaces.items()
        strategies = {name: keyspace.replication_strategy for name, keyspace in known}
        return _copy, (type(self), ring.token_class, owners, strategies)


class _Strategies:
    """The part of the metadata that a copy of a token map needs."""

    def __init__(self, strategies: Mapping[str, Any]) -> None:
        self.keyspaces = {name: _Keyspace(strategy) for name, strategy in strategies.items()}


class _Keyspace:
    def __init__(self, strategy: Any) -> None:
        self.replication_strategy = strategy


def _copy(
    kind: type[TokenMap], token_class: type[Token], owners: Mapping[Any, Host], strategies: Mapping[str, Any]
) -> TokenMap:
    made = kind.__new__(kind)
    made._start(Ring(token_class, owners), _Strategies(strategies))
    return made
