"""Murmur3 in the variant that Apache Cassandra computes tokens with."""

from cassandra._base.aliases import add_names
from cassandra._core.routing import murmur3_token as murmur3
from cassandra._routing.tokens import (
    INT64_MAX,
    INT64_MIN,
    INT64_OVF_DIV,
    INT64_OVF_OFFSET,
    body_and_tail,
    fmix,
    rotl64,
    truncate_int64,
)

__all__ = [
    "INT64_MAX", "INT64_MIN", "INT64_OVF_DIV", "INT64_OVF_OFFSET",
    "body_and_tail", "fmix", "murmur3", "rotl64", "truncate_int64",
]  # fmt: skip

add_names(__name__, {
    "cassandra._core.routing": "_murmur3=murmur3_token",
})  # fmt: skip
