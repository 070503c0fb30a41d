"""How a ScyllaDB node marks prepared statements that are conditional."""

from cassandra._net.handshake.features import LwtInfo

__all__ = ["LwtInfo"]
