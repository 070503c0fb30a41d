"""How a ScyllaDB node maps tokens to shards."""

from cassandra._net.pool.sharding import ShardingInfo

INT64_MIN = -(2**63)

__all__ = ["INT64_MIN", "ShardingInfo"]
