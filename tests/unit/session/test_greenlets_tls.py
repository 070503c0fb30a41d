"""TLS under gevent and eventlet, which patch the ssl module as well: by context and options, and what is refused."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra.testing import SimulatedCluster
from tests.servers.certificates import Certificates
from tests.servers.sni import SniCloud
from tests.unit.session.greenlets import run

pytestmark = [pytest.mark.long, pytest.mark.versions, pytest.mark.parametrize("library", ["gevent", "eventlet"])]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.generate(tmp_path_factory.mktemp("tls"), ["127.0.0.1"], ["localhost"])


@pytest.fixture
def encrypted(certificates: Certificates) -> Iterator[Any]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server)
    with SimulatedCluster(2, 2, address="127.0.0.1", ssl_context=context) as made:
        yield SimpleNamespace(contact_points=[("127.0.0.1", made.port)])


WORK = """
    session = cluster.connect(wait_for_all_pools=True)
    statement = session.prepare("SELECT key FROM system.local WHERE key = ?")
    neighbour = Neighbour()

    def work():
        for _ in range(20):
            assert session.execute(statement, ("local",)).one().key == "local"

    ended([spawn(work) for _ in range(10)])
    assert all(success for success, _ in execute_concurrent_with_args(session, statement, [("local",)] * 50))
    assert neighbour.turns > 1
    cluster.shutdown()
"""


@pytest.mark.parametrize("how", ["context", "options"])
def test_requests_of_many_greenlets(library: str, encrypted: Any, certificates: Certificates, how: str) -> None:
    options = {
        "context": f"ssl_context=ssl.create_default_context(cafile={str(certificates.ca)!r})",
        "options": f"ssl_options=dict(ca_certs={str(certificates.ca)!r}, cert_reqs=ssl.CERT_REQUIRED)",
    }[how]
    run(library, encrypted, f"    import ssl\n    cluster = made({options}){WORK}")


def test_an_authority_that_is_not_trusted(library: str, encrypted: Any) -> None:
    run(
        library,
        encrypted,
        """
        import ssl
        fails(NoHostAvailable, made(ssl_context=ssl.create_default_context()).connect, "certificate")
        """,
    )


def test_a_secure_connect_bundle(library: str, tmp_path: Path) -> None:
    with SimulatedCluster(2, 2) as simulated:
        nodes = {str(node.host_id): (node.address, simulated.port) for node in simulated.nodes}
        with SniCloud(tmp_path / "certificates", nodes) as cloud:
            (tmp_path / "bundle.zip").write_bytes(cloud.bundle())
            run(
                library,
                SimpleNamespace(contact_points=[]),
                "    cluster = Cluster(cloud={"
                f"'secure_connect_bundle': {str(tmp_path / 'bundle.zip')!r}, 'connect_timeout': PATIENCE}})"
                "\n    cluster.connect_timeout = PATIENCE" + WORK,
            )
