"""Typed contract of the routing extension: tokens and the vnode ring. (Tablets and route plans join it later.)"""

from collections.abc import Sequence
from typing import Any, Final

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
