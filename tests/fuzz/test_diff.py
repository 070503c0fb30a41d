"""``bulk diff``: two tables with random mutations, against a comparison of the values that were written, bit by bit."""

from __future__ import annotations

import math
import os
import random
import struct
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from cassandra.bulk import main
from cassandra.cluster import Session
from tests.fuzz.conftest import Rounds
from tests.fuzz.cql_values import Made, Schema, Type, Write, decimal_form, float_form, null_or

pytestmark = pytest.mark.server


def near(of: Type, made: Made, rng: random.Random) -> Made:
    """Another value; one that looks the same, where there is one."""
    value = made[0]
    if of.name == "double" and isinstance(value, float) and rng.random() < 0.8:
        if not value:
            return -value, float_form(-value)
        if math.isnan(value):
            bits = struct.unpack(">Q", struct.pack(">d", value))[0] ^ (1 << 63)
            other = struct.unpack(">d", struct.pack(">Q", bits))[0]
            return other, float_form(other)
    if of.name == "decimal" and isinstance(value, Decimal) and rng.random() < 0.8 and abs(value.adjusted()) < 9999:
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        other = Decimal((sign, (*digits, 0), exponent - 1))
        return other, decimal_form(other)
    return null_or(of, rng)


def mutated(schema: Schema, writes: list[Write], rng: random.Random) -> list[Write]:
    share = rng.choice([0, 0.02, 0.3])
    found = []
    for one in writes:
        if rng.random() >= share:
            found.append(one)
        elif rng.random() < 0.7:
            columns = schema.statics if one.clustering is None else schema.values
            at = rng.randrange(len(columns))
            values = list(one.values)
            values[at] = near(columns[at][1], values[at], rng)
            found.append(one._replace(values=values))
    if share:
        found += schema.random_writes(rng)[: rng.randint(0, 3)]
    return found


def differences(
    schema: Schema, columns: list[str], here: list[dict[str, Any]], there: list[dict[str, Any]]
) -> Counter[str]:
    """What diff shows of rows without their keys: ``<``, ``>``, or ``!`` and the *columns* that are different."""
    key = [column for column, _ in (*schema.partition, *schema.clustering)]
    sides = [{repr([row[column] for column in key]): row for row in rows} for rows in (here, there)]
    found: Counter[str] = Counter()
    for name in {*sides[0], *sides[1]}:
        one, other = sides[0].get(name), sides[1].get(name)
        if one is None or other is None:
            found["<" if other is None else ">"] += 1
        elif changed := [column for column in columns if repr(one[column]) != repr(other[column])]:
            found["!: " + ", ".join(changed).replace("\n", "\\n")] += 1
    return found


def test_differences_are_those_of_the_bytes(
    rounds: Rounds, session: Session, keyspace: str, cassandra_node: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]
    for number, rng in enumerate(rounds):
        schema = Schema(rng)
        tables = [f"{side}_{number}_{os.getpid()}" for side in ("here", "there")]
        writes = schema.random_writes(rng)
        sides = [writes, mutated(schema, writes, rng)]
        try:
            for table, of_side in zip(tables, sides, strict=True):
                schema.create(session, table)
                schema.write(session, f"{keyspace}.{table}", of_side)
            columns = list(session.cluster.metadata.keyspaces[keyspace].tables[tables[0]].columns)
            wanted = differences(schema, columns, *map(schema.rows, sides))
            capsys.readouterr()
            code = main(["diff", *(f"{keyspace}.{table}" for table in tables), "--show", "100000", "--quiet", *where])
            lines = capsys.readouterr().out.split("\n")[:-1]
            assert code == (1 if wanted else 0)
            assert all(line.isprintable() for line in lines)
            for name, count in wanted.items():
                like = [line for line in lines if line[0] == name[0] and line.endswith(name[1:])]
                assert len(like) >= count, (name, count, lines)
            assert len(lines) == wanted.total()
        finally:
            schema.drop(session, *tables)
