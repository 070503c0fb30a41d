"""Token ranges of the Murmur3 partitioner and arithmetic on them (L4).

The ring is the interval ``(MIN_LONG, MAX_LONG]``: no key has the minimum token. A range that wraps around the end of
the ring is split there, so that the start of a range is always below its end; see :func:`ring_ranges`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from cassandra._base.errors import UnsupportedOperation
from cassandra._base.objects import public

from .tokens import MAX_LONG, MIN_LONG

if TYPE_CHECKING:
    from cassandra._core.routing import Tablet

    from .host import Host
    from .metadata import ClusterState


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
