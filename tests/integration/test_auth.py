"""Logging in: right, wrong, not at all; and rights a user has not."""

from __future__ import annotations

import time
from typing import Any

import pytest

from cassandra import AuthenticationFailed, Unauthorized
from cassandra.auth import AuthProvider, PlainTextAuthenticator, PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable
from tests.integration.conftest import Connect, create_keyspace

ADMIN = PlainTextAuthProvider("cassandra", "cassandra")


def refused(cluster: Cluster) -> BaseException:
    begin = time.monotonic()
    with pytest.raises(NoHostAvailable) as caught:
        cluster.connect()
    assert time.monotonic() - begin < 30
    (error,) = caught.value.errors.values()
    assert isinstance(error, AuthenticationFailed)
    return error


@pytest.mark.parametrize("version", [3, 4, 5])
def test_right(cluster_to: Connect, cassandra_auth: Any, version: int) -> None:
    cluster = cluster_to(cassandra_auth, auth_provider=ADMIN, protocol_version=version)
    assert cluster.connect().execute("LIST ROLES").one()


@pytest.mark.parametrize("version", [4, 5])
def test_wrong_password(cluster_to: Connect, cassandra_auth: Any, version: int) -> None:
    provider = PlainTextAuthProvider("cassandra", "wrong")
    error = refused(cluster_to(cassandra_auth, auth_provider=provider, protocol_version=version))
    assert "username" in str(error) or "credentials" in str(error).lower()
    assert "wrong" not in str(error)


def test_wrong_user(cluster_to: Connect, cassandra_auth: Any) -> None:
    refused(cluster_to(cassandra_auth, auth_provider=PlainTextAuthProvider("nobody", "cassandra")))


def test_no_provider(cluster_to: Connect, cassandra_auth: Any) -> None:
    error = refused(cluster_to(cassandra_auth))
    assert "auth" in str(error).lower()


def test_a_server_that_does_not_ask(cluster_to: Connect, cassandra_node: Any) -> None:
    """A provider that is not needed is not used."""
    assert cluster_to(cassandra_node, auth_provider=ADMIN).connect().execute("SELECT key FROM system.local").one()


def test_own_provider(cluster_to: Connect, cassandra_auth: Any) -> None:
    hosts: list[Any] = []

    class Provider(AuthProvider):
        def new_authenticator(self, host: Any) -> Any:
            hosts.append(host)
            return PlainTextAuthenticator("cassandra", "cassandra")

    cluster = cluster_to(cassandra_auth, auth_provider=Provider())
    assert cluster.connect().execute("SELECT key FROM system.local").one()
    assert set(map(str, hosts)) <= {cassandra_auth.contact_points[0], f"{cassandra_auth.contact_points[0]}:9042"}


def test_a_provider_that_raises(cluster_to: Connect, cassandra_auth: Any) -> None:
    class Broken(AuthProvider):
        def new_authenticator(self, host: Any) -> Any:
            raise LookupError("no credentials")

    with pytest.raises(NoHostAvailable, match="no credentials"):
        cluster_to(cassandra_auth, auth_provider=Broken()).connect()


def test_passwords_are_not_shown(cluster_to: Connect, cassandra_auth: Any) -> None:
    cluster = cluster_to(cassandra_auth, auth_provider=PlainTextAuthProvider("cassandra", "s3cret-s3cret"))
    error = refused(cluster)
    assert "s3cret" not in repr(error) + repr(cluster) + repr(cluster.auth_provider)


def test_rights(cluster_to: Connect, cassandra_auth: Any) -> None:
    admin = cluster_to(cassandra_auth, auth_provider=ADMIN).connect()
    create_keyspace(admin, "it_auth")
    admin.execute("CREATE TABLE it_auth.t (k int PRIMARY KEY)")
    admin.execute("CREATE ROLE reader WITH PASSWORD = 'pw' AND LOGIN = true")
    admin.execute("GRANT SELECT ON it_auth.t TO reader")
    try:
        reader = cluster_to(cassandra_auth, auth_provider=PlainTextAuthProvider("reader", "pw")).connect()
        assert reader.execute("SELECT * FROM it_auth.t").one() is None
        with pytest.raises(Unauthorized, match="MODIFY"):
            reader.execute("INSERT INTO it_auth.t (k) VALUES (1)")
        with pytest.raises(Unauthorized):
            reader.execute("CREATE TABLE it_auth.u (k int PRIMARY KEY)")
    finally:
        admin.execute("DROP ROLE reader")


def test_many_failures_leak_nothing(cassandra_auth: Any, no_leaks: None) -> None:
    """Elsewhere a gigabyte went in two minutes of refused log-ins."""
    for _ in range(20):
        with Cluster(
            cassandra_auth.contact_points,
            port=cassandra_auth.port,
            auth_provider=PlainTextAuthProvider("cassandra", "wrong"),
        ) as cluster:
            refused(cluster)
