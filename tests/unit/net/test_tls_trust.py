"""Who is trusted over TLS: public and private authorities, options of endpoints, and sessions that are resumed."""

from __future__ import annotations

import logging
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cassandra._base.errors import ConnectionException
from cassandra._net import tls as contexts
from cassandra._net.endpoint import DefaultEndPoint, EndPoint, SniEndPoint
from cassandra._net.options import ConnectionOptions
from cassandra._net.tls import SSLSessionCache, TlsFilter, build_context, checks_names, make_filter
from cassandra.cluster import Cluster
from tests.fakes import wire
from tests.fakes.scripted import ScriptedServer
from tests.servers.certificates import Certificates
from tests.unit.net.openings import PASSWORD
from tests.unit.net.test_tls import Peer, server_context, shake

NAME = "node.example"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.generate(tmp_path_factory.mktemp("tls"), ["127.0.0.1", "fe80::1"], [NAME])


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Of an authority of its own, for another address and name."""
    return Certificates.generate(tmp_path_factory.mktemp("elsewhere"), ["10.9.9.9"], ["elsewhere.example"])


@pytest.fixture
def public(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    """The authority of *certificates* is one of the system's."""
    trust_as_system(certificates, monkeypatch)
    return certificates


def trust_as_system(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.ca))
    monkeypatch.setattr(contexts, "_default_context", lambda: build_context({}))


class Custom(DefaultEndPoint):
    """An endpoint with TLS options of its own."""

    def __init__(self, address: str, options: dict[str, Any] | None) -> None:
        super().__init__(address)
        self.options = options

    @property
    def ssl_options(self) -> dict[str, Any] | None:
        return self.options


def filter_of(endpoint: EndPoint, **options: Any) -> TlsFilter:
    made = make_filter(ConnectionOptions(**options), endpoint)
    assert made is not None
    return made


def accepts(endpoint: EndPoint, server: Certificates, **options: Any) -> bool:
    """Whether a connection to *endpoint* trusts the certificate of *server*."""
    try:
        shake(filter_of(endpoint, **options), Peer(server_context(server)))
    except ConnectionException as error:
        assert "certificate was refused" in str(error)
        return False
    return True


# ---- public authorities


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cert_reqs": ssl.CERT_REQUIRED},
        {"cert_reqs": ssl.CERT_OPTIONAL},
        {"check_hostname": None},
        {"ca_certs": ""},
    ],
    ids=repr,
)
def test_public_authorities_need_the_name(public: Certificates, options: dict[str, Any]) -> None:
    assert accepts(DefaultEndPoint("127.0.0.1"), public, ssl_options=options)
    assert accepts(DefaultEndPoint(NAME), public, ssl_options=options)
    assert accepts(DefaultEndPoint.named("10.1.1.1", 9042, NAME), public, ssl_options=options)
    assert accepts(DefaultEndPoint("fe80::1%eth0"), public, ssl_options=options), "a scope is no part of the address"
    assert not accepts(DefaultEndPoint("10.1.1.1"), public, ssl_options=options)
    assert not accepts(DefaultEndPoint("other.example"), public, ssl_options=options)
    assert not accepts(DefaultEndPoint.named("127.0.0.1", 9042, "other.example"), public, ssl_options=options)
    assert checks_names(options)


def test_sni_end_points_need_their_name(public: Certificates) -> None:
    assert accepts(SniEndPoint("127.0.0.1", NAME), public)
    assert not accepts(SniEndPoint("127.0.0.1", "other.example"), public)
    assert not accepts(SniEndPoint(NAME, "other.example"), public, ssl_options={})


def test_the_server_name_of_the_program_is_checked(public: Certificates) -> None:
    assert accepts(DefaultEndPoint("10.1.1.1"), public, ssl_options={"server_hostname": NAME})
    assert not accepts(DefaultEndPoint(NAME), public, ssl_options={"server_hostname": "other.example"})


