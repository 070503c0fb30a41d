"""Secure connect bundles: a cluster that can be reached through a TLS proxy only, which tells nodes apart by name."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from cassandra import DriverException
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable
from cassandra.connection import ConnectionException, SniEndPoint
from cassandra.datastax.cloud import CloudConfig, get_cloud_config, parse_cloud_config, parse_metadata_info
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE, eventually
from tests.servers.accepting import Listener
from tests.servers.sni import SniCloud

Make = Callable[..., Cluster]


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=3, shards=2) as running:
        yield running


def nodes_of(simulated: SimulatedCluster) -> dict[str, tuple[str, int]]:
    return {str(node.host_id): (node.address, simulated.port) for node in simulated.nodes}


@pytest.fixture
def cloud(simulated: SimulatedCluster, tmp_path: Path) -> Iterator[SniCloud]:
    with SniCloud(tmp_path / "certificates", nodes_of(simulated)) as running:
        yield running


@pytest.fixture
def make(cloud: SniCloud) -> Iterator[Make]:
    with ExitStack() as stack:

        def made(bundle: Any = None, **options: Any) -> Cluster:
            given = {"secure_connect_bundle": cloud.bundle() if bundle is None else bundle, "connect_timeout": PATIENCE}
            windows = {"topology_event_refresh_window": 0, "status_event_refresh_window": 0}
            cluster = Cluster(cloud=given, **{**windows, **options})
            stack.callback(cluster.shutdown)
            return cluster

        yield made


def test_all_nodes_are_reached_through_the_proxy(cloud: SniCloud, simulated: SimulatedCluster, make: Make) -> None:
    cluster = make()
    session = cluster.connect(wait_for_all_pools=True)
    ids = set(cloud.nodes)
    endpoints = {host.endpoint for host in cluster.metadata.all_hosts()}
    assert endpoints == {SniEndPoint(cloud.host, name, cloud.proxy_port) for name in ids}
    assert set(cloud.asked) == ids
    assert len(session.get_pools()) == 3
    assert len(cluster.contact_points) == 3 and cluster.ssl_context is not None
    assert (cluster.auth_provider.username, cluster.auth_provider.password) == ("app", "s3cret")


def test_requests_go_to_the_node_that_has_the_row(simulated: SimulatedCluster, make: Make) -> None:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 1} "
        "AND tablets = {'enabled': false}"
    )
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, n int)")
    cluster = make()
    session = cluster.connect("ks", wait_for_all_pools=True)
    insert = session.prepare("INSERT INTO t (id, n) VALUES (?, ?)")
    select = session.prepare("SELECT n FROM t WHERE id = ?")
    for id in range(50):
        session.execute(insert, (id, id))
    asked = set()
    for id in range(50):
        future = session.execute_async(select, (id,))
        assert future.result().one().n == id
        replicas = cluster.metadata.get_replicas("ks", select.bind((id,)).routing_key)
        assert future.coordinator_host in replicas
        asked.add(future.coordinator_host)
    assert len(asked) == 3


def test_after_all_connections_were_lost(cloud: SniCloud, make: Make) -> None:
    cluster = make()
    session = cluster.connect(wait_for_all_pools=True)
    select = session.prepare("SELECT key FROM system.local WHERE key = ?")
    select.is_idempotent = True
    cloud.cut()

    def works() -> bool:
        try:
            return session.execute(select, ("local",)).one().key == "local"
        except (NoHostAvailable, ConnectionException):
            return False

    eventually(works)
    eventually(lambda: len(session.get_pools()) == 3 and cluster.control_connection.connection is not None)
    assert len(cluster.metadata.all_hosts()) == 3


def test_a_node_that_is_added_is_reached_through_the_proxy(
    cloud: SniCloud, simulated: SimulatedCluster, make: Make
) -> None:
    cluster = make()
    session = cluster.connect(wait_for_all_pools=True)
    cloud.nodes = _Later(cloud.nodes, simulated)
    added = simulated.add_node()
    endpoint = SniEndPoint(cloud.host, str(added.host_id), cloud.proxy_port)
    eventually(lambda: endpoint in {host.endpoint for host in cluster.metadata.all_hosts()})
    eventually(lambda: len(session.get_pools()) == 4)


class _Later(dict[str, Any]):
    """The nodes that there were, and those of *simulated* now."""

    def __init__(self, nodes: dict[str, Any], simulated: SimulatedCluster) -> None:
        super().__init__(nodes)
        self._simulated = simulated

    def __contains__(self, name: object) -> bool:
        self.update(nodes_of(self._simulated))
        return super().__contains__(name)


def test_the_cloud_ends_with_connections_that_never_shook_hands(simulated: SimulatedCluster, tmp_path: Path) -> None:
    with SniCloud(tmp_path / "certificates", nodes_of(simulated)) as cloud:
        silent = [socket.create_connection((cloud.host, port)) for port in (cloud.proxy_port, cloud.service_port) * 20]
    for connection in silent:
        with connection, suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    gc.collect()  # an unclosed resource warns here, and a warning fails the test


@pytest.mark.parametrize("steps", range(8))
def test_a_listener_closes_connections_at_each_step_of_their_handshake(cloud: SniCloud, steps: int) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(cloud.certificates.server)
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async def made() -> Listener:
        return Listener("127.0.0.1", handle, served)

    def handshake_and_one_step() -> None:
        with suppress(ssl.SSLWantReadError):
            client.do_handshake()
        loop.call_soon(loop.stop)
        loop.run_forever()

    ends: list[asyncio.Task[None]] = []
    loop = asyncio.new_event_loop()
    with closing(loop):
        listener = loop.run_until_complete(made())
        client = trusting.wrap_socket(socket.socket(), do_handshake_on_connect=False)
        with client:
            client.connect(("127.0.0.1", listener.port))
            client.setblocking(False)
            for _ in range(steps):
                handshake_and_one_step()
            loop.call_soon(lambda: ends.append(loop.create_task(listener.close())))
            handshake_and_one_step()
            listener.cut()  # once more
            loop.run_until_complete(ends[0])
    gc.collect()  # an unclosed resource warns here, and a warning fails the test


@pytest.mark.parametrize("form", ["path", "str", "bytes", "file"])
def test_forms_of_a_bundle(cloud: SniCloud, make: Make, tmp_path: Path, form: str) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(cloud.bundle())
    given = {"path": path, "str": str(path), "bytes": path.read_bytes(), "file": io.BytesIO(path.read_bytes())}[form]
    cluster = make(given, auth_provider=PlainTextAuthProvider("own", "own"))
    assert cluster.connect().execute("SELECT key FROM system.local").one().key == "local"
    assert cluster.auth_provider.username == "own"
    assert cluster.cloud["secure_connect_bundle"] is given


def test_a_bundle_that_was_unpacked(cloud: SniCloud, tmp_path: Path) -> None:
    made = cloud.certificates
    for name, file in {"ca.crt": made.ca, "cert": made.client_cert, "key": made.client_key}.items():
        (tmp_path / name).write_bytes(file.read_bytes())
    (tmp_path / "config.json").write_text(json.dumps({"host": "h", "port": "29080", "localDC": "dc1"}))
    config = parse_cloud_config(str(tmp_path / "config.json"), {})
    assert (config.host, config.port, config.local_dc, config.username) == ("h", 29080, "dc1", None)
    assert config.ssl_context is not None and config.ssl_context.verify_mode == ssl.CERT_REQUIRED


def test_no_secret_is_told(cloud: SniCloud, make: Make, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    cluster = make()
    cluster.connect()
    config = get_cloud_config({"secure_connect_bundle": cloud.bundle()})
    assert config.password == "s3cret"
    key = cloud.certificates.client_key.read_text().splitlines()[1]
    for text in (repr(config), str(config), repr(cluster), repr(cluster.auth_provider), caplog.text):
        assert "s3cret" not in text and key not in text


NOT_A_BUNDLE = "Unable to open the zip file for the cloud config. Check your secure connect bundle"


def damaged(cloud: SniCloud) -> Iterator[tuple[Any, type[Exception], str]]:
    whole = cloud.bundle()
    yield "/nonexistent/bundle.zip", FileNotFoundError, "/nonexistent/bundle.zip"
    yield b"no archive", ValueError, NOT_A_BUNDLE
    yield whole[: len(whole) // 2], ValueError, NOT_A_BUNDLE
    at = whole.index(b"key") + 60
    yield whole[:at] + bytes(20) + whole[at + 20 :], ValueError, "key cannot be read"
    for name in ("config.json", "ca.crt", "cert", "key"):
        yield cloud.bundle(**{name.replace(".", "_"): None}), ValueError, f"It has no {name}"
    yield cloud.bundle(config_json=b'{"password": "s3cret'), ValueError, "config.json is not JSON"
    yield cloud.bundle(config_json=b"[]"), ValueError, "lacks host or port"
    yield cloud.bundle(config_json=b'{"host": "h", "port": 70000}'), ValueError, "not between 1 and 65535: 70000"
    yield cloud.bundle(key=bytes(2 << 20)), ValueError, "key has more than 1048576 bytes"
    yield cloud.bundle(ca_crt=b"nothing"), ValueError, "ca.crt is not a certificate"
    yield cloud.bundle(cert=b"nothing"), ValueError, "cert and key are invalid or do not match"
    other = cloud.certificates.generate(cloud.certificates.ca.parent / "other", [])
    yield cloud.bundle(key=other.client_key.read_bytes()), ValueError, "cert and key are invalid or do not match"
    yield cloud.bundle(ca_crt=other.ca.read_bytes()), DriverException, "may be of another database"
    theirs = {"cert": other.client_cert.read_bytes(), "key": other.client_key.read_bytes()}
    yield cloud.bundle(**theirs), DriverException, "metadata service at https://127.0.0.1"
    nobody = json.dumps({"host": "127.0.0.1", "port": 1}).encode()
    yield cloud.bundle(config_json=nobody), DriverException, "Unable to connect to the metadata service"


def test_bundles_that_are_wrong(cloud: SniCloud) -> None:
    for bundle, kind, text in damaged(cloud):
        with pytest.raises(kind) as caught:
            Cluster(cloud={"secure_connect_bundle": bundle})
        assert text in str(caught.value), caught.value
        assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ((503, b""), "The service returned error code 503"),
        ((200, b"<html>"), "Failed to load cluster metadata"),
        ((200, b"[]"), "no contact_info"),
        ((200, b'{"contact_info": {}}'), "no sni_proxy_address"),
        ((200, b'{"contact_info": {"sni_proxy_address": "h:1"}}'), "not a list of host ids: None"),
        ((200, b'{"contact_info": {"sni_proxy_address": "h:x", "contact_points": ["a"]}}'), "between 1 and 65535: 'x'"),
        ((200, bytes(2 << 20)), "longer than 1048576 bytes"),
    ],
)
def test_services_that_say_nonsense(cloud: SniCloud, answer: tuple[int, bytes], text: str) -> None:
    cloud.metadata = lambda: answer
    with pytest.raises(DriverException) as caught:
        Cluster(cloud={"secure_connect_bundle": cloud.bundle()})
    assert text in str(caught.value)


def test_metadata_by_hand() -> None:
    contact = {"local_dc": "dc9", "contact_points": ["a", "b"], "sni_proxy_address": "proxy.example:29042"}
    config = parse_metadata_info(CloudConfig.from_dict({"localDC": "dc1"}), json.dumps({"contact_info": contact}))
    assert (config.sni_host, config.sni_port, config.host_ids) == ("proxy.example", 29042, ["a", "b"])
    assert config.local_dc == "dc9"


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"cloud": {}}, ValueError, "doesn't have a secure_connect_bundle"),
        ({"cloud": "bundle.zip"}, TypeError, "cloud should be a dict"),
        ({"cloud": {"secure_connect_bundle": "x"}, "contact_points": ["a"]}, ValueError, "cannot be specified"),
        (
            {"cloud": {"secure_connect_bundle": "x"}, "ssl_context": ssl.create_default_context()},
            ValueError,
            "cannot be specified",
        ),
    ],
)
def test_options(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        Cluster(**options)


def test_a_program_that_reads_the_metadata_itself(cloud: SniCloud) -> None:
    with patch("cassandra.datastax.cloud.read_metadata_info", side_effect=lambda config, given: config) as read:
        config = get_cloud_config({"secure_connect_bundle": cloud.bundle()})
    assert read.call_args.args[0] is config and config.sni_host is None
    assert get_cloud_config({"secure_connect_bundle": cloud.bundle()}).sni_host is not None
