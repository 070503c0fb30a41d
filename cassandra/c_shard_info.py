"""How a ScyllaDB node maps tokens to shards (as ``cassandra.shard_info``)."""

from cassandra._net.features import ShardingInfo

__all__ = ["ShardingInfo"]
