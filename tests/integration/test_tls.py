"""TLS against a server that speaks nothing else: who is trusted, which names match, and what plaintext gets."""

from __future__ import annotations

import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import NoHostAvailable, Session
from cassandra.connection import DefaultEndPoint, SniEndPointFactory
from cassandra.query import SimpleStatement
from tests.integration.conftest import Connect, create_keyspace
from tests.servers import Certificates

LIMIT = 30.0  # seconds a failing connect may take


def use(session: Session) -> None:
    assert session.execute("SELECT key FROM system.local").one() == ("local",)
    text = "x" * 1_000_000
    prepared = session.prepare("SELECT key, (text) ? AS t FROM system.local")
    assert session.execute(prepared, (text,), timeout=30).one().t == text
    futures = [session.execute_async(prepared, (str(n),)) for n in range(300)]
    assert [future.result().one().t for future in futures] == [str(n) for n in range(300)]


def refused(connect: Any) -> Exception:
    begin = time.monotonic()
    with pytest.raises(NoHostAvailable) as caught:
        connect()
    assert time.monotonic() - begin < LIMIT
    (error,) = caught.value.errors.values()
    return error


class TestContext:
    def test_verified_with_host_name(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        use(cluster_to(cassandra_tls, ssl_context=cassandra_tls.tls.context()).connect())

    @pytest.mark.parametrize("version", [3, 4, 5])
    @pytest.mark.parametrize("compression", [False, "lz4"])
    def test_with_everything_else(
        self, cluster_to: Connect, cassandra_tls: Any, version: int, compression: Any
    ) -> None:
        cluster = cluster_to(
            cassandra_tls, ssl_context=cassandra_tls.tls.context(), protocol_version=version, compression=compression
        )
        use(cluster.connect())

    @pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
    def test_versions(self, cluster_to: Connect, cassandra_tls: Any, version: ssl.TLSVersion) -> None:
        context = cassandra_tls.tls.context()
        context.minimum_version = context.maximum_version = version
        use(cluster_to(cassandra_tls, ssl_context=context).connect())

    def test_pages_and_schema(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        session = cluster_to(cassandra_tls, ssl_context=cassandra_tls.tls.context()).connect()
        create_keyspace(session, "it_tls")
        session.execute("CREATE TABLE it_tls.t (p int, c int, PRIMARY KEY (p, c))")
        insert = session.prepare("INSERT INTO it_tls.t (p, c) VALUES (1, ?)")
        for c in range(100):
            session.execute(insert, (c,))
        rows = session.execute(SimpleStatement("SELECT c FROM it_tls.t WHERE p = 1", fetch_size=7))
        assert [row.c for row in rows] == list(range(100))

    def test_another_authority(self, cluster_to: Connect, cassandra_tls: Any, tmp_path: Path) -> None:
        other = Certificates.generate(tmp_path / "other", cassandra_tls.contact_points)
        error = refused(cluster_to(cassandra_tls, ssl_context=other.context(client=False)).connect)
        assert "certificate was refused" in str(error)

    def test_another_name(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        """The certificate is for this host; the client wants to talk to another one."""
        context = cassandra_tls.tls.context()
        cluster = cluster_to(cassandra_tls, ssl_context=context, ssl_options={"server_hostname": "other.example.com"})
        error = refused(cluster.connect)
        assert "other.example.com" in str(error) or "hostname" in str(error).lower()

    def test_another_name_that_is_not_checked(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        context = cassandra_tls.tls.context(check_hostname=False)
        cluster = cluster_to(cassandra_tls, ssl_context=context, ssl_options={"server_hostname": "other.example.com"})
        use(cluster.connect())

    def test_a_name_the_certificate_has(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        cluster = cluster_to(
            cassandra_tls,
            ssl_context=cassandra_tls.tls.context(),
            ssl_options={"server_hostname": "localhost"},
        )
        use(cluster.connect())

    @pytest.mark.parametrize(("name", "fine"), [("localhost", True), ("other.example.com", False)])
    def test_the_name_of_the_contact_point(
        self, cluster_to: Connect, cassandra_tls: Any, monkeypatch: pytest.MonkeyPatch, name: str, fine: bool
    ) -> None:
        """The certificate is for localhost and for the address: what the user said is what is checked."""
        look_up = socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **options: Any) -> list[Any]:
            return look_up(cassandra_tls.contact_points[0] if host == name else host, *args, **options)

        monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
        cluster = cluster_to(cassandra_tls, contact_points=[name], ssl_context=cassandra_tls.tls.context())
        if fine:
            use(cluster.connect())
        else:
            assert "certificate is not valid for 'other.example.com'" in str(refused(cluster.connect))

    def test_sni(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        """Through a proxy that tells nodes apart by server name; here the proxy is the node itself."""
        factory = SniEndPointFactory(cassandra_tls.contact_points[0], cassandra_tls.port)
        context = cassandra_tls.tls.context(check_hostname=False)
        endpoint = factory.create_from_sni("node-1")
        cluster = cluster_to(cassandra_tls, contact_points=[endpoint], endpoint_factory=factory, ssl_context=context)
        use(cluster.connect())


def test_options_without_context_are_deprecated(cluster_to: Connect, cassandra_tls: Any) -> None:
    with pytest.deprecated_call(match="ssl_context"):
        cluster_to(cassandra_tls, ssl_options={"ca_certs": str(cassandra_tls.tls.ca)})


@pytest.mark.filterwarnings("ignore:Using ssl_options without ssl_context:DeprecationWarning")
class TestOptions:
    def test_verified(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        use(cluster_to(cassandra_tls, ssl_options={"ca_certs": str(cassandra_tls.tls.ca)}).connect())

    def test_everything(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        options = {
            "ca_certs": str(cassandra_tls.tls.ca),
            "certfile": str(cassandra_tls.tls.client_cert),
            "keyfile": str(cassandra_tls.tls.client_key),
            "cert_reqs": ssl.CERT_REQUIRED,
            "check_hostname": True,
            "ssl_version": ssl.PROTOCOL_TLS_CLIENT,
        }
        use(cluster_to(cassandra_tls, ssl_options=options).connect())

    def test_unverified_if_asked_for(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        use(cluster_to(cassandra_tls, ssl_options={"cert_reqs": ssl.CERT_NONE}).connect())

    def test_an_empty_dict_means_tls(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        """It was plaintext once, elsewhere. Here it is TLS with the system's authorities, which know no test CA."""
        error = refused(cluster_to(cassandra_tls, ssl_options={}).connect)
        assert "certificate was refused" in str(error)

    def test_an_empty_dict_never_talks_plaintext(self, cluster_to: Connect, cassandra_node: Any) -> None:
        refused(cluster_to(cassandra_node, ssl_options={}, connect_timeout=2).connect)

    def test_another_authority(self, cluster_to: Connect, cassandra_tls: Any, tmp_path: Path) -> None:
        other = Certificates.generate(tmp_path / "other", cassandra_tls.contact_points)
        refused(cluster_to(cassandra_tls, ssl_options={"ca_certs": str(other.ca)}).connect)

    def test_a_file_that_is_not_there(self, cluster_to: Connect, cassandra_tls: Any, tmp_path: Path) -> None:
        with pytest.raises((OSError, NoHostAvailable)):
            cluster_to(cassandra_tls, ssl_options={"ca_certs": str(tmp_path / "none.pem")}).connect()


class TestMismatch:
    def test_plaintext_client_to_a_tls_server(self, cluster_to: Connect, cassandra_tls: Any) -> None:
        error = refused(cluster_to(cassandra_tls, connect_timeout=3).connect)
        assert isinstance(error, Exception)

    def test_tls_client_to_a_plaintext_server(
        self, cluster_to: Connect, cassandra_tls: Any, cassandra_node: Any
    ) -> None:
        refused(cluster_to(cassandra_node, ssl_context=cassandra_tls.tls.context(), connect_timeout=3).connect)


def test_endpoint_is_that_of_the_server(cluster_to: Connect, cassandra_tls: Any) -> None:
    cluster = cluster_to(cassandra_tls, ssl_context=cassandra_tls.tls.context())
    cluster.connect()
    (host,) = cluster.metadata.all_hosts()
    assert host.endpoint == DefaultEndPoint(cassandra_tls.contact_points[0], cassandra_tls.port)
