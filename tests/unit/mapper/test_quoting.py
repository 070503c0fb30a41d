"""Names and numbers of the mapper's statements: each is quoted or checked, wherever it comes from."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, columns
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.named import NamedKeyspace, NamedTable
from cassandra.cqlengine.query import BatchQuery
from cassandra.cqlengine.statements import DeleteStatement, InsertStatement, SelectStatement, UpdateStatement

EVIL = 'x"; DROP TABLE t; --'
QUOTED = '"x""; DROP TABLE t; --"'


class Number(int):
    def __str__(self) -> str:
        return EVIL

    def __format__(self, spec: str) -> str:
        return EVIL


class Reading(Model):
    __keyspace__ = "ks"
    sensor = columns.Integer(primary_key=True)
    at = columns.Integer(primary_key=True)
    value = columns.Integer(db_field=EVIL)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("people", "people"),
        ("People", "People"),
        ('"People"', '"People"'),
        ('"a""b"', '"a""b"'),
        ("table", '"table"'),
        ("a b", '"a b"'),
        ("people; DROP TABLE t", '"people; DROP TABLE t"'),
        ('"people"; DROP TABLE "t"', '"""people""; DROP TABLE ""t"""'),
        ('"', '""""'),
        ("people\n", '"people\n"'),
        (EVIL, QUOTED),
    ],
)
def test_names_of_tables(name: str, text: str) -> None:
    table = NamedTable("ks", name)
    assert table.column_family_name() == f"ks.{text}"
    assert table.column_family_name(include_keyspace=False) == text
    assert str(table.all()) == f"SELECT * FROM ks.{text} LIMIT 10000"
    assert NamedKeyspace(name).table("t").column_family_name() == f"{text}.t"
    assert table.objects.using(keyspace=name).model.column_family_name() == f"{text}.{text}"


@pytest.mark.parametrize(
    ("given", "order"),
    [
        ("at", '"at" ASC'),
        ("-at", '"at" DESC'),
        ("a-b", '"a-b" ASC'),
        (EVIL, f"{QUOTED} ASC"),
        (f"-{EVIL}", f"{QUOTED} DESC"),
        ('at" ASC LIMIT 1 --', '"at"" ASC LIMIT 1 --" ASC'),
    ],
)
def test_order(given: str, order: str) -> None:
    assert str(NamedTable("ks", "t").objects.order_by(given)) == f"SELECT * FROM ks.t ORDER BY {order} LIMIT 10000"


def test_columns() -> None:
    table = NamedTable("ks", "t")
    assert f"WHERE {QUOTED} = %(0)s" in str(table.filter(table.column(EVIL) == 1))
    assert QUOTED in Reading._columns["value"].get_column_def()
    assert QUOTED in str(SelectStatement("t", fields=[EVIL]))
    assert QUOTED in str(DeleteStatement("t", fields=[EVIL]))


@pytest.mark.parametrize("number", [7, Number(7), "7"])
def test_numbers(number: Any) -> None:
    assert str(SelectStatement("t", limit=number)) == "SELECT * FROM t LIMIT 7"
    insert = InsertStatement("t", ttl=number)
    insert.add_assignment(Reading._columns["at"], 1)
    assert str(insert) == 'INSERT INTO t ("at") VALUES (%(0)s) USING TTL 7'
    if not isinstance(number, str):
        update = UpdateStatement("t", timestamp=number, ttl=number)
        assert str(update).startswith("UPDATE t USING TTL 7 AND TIMESTAMP 7 SET")
        assert " USING TIMESTAMP 7 " in str(DeleteStatement("t", timestamp=number))
        assert str(Reading.objects.limit(number)).endswith(" LIMIT 7")


@pytest.mark.parametrize("number", ["7 AND TIMESTAMP 1", "1; DROP TABLE t", 7.5, [7], "-7", "\u0667"])
def test_invalid_ttl_limit_and_timestamp_are_refused(number: Any) -> None:
    insert = InsertStatement("t", ttl=number)
    insert.add_assignment(Reading._columns["at"], 1)
    with pytest.raises(TypeError, match="ttl should be a whole number"):
        str(insert)
    with pytest.raises(TypeError, match="limit should be a whole number"):
        str(SelectStatement("t", limit=number))
    with pytest.raises(TypeError, match="timestamp"):
        str(UpdateStatement("t", timestamp=number))
    with pytest.raises(TypeError):
        Reading.objects.limit(number)


def test_moments_are_numbers() -> None:
    assert "TIMESTAMP 1" in str(UpdateStatement("t", timestamp=datetime(2024, 1, 1)))
    assert "TIMESTAMP 1" in str(UpdateStatement("t", timestamp=timedelta(1)))


def test_types_of_batches() -> None:
    for kind in (None, "LOGGED", "UNLOGGED", "COUNTER", "unlogged"):
        assert BatchQuery(batch_type=kind)._text()[0].startswith("BEGIN ")
    with pytest.raises(CQLEngineException, match="invalid batch type"):
        BatchQuery(batch_type="UNLOGGED BATCH DELETE FROM t WHERE p = 1; APPLY BATCH; BEGIN")._text()
