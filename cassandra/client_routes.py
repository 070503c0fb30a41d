"""Client routes: connections to nodes at addresses other than their own, such as through private links."""

import logging

from cassandra._base.aliases import add_names
from cassandra._net.client_routes import ClientRouteProxy, ClientRoutesChangeType, ClientRoutesConfig

log = logging.getLogger("cassandra.client_routes")

__all__ = ["log", "ClientRouteProxy", "ClientRoutesChangeType", "ClientRoutesConfig"]

add_names(__name__, {
    "cassandra._base.constants": "ConsistencyLevel",
    "typing": "TYPE_CHECKING",
    "cassandra._wire.messages.requests": "QueryMessage",
    "cassandra._wire.rows": "dict_factory",
})  # fmt: skip
