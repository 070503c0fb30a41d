"""Endpoints as values, their factories, and the addresses behind them."""

from __future__ import annotations

import pickle
import socket
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._base.errors import UnresolvableContactPoints
from cassandra._net import endpoint as module
from cassandra._net.endpoint import (
    DefaultEndPoint,
    DefaultEndPointFactory,
    EndPoint,
    EndPointFactory,
    SniEndPoint,
    SniEndPointFactory,
    UnixSocketEndPoint,
    needs_look_up,
    socket_addresses,
)
from cassandra._routing.policies import IdentityTranslator


def test_values() -> None:
    a, b = DefaultEndPoint("10.0.0.1"), DefaultEndPoint("10.0.0.1", 9042)
    assert a == b and hash(a) == hash(b) and not a < b and a <= b
    assert a != DefaultEndPoint("10.0.0.1", 9043) and a < DefaultEndPoint("10.0.0.1", 9043)
    assert DefaultEndPoint("10.0.0.2") > a
    assert a != UnixSocketEndPoint("10.0.0.1") and a != "10.0.0.1"
    assert SniEndPoint("proxy", "n1") != SniEndPoint("proxy", "n2")
    assert SniEndPoint("proxy", "n1") < SniEndPoint("proxy", "n2")
    assert {a: 1}[b] == 1
    with pytest.raises(TypeError):
        _ = a < UnixSocketEndPoint("x")


@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        (DefaultEndPoint("10.0.0.1"), "10.0.0.1:9042"),
        (DefaultEndPoint("::1", 1), "[::1]:1"),
        (SniEndPoint("proxy", "n1", 2), "proxy:2:n1"),
        (UnixSocketEndPoint("/run/cql"), "/run/cql"),
    ],
)
def test_text(endpoint: EndPoint, text: str) -> None:
    assert str(endpoint) == text
    assert repr(endpoint) == f"<{type(endpoint).__name__}: {text}>"


def test_attributes() -> None:
    sni = SniEndPoint("proxy", "n1", 2)
    assert (sni.address, sni.port, sni.ssl_options) == ("proxy", 2, {"server_hostname": "n1"})
    assert sni.tls_session_cache_key == ("proxy", 2, "n1")
    unix = UnixSocketEndPoint("/run/cql")
    assert (unix.address, unix.port, unix.socket_family) == ("/run/cql", None, socket.AF_UNIX)
    default = DefaultEndPoint("10.0.0.1")
    assert (default.ssl_options, default.socket_family) == (None, socket.AF_UNSPEC)
    assert default.tls_session_cache_key == ("10.0.0.1", 9042)
    assert default.resolve() == ("10.0.0.1", 9042)
    assert unix.resolve() == ("/run/cql", None)
    assert type(default).__module__ == "cassandra.connection"
    assert pickle.loads(pickle.dumps(default)) == default


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"rpc_address": "10.0.0.1"}, DefaultEndPoint("10.0.0.1", 9042)),
        ({"rpc_address": "10.0.0.1", "rpc_port": 9999}, DefaultEndPoint("10.0.0.1", 9999)),
        ({"native_address": "10.0.0.1", "native_port": 19042}, DefaultEndPoint("10.0.0.1", 19042)),
        ({"native_address": "10.0.0.1", "native_port": 0}, DefaultEndPoint("10.0.0.1", 9042)),
        ({"rpc_address": "0.0.0.0", "peer": "10.0.0.2"}, DefaultEndPoint("10.0.0.2", 9042)),
        ({"rpc_address": "::", "broadcast_address": "2001:db8::3"}, DefaultEndPoint("2001:db8::3", 9042)),
        ({"rpc_address": None, "peer": "10.0.0.2"}, DefaultEndPoint("10.0.0.2", 9042)),
    ],
)
def test_default_factory(row: dict[str, Any], expected: DefaultEndPoint) -> None:
    assert DefaultEndPointFactory().create(row) == expected


def test_default_factory_uses_the_clusters_port_and_translator() -> None:
    class Translator:
        def translate(self, address: str) -> str:
            return address.replace("10.", "192.")

    class Cluster:
        address_translator = Translator()

    factory = DefaultEndPointFactory(port=7000)
    assert factory.configure(Cluster()) is factory
    assert factory.create({"rpc_address": "10.0.0.1"}) == DefaultEndPoint("192.0.0.1", 7000)


def test_rows_without_an_address() -> None:
    with pytest.raises(ValueError, match="no address"):
        DefaultEndPointFactory().create({"rpc_address": None})
    with pytest.raises(ValueError, match="no host_id"):
        SniEndPointFactory("proxy", 1).create({})


