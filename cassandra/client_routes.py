"""Client routes: nodes that are reached at other addresses than their own, such as through private links."""

from cassandra._net.client_routes import ClientRouteProxy, ClientRoutesChangeType, ClientRoutesConfig

__all__ = ["ClientRouteProxy", "ClientRoutesChangeType", "ClientRoutesConfig"]
