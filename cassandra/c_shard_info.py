"""The mapping of tokens to shards of a ScyllaDB node (the same as ``cassandra.shard_info``)."""

from cassandra._net.features import ShardingInfo

HAVE_INT128 = True  #: Products of 64-bit numbers are exact.

__all__ = ["HAVE_INT128", "ShardingInfo"]
