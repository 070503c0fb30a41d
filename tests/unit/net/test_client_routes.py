"""Client routes: which of several holds, and endpoints that stay the same wherever they lead."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from cassandra._net.client_routes import ClientRoutes
from cassandra.client_routes import ClientRouteProxy, ClientRoutesChangeType, ClientRoutesConfig
from cassandra.cluster import Cluster
from cassandra.connection import ClientRoutesEndPoint, ClientRoutesEndPointFactory, DefaultEndPoint

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def routes(*proxies: ClientRouteProxy, tls: bool = False) -> ClientRoutes:
    return ClientRoutes(ClientRoutesConfig(proxies or [ClientRouteProxy("one")]), tls)


def row(
    host_id: UUID, address: str | None = "10.0.0.1", port: int | None = 9042, tls: int | None = 9142
) -> dict[str, Any]:
    return {"host_id": host_id, "address": address, "port": port, "tls_port": tls}


def test_the_first_proxy_with_a_route() -> None:
    table = routes(ClientRouteProxy("one"), ClientRouteProxy("two", "proxy.example"))
    assert table.connection_ids == ["one", "two"]
    assert table.take({"two": [row(A, port=1), row(B, port=2)], "one": [row(A, "10.0.0.7", 3)]}) == {A, B}
    assert (table.of(A), table.of(B), table.of(C)) == (("10.0.0.7", 3), ("proxy.example", 2), None)
    assert table.take({"two": [row(B, port=2), row(C, port=2)], "one": [row(A, "10.0.0.7", 4)]}) == {A, C}
    assert table.take({"two": [row(B, port=2)]}) == {A, C}
    assert table.of(A) is None
    assert table.concerns(["x", "two"]) and not table.concerns(["x"]) and not table.concerns([])


def test_ports_for_tls() -> None:
    table = routes(tls=True)
    table.take({"one": [row(A), row(B, tls=None)]})
    assert (table.of(A), table.of(B)) == (("10.0.0.1", 9142), None)


@pytest.mark.parametrize(
    "useless",
    [row(A, None), row(A, ""), row(A, port=None), row(A, port=0), row(A, port=70000), row(A, port=-1)],
    ids=["no address", "empty address", "no port", "port 0", "port 70000", "port -1"],
)
def test_rows_that_lead_nowhere(useless: dict[str, Any]) -> None:
    table = routes()
    assert table.take({"one": [useless]}) == set()
    assert table.of(A) is None


def test_end_points_are_their_hosts() -> None:
    table = routes()
    first, again = ClientRoutesEndPoint(A, table, "10.9.9.9", 9999), ClientRoutesEndPoint(A, routes(), "10.8.8.8")
    other = ClientRoutesEndPoint(B, table, "10.9.9.9", 9999)
    assert first == again and hash(first) == hash(again) and first != other and first < other
    assert first != DefaultEndPoint("10.9.9.9", 9999)
    assert (first.host_id, first.address, first.port, again.port) == (A, "10.9.9.9", 9999, 9042)
    assert first.resolve() == ("10.9.9.9", 9999)
    table.take({"one": [row(A, "10.0.0.1", 1)]})
    assert first.resolve() == ("10.0.0.1", 1)
    assert (first.address, first.port) == ("10.9.9.9", 9999)
    assert "10.9.9.9:9999" in str(first) and str(A) in repr(first)


def test_the_factory() -> None:
    factory = ClientRoutesEndPointFactory(routes(), 9999)
    made = factory.create({"host_id": A, "rpc_address": "10.0.0.1"})
    assert (made.host_id, made.address, made.port) == (A, "10.0.0.1", 9999)
    assert factory.create({"host_id": A, "native_address": "10.0.0.1", "native_port": 7}).port == 7
    for broken in ({"host_id": A}, {"rpc_address": "10.0.0.1"}):
        with pytest.raises(ValueError, match="host_id"):
            factory.create(broken)


def test_client_routes_config_and_proxy_arguments() -> None:
    proxy = ClientRouteProxy("one", "10.0.0.1")
    config = ClientRoutesConfig([proxy])
    assert config.proxies == (proxy,) and not config.advanced_shard_awareness
    assert proxy == ClientRouteProxy("one", "10.0.0.1") != ClientRouteProxy("one")
    assert "one" in repr(config) and "10.0.0.1" in repr(proxy)
    assert ClientRoutesChangeType("UPDATE_NODES") is ClientRoutesChangeType.UPDATE_NODES
    wrong: list[Any] = [[], ["one"], [None]]
    for proxies in wrong:
        with pytest.raises(ValueError, match="ClientRouteProxy"):
            ClientRoutesConfig(proxies)
    with pytest.raises(ValueError, match="connection_id"):
        ClientRouteProxy("")


def test_options_of_the_cluster() -> None:
    config = ClientRoutesConfig([ClientRouteProxy("one", "10.0.0.1"), ClientRouteProxy("two", "10.0.0.1")])
    cluster = Cluster(client_routes_config=config)
    assert cluster.contact_points == ["10.0.0.1"]
    assert cluster.shard_aware_options.disable_shardaware_port is True
    assert type(cluster.endpoint_factory) is ClientRoutesEndPointFactory
    advanced = ClientRoutesConfig([ClientRouteProxy("one")], advanced_shard_awareness=True)
    cluster = Cluster(["10.9.9.9"], client_routes_config=advanced)
    assert cluster.contact_points == ["10.9.9.9"]
    assert cluster.shard_aware_options.disable_shardaware_port is False
    assert Cluster().client_routes is None
