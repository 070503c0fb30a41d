"""Shards of a ScyllaDB node: its announced sharding, and connections to a given shard (L3).

A node announces the shard of a connection and the mapping of tokens to shards in SUPPORTED. A connection to its
shard-aware port is assigned to the shard that the client's own port selects: ``port % shards``. An :class:`Aim` is a
target shard, used by ``opening.py``. This module has no state.
"""

from __future__ import annotations

import errno
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol

from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._core.routing import ShardingInfo, ShardPicker

__all__ = ["Aim", "ShardAwarePortGenerator", "ShardChoice", "ShardPicker", "ShardingInfo", "number_of"]

log = get_logger("cassandra.protocol_features")

BIASED_TOKEN_ROUND_ROBIN: Final = "biased-token-round-robin"
MURMUR3_PARTITIONER: Final = "Murmur3Partitioner"  # the package name before it differs between versions
MAX_SHARDS = 4096  # a larger number is invalid: there would be as many connections
LOCAL_PORTS = 100  # maximum number of local ports tried for one connection

#: Errors for a local port in use: by another socket, or by a recent connection to the same address.
PORT_IS_TAKEN: Final = frozenset({errno.EADDRINUSE, errno.EADDRNOTAVAIL})


def number_of(text: str | None, option: str) -> int | None:
    """Parse a decimal number of an option of SUPPORTED; an invalid one is logged and ignored (None)."""
    if text is None:
        return None
    if re.fullmatch("-?[0-9]{1,10}", text) is None:
        log.warning("Ignored an option of SUPPORTED that is not a number: %s=%.40r", option, text)
        return None
    return int(text)


def parse_sharding(supported: Mapping[str, Sequence[str]]) -> tuple[int, ShardingInfo | None]:
    """Return (shard of this connection, sharding of the node); (0, None) for a node without shards, or with an unknown
    mapping or invalid values."""

    def first(name: str) -> str | None:
        return next(iter(supported.get(name) or ()), None)

    def number(name: str, lowest: int, highest: int) -> int | None:
        found = number_of(first(name), name)
        if found is None or lowest <= found <= highest:
            return found
        log.warning("Ignored an option of SUPPORTED that is out of range: %s=%d (%d..%d)", name, found, lowest, highest)
        return None

    algorithm, partitioner = first("SCYLLA_SHARDING_ALGORITHM"), first("SCYLLA_PARTITIONER")
    if algorithm != BIASED_TOKEN_ROUND_ROBIN or partitioner is None or not partitioner.endswith(MURMUR3_PARTITIONER):
        return 0, None
    count = number("SCYLLA_NR_SHARDS", 1, MAX_SHARDS)
    shard = None if count is None else number("SCYLLA_SHARD", 0, count - 1)
    ignore_msb = 0 if first("SCYLLA_SHARDING_IGNORE_MSB") is None else number("SCYLLA_SHARDING_IGNORE_MSB", 0, 63)
    if count is None or shard is None or ignore_msb is None:
        return 0, None
    ports = [number(name, 1, 65535) for name in ("SCYLLA_SHARD_AWARE_PORT", "SCYLLA_SHARD_AWARE_PORT_SSL")]
    return shard, ShardingInfo(shard, count, partitioner, algorithm, ignore_msb, *ports)


@public("cassandra.connection")
class ShardAwarePortGenerator:
    """Local ports that select a shard, between *start_port* and *end_port*, both included.

    ::

        for port in ShardAwarePortGenerator(49152, 65535).generate(shard_id=3, total_shards=8): ...
    """

    def __init__(self, start_port: int, end_port: int) -> None:
        self.start_port = start_port
        self.end_port = end_port

    def generate(self, shard_id: int, total_shards: int) -> Iterator[int]:
        """Yield each port once, upwards from a random one, so that clients on one machine try different ones."""
        first = self.start_port + (shard_id - self.start_port) % total_shards
        ports = range(first, self.end_port + 1, total_shards)
        if ports:
            at = random.randrange(len(ports))
            yield from ports[at:]
            yield from ports[:at]


#: The dynamic ports of IANA. Operating systems assign part of them to other sockets too.
DefaultShardAwarePortGenerator = ShardAwarePortGenerator(49152, 65535)


class ShardChoice(Protocol):
    """Options for connections to shards, as in ``cassandra.cluster.ShardAwareOptions``."""

    disable: bool | None
    disable_shardaware_port: bool | None


class Aim:
    """Target shard of a connection, through the shard-aware *port* of a node with *shards_count* shards."""

    __slots__ = ("port", "shard", "shards_count")

    def __init__(self, shard: int, shards_count: int, port: int) -> None:
        self.shard = shard
        self.shards_count = shards_count
        self.port = port

    def local_ports(self) -> Iterator[int]:
        """Return the local ports to try until one is free."""
        return islice(DefaultShardAwarePortGenerator.generate(self.shard, self.shards_count), LOCAL_PORTS)
