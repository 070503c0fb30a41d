"""python -m cassandra.bulk while servers do not answer: the reason that it shows, and its end after --give-up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail, Hold
from tests.patience import eventually

pytestmark = pytest.mark.long

ROWS = 300
Bulk = Callable[..., int]


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=3, shards=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute(
        "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 3}"
    )
    for name in ("t", "u"):
        simulated.execute(f"CREATE TABLE ks.{name} (id int PRIMARY KEY, v text)")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        session.ingest("t", pa.table({"id": pa.array(range(ROWS), pa.int32()), "v": ["v"] * ROWS}))
        yield session


@pytest.fixture
def bulk(
    session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bulk]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cassandra._bulk.waiting.PATIENCE", 0.1)
    Path("rows.csv").write_text("".join(f"{i},v\n" for i in range(ROWS)))
    session.execute("TRUNCATE u")
    where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]
    yield lambda *arguments: main([*arguments, *where, "--give-up", "2"])
    simulated.clear_faults()


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (
            errors.Overloaded("no room"),
            "reject writes or do not confirm them, which are sent again: they are overloaded",
        ),
        (errors.Unavailable("x"), "reject writes or do not confirm them"),
    ],
)
def test_writes_that_servers_reject(
    bulk: Bulk, simulated: SimulatedCluster, session: Session, failure: errors.CqlError, reason: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with simulated.inject(Fail(failure), query="INSERT INTO ks.u", opcode="EXECUTE", after=100):
        assert bulk("load", "ks.u", "rows.csv") == 3
    err = capsys.readouterr().err
    assert "waiting for " in err and reason in err
    assert "no progress for 2 s (--give-up 2): the servers respond to reads, but" in err
    state = json.loads(Path("load-ks.u.json").read_text())["state"]
    assert f"rows were loaded, all before row {state['row']} of rows.csv; --resume continues" in err
    assert bulk("load", "ks.u", "rows.csv", "--resume") == 0
    assert bulk("diff", "ks.t", "ks.u") == 0


def test_writes_that_servers_do_not_answer(
    bulk: Bulk, simulated: SimulatedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    with simulated.inject(Hold(executed=False), query="INSERT INTO ks.u", opcode="EXECUTE", after=50):
        assert bulk("copy", "ks.t", "ks.u") == 3
    assert "no progress for 2 s (--give-up 2): the servers respond, but slowly" in capsys.readouterr().err
    assert bulk("copy", "ks.t", "ks.u", "--resume") == 0
    assert bulk("diff", "ks.t", "ks.u") == 0


@pytest.mark.parametrize("command", [["count", "ks.t"], ["unload", "ks.t", "-o", "out"], ["diff", "ks.t", "ks.u"]])
def test_reads_that_servers_reject(
    bulk: Bulk, simulated: SimulatedCluster, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with simulated.inject(Fail(errors.Overloaded("no room")), query="FROM ks.t WHERE", opcode="EXECUTE"):
        assert bulk(*command) == 3
    err = capsys.readouterr().err
    assert "no progress for 2 s (--give-up 2): the servers report " in err and "no room" in err


@pytest.mark.parametrize(
    ("stopped", "reason"),
    [
        (
            2,
            "consistency level LOCAL_QUORUM needs 2 of 3 replicas of the local datacenter, and 1 is up",
        ),
        (3, "all hosts are down: "),
    ],
)
def test_nodes_go_down_while_a_load_runs(
    bulk: Bulk, simulated: SimulatedCluster, stopped: int, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = list(simulated.nodes)[-stopped:]
    rule = simulated.inject(Hold(executed=False), query="INSERT INTO ks.u", opcode="EXECUTE", after=30)

    def stop() -> None:
        eventually(lambda: rule.hits)
        for node in nodes:
            node.kill()

    stopping = Thread(target=stop)
    stopping.start()
    try:
        assert bulk("load", "ks.u", "rows.csv") == 3
    finally:
        stopping.join()
        rule.remove()
        for node in nodes:
            node.start()
    err = capsys.readouterr().err
    assert f"no progress for 2 s (--give-up 2): {reason}" in err
    down = err.rpartition("down: ")[2]
    assert all(f"{node.address}:" in down for node in nodes)
