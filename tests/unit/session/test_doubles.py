"""Doubles that tests and benchmarks of applications use in place of statements and columns."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.protocol import ColumnMetadata, ExecuteMessage, QueryMessage, _QueryMessage
from cassandra.query import UNSET_VALUE, BoundStatement, PreparedStatement, named_tuple_factory

COLUMNS = [("a", Int32Type), ("b", UTF8Type)]


def mocked(name: str, kind: Any) -> Mock:
    column = Mock(keyspace_name="ks", table_name="t", type=kind)
    column.name = name
    return column


def plain(name: str, kind: Any) -> SimpleNamespace:
    return SimpleNamespace(keyspace_name="ks", table_name="t", name=name, type=kind)


def prepared(columns: Any) -> PreparedStatement:
    return PreparedStatement(columns, b"id", None, "INSERT", "ks", 4, None, None)


def test_a_statement_without_columns() -> None:
    for columns in (None, []):
        statement = prepared(columns)
        assert statement.column_metadata == [] and statement.bind(()).values == []
        with pytest.raises(ValueError, match="Too many arguments"):
            statement.bind((1,))


@pytest.mark.parametrize("make", [mocked, plain])
def test_columns_with_attributes(make: Any) -> None:
    statement = prepared([make(*column) for column in COLUMNS])
    assert [column.name for column in statement.column_metadata] == ["a", "b"]
    assert BoundStatement(statement).bind((1, "x")).values == [b"\0\0\0\1", b"x"]
    assert statement.bind({"b": "x"}).values == [UNSET_VALUE, b"x"]


def test_a_type_with_functions_only() -> None:
    kind = Mock(**{"serialize.side_effect": lambda value, version: str(value).encode()})
    assert prepared([mocked("a", kind)]).bind((12,)).values == [b"12"]


def test_a_double_of_a_prepared_statement() -> None:
    columns = [ColumnMetadata("ks", "t", *column) for column in COLUMNS]
    options = dict.fromkeys(("consistency_level", "serial_consistency_level", "retry_policy", "custom_payload"))
    statement = Mock(column_metadata=columns, protocol_version=4, fetch_size=100, is_idempotent=False, **options)
    bound = BoundStatement(statement)
    assert (bound.keyspace, bound.table, bound.fetch_size) == ("ks", "t", 100)
    assert bound.bind((1, "x")).values == [b"\0\0\0\1", b"x"]
    assert bound.bind((2,)).values == [b"\0\0\0\2", UNSET_VALUE]


@pytest.mark.parametrize("version", [3, 4, 5])
def test_query_parameters_alone(version: int) -> None:
    options: dict[str, Any] = {"fetch_size": 7, "paging_state": b"state", "timestamp": 1, "serial_consistency_level": 8}
    for message in (
        QueryMessage("SELECT 1", ConsistencyLevel.ONE, query_params=[b"a", None], **options),
        QueryMessage("SELECT 1", ConsistencyLevel.ONE, query_params={"x": b"a"}, **options),
        ExecuteMessage(b"id", [b"a", None], ConsistencyLevel.QUORUM, skip_meta=True, **options),
        ExecuteMessage(b"id", None, ConsistencyLevel.QUORUM),
    ):
        alone, whole = io.BytesIO(), io.BytesIO()
        message._write_query_params(alone, version)
        message.send_body(whole, version)
        assert alone.getvalue() and whole.getvalue().endswith(alone.getvalue())
    of_base = io.BytesIO()
    _QueryMessage([b"abc"], ConsistencyLevel.ONE)._write_query_params(of_base, 4)
    assert of_base.getvalue() == b"\0\1\1\0\1\0\0\0\3abc"


def test_named_tuples_of_other_sequences() -> None:
    rows = named_tuple_factory(["a", "b"], iter([(1, "x"), [2, "y"], named_tuple_factory(["a", "b"], [(3, "z")])[0]]))
    assert [(row.a, row.b) for row in rows] == [(1, "x"), (2, "y"), (3, "z")]
    assert len({type(row) for row in rows}) == 1 and rows[0] == (1, "x")
    assert named_tuple_factory(["a"], []) == []
    for wrong in ((1,), (1, 2, 3), [1]):
        with pytest.raises(TypeError, match=f"Expected 2 arguments, got {len(wrong)}"):
            named_tuple_factory(["a", "b"], [(1, 2), wrong])
