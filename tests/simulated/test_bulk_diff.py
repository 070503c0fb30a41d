"""python -m cassandra.bulk diff: values are the same if their bytes are; what it shows is safe for a terminal."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.testing import SimulatedCluster
from cassandra.util import Duration

Bulk = Callable[..., int]


def nan(bits: int) -> float:
    return float(struct.unpack(">d", struct.pack(">Q", bits))[0])


NANS = nan(0x7FF8000000000000), nan(0x7FF8000000000001), nan(0xFFF8000000000000)
#: (type, a value, one that is equal or looks the same, and has other bytes)
PAIRS: list[tuple[str, Any, Any]] = [
    ("double", 0.0, -0.0),
    ("float", -0.0, 0.0),
    ("double", NANS[0], NANS[1]),
    ("double", NANS[0], NANS[2]),
    ("list<double>", [1.0, 0.0], [1.0, -0.0]),
    ("frozen<set<double>>", {NANS[0]}, {NANS[1]}),
    ("map<int, float>", {1: 0.0}, {1: -0.0}),
    ("map<double, int>", {0.0: 1}, {-0.0: 1}),
    ("tuple<int, double>", (1, 0.0), (1, -0.0)),
    ("frozen<pair>", (0.0, "x"), (-0.0, "x")),
    ("frozen<list<frozen<pair>>>", [(NANS[0], "x")], [(NANS[1], "x")]),
    ("frozen<map<int, frozen<list<float>>>>", {1: [0.0]}, {1: [-0.0]}),
    ("vector<float, 2>", [0.0, 1.0], [-0.0, 1.0]),
    ("decimal", Decimal("1.0"), Decimal("1.00")),
    ("list<decimal>", [Decimal("1E+2")], [Decimal("100")]),
    ("text", "", None),
    ("blob", b"", None),
    ("frozen<list<int>>", [], None),
    ("frozen<tuple<int, text>>", (None, ""), (None, None)),
    ("duration", Duration(0, 1, 0), Duration(0, 0, 24 * 3600 * 10**9)),
    ("duration", Duration(12, 0, 0), Duration(0, 365, 0)),
    ("varint", 10**5000, 10**5000 + 1),
]


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=1) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def session(simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    simulated.execute("CREATE TYPE ks.pair (n double, t text)")
    for name in ("a", "b"):
        columns = "".join(f", v{at} {of}" for at, (of, _, _) in enumerate(PAIRS))
        simulated.execute(f"CREATE TABLE ks.{name} (id int PRIMARY KEY{columns})")
        simulated.execute(f"CREATE TABLE ks.keys_{name} (p text, c double, PRIMARY KEY (p, c))")
    with Cluster(simulated.contact_points, port=simulated.port) as cluster, cluster.connect("ks") as session:
        yield session


@pytest.fixture
def bulk(session: Session, simulated: SimulatedCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bulk:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "keys_a", "keys_b"):
        session.execute(f"TRUNCATE {name}")
    where = ["--host", ",".join(simulated.contact_points), "--port", str(simulated.port), "--cqlshrc", "none"]
    return lambda *arguments: main([*arguments, *where])


@pytest.mark.parametrize("at", range(len(PAIRS)), ids=[of for of, _, _ in PAIRS])
def test_other_bytes_are_other_values(
    bulk: Bulk, session: Session, at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    _, one, other = PAIRS[at]
    inserts = [session.prepare(f"INSERT INTO {name} (id, v{at}) VALUES (?, ?)") for name in ("a", "b")]
    for insert in inserts:
        session.execute(insert, (1, one))
        session.execute(insert, (2, other))
    assert bulk("diff", "ks.a", "ks.b", "--columns", f"id,v{at}") == 0
    session.execute(inserts[1], (1, other))
    session.execute(inserts[1], (2, one))
    assert bulk("diff", "ks.a", "ks.b", "--columns", f"id,v{at}") == 1
    out, err = capsys.readouterr()
    assert sorted(out.splitlines()) == [f"! id=1: v{at}", f"! id=2: v{at}"]
    assert "2 different" in err


def test_clustering_keys(bulk: Bulk, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """0.0 and -0.0 are two rows."""
    inserts = [session.prepare(f"INSERT INTO keys_{name} (p, c) VALUES (?, ?)") for name in ("a", "b")]
    session.execute(inserts[0], ("x", 0.0))
    session.execute(inserts[1], ("x", -0.0))
    assert bulk("diff", "ks.keys_a", "ks.keys_b") == 1
    assert sorted(capsys.readouterr().out.splitlines()) == ["< p=x c=0", "> p=x c=-0"]


def test_output_is_safe_for_a_terminal(bulk: Bulk, session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2Jgone\r\n! p=y c=1\u2028\u202etxt\x9b31m"
    session.execute(session.prepare("INSERT INTO keys_a (p, c) VALUES (?, ?)"), (evil, 1.0))
    assert bulk("diff", "ks.keys_a", "ks.keys_b") == 1
    (line,) = capsys.readouterr().out.removesuffix("\n").split("\n")
    assert line == "< p=\\x1b[2Jgone\\r\\n! p=y c=1\\u2028\\u202etxt\\x9b31m c=1"


def test_errors_are_safe_for_a_terminal(
    bulk: Bulk, simulated: SimulatedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    from cassandra.testing import errors
    from cassandra.testing.faults import Fail

    rule = simulated.inject(
        Fail(errors.InvalidRequest("no\x1b[31m\nsuch thing\u202e")), query="FROM ks.a", opcode="PREPARE"
    )
    try:
        assert bulk("count", "ks.a") != 0
    finally:
        rule.remove()
    err = capsys.readouterr().err
    assert "no\\x1b[31m\\nsuch thing\\u202e" in err and "\x1b" not in err
    assert bulk("count", 'ks."x\x1b[2J\n"') == 2
    assert "\x1b" not in capsys.readouterr().err
