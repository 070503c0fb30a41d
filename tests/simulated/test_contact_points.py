"""The first second of a cluster: the contact points asked, the resolution of names, and the texts of errors."""

from __future__ import annotations

import logging
import re
import socket
import ssl
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cassandra import DriverException, UnresolvableContactPoints
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.connection import DefaultEndPoint
from cassandra.policies import DCAwareRoundRobinPolicy, LoadBalancingPolicy, RoundRobinPolicy, TokenAwarePolicy
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE
from tests.servers.certificates import Certificates
from tests.simulated.conftest import eventually

pytestmark = pytest.mark.long

Resolve = Callable[[dict[str, Sequence[str]]], None]


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """``resolve({name: addresses})``: the names that the name server knows from now on."""
    known: dict[str, Sequence[str]] = {}
    look_up = socket.getaddrinfo

    def getaddrinfo(name: Any, port: Any, *args: Any, **options: Any) -> list[Any]:
        if name in known:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in known[name]]
        if str(name).endswith(".example"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(name, port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known.update


def asked_first(cluster: Cluster) -> Any:
    with cluster:
        cluster.connect()
        host = cluster.get_control_connection_host()
        assert host is not None
        return host.endpoint


@pytest.mark.contact_points_are_shuffled
def test_a_fleet_of_clients_spreads_over_the_contact_points(no_leaks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with SimulatedCluster(3, 1) as simulated:
        found: set[Any] = set()
        eventually(
            lambda: found.add(asked_first(Cluster(simulated.contact_points, port=simulated.port))) or len(found) == 3
        )


@pytest.mark.contact_points_are_shuffled
def test_the_datacenter_does_not_depend_on_the_order(no_leaks: None) -> None:
    """The first contact point that is a node says which is the local one, whichever is asked."""
    with SimulatedCluster(4, 1, dcs=("dc1", "dc2")) as simulated:
        points = [node.address for node in simulated.nodes]
        for chosen, dc in ((points, "dc1"), (points[::-1], "dc2"), (["127.255.255.254", *points[1:]], "dc2")):
            for _ in range(8):
                policy = DCAwareRoundRobinPolicy()
                profile = ExecutionProfile(load_balancing_policy=policy)
                with Cluster(
                    chosen, port=simulated.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
                ) as cluster:
                    cluster.connect()
                    assert policy.local_dc == dc


def test_a_name_stands_for_all_its_addresses_each_once(no_leaks: None, resolve: Resolve) -> None:
    with SimulatedCluster(3, 1) as simulated:
        first, second, third = simulated.contact_points
        resolve({"db.example": [second, first, second]})
        with Cluster([third, "db.example", first], port=simulated.port) as cluster:
            cluster.connect()
            assert cluster.endpoints_resolved == [
                DefaultEndPoint(address, simulated.port) for address in (third, second, first)
            ]


def test_an_address_that_is_dead_does_not_hide_the_others(no_leaks: None, resolve: Resolve) -> None:
    with SimulatedCluster(1, 1) as simulated:
        (address,) = simulated.contact_points
        resolve({"db.example": ["127.255.255.254", address]})
        assert asked_first(Cluster(["db.example"], port=simulated.port)).address == address


def test_the_error_names_every_contact_point_and_why(no_leaks: None, resolve: Resolve) -> None:
    with SimulatedCluster(1, 1) as simulated:
        port = simulated.port
    resolve({"db.example": ["127.255.255.253"]})
    with (
        pytest.raises(NoHostAvailable) as caught,
        Cluster(["127.255.255.254", "gone.example", "db.example"], port=port, connect_timeout=5) as cluster,
    ):
        cluster.connect()
    errors = caught.value.errors
    assert set(errors) == {f"127.255.255.254:{port}", f"127.255.255.253:{port} (db.example)", "gone.example"}
    assert isinstance(errors["gone.example"], UnresolvableContactPoints)
    for text in ("gone.example", "could not be resolved", "Name or service not known", "127.255.255.253", "refused"):
        assert text in str(caught.value)


@pytest.fixture
def silent_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Asked for ``silent.example`` it answers, with 127.255.255.253, when the event is set."""
    answers = threading.Event()
    look_up = socket.getaddrinfo

    def getaddrinfo(name: Any, port: Any, *args: Any, **options: Any) -> list[Any]:
        if name == "silent.example":
            answers.wait(PATIENCE)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.255.255.253", port))]
        return look_up(name, port, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    yield answers
    answers.set()
    eventually(lambda: not any(thread.name == "fastcql-blocking" for thread in threading.enumerate()))


def test_silent_name_server_does_not_delay_numeric_contact_points(
    no_leaks: None, silent_name_server: threading.Event
) -> None:
    with (
        SimulatedCluster(1, 1) as simulated,
        Cluster(["silent.example", *simulated.contact_points], port=simulated.port) as cluster,
    ):
        cluster.connect()
        assert cluster.endpoints_resolved == [DefaultEndPoint(simulated.contact_points[0], simulated.port)]
        assert "no answer" in str(cluster.contacts.unresolved["silent.example"])
        silent_name_server.set()
        eventually(lambda: len(cluster.endpoints_resolved) == 2 and not cluster.contacts.unresolved)


def test_a_late_name_is_waited_for_when_nothing_else_works(
    no_leaks: None, silent_name_server: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    with SimulatedCluster(1, 1) as simulated:
        port = simulated.port
    outcome: list[BaseException] = []

    def connect() -> None:
        try:
            with Cluster(["127.255.255.254", "silent.example"], port=port) as cluster:
                cluster.connect()
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=connect)
    thread.start()
    eventually(lambda: "127.255.255.254" in caplog.text)
    assert thread.is_alive()
    silent_name_server.set()
    thread.join(PATIENCE)
    (error,) = outcome
    assert isinstance(error, NoHostAvailable)
    assert set(error.errors or ()) == {f"127.255.255.254:{port}", f"127.255.255.253:{port} (silent.example)"}
    outcome.clear()


@pytest.mark.parametrize("others", [[], ["127.255.255.254"]], ids=["alone", "others"])
def test_a_shutdown_does_not_wait_for_a_name_server(
    no_leaks: None, silent_name_server: threading.Event, others: list[str]
) -> None:
    cluster = Cluster(["silent.example", *others], port=1)
    outcome: list[str] = []

    def connect() -> None:
        try:
            cluster.connect()
        except DriverException as error:
            outcome.append(str(error))

    thread = threading.Thread(target=connect)
    thread.start()
    eventually(lambda: any(thread.name == "fastcql-blocking" for thread in threading.enumerate()))
    cluster.shutdown()
    thread.join(PATIENCE)
    assert "shut down" in outcome[0]
    assert not any(thread.name.startswith("fastcql-worker") for thread in threading.enumerate())
    assert not silent_name_server.is_set()


def test_names_alone_that_mean_nothing(no_leaks: None, resolve: Resolve) -> None:
    with pytest.raises(UnresolvableContactPoints) as caught, Cluster(["gone.example", "lost.example"]) as cluster:
        cluster.connect()
    assert "gone.example" in str(caught.value) and "lost.example" in str(caught.value)


# ---- TLS


def tls_cluster(folder: Path, addresses: Sequence[str], names: Sequence[str]) -> tuple[SimulatedCluster, Certificates]:
    certificates = Certificates.generate(folder, addresses, names)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    return SimulatedCluster(2, 1, ssl_context=context), certificates


def test_the_name_of_a_contact_point_is_checked(no_leaks: None, resolve: Resolve, tmp_path: Path) -> None:
    simulated, certificates = tls_cluster(tmp_path, [], ["db.example"])
    with simulated:
        resolve({"db.example": simulated.contact_points})
        with Cluster(["db.example"], port=simulated.port, ssl_context=certificates.context()) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            assert len(session.get_pools()) == 2, "the first node reports the other one, and the name resolves to both"


def test_a_name_with_a_final_dot(no_leaks: None, resolve: Resolve, tmp_path: Path) -> None:
    simulated, certificates = tls_cluster(tmp_path, [], ["db.example"])
    with simulated:
        resolve({"db.example.": simulated.contact_points})
        with Cluster(["db.example."], port=simulated.port, ssl_context=certificates.context()) as cluster:
            cluster.connect()


def test_a_wrong_name_is_refused(no_leaks: None, resolve: Resolve, tmp_path: Path) -> None:
    simulated, certificates = tls_cluster(tmp_path, [], ["db.example"])
    with simulated:
        resolve({"other.example": simulated.contact_points})
        cluster = Cluster(["other.example"], port=simulated.port, ssl_context=certificates.context())
        with pytest.raises(NoHostAvailable, match=r"certificate is not valid for 'other\.example'"):
            cluster.connect()


def test_an_address_needs_its_address_in_the_certificate(no_leaks: None, resolve: Resolve, tmp_path: Path) -> None:
    simulated, certificates = tls_cluster(tmp_path, [], ["db.example"])
    with simulated:
        points = simulated.contact_points
        cluster = Cluster(points, port=simulated.port, ssl_context=certificates.context())
        with pytest.raises(NoHostAvailable, match=re.escape(f"certificate is not valid for '{points[0]}'")):
            cluster.connect()
        with Cluster(points, port=simulated.port, ssl_context=certificates.context(check_hostname=False)) as cluster:
            cluster.connect()


def test_a_node_that_only_the_others_know_is_checked_by_its_address(
    no_leaks: None, resolve: Resolve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    simulated, certificates = tls_cluster(tmp_path, [], ["db.example"])
    with simulated:
        known, unknown = simulated.contact_points
        resolve({"db.example": [known]})
        with (
            caplog.at_level(logging.WARNING, "cassandra.cluster"),
            Cluster(["db.example"], port=simulated.port, ssl_context=certificates.context()) as cluster,
        ):
            session = cluster.connect(wait_for_all_pools=True)
            assert [pool.host.address for pool in session.get_pools()] == [known]
        assert f"certificate is not valid for '{unknown}'" in caplog.text
        assert "Use the contact point's name" in caplog.text


def test_a_node_keeps_its_name_when_it_comes_back(no_leaks: None, resolve: Resolve, tmp_path: Path) -> None:
    simulated, certificates = tls_cluster(tmp_path, [], ["db.example"])
    with simulated:
        resolve({"db.example": simulated.contact_points})
        options: dict[str, Any] = {"topology_event_refresh_window": 0, "status_event_refresh_window": 0}
        with Cluster(["db.example"], port=simulated.port, ssl_context=certificates.context(), **options) as cluster:
            session = cluster.connect(wait_for_all_pools=True)
            for node in simulated.nodes:  # the control connection moves to the other one, and back
                node.stop()
                eventually(lambda: len(session.get_pools()) == 1)
                node.start()
                eventually(lambda: len(session.get_pools()) == 2)
            cluster.refresh_nodes()
            assert {host.endpoint.server_name for host in cluster.metadata.all_hosts()} == {"db.example"}


# ---- datacenters


def warnings_of_datacenters(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if "no local_dc was given" in record.getMessage()]


@pytest.mark.parametrize("profiles", [1, 2])
def test_several_datacenters_without_a_local_one_are_warned_of_once(
    no_leaks: None, caplog: pytest.LogCaptureFixture, profiles: int
) -> None:
    with SimulatedCluster(2, 1, dcs=("east", "west")) as simulated:
        policies = [TokenAwarePolicy(DCAwareRoundRobinPolicy()) for _ in range(profiles)]
        names = [EXEC_PROFILE_DEFAULT, "other"]
        by_name = {name: ExecutionProfile(policy) for name, policy in zip(names, policies, strict=False)}
        with Cluster(simulated.contact_points, port=simulated.port, execution_profiles=by_name) as cluster:
            cluster.connect()
            cluster.refresh_nodes()
            (warning,) = warnings_of_datacenters(caplog)
        assert "'east', 'west'" in warning
        assert "'east' is used as the local one" in warning
        assert "DCAwareRoundRobinPolicy(local_dc='east')" in warning


def test_a_second_datacenter_that_comes_later_is_warned_of(no_leaks: None, caplog: pytest.LogCaptureFixture) -> None:
    with (
        SimulatedCluster(1, 1, dcs=("east",)) as simulated,
        Cluster(simulated.contact_points, port=simulated.port) as cluster,
    ):
        cluster.connect()
        assert warnings_of_datacenters(caplog) == []
        simulated.add_node(dc="west")
        cluster.refresh_nodes()
        assert len(warnings_of_datacenters(caplog)) == 1


@pytest.mark.parametrize(
    "policy", [TokenAwarePolicy(DCAwareRoundRobinPolicy("east")), RoundRobinPolicy()], ids=["given", "all"]
)
def test_no_datacenter_warning_with_an_explicit_policy(
    no_leaks: None, caplog: pytest.LogCaptureFixture, policy: LoadBalancingPolicy
) -> None:
    with SimulatedCluster(2, 1, dcs=("east", "west")) as simulated:
        profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
        with Cluster(simulated.contact_points, port=simulated.port, execution_profiles=profiles) as cluster:
            cluster.connect()
        assert warnings_of_datacenters(caplog) == []


def test_ports_may_be_text(no_leaks: None, resolve: Resolve) -> None:
    """As they come from environment variables."""
    with SimulatedCluster(1, 1) as simulated:
        address, port = simulated.contact_points[0], str(simulated.port)
        resolve({"db.example": [address]})
        points: list[Any] = [(address, port), ("db.example", port), DefaultEndPoint(address, port)]  # type: ignore[arg-type]
        for point in points:
            with Cluster([point]) as cluster:
                assert cluster.connect().execute("SELECT key FROM system.local").one()
                assert len(cluster.metadata.all_hosts()) == 1
                assert cluster.endpoints_resolved == [DefaultEndPoint(address, simulated.port)]


@pytest.mark.parametrize("port", ["8o", " 9042", "9_042", "0", "65536", "-1", "\uff19\uff10"])
def test_a_port_of_a_contact_point_that_is_none(port: str) -> None:
    with pytest.raises(ValueError, match=re.escape(port)):
        Cluster([("127.0.0.1", port)])


@pytest.mark.parametrize(
    "point, host", [("127.0.0.1:9042", "127.0.0.1"), ("db.example:9042", "db.example"), ("[::1]:9042", "::1")]
)
def test_a_port_behind_a_name(point: str, host: str, resolve: Resolve) -> None:
    with Cluster([point]) as cluster, pytest.raises(UnresolvableContactPoints) as caught:
        cluster.connect()
    assert f"A port is given as ('{host}', 9042) or Cluster(port=9042)" in str(caught.value)


@pytest.mark.parametrize("point", ["localhost", "127.0.0.1"])
def test_no_descriptor_is_left(point: str) -> None:
    """The error has the errno of missing descriptors, wherever they run out, though resolvers report unknown names."""
    program = textwrap.dedent(f"""
        import encodings.idna, errno, os, resource
        from cassandra.cluster import Cluster, NoHostAvailable

        def number():
            cluster = Cluster([{point!r}], port=1, connect_timeout=2)
            try:
                cluster.connect()
            except Exception as error:
                errors = list(error.errors.values()) if isinstance(error, NoHostAvailable) else [error]
                return [getattr(one, "errno", None) or getattr(one.__cause__, "errno", None) for one in errors], error
            finally:
                cluster.shutdown()

        number()  # so that all is imported
        kept, seen = [], []
        for left in range(40):
            try:
                while True:
                    kept.append(os.dup(1))
            except OSError:
                pass
            for one in kept[-left:] if left else []:
                os.close(one)
            del kept[len(kept) - left :]
            numbers, error = number()
            if errno.EMFILE not in numbers:
                break
            seen.append("Too many open files" in str(error))
        assert numbers == [errno.ECONNREFUSED], (left, numbers, error)
        assert len(seen) >= 2 and all(seen)
        print("said", flush=True)
        os._exit(0)
    """)
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", sys.executable, "-c", program]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout == "said\n", done.stderr
