"""Whatever statement and values come, the answer is a result or an error of CQL: never a failure of the simulation."""

from __future__ import annotations

import random
import re
from decimal import Decimal

import pytest

from cassandra.testing import SimulatedCluster, errors
from cassandra.testing import _wire as wire
from tests.simulated.corpus import NAMES, statements

pytestmark = pytest.mark.long

CONSTANT = re.compile(
    r"(?<=[=(,<>+-] )(?:-?\d[\w.]*|'[^']*')|(?<=\()(?:-?\d+|'[^']*')|\[[^\]]*\]|\{[^}]*\}|(?<=IN )\([^)]*\)"
)
PIECE = re.compile(r"\w+|'[^']*'|[^\w\s]|\s+")


def value(rng: random.Random) -> wire.WireValue:
    """Bytes that are right for some type."""
    kind = rng.randrange(8)
    if kind < 2:
        return (None, wire.UNSET)[kind]
    if kind < 5:
        return rng.randbytes(rng.choice([0, 1, 2, 4, 8, 12, 16]))
    if kind == 5:
        return rng.randint(-3, 5).to_bytes(4, "big", signed=True)
    if kind == 6:
        return rng.choice([b"a", b"x", b"abc"])
    elements = [rng.randint(0, 4).to_bytes(4, "big") for _ in range(rng.randint(0, 3))]
    return wire.int32(len(elements)) + b"".join(map(wire.bytes_, elements))


@pytest.mark.parametrize("name", NAMES)
def test_bound_values(no_leaks: None, name: str) -> None:
    rng = random.Random(name)
    with SimulatedCluster(1, 1) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        for text in statements(name, "ks"):
            if text.startswith("USE"):
                continue
            answered(simulated, text, rng)
            if text.startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "BEGIN")):
                for _ in range(6):
                    answered(simulated, CONSTANT.sub(lambda match: rng.choice(["?", match[0]]), text), rng)
                    answered(simulated, mutated(text, rng), rng)


def mutated(text: str, rng: random.Random) -> str:
    pieces = PIECE.findall(text)
    for _ in range(2):
        pieces[rng.randrange(len(pieces))] = rng.choice(["", " ", "?", "(", "null", "v", *pieces])
    return "".join(pieces)


def answered(simulated: SimulatedCluster, text: str, rng: random.Random) -> None:
    engine = simulated.database.engine

    def run() -> None:
        plan = engine.compile(text, "ks")
        env = engine.env([value(rng) for _ in plan.specs])
        env.node, env.page_size = simulated.nodes[0], rng.randint(0, 3)
        plan.route(env)
        result = engine.run(plan, env)
        state = getattr(result, "paging_state", None)
        if state is not None:
            env.paging_state = state if rng.random() < 0.7 else state[: rng.randrange(len(state))]
            engine.run(plan, env)

    try:
        simulated._call(run)
    except errors.CqlError:
        pass
    except Exception as error:
        raise AssertionError(f"{error!r} at {text}") from error


def test_values_without_bytes_and_beyond_all_bounds(simulated: SimulatedCluster) -> None:
    """Aggregates leave out values of no bytes; decimals are exact, or refused."""
    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int, d decimal)")
    engine = simulated.database.engine

    def insert() -> None:
        plan = engine.compile("INSERT INTO t (id, v, d) VALUES (?, ?, ?)", "ks")
        for n, v in enumerate((b"", b"\0\0\0\5", None)):
            engine.run(plan, engine.env([wire.int32(n), v, b"\0\0\0\1\5"]))

    simulated._call(insert)
    (row,) = simulated.execute("SELECT sum(v), avg(v), count(v), sum(d), avg(d) FROM ks.t")
    assert list(row.values()) == [5, 5, 2, Decimal("1.5"), Decimal("0.5")]
    simulated.execute("INSERT INTO ks.t (id, d) VALUES (9, 1e-9999)")
    with pytest.raises(errors.NotSupported, match="digits"):
        simulated.execute("SELECT sum(d) FROM ks.t")
    simulated.execute("CREATE TABLE ks.s (id int PRIMARY KEY, t timestamp)")
    simulated.execute("INSERT INTO ks.s (id, t) VALUES (1, 9223372036854775807)")
    with pytest.raises(errors.NotSupported, match="9999"):
        simulated.execute("SELECT cast(t AS text) FROM ks.s")
