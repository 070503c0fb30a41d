"""Location of data: tokens, shards, replicas and tablets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, Protocol
from uuid import UUID

from cassandra.testing.errors import ConfigError

MIN_TOKEN: Final = -(1 << 63)
MAX_TOKEN: Final = (1 << 63) - 1
MASK: Final = (1 << 64) - 1
IGNORE_MSB: Final = 12
C1, C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & MASK


def _mix(value: int) -> int:
    value ^= value >> 33
    value = value * 0xFF51AFD7ED558CCD & MASK
    value ^= value >> 33
    value = value * 0xC4CEB9FE1A85EC53 & MASK
    return value ^ value >> 33


def token_of(key: bytes) -> int:
    """Return Cassandra's variant of Murmur3: the bytes of the tail are signed."""
    h1 = h2 = 0
    blocks = len(key) // 16
    for at in range(0, blocks * 16, 16):
        k1 = int.from_bytes(key[at : at + 8], "little") * C1 & MASK
        h1 ^= _rotate(k1, 31) * C2 & MASK
        h1 = ((_rotate(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        k2 = int.from_bytes(key[at + 8 : at + 16], "little") * C2 & MASK
        h2 ^= _rotate(k2, 33) * C1 & MASK
        h2 = ((_rotate(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    k1 = k2 = 0
    for n, octet in enumerate(key[blocks * 16 :]):
        signed = octet - 256 if octet > 127 else octet
        if n < 8:
            k1 ^= signed << 8 * n
        else:
            k2 ^= signed << 8 * (n - 8)
    k1, k2 = k1 & MASK, k2 & MASK
    h2 ^= _rotate(k2 * C2 & MASK, 33) * C1 & MASK
    h1 ^= _rotate(k1 * C1 & MASK, 31) * C2 & MASK
    h1, h2 = h1 ^ len(key), h2 ^ len(key)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    h1, h2 = _mix(h1), _mix(h2)
    h1 = (h1 + h2) & MASK
    token = h1 - (1 << 64) if h1 >> 63 else h1
    return MAX_TOKEN if token == MIN_TOKEN else token


def shard_of(token: int, shards: int, ignore_msb: int = IGNORE_MSB) -> int:
    """Return the shard by ScyllaDB's ``biased-token-round-robin``."""
    biased = (token - MIN_TOKEN << ignore_msb) & MASK
    return biased * shards >> 64


class Place(Protocol):
    """Attributes of a node for the placement of replicas."""

    @property
    def host_id(self) -> UUID: ...
    @property
    def datacenter(self) -> str: ...
    @property
    def rack(self) -> str: ...
    @property
    def shards(self) -> int: ...
    @property
    def tokens(self) -> Sequence[int]: ...


Replica = tuple[UUID, int]  # host id, shard


@dataclass(frozen=True)
class TabletInfo:
    """A tablet: the tokens in ``(first_token, last_token]`` and their replicas."""

    first_token: int  #: Token before its first one.
    last_token: int  #: Its last token.
    replicas: tuple[Replica, ...]  #: Nodes and shards that own it.

    @property
    def version(self) -> int:
        """Hash of the replicas (signed 64-bit)."""
        digest = blake2b(digest_size=8)
        for host, shard in sorted(self.replicas):
            digest.update(host.bytes + shard.to_bytes(4, "big"))
        return int.from_bytes(digest.digest(), "big", signed=True)

    def __contains__(self, token: int) -> bool:
        return self.first_token < token <= self.last_token


@dataclass
class TabletMap:
    """The tablets of a table: they cover the whole ring, in order."""

    tablets: list[TabletInfo] = field(default_factory=list)

    def index(self, token: int) -> int:
        return bisect_left(self.tablets, token, key=lambda tablet: tablet.last_token)

    def find(self, token: int) -> TabletInfo:
        return self.tablets[self.index(token)]

    def replace(self, at: int, count: int, *new: TabletInfo) -> None:
        self.tablets[at : at + count] = new


def new_tablets(count: int, factors: dict[str, int], nodes: Sequence[Place], turn: int) -> TabletMap:
    """Return *count* tablets of equal size; replicas are distributed over nodes and shards in turn, across racks.
    *turn* varies by table."""
    size = (1 << 64) // count
    edges = [MIN_TOKEN + size * n for n in range(count)] + [MAX_TOKEN]
    tablets = [TabletInfo(edges[n], edges[n + 1], pick_replicas(factors, nodes, n + turn)) for n in range(count)]
    return TabletMap(tablets)


def pick_replicas(factors: dict[str, int], nodes: Sequence[Place], turn: int) -> tuple[Replica, ...]:
    """Return the replicas of tablet number *turn*."""
    found: list[Replica] = []
    for datacenter, factor in factors.items():
        members = by_racks([node for node in nodes if node.datacenter == datacenter])
        if len(members) < factor:
            raise ConfigError(f"Datacenter {datacenter} doesn't have enough token-owning nodes for rf={factor}")
        for n in range(factor):
            node = members[(turn + n) % len(members)]
            found.append((node.host_id, (turn // len(members) + n) % node.shards))
    return tuple(found)


def by_racks(nodes: Sequence[Place]) -> list[Place]:
    """Return the nodes with those of one rack as far apart as possible."""
    racks: dict[str, list[Place]] = {}
    for node in nodes:
        racks.setdefault(node.rack, []).append(node)
    longest = max(map(len, racks.values()), default=0)
    return [members[n] for n in range(longest) for members in racks.values() if n < len(members)]


def ring_replicas(token: int, factors: dict[str, int] | int, nodes: Sequence[Place]) -> list[Place]:
    """Return the replicas of a keyspace without tablets: SimpleStrategy for a number, NetworkTopologyStrategy for a
    dict."""
    ring = sorted((owned, n) for n, node in enumerate(nodes) for owned in node.tokens)
    start = bisect_left(ring, (token, -1))
    walk: list[Place] = []
    for at in range(len(ring)):
        node = nodes[ring[(start + at) % len(ring)][1]]
        if node not in walk:
            walk.append(node)
    if isinstance(factors, int):
        return walk[:factors]
    chosen: list[Place] = []
    for datacenter, factor in factors.items():
        chosen += _spread([node for node in walk if node.datacenter == datacenter], factor)
    return [node for node in walk if node in chosen]


def _spread(walk: list[Place], factor: int) -> list[Place]:
    """Return the first node of every rack first, then the others in ring order."""
    racks = {node.rack for node in walk}
    chosen: list[Place] = []
    skipped: list[Place] = []
    seen: set[str] = set()
    for node in walk:
        if len(chosen) == factor:
            break
        if node.rack in seen and len(seen) < len(racks):
            skipped.append(node)
            continue
        chosen.append(node)
        seen.add(node.rack)
        if len(seen) == len(racks):
            while skipped and len(chosen) < factor:
                chosen.append(skipped.pop(0))
    return chosen
