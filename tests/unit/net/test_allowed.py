"""Addresses that a cluster may connect to."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from cassandra._base.errors import ConnectionException
from cassandra._net.auth import AllowedAddresses
from cassandra._net.endpoint import DefaultEndPoint, EndPoint, SniEndPoint, UnixSocketEndPoint
from cassandra.cluster import Cluster
from tests.fakes.scripted import ScriptedServer
from tests.patience import PATIENCE
from tests.unit.net.openings import connect, endpoint_of, fails
from tests.unit.net.reactors import made_reactor

LISTED = AllowedAddresses(
    [
        "10.0.0.0/8",
        ip_network("192.168.1.0/24"),
        "172.16.0.1",
        ip_address("fe80::1"),
        "2001:db8::/32",
        "DB.example.org.",
        "*.nodes.example.org",
    ]
)


@pytest.mark.parametrize(
    ("endpoint", "allowed"),
    [
        (DefaultEndPoint("10.255.0.1"), True),
        (DefaultEndPoint("::ffff:10.0.0.1"), True),
        (DefaultEndPoint("192.168.1.255"), True),
        (DefaultEndPoint("172.16.0.1"), True),
        (DefaultEndPoint("fe80::1%eth0"), True),
        (DefaultEndPoint("2001:db8:1::5"), True),
        (DefaultEndPoint("db.example.org"), True),
        (DefaultEndPoint("a.b.nodes.example.org"), True),
        (DefaultEndPoint.named("8.8.8.8", 9042, "db.example.org"), True),
        (SniEndPoint("db.example.org", "host-id"), True),
        (UnixSocketEndPoint("/run/node.sock"), True),
        (DefaultEndPoint("11.0.0.1"), False),
        (DefaultEndPoint("::ffff:11.0.0.1"), False),
        (DefaultEndPoint("192.168.2.1"), False),
        (DefaultEndPoint("172.16.0.2"), False),
        (DefaultEndPoint("fe80::2"), False),
        (DefaultEndPoint("::1"), False),
        (DefaultEndPoint.named("8.8.8.8", 9042, "evil.example.org"), False),
        (SniEndPoint("8.8.8.8", "db.example.org"), False),
    ],
    ids=repr,
)
def test_end_points(endpoint: EndPoint, allowed: bool) -> None:
    assert LISTED.may_host(endpoint) is allowed


@pytest.mark.parametrize(
    "name", ["other.example.org", "nodes.example.org", "evil-db.example.org", "xnodes.example.org"]
)
def test_names_are_decided_when_they_were_looked_up(name: str) -> None:
    endpoint = DefaultEndPoint(name)
    assert LISTED.may_host(endpoint)
    inside, outside = (socket.AF_INET, ("10.0.0.1", 9042)), (socket.AF_INET, ("8.8.8.8", 9042))
    assert LISTED.reachable(endpoint, [outside, inside]) == [inside]
    with pytest.raises(ConnectionException, match=r"is not in allowed_addresses: it resolves to 8\.8\.8\.8"):
        LISTED.reachable(endpoint, [outside])


def test_a_name_that_is_allowed_leads_anywhere() -> None:
    outside = (socket.AF_INET, ("8.8.8.8", 9042))
    assert LISTED.reachable(DefaultEndPoint("db.example.org"), [outside]) == [outside]
    path = (socket.AF_UNIX, "/run/node.sock")
    assert LISTED.reachable(UnixSocketEndPoint("/run/node.sock"), [path]) == [path]


@pytest.mark.parametrize(
    ("entries", "error", "text"),
    [
        ("10.0.0.0/8", TypeError, "a sequence of networks and names"),
        (5, TypeError, "a sequence of networks and names"),
        ([5], TypeError, "should be a string"),
        ([None], TypeError, "should be a string"),
        ([], ValueError, "at least one entry"),
        (["10.0.0.1/8"], ValueError, "host bits set"),
        (["10.0.0.0/64"], ValueError, "invalid network"),
        (["10.0.0"], None, ""),
        (["a b"], ValueError, "neither a network nor a host name"),
        (["*"], ValueError, "neither a network nor a host name"),
        (["*."], ValueError, "neither a network nor a host name"),
        ([""], ValueError, "neither a network nor a host name"),
        (["a..b"], ValueError, "neither a network nor a host name"),
    ],
)
def test_wrong_entries(entries: Any, error: type[Exception] | None, text: str) -> None:
    if error is None:
        assert AllowedAddresses(entries) == tuple(entries)
        return
    with pytest.raises(error, match=text):
        Cluster(allowed_addresses=entries)


def test_options_of_a_cluster() -> None:
    assert Cluster().allowed_addresses is None
    assert Cluster().connections.options().allowed_addresses is None
    cluster = Cluster(allowed_addresses=[ip_network("10.0.0.0/8"), "db.example.org"])
    assert cluster.allowed_addresses == ("10.0.0.0/8", "db.example.org")
    assert repr(cluster.connections.options().allowed_addresses) == "<AllowedAddresses: 10.0.0.0/8, db.example.org>"
    cluster.allowed_addresses = None
    assert cluster.connections.options().allowed_addresses is None

    class Strict(Cluster):
        allowed_addresses = ["10.0.0.0/8"]

    assert Strict().allowed_addresses == ("10.0.0.0/8",)


@pytest.mark.usefixtures("no_leaks")
def test_no_connection_leads_elsewhere() -> None:
    reactor = made_reactor()
    with ScriptedServer() as server:
        error = fails(reactor, server, allowed_addresses=AllowedAddresses(["10.0.0.0/8"]))
        assert isinstance(error, ConnectionException)
        assert "not in allowed_addresses: it resolves to 127.0.0.1" in str(error)
        named = DefaultEndPoint("localhost", server.port)
        error = fails(reactor, named, allowed_addresses=AllowedAddresses(["10.0.0.0/8"]))
        assert isinstance(error, ConnectionException)
        assert server.requests == []
        for entry in ("127.0.0.0/8", "localhost"):
            endpoint = named if entry == "localhost" else endpoint_of(server)
            assert connect(reactor, endpoint, allowed_addresses=AllowedAddresses([entry])).protocol_version
    assert reactor.stop(PATIENCE)
