"""The vnode ring of one partitioner, and the replicas of each of its ranges (L4). Immutable except for lazily filled
tables."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.cached import cached_property
from cassandra._core.routing import TokenRing

from .tokens import Murmur3Token, Token

if TYPE_CHECKING:
    from .host import Host

#: Function from a position on the ring to the replicas of the range that ends there.
Finder = Callable[[int], tuple["Host", ...]]


class Ring:
    """Tokens in order, each with the host that owns the range ending at it."""

    def __init__(self, token_class: type[Token], owner_of: Mapping[Any, Host]) -> None:
        """*owner_of*: token values (numbers, or bytes for an ordered partitioner) to hosts."""
        self.token_class = token_class
        self.values = sorted(owner_of)
        self.owners: tuple[Host, ...] = tuple(owner_of[value] for value in self.values)
        self.nodes: tuple[Host, ...] = tuple(dict.fromkeys(self.owners))
        numbers = {host: number for number, host in enumerate(self.nodes)}
        self.owner_numbers = [numbers[host] for host in self.owners]  # indexes into nodes, for fast comparison
        self.murmur3 = token_class is Murmur3Token
        self.tokens_native = TokenRing(self.values, self.owners) if self.murmur3 else None
        self.index: Callable[[Any], int] = self._bisect if self.tokens_native is None else self.tokens_native.index

    def __len__(self) -> int:
        return len(self.owners)

    def without(self, host: Host) -> Ring | None:
        """Return the ring without *host*; None if no tokens are left."""
        left = {value: owner for value, owner in zip(self.values, self.owners, strict=True) if owner is not host}
        return Ring(self.token_class, left) if left else None

    def _bisect(self, value: Any) -> int:
        return bisect_left(self.values, value) % len(self.values)

    def token_of(self, key: bytes) -> Any:
        """Return the token value of a serialised partition key."""
        return self.token_class.hash_fn(key)

    @cached_property
    def tokens(self) -> list[Token]:
        """Tokens as objects, in order."""
        return [self.token_class(value) for value in self.values]

    @cached_property
    def token_to_host_owner(self) -> dict[Token, Host]:
        return dict(zip(self.tokens, self.owners, strict=True))


class ReplicaMap:
    """Replicas of every range of a ring under one replication strategy; computed per range on first use.

    Lazy, because a ring of 45 nodes with 256 tokens has 11,520 ranges, which take a tenth of a second to compute, per
    strategy and per topology change, while most clients use few of them before the next change.
    """

    __slots__ = ("_find", "_table", "index", "ring")

    def __init__(self, ring: Ring, find: Finder) -> None:
        self.ring = ring
        self.index = ring.index
        self._find = find
        self._table: list[tuple[Host, ...] | None] = [None] * len(ring)

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, position: int) -> tuple[Host, ...]:
        replicas = self._table[position]
        if replicas is None:  # two threads may both compute it, with the same result
            replicas = self._table[position] = self._find(position)
        return replicas

    def replicas(self, value: Any) -> tuple[Host, ...]:
        """Return the replicas of the partition with this token value, in ring order."""
        return self[self.index(value)]