def test_sni_factory() -> None:
    assert SniEndPointFactory("proxy", 1).create({"host_id": "h"}) == SniEndPoint("proxy", "h", 1)
    assert SniEndPointFactory("proxy", 1, "db.example").create({"host_id": "h"}) == SniEndPoint(
        "proxy", "h.db.example", 1
    )
    assert SniEndPointFactory("proxy", 1).create_from_sni("x") == SniEndPoint("proxy", "x", 1)


def test_base_classes_are_abstract() -> None:
    with pytest.raises(NotImplementedError):
        _ = EndPoint().address
    with pytest.raises(NotImplementedError):
        _ = EndPoint().port
    with pytest.raises(NotImplementedError):
        EndPoint().resolve()
    with pytest.raises(NotImplementedError):
        EndPointFactory().create({})


def test_numeric_addresses_need_no_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", None)
    assert socket_addresses(DefaultEndPoint("10.0.0.1", 1)) == [(socket.AF_INET, ("10.0.0.1", 1))]
    assert socket_addresses(DefaultEndPoint("2001:db8::1", 1)) == [(socket.AF_INET6, ("2001:db8::1", 1))]
    assert socket_addresses(UnixSocketEndPoint("/run/cql")) == [(socket.AF_UNIX, "/run/cql")]


def test_names_sni_and_custom_endpoints_need_a_look_up() -> None:
    class Mine(DefaultEndPoint):
        pass

    assert not needs_look_up(DefaultEndPoint("10.0.0.1")) and not needs_look_up(DefaultEndPoint("::1"))
    assert not needs_look_up(UnixSocketEndPoint("/run/cql"))
    assert needs_look_up(DefaultEndPoint("db.example"))
    assert needs_look_up(SniEndPoint("10.0.0.1", "n1"))
    assert needs_look_up(Mine("10.0.0.1")), "resolve may be the user's own"


def entries(*addresses: str) -> Any:
    def getaddrinfo(host: str, port: int, family: int, kind: int) -> list[Any]:
        return [
            (socket.AF_INET6, kind, 6, "", (a, port, 0, 0)) if ":" in a else (socket.AF_INET, kind, 6, "", (a, port))
            for a in addresses
        ]

    return getaddrinfo


def test_names_give_all_their_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.socket, "getaddrinfo", entries("10.0.0.1", "2001:db8::1", "10.0.0.1", "10.0.0.2"))
    assert socket_addresses(DefaultEndPoint("db.example", 1)) == [
        (socket.AF_INET, ("10.0.0.1", 1)),
        (socket.AF_INET6, ("2001:db8::1", 1)),
        (socket.AF_INET, ("10.0.0.2", 1)),
    ]


def test_sni_goes_round_the_proxys_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.socket, "getaddrinfo", entries("10.0.0.2", "10.0.0.1"))
    endpoint = SniEndPoint("proxy", "n1", 5)
    assert [endpoint.resolve() for _ in range(3)] == [("10.0.0.1", 5), ("10.0.0.2", 5), ("10.0.0.1", 5)]


def test_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(module.socket, "getaddrinfo", fail)
    with pytest.raises(UnresolvableContactPoints, match=r"'db.example' could not be resolved: .*not known"):
        socket_addresses(DefaultEndPoint("db.example"))
    monkeypatch.setattr(module.socket, "getaddrinfo", entries())
    with pytest.raises(UnresolvableContactPoints, match="no addresses"):
        socket_addresses(DefaultEndPoint("db.example"))


class Placed(DefaultEndPointFactory):
    """Overrides ``configure`` alone, and makes the endpoints of our factory."""

    def configure(self, cluster: Any) -> Any:
        return super().configure(cluster)


class Other(DefaultEndPointFactory):
    def create(self, row: Any) -> DefaultEndPoint:
        return DefaultEndPoint("127.0.0.1", 1)


class OtherNames(SniEndPointFactory):
    def create(self, row: Any) -> SniEndPoint:
        return self.create_from_sni("other")


class Own(EndPointFactory):
    pass


class Translating:
    def translate(self, address: str) -> str:
        return address


@pytest.mark.parametrize(
    ("factory", "translator", "expected"),
    [
        (DefaultEndPointFactory(), None, False),
        (DefaultEndPointFactory(), IdentityTranslator(), False),
        (DefaultEndPointFactory(), Translating(), True),
        (Placed(), IdentityTranslator(), False),
        (Other(), IdentityTranslator(), True),
        (SniEndPointFactory("proxy", 1), Translating(), False),
        (OtherNames("proxy", 1), None, True),
        (Own(), None, True),
    ],
)
def test_makes_local_endpoint_by_factory_and_translator(factory: Any, translator: Any, expected: bool) -> None:
    factory.configure(SimpleNamespace(address_translator=translator))
    assert factory.makes_local is expected
