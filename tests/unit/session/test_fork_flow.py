"""A forked child of a session with TLS, with limits on requests in flight, or with a policy that counts them.

The nodes hold what is asked of ``app.held``.
"""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Hold, Rule
from tests.patience import eventually
from tests.servers.certificates import Certificates
from tests.unit.session.forking import finish, kill, says, start

AT_ONCE, COUNT = 4, 10

SCRIPT = f"""
import ssl
AT_ONCE, COUNT = {AT_ONCE}, {COUNT}
QUERY = "SELECT n FROM held WHERE id = %s"

def asked(first):
    return [session.execute_async(QUERY, (first + n,)) for n in range(COUNT)]

def numbered(futures, first):
    assert [future.result().one().n for future in futures] == [first + n for n in range(COUNT)]

def told(what):
    '''The test may let go of the answers.'''
    print(what, flush=True)
"""


class Nodes:
    def __init__(self, simulated: SimulatedCluster) -> None:
        simulated.execute("CREATE KEYSPACE app WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 1}")
        for table in ("held", "free"):
            simulated.execute(f"CREATE TABLE app.{table} (id int PRIMARY KEY, n int)")
            for number in range(2 * COUNT):
                simulated.execute(f"INSERT INTO app.{table} (id, n) VALUES ({number}, {number})")
        self.simulated = simulated
        self.contact_points = [(address, simulated.port) for address in simulated.contact_points]
        self.held: Rule = simulated.inject(Hold(), query="FROM held")

    def run(self, script: str, at_once: int) -> None:
        """*script* says when all was sent that may be, *at_once* requests; then it has its answers."""
        process = start(self, SCRIPT + script)
        try:
            says(process, "asked")
            eventually(lambda: self.held.hits == at_once)
            self.held.remove()
            assert finish(process) == ""
        finally:
            kill(process)

    def sent(self) -> list[int]:
        """How often each of the statements was sent that are held."""
        return list(Counter(request.query for request in self.simulated.statements("app.held")).values())


@contextmanager
def nodes(context: ssl.SSLContext | None = None) -> Iterator[Nodes]:
    with SimulatedCluster(1, 1, address="127.0.0.1", ssl_context=context) as simulated:
        yield Nodes(simulated)


@pytest.mark.parametrize("limit", ["max_requests_per_connection", "max_requests_per_host", "max_requests_per_session"])
def test_limits(limit: str) -> None:
    """The child has limits of its own, where the parent's are used up; what waits in line in the parent stays there."""
    script = f"""
cluster, session = connected(keyspace="app", {limit}=AT_ONCE)
ours = asked(0)

def work():
    for one in ours:
        fails(ConnectionShutdown, one.result, "parent of this process")
    for n in range(COUNT):
        assert session.execute("SELECT n FROM free WHERE id = %s", (n,)).one().n == n
    mine = asked(COUNT)
    eventually(lambda: len(session._pool_set.admission) == COUNT - AT_ONCE)
    told("asked")
    numbered(mine, COUNT)

in_child(work)
numbered(ours, 0)
cluster.shutdown()
"""
    with nodes() as there:
        there.run(script, 2 * AT_ONCE)
        assert there.sent() == [1] * 2 * COUNT


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.generate(tmp_path_factory.mktemp("certificates"), ["127.0.0.1"])


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["1.2", "1.3"])
def test_tls(certificates: Certificates, version: ssl.TLSVersion) -> None:
    """Children, one after the other, have connections of their own by the session that the parent has kept; the
    parent's go on in the middle of what they carry."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(str(certificates.server))
    context.maximum_version = version
    script = f"""
cluster, session = connected(keyspace="app", ssl_context=ssl.create_default_context(cafile={str(certificates.ca)!r}))
session.execute("SELECT n FROM free WHERE id = 1")
ours = asked(0)

def work():
    for one in ours:
        fails(ConnectionShutdown, one.result, "parent of this process")
    for n in range(COUNT):
        assert session.execute("SELECT n FROM free WHERE id = %s", (n,)).one().n == n
    assert len(cluster.ssl_session_cache) == 1
    cluster.shutdown()

in_child(work)
in_child(work)
told("asked")
numbered(ours, 0)
session.execute("SELECT n FROM free WHERE id = 1")
cluster.shutdown()
"""
    with nodes(context) as there:
        there.run(script, COUNT)
        assert there.sent() == [1] * COUNT
        assert len(there.simulated.statements("app.free")) == 2 + 2 * COUNT


def test_latency_aware_policy() -> None:
    """What is in flight counts by the child's own connections: a node that does not answer gets its part, no more."""
    many, part = 90, 15
    script = f"""
from cassandra.policies import LatencyAwarePolicy
policy = LatencyAwarePolicy(TokenAwarePolicy(RoundRobinPolicy()), 1e9)
cluster, session = connected(policy, keyspace="app")
select = session.prepare("SELECT n FROM free WHERE id = ?")
session.execute(select, (1,))

def work():
    session.execute(select, (1,))
    eventually(lambda: len(session.get_pools()) == 3)
    policy._averages.clear()  # so that none is thought to be much quicker than the others
    policy.on_up(cluster.metadata.all_hosts()[0])  # plans are made anew
    told("asked")
    sys.stdin.readline()
    futures, ended = [], []
    for n in range({many}):
        future = session.execute_async(select, (n,), timeout=None)
        future.add_callbacks(ended.append, ended.append)
        futures.append(future)
        eventually(lambda: len(futures) - len(ended) < {part})
    told("sent")
    for future in futures:
        future.result()

in_child(work)
cluster.shutdown()
"""
    with SimulatedCluster(3, 1) as simulated:
        simulated.execute("CREATE KEYSPACE app WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 3}")
        simulated.execute("CREATE TABLE app.free (id int PRIMARY KEY, n int)")
        servers = SimpleNamespace(contact_points=[(address, simulated.port) for address in simulated.contact_points])
        process = start(servers, SCRIPT + script)
        try:
            says(process, "asked")
            simulated.clear_requests()
            held = simulated.inject(Hold(), query="FROM free", node=2)
            assert process.stdin is not None
            process.stdin.write("held\n")
            process.stdin.flush()
            says(process, "sent")
            held.remove()
            assert finish(process) == ""
        finally:
            kill(process)
        counts = Counter(request.node for request in simulated.statements("app.free"))
    assert counts.total() == many
    assert counts[2] <= part
