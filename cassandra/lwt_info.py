"""The mark of conditional prepared statements of a ScyllaDB node."""

from cassandra._net.features import LwtInfo

__all__ = ["LwtInfo"]