def test_a_file_of_public_authorities_is_public(certificates: Certificates, tmp_path: Path) -> None:
    known = tmp_path / "certifi" / "cacert.pem"
    known.parent.mkdir()
    known.write_bytes(certificates.ca.read_bytes())
    link = tmp_path / "authorities.pem"
    link.symlink_to(known)
    for path in (str(known), str(link), link, str(link).encode()):
        assert not accepts(DefaultEndPoint("10.1.1.1"), certificates, ssl_options={"ca_certs": path})
        assert accepts(DefaultEndPoint(NAME), certificates, ssl_options={"ca_certs": path})


def test_names_are_not_checked_if_that_is_said(
    public: Certificates, elsewhere: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    contexts._warn.cache_clear()
    with caplog.at_level(logging.WARNING, "cassandra.connection"):
        for _ in range(3):
            assert accepts(DefaultEndPoint("10.1.1.1"), public, ssl_options={"check_hostname": False})
    assert [record.message for record in caplog.records] == [contexts.NO_NAMES]
    assert not accepts(DefaultEndPoint("10.9.9.9"), elsewhere, ssl_options={"check_hostname": False})


def test_certificates_are_not_verified_if_that_is_said(
    elsewhere: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    contexts._warn.cache_clear()
    with caplog.at_level(logging.WARNING, "cassandra.connection"):
        for _ in range(3):
            assert accepts(DefaultEndPoint("10.1.1.1"), elsewhere, ssl_options={"cert_reqs": ssl.CERT_NONE})
    assert [record.message for record in caplog.records] == [contexts.NO_VERIFICATION]
    assert not checks_names({"cert_reqs": ssl.CERT_NONE})


# ---- private authorities and contexts of programs


def test_private_authorities_need_no_name_unless_asked(
    certificates: Certificates, elsewhere: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"ca_certs": str(certificates.ca)}
    contexts._warn.cache_clear()
    assert accepts(DefaultEndPoint("10.1.1.1"), certificates, ssl_options=options)
    assert not accepts(DefaultEndPoint("10.9.9.9"), elsewhere, ssl_options=options)
    assert not caplog.records and not checks_names(options)
    asked = {**options, "check_hostname": True}
    assert not accepts(DefaultEndPoint("10.1.1.1"), certificates, ssl_options=asked)
    assert accepts(DefaultEndPoint("127.0.0.1"), certificates, ssl_options=asked)


@pytest.mark.parametrize("check_hostname", [True, False])
def test_a_context_of_the_program_is_not_changed(certificates: Certificates, check_hostname: bool) -> None:
    context = certificates.context(check_hostname=check_hostname)
    options = {"cert_reqs": ssl.CERT_REQUIRED, "check_hostname": check_hostname, "server_hostname": None}
    for given in (None, {}, options):
        assert accepts(DefaultEndPoint("10.1.1.1"), certificates, ssl_context=context, ssl_options=given) is not (
            check_hostname
        )
        assert accepts(DefaultEndPoint(NAME), certificates, ssl_context=context, ssl_options=given)
    assert (context.check_hostname, context.verify_mode) == (check_hostname, ssl.CERT_REQUIRED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chek_hostname": True}, r"unknown ssl_options: \['chek_hostname'\]"),
        ({"ca_certs": "ca.pem"}, "ca_certs has no effect with ssl_context"),
        ({"certfile": "c.pem"}, "certfile has no effect with ssl_context"),
        ({"check_hostname": False}, "check_hostname=False, but ssl_context has it on"),
        ({"cert_reqs": ssl.CERT_NONE}, "cert_reqs=CERT_NONE, but verify_mode of ssl_context is CERT_REQUIRED"),
    ],
)
def test_options_that_contradict_the_context_are_refused(options: dict[str, Any], message: str) -> None:
    context = ssl.create_default_context()
    with pytest.raises(ValueError, match=message):
        Cluster(ssl_context=context, ssl_options=options)
    with pytest.raises(ValueError, match=message):
        make_filter(ConnectionOptions(ssl_context=context, ssl_options=options), DefaultEndPoint("127.0.0.1"))
    if set(options) - {"ca_certs", "certfile"}:
        with pytest.raises(ValueError, match=message):
            make_filter(ConnectionOptions(ssl_context=context), Custom("127.0.0.1", options))


# ---- options of endpoints


def test_options_of_an_end_point_come_first(certificates: Certificates, elsewhere: Certificates) -> None:
    mine, other = str(certificates.ca), str(elsewhere.ca)
    assert not accepts(Custom("10.1.1.1", {"check_hostname": True}), certificates, ssl_options={"ca_certs": mine})
    assert accepts(Custom(NAME, {"check_hostname": True}), certificates, ssl_options={"ca_certs": mine})
    asked = {"ca_certs": mine, "check_hostname": True}
    assert accepts(Custom("10.1.1.1", {"check_hostname": False}), certificates, ssl_options=asked)
    assert accepts(Custom("10.1.1.1", {"cert_reqs": ssl.CERT_NONE}), elsewhere, ssl_options=asked)
    assert not accepts(Custom("10.1.1.1", {"ca_certs": other}), certificates, ssl_options={"ca_certs": mine})
    assert accepts(Custom("10.1.1.1", {"ca_certs": other}), elsewhere, ssl_options={"ca_certs": mine})
    unverified = {"ca_certs": mine, "cert_reqs": ssl.CERT_NONE}
    assert accepts(Custom("10.1.1.1", {}), elsewhere, ssl_options=unverified)
    assert not accepts(Custom("10.1.1.1", {"cert_reqs": ssl.CERT_REQUIRED}), elsewhere, ssl_options=unverified)
    assert not accepts(Custom("10.1.1.1", {"check_hostname": True}), certificates, ssl_options=unverified)
    assert accepts(Custom("10.1.1.1", {"server_hostname": NAME}), certificates, ssl_options=asked)


def test_an_authority_of_an_end_point_beside_a_context(certificates: Certificates, elsewhere: Certificates) -> None:
    """A context cannot be given another authority, so the endpoint has one of its own."""
    context = certificates.context()
    assert accepts(Custom("10.9.9.9", {"ca_certs": str(elsewhere.ca)}), elsewhere, ssl_context=context)
    assert not accepts(Custom("10.9.9.9", {"ca_certs": str(elsewhere.ca)}), certificates, ssl_context=context)
    assert accepts(Custom("10.1.1.1", {"server_hostname": NAME}), certificates, ssl_context=context)


def test_unknown_options_of_an_end_point_are_refused(certificates: Certificates) -> None:
    for options in ({}, {"ssl_options": {}}, {"ssl_context": certificates.context()}):
        with pytest.raises(ValueError, match=r"unknown ssl_options: \['ca_cert'\]"):
            make_filter(ConnectionOptions(**options), Custom("10.1.1.1", {"ca_cert": "x"}))


def test_equal_options_of_end_points_share_a_context(certificates: Certificates) -> None:
    shared = ConnectionOptions(ssl_options={"ca_certs": str(certificates.ca)})
    found = {shared.tls_context_for(Custom(f"10.1.1.{n}", {"check_hostname": True})) for n in range(20)}
    assert len(found) == 1 and found != {shared.tls_context_for(DefaultEndPoint("10.1.1.1"))}


# ---- sessions


class Renamed(DefaultEndPoint):
    """A node behind a proxy, by an endpoint class of a program that says nothing of sessions."""

    def __init__(self, name: str) -> None:
        super().__init__("127.0.0.1")
        self.name = name

    @property
    def ssl_options(self) -> dict[str, Any]:
        return {"server_hostname": self.name}


def visit(client: TlsFilter, server: ssl.SSLContext) -> bool:
    """One connection; whether a session was resumed."""
    peer = Peer(server)
    shake(client, peer)
    client.receive(peer.say(b"data"))
    return client.session_reused


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_is_of_one_server_name(certificates: Certificates, version: ssl.TLSVersion) -> None:
    """A proxy that knows one node must not be taken for another: nothing is checked when a session is resumed."""
    server = server_context(certificates)
    server.maximum_version = version
    options = ConnectionOptions(ssl_context=certificates.context(), ssl_session_cache=SSLSessionCache())

    def through(endpoint: EndPoint) -> bool:
        client = make_filter(options, endpoint)
        assert client is not None
        return visit(client, server)

    assert [through(Renamed(NAME)) for _ in range(2)] == [False, True]
    with pytest.raises(ConnectionException, match="Hostname mismatch"):
        through(Renamed("other.example"))
    assert [through(SniEndPoint("127.0.0.1", NAME)) for _ in range(2)] == [False, True]
    with pytest.raises(ConnectionException, match="Hostname mismatch"):
        through(SniEndPoint("127.0.0.1", "other.example"))


def test_a_session_is_of_one_name_of_the_options(certificates: Certificates) -> None:
    server, cache, context = server_context(certificates), SSLSessionCache(), certificates.context()

    def named(name: str | None) -> bool:
        options = {"ssl_context": context, "ssl_options": {"server_hostname": name}, "ssl_session_cache": cache}
        return visit(filter_of(DefaultEndPoint("127.0.0.1"), **options), server)

    assert [named(NAME), named(NAME), named(None), named(None)] == [False, True, False, True]
    with pytest.raises(ConnectionException, match="Hostname mismatch"):
        named("other.example")


def test_a_session_is_of_one_context_and_its_settings(certificates: Certificates) -> None:
    server, cache = server_context(certificates), SSLSessionCache()
    context = certificates.context(check_hostname=False)
    endpoint = DefaultEndPoint("10.1.1.1")

    def with_context(context: ssl.SSLContext) -> bool:
        return visit(filter_of(endpoint, ssl_context=context, ssl_session_cache=cache), server)

    assert [with_context(context), with_context(context)] == [False, True]
    assert not with_context(certificates.context(check_hostname=False)), "another context"
    context.check_hostname = True
    with pytest.raises(ConnectionException, match="IP address mismatch"):
        with_context(context)


def test_a_session_is_of_one_end_point(certificates: Certificates) -> None:
    class Shared(DefaultEndPoint):
        @property
        def tls_session_cache_key(self) -> tuple[Any, ...]:
            return ("all",)

    server, cache, context = server_context(certificates), SSLSessionCache(), certificates.context(check_hostname=False)
    options = {"ssl_context": context, "ssl_options": {"server_hostname": NAME}, "ssl_session_cache": cache}
    visits = [visit(filter_of(Shared(address), **options), server) for address in ("10.1.1.1", "10.1.1.1", "10.1.1.2")]
    assert visits == [False, True, False]


# ---- the password

PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.connection import SniEndPointFactory

port, options = int(sys.argv[1]), eval(sys.argv[2])
if "sni" in options:
    factory = SniEndPointFactory("127.0.0.1", port)
    options = {"contact_points": [factory.create_from_sni(options["sni"])], "endpoint_factory": factory}
cluster = Cluster(**{"contact_points": ["127.0.0.1"], "port": port, **options},
                  auth_provider=PlainTextAuthProvider("me", "pw"), connect_timeout=20)
try:
    cluster.connect()
except Exception as error:
    print(error)
finally:
    cluster.shutdown()
"""


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ('{"ssl_options": {}}', False),
        ('{"ssl_options": {"cert_reqs": 2}}', False),
        ('{"sni": "node.example"}', False),
        ('{"ssl_options": {"server_hostname": "elsewhere.example"}}', True),
        ('{"ssl_options": {"check_hostname": False}}', True),
        ('{"sni": "elsewhere.example"}', True),
    ],
)
def test_a_public_certificate_of_another_domain_gets_no_password(
    elsewhere: Certificates, options: str, sent: bool
) -> None:
    """The server has a valid certificate of an authority of the system, but for another domain."""
    context = server_context(elsewhere)
    with ScriptedServer(password=PASSWORD, tls=context) as server:
        environment = {"SSL_CERT_FILE": str(elsewhere.ca), "PYTHONPATH": ":".join(filter(None, sys.path))}
        run = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(server.port), options],
            env=environment, capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        tokens = [request for request in server.requests if request.opcode == wire.AUTH_RESPONSE]
        assert bool(tokens) is sent, run.stdout + run.stderr
        assert sent or "certificate was refused" in run.stdout
