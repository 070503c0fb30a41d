"""Replication strategies: the hosts that hold a range of the ring (L4). The rules are those of the server's
``locator`` package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from cassandra._base.logs import get_logger
from cassandra._base.names import map_literal
from cassandra._base.objects import public

from .ring import Finder, Ring

if TYPE_CHECKING:
    from ..host import Host
    from .tokens import Token

log = get_logger("cassandra.metadata")

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

    registry: ClassVar[dict[str, Any]] = {}

    def __new__(mcs, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> Any:
        dct.setdefault("name", name)
        cls = super().__new__(mcs, name, bases, dct)
        if not name.startswith("_"):
            mcs.registry[name] = cls
        return cls


@public("cassandra.metadata")
class _ReplicationStrategy(metaclass=ReplicationStrategyTypeType):
    """Placement of a keyspace's replicas on hosts. Subclasses implement :meth:`make_token_replica_map`."""

    name: str
    options_map: Mapping[str, Any] | None = None

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
    """Each range is on the next *n* different hosts of the ring, in any data centre and rack."""

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
    """A number of replicas per data centre, on different racks if there are enough of them."""

    #: Data centre name to its number of full replicas.
    dc_replication_factors: dict[str, int] = None  # type: ignore[assignment]
    #: Data centre name to its replication factor including transient replicas.
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
    """Walks the ring once for all data centres, as the server's NetworkTopologyStrategy does since 4.0.

    In each data centre the next host of a new rack is selected. Hosts of a rack with a replica are selected too, in
    ring order, but at most as many as the number of replicas exceeds the number of racks.
    """

    def __init__(self, ring: Ring, factors: Mapping[str, ReplicationFactor]) -> None:
        self._nodes = ring.nodes
        self._numbers = ring.owner_numbers
        self._places = [(host.datacenter or "", host.rack or "") for host in ring.nodes]
        self._wanted: dict[str, int] = {}
        self._until: dict[str, int] = {}  # the remaining replicas are transient ones, which are not selected
        self._repeats: dict[str, int] = {}
        for dc, factor in factors.items():
            racks = [rack for place, rack in self._places if place == dc]
            wanted = min(factor.all_replicas, len(racks))
            transient = factor.transient_replicas or 0
            if wanted > transient:
                self._wanted[dc] = wanted
                self._until[dc] = transient
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
            place = self._places[number]
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
            if left[dc] <= self._until[dc]:
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
