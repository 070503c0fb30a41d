"""The mapping of tokens to shards of a ScyllaDB node."""

import logging

from cassandra._net.features import ShardingInfo

INT64_MIN = -(2**63)  #: Smallest signed number of 64 bits.

log = logging.getLogger("cassandra.shard_info")

__all__ = ["log", "INT64_MIN", "ShardingInfo"]
