"""Differential fuzzing of ``copy``: tables with statics, times and counters; copies that are interrupted and go on."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cassandra.bulk import main
from cassandra.cluster import Session
from cassandra.query import tuple_factory
from tests.fuzz.arrow_layouts import KEYS, USER_TYPES, Kind, random_kind, random_value
from tests.fuzz.conftest import Rounds

pytestmark = pytest.mark.server

Copy = Callable[..., int]


@pytest.fixture(scope="module")
def tables(session: Session) -> Session:
    session.row_factory = tuple_factory
    for name, fields in USER_TYPES.items():
        session.execute(f"CREATE TYPE {name} ({', '.join(f'{field} {kind}' for field, kind in fields)})", timeout=60)
    return session


@pytest.fixture
def copy(keyspace: str, cassandra_node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Copy:
    """Copies ``given`` to ``taken``."""
    monkeypatch.chdir(tmp_path)
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]

    def run(*arguments: str) -> int:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = main(["copy", f"{keyspace}.given", f"{keyspace}.taken", *arguments, *where])
        print(said.getvalue())
        return code

    return run


def create(session: Session, columns: list[str], key: str) -> None:
    for table in ("given", "taken"):
        session.execute(f"DROP TABLE IF EXISTS {table}", timeout=60)
        session.execute(f"CREATE TABLE {table} ({', '.join(columns)}, PRIMARY KEY ({key}))", timeout=60)


def contents(session: Session, table: str, columns: str) -> list[str]:
    return sorted(map(repr, session.execute(f"SELECT {columns} FROM {table}", timeout=60)))


def fill(random: Random, session: Session, kinds: dict[str, Kind], key: list[str], statics: list[str]) -> None:
    """Rows, each cell by a statement with times of its own; rows of nothing but a key; partitions of statics alone."""
    partition = key[:1]
    partitions = {
        repr(value): value for value in (random_value(random, kinds["p"]) for _ in range(8)) if value not in ("", b"")
    }
    for value in partitions.values():
        if statics and random.random() < 0.7:
            write(random, session, {"p": value, "s": random_value(random, kinds["s"])}, partition)
        for _ in range(random.choice([0, 1, 5, 40])):
            row = {"p": value, **{name: random_value(random, kinds[name]) for name in key[1:]}}
            if random.random() < 0.3:
                write(random, session, row, key)
            for name in kinds:
                if name not in key and name not in statics and random.random() < 0.7:
                    write(random, session, {**row, name: random_value(random, kinds[name])}, key)


def write(random: Random, session: Session, values: dict[str, Any], key: list[str]) -> None:
    ttl = random.choice([0, 10**6, 10**7])
    names = ", ".join(values)
    text = f"INSERT INTO given ({names}) VALUES ({', '.join('?' * len(values))}) USING TTL ? AND TIMESTAMP ?"
    session.execute(session.prepare(text), (*values.values(), ttl, random.randrange(1, 10**15)), timeout=60)


def random_table(random: Random, session: Session) -> tuple[dict[str, Kind], list[str], list[str]]:
    key = ["p", *(f"c{i}" for i in range(random.randrange(3)))]
    kinds = {name: Kind(random.choice(KEYS)) for name in key}
    kinds |= {f"v{i}": random_kind(random) for i in range(random.randrange(1, 5))}
    statics = ["s"] if len(key) > 1 and random.random() < 0.6 else []
    kinds |= {name: random_kind(random) for name in statics}
    create(
        session, [f"{name} {kind.cql()}{' STATIC' * (name in statics)}" for name, kind in kinds.items()], ", ".join(key)
    )
    return kinds, key, statics


def test_rows(rounds: Rounds, tables: Session, copy: Copy) -> None:
    """Values, and the times of cells that have one of each."""
    for random in rounds:
        kinds, key, statics = random_table(random, tables)
        fill(random, tables, kinds, key, statics)
        timed = [
            name
            for name, kind in kinds.items()
            if name not in key and (not kind.parts or kind.name in ("tuple", "vector"))
        ]
        options = random.choice([[], ["--ttl"], ["--writetime"], ["--ttl", "--writetime"]])
        columns = ", ".join([*kinds, *(f"writetime({name})" for name in timed if "--writetime" in options)])
        assert copy(*options) == 0
        assert contents(tables, "taken", columns) == contents(tables, "given", columns)
        if timed and "--ttl" in options:
            ttls: list[list[Any]] = [[], []]
            for found, table in zip(ttls, ("given", "taken"), strict=True):
                rows = tables.execute(
                    f"SELECT {', '.join(key)}, {', '.join(f'ttl({name})' for name in timed)} FROM {table}"
                )
                found += sorted((repr(row[: len(key)]), row[len(key) :]) for row in rows)
            for (one, left), (other, right) in zip(*ttls, strict=True):
                assert one == other
                assert all(
                    (a is None) == (b is None) and abs((a or 0) - (b or 0)) < 600
                    for a, b in zip(left, right, strict=True)
                )


class Stopped(Exception):
    """Ends a copy in the middle."""


def test_interrupted(rounds: Rounds, tables: Session, copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that ends at a random batch, and goes on until it is through."""
    from cassandra._bulk import writer

    whole = writer.TableWriter.write
    for random in rounds:
        kinds, key, statics = random_table(random, tables)
        fill(random, tables, kinds, key, statics)
        options = random.choice([[], ["--ttl", "--writetime"]])
        resumed: list[str] = []
        for left in (random.randrange(4), random.randrange(8), None):

            def write_some(self: Any, pieces: Any, done: Any, left: int | None = left) -> None:
                def some() -> Any:
                    for number, piece in enumerate(pieces):
                        if number == left:
                            raise Stopped
                        yield piece

                whole(self, some(), done)

            monkeypatch.setattr(writer.TableWriter, "write", write_some)
            try:
                code = copy(*options, *resumed)
            except Stopped:
                code = 3
            if code == 0:
                break
            resumed = ["--resume"]
        assert code == 0
        columns = ", ".join(kinds)
        assert contents(tables, "taken", columns) == contents(tables, "given", columns)


def test_counters(rounds: Rounds, tables: Session, copy: Copy) -> None:
    create(tables, ["p int", "c int", "s counter STATIC", "t counter STATIC", "n counter", "m counter"], "p, c")
    for random in rounds:
        for table in ("given", "taken"):
            tables.execute(f"TRUNCATE {table}", timeout=60)
        for p in range(random.randrange(6)):
            for name in ("s", "t"):
                if random.random() < 0.6:
                    tables.execute(
                        f"UPDATE given SET {name} = {name} + {random.randrange(-(2**40), 2**40)} WHERE p = {p}"
                    )
            for c in range(random.choice([0, 1, 3, 50])):
                name = random.choice("nm")
                number = random.choice([0, random.randrange(-(2**62), 2**62)])
                tables.execute(f"UPDATE given SET {name} = {name} + {number} WHERE p = {p} AND c = {c}")
        assert copy("--counters") == 0
        assert contents(tables, "taken", "p, c, s, t, n, m") == contents(tables, "given", "p, c, s, t, n, m")
