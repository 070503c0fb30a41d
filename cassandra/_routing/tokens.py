"""Tokens and the vnode ring (L4).

Tokens as Python objects, and the parts of murmur3 for ``cassandra.murmur3``, are for users: the native engine computes
tokens, and requests are routed by plain integers. A :class:`Ring` has the replicas of each range; it is immutable,
except for tables that are filled on first use.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import total_ordering
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._base.delegation import cached_property
from cassandra._base.errors import UnsupportedOperation
from cassandra._base.objects import public
from cassandra._core.routing import TokenRing, murmur3_token

if TYPE_CHECKING:
    from typing_extensions import Self

    from cassandra._core.routing import Tablet

    from .host import Host
    from .metadata import ClusterState


INT64_MAX = MAX_LONG = (1 << 63) - 1  #: Largest signed number of 64 bits.
INT64_MIN = MIN_LONG = -(1 << 63)  #: Smallest signed number of 64 bits.
INT64_OVF_OFFSET = 1 << 63  #: 2 to the power of 63.
INT64_OVF_DIV = 1 << 64  #: 2 to the power of 64.

_MASK = INT64_OVF_DIV - 1


# ---- tokens of the partitioners


@public("cassandra.metadata")
@total_ordering
class Token:
    """A position on the ring. Compares by :attr:`value`."""

    __slots__ = ("value",)

    def __init__(self, token: Any) -> None:
        self.value = token  #: Position on the ring.

    @classmethod
    def hash_fn(cls, key: Any) -> Any:
        """Return the partitioner's token value of a serialised partition key."""
        return key

    @classmethod
    def from_key(cls, key: bytes) -> Self:
        """Return the token of a serialised partition key."""
        return cls(cls.hash_fn(key))

    @classmethod
    def from_string(cls, token_string: str) -> Self:
        """Parse a token as in the system tables."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, Token) else other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < (other.value if isinstance(other, Token) else other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.value}>"


@public("cassandra.metadata")
class HashToken(Token):
    """A token that is a number."""

    __slots__ = ()

    @classmethod
    def from_string(cls, token_string: str) -> Self:
        """Parse a token as in the system tables: decimal."""
        return cls(int(token_string))


@public("cassandra.metadata")
class Murmur3Token(HashToken):
    """A token of ``Murmur3Partitioner``: a signed 64-bit number."""

    __slots__ = ()

    def __init__(self, token: int | str) -> None:
        """*token*: a number or its decimal string."""
        super().__init__(int(token))

    @classmethod
    def hash_fn(cls, key: bytes | str) -> int:
        """Return the Murmur3 hash of *key* as computed by Cassandra."""
        return murmur3_token(key.encode() if isinstance(key, str) else key)


@public("cassandra.metadata")
class MD5Token(HashToken):
    """A token of ``RandomPartitioner``: the absolute value of the MD5 digest read as a signed number."""

    __slots__ = ()

    @classmethod
    def hash_fn(cls, key: bytes | str) -> int:
        from hashlib import md5  # imports OpenSSL, which only clusters with the RandomPartitioner need

        data = key.encode() if isinstance(key, str) else key
        return abs(int.from_bytes(md5(data, usedforsecurity=False).digest(), "big", signed=True))


@public("cassandra.metadata")
class BytesToken(Token):
    """A token of ``ByteOrderedPartitioner``: the key itself."""

    __slots__ = ()

    @classmethod
    def from_string(cls, token_string: str | bytes) -> Self:
        """Parse a token as in the system tables: hexadecimal."""
        text = token_string.decode("ascii") if isinstance(token_string, bytes) else token_string
        return cls(bytes.fromhex(text.removeprefix("0x")))


_BY_PARTITIONER: dict[str, type[Token]] = {
    "Murmur3Partitioner": Murmur3Token,
    "RandomPartitioner": MD5Token,
    "ByteOrderedPartitioner": BytesToken,
}


def token_class_of(partitioner: str | None) -> type[Token] | None:
    """Return the token class for a partitioner's class name; None for an unknown one (then requests are not routed by
    token)."""
    return _BY_PARTITIONER.get((partitioner or "").rpartition(".")[2])


# ---- parts of murmur3


@public("cassandra.murmur3")
def truncate_int64(x: int) -> int:
    """Return *x* wrapped around to a signed 64-bit number."""
    return (x + INT64_OVF_OFFSET) % INT64_OVF_DIV - INT64_OVF_OFFSET


@public("cassandra.murmur3")
def rotl64(x: int, r: int) -> int:
    """Return the 64 bits of *x* rotated left by *r*."""
    bits = x & _MASK
    return (bits << r | bits >> (64 - r)) & _MASK


@public("cassandra.murmur3")
def fmix(k: int) -> int:
    """Return the final mix of a 64-bit half."""
    k ^= (k & _MASK) >> 33
    k = truncate_int64(k * 0xFF51AFD7ED558CCD)
    k ^= (k & _MASK) >> 33
    k = truncate_int64(k * 0xC4CEB9FE1A85EC53)
    return k ^ (k & _MASK) >> 33


@public("cassandra.murmur3")
def body_and_tail(data: bytes) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Return the 64-bit words of the whole 16-byte blocks of *data*, the signed bytes of the rest, and the length."""
    whole = len(data) // 16 * 16
    return (
        struct.unpack(f"<{whole // 8}q", data[:whole]),
        struct.unpack(f"{len(data) - whole}b", data[whole:]),
        len(data),
    )


