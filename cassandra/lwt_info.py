"""The mark of conditional prepared statements of a ScyllaDB node."""

from cassandra._net.handshake.features import LwtInfo

__all__ = ["LwtInfo"]