# ---- the ring

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


# ---- token ranges of the Murmur3 partitioner and arithmetic on them
#
# The ring is the interval ``(MIN_LONG, MAX_LONG]``: no key has the minimum token. A range that wraps around the end of
# the ring is split there, so that the start of a range is always below its end; see ``ring_ranges``.


@public("cassandra.metadata")
class TokenRange:
    """The tokens above *start*, up to and including *end*: ``start < token <= end``. Immutable; compared by *start* and
    *end*; may be pickled.

    :param replicas: the known hosts that hold the range; not compared.

    Raises ValueError unless ``-2**63 <= start < end <= 2**63 - 1``. Example::

        for part in TokenRange(-100, 100).split(4):
            print(part.start, part.end)

    .. versionadded:: 4.0
    """

    __slots__ = ("end", "replicas", "start")

    start: int  #: Token before the first one.
    end: int  #: Last token.
    replicas: tuple[Host, ...]  #: Hosts that own the range.

    def __init__(self, start: int, end: int, replicas: Iterable[Host] = ()) -> None:
        if not MIN_LONG <= start < end <= MAX_LONG:
            raise ValueError(f"a token range must have -2**63 <= start < end <= 2**63 - 1, got {start}, {end}")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)
        object.__setattr__(self, "replicas", tuple(replicas))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a TokenRange is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a TokenRange is immutable: {name} cannot be deleted")

    def __len__(self) -> NoReturn:
        raise TypeError("a token range may have more tokens than len() can return: use .size")

    def __bool__(self) -> bool:
        return True

    @property
    def size(self) -> int:
        """Number of tokens, at least 1."""
        return self.end - self.start

    def contains(self, token: int) -> bool:
        """True if *token* is in the range."""
        return self.start < token <= self.end

    def split(self, n: int) -> list[TokenRange]:
        """Split the range into *n* ranges whose sizes differ by at most one token; fewer if there are fewer tokens.
        Raises ValueError unless *n* is positive."""
        if n < 1:
            raise ValueError(f"n must be positive, got {n}")
        n = min(n, self.size)
        cuts = [self.start + self.size * part // n for part in range(n + 1)]
        return [TokenRange(cuts[part], cuts[part + 1], self.replicas) for part in range(n)]

    def intersect(self, other: TokenRange) -> TokenRange | None:
        """Return the common tokens, with the replicas of this range; None if there are none."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        return TokenRange(start, end, self.replicas) if start < end else None

    def subtract(self, others: TokenRange | Iterable[TokenRange]) -> list[TokenRange]:
        """Return the ranges of the tokens that are not in *others*, ascending, with the replicas of this range."""
        left, start = [], self.start
        for other in merge_ranges([others] if isinstance(others, TokenRange) else others):
            if other.end <= start:
                continue
            if other.start >= self.end:
                break
            if start < other.start:
                left.append(TokenRange(start, other.start, self.replicas))
            start = other.end
        if start < self.end:
            left.append(TokenRange(start, self.end, self.replicas))
        return left

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenRange) and (self.start, self.end) == (other.start, other.end)

    def __lt__(self, other: TokenRange) -> bool:
        return (self.start, self.end) < (other.start, other.end)

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __reduce__(self) -> tuple[type[TokenRange], tuple[int, int, tuple[Host, ...]]]:
        return TokenRange, (self.start, self.end, self.replicas)

    def __repr__(self) -> str:
        return f"TokenRange({self.start}, {self.end})"


#: All tokens.
FULL_RING = TokenRange(MIN_LONG, MAX_LONG)


def merge_ranges(ranges: Iterable[TokenRange]) -> list[TokenRange]:
    """Return the same tokens in the fewest ranges, ascending. A merged range has the replicas of the first one."""
    merged: list[TokenRange] = []
    for one in sorted(ranges):
        last = merged[-1] if merged else None
        if last is None or last.end < one.start:
            merged.append(one)
        elif last.end < one.end:
            merged[-1] = TokenRange(last.start, one.end, last.replicas)
    return merged


def covers(ranges: Iterable[TokenRange], whole: TokenRange = FULL_RING) -> bool:
    """True if *ranges* have every token of *whole*."""
    return not whole.subtract(ranges)


def split_at_minimum(start: int, end: int, replicas: Iterable[Host] = ()) -> list[TokenRange]:
    """Return the range from *start* to *end*, ascending, split at the minimum token if it wraps around. The whole ring
    if both are equal."""
    if start < end:
        return [TokenRange(start, end, replicas)]
    parts = [(MIN_LONG, end), (start, MAX_LONG)]
    return [TokenRange(first, last, replicas) for first, last in parts if first < last]


def ring_ranges(state: ClusterState, keyspace: str) -> list[TokenRange]:
    """Return the ranges between the tokens of the ring, ascending, with the replicas of *keyspace*; one range without
    replicas while no tokens are known. Raises UnsupportedOperation for another partitioner than Murmur3."""
    ring = state.topology.ring
    partitioner = state.topology.partitioner
    if (ring is not None and not ring.murmur3) or (
        ring is None and partitioner is not None and not partitioner.endswith("Murmur3Partitioner")
    ):
        raise UnsupportedOperation(f"token ranges require the Murmur3Partitioner, the cluster has {partitioner}")
    if not ring:
        return [FULL_RING]
    found, values = state.replica_map(keyspace), ring.values
    ranges = []
    for position, end in enumerate(values):
        replicas = found[position] if found is not None else ()
        ranges += split_at_minimum(values[position - 1], end, replicas)
    return sorted(ranges)


def tablet_ranges(state: ClusterState, tablets: Sequence[Tablet]) -> list[TokenRange]:
    """Return the ranges of *tablets*, ascending."""
    by_id = state.topology.by_id
    ranges = []
    for tablet in tablets:
        replicas = [by_id[host_id] for host_id, _ in tablet.replicas or () if host_id in by_id]
        ranges += split_at_minimum(tablet.first_token, tablet.last_token, replicas)
    return sorted(ranges)


def token_ranges(state: ClusterState, keyspace: str, table: str | None) -> list[TokenRange]:
    """Implement :meth:`Metadata.token_ranges`."""
    if state.keyspaces and keyspace not in state.keyspaces:
        raise ValueError(f"unknown keyspace: {keyspace!r}")
    ring = ring_ranges(state, keyspace)
    known: Sequence[Tablet] = ()
    if table is not None and state.tablets is not None and state.tablets.table_has_tablets(keyspace, table):
        known = state.tablets._tablets.get((keyspace, table), ())
    if not known:
        return ring
    ranges = tablet_ranges(state, known)
    for gap in FULL_RING.subtract(ranges):
        ranges += [part for one in ring if (part := one.intersect(gap)) is not None]
    return sorted(ranges)
