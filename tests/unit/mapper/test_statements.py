"""Features of our statements that scylla-driver's do not have; the rest is in ``tests/compat/programs/mapper_*.py``."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest

from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.functions import MinTimeUUID, Token
from cassandra.cqlengine.operators import BaseQueryOperator, EqualsOperator, InOperator, QueryOperatorException
from cassandra.cqlengine.query import LWTException
from cassandra.cqlengine.statements import (
    AssignmentClause,
    BaseClause,
    DeleteStatement,
    InsertStatement,
    ListUpdateClause,
    MapDeleteClause,
    MapUpdateClause,
    SelectStatement,
    SetUpdateClause,
    StatementException,
    UpdateStatement,
    WhereClause,
)

WHERE = WhereClause("k", EqualsOperator(), 1)


def column(kind: Any) -> Any:
    kind.set_column_name("f")
    return kind


def test_names_that_contain_quotes_are_quoted() -> None:
    assert str(AssignmentClause('quo"ted', 5)) == '"quo""ted" = %(None)s'
    assert str(SelectStatement("t", fields=['a"b'])) == 'SELECT "a""b" FROM t'


def test_equal_conditions_have_equal_hashes() -> None:
    assert len({WhereClause("a", EqualsOperator(), 1), WhereClause("a", EqualsOperator(), 1)}) == 1
    assert WhereClause("a", EqualsOperator(), 1) != WhereClause("a", InOperator(), 1)


@pytest.mark.parametrize(
    "clause",
    [
        SetUpdateClause("f", set(), "add"),
        SetUpdateClause("f", set(), "remove", {1}),
        ListUpdateClause("f", [], "append"),
        ListUpdateClause("f", [], "prepend", [1]),
        MapUpdateClause("f", {}, "remove"),
        MapUpdateClause("f", {}, "update"),
        MapUpdateClause("f", None),
        MapUpdateClause("f", None, previous={1: 2}),
    ],
)
def test_an_operation_with_nothing_is_nothing(clause: Any) -> None:
    context: dict[str, Any] = {}
    clause.set_context_id(3)
    clause.update_context(context)
    assert (str(clause), clause.get_context_size(), context) == ("", 0, {})


def test_keys_without_an_order() -> None:
    clause = MapUpdateClause("f", {"b": 1, 2: 3, "a": 4}, previous={})
    assert clause.get_context_size() == 6
    assert MapDeleteClause("f", {}, {"b": 1, 2: 3}).get_context_size() == 2


def test_map_keys_given_as_a_set_are_removed() -> None:
    clause = MapUpdateClause("m", {"a", "b"}, "remove")
    context: dict[str, Any] = {}
    clause.set_context_id(0)
    clause.update_context(context)
    assert (str(clause), context) == ('"m" = "m" - %(0)s', {"0": {"a", "b"}})


def test_assignments_that_change_nothing_are_left_out() -> None:
    unchanged = SetUpdateClause("s", {1}, previous={1})
    statement = UpdateStatement("t", assignments=[unchanged, AssignmentClause("x", 1), unchanged], where=[WHERE])
    assert str(statement) == 'UPDATE t SET "x" = %(1)s WHERE "k" = %(0)s'


def test_a_delete_of_no_key_does_not_delete_the_row() -> None:
    statement = DeleteStatement("t", fields=[MapDeleteClause("m", {1: 1}, {1: 1})], where=[WHERE])
    with pytest.raises(StatementException, match="DELETE from t: no keys to delete"):
        str(statement)


def test_an_insert_of_nothing() -> None:
    with pytest.raises(StatementException, match="an INSERT into t needs assignments"):
        str(InsertStatement("t"))


@pytest.mark.parametrize(
    ("kind", "value", "previous"),
    [
        (columns.Set(columns.Integer, frozen=True), {1, 2}, {1}),
        (columns.List(columns.Integer, frozen=True), [1, 2], [1]),
        (columns.Map(columns.Integer, columns.Integer, frozen=True), {1: 2, 2: 3}, {1: 2}),
    ],
)
def test_frozen_containers_are_assigned(kind: Any, value: Any, previous: Any) -> None:
    statement = UpdateStatement("t", where=[WHERE])
    statement.add_update(column(kind), value, previous=previous)
    assert str(statement) == 'UPDATE t SET "f" = %(1)s WHERE "k" = %(0)s'
    assert statement.get_context() == {"0": 1, "1": value}


def test_containers_of_a_programs_own_are_changed_in_place() -> None:
    class Tags(columns.Set):  # type: ignore[type-arg]
        pass

    class Hits(columns.Counter):
        pass

    statement = UpdateStatement("t", where=[WHERE])
    statement.add_update(column(Tags(columns.Integer)), {1, 2}, previous={1})
    statement.add_update(column(Hits()), 5, previous=3)
    assert str(statement) == 'UPDATE t SET "f" = "f" + %(1)s, "f" = "f" + %(2)s WHERE "k" = %(0)s'


def test_a_value_that_is_computed_is_not_converted() -> None:
    statement = SelectStatement("t")
    statement.add_where(column(columns.TimeUUID()), EqualsOperator(), MinTimeUUID(dt.datetime(2024, 1, 1)))
    assert str(statement) == 'SELECT * FROM t WHERE "f" = MinTimeUUID(%(0)s)'
    assert statement.get_context() == {"0": 1704067200000}


@pytest.mark.parametrize("make", [lambda: SelectStatement("t", where=["a"]), lambda: InsertStatement("t", ["a"])])
def test_only_clauses_make_statements(make: Any) -> None:
    with pytest.raises(StatementException, match="only clauses can be added to statements, not 'a'"):
        make()


def test_a_clause_without_text() -> None:
    with pytest.raises(NotImplementedError, match="BaseClause"):
        str(BaseClause("a", 1))


# timestamps


def test_the_zone_of_a_timestamp_counts() -> None:
    moment = dt.datetime(2024, 2, 29, 12, 0, 0, 5, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
    assert InsertStatement("t", timestamp=moment).timestamp_normalized == 1709226000000005


def test_a_duration_counts_from_now() -> None:
    before = time.time_ns() // 1000
    found = InsertStatement("t", timestamp=dt.timedelta(hours=-1, microseconds=1)).timestamp_normalized
    assert found is not None
    assert before <= found + 3600 * 10**6 - 1 <= time.time_ns() // 1000


@pytest.mark.parametrize("timestamp", ["5", 1.5, dt.date(2024, 1, 1)])
def test_invalid_timestamps_are_refused(timestamp: Any) -> None:
    with pytest.raises(TypeError, match=r"invalid timestamp: .*: expected a datetime, a timedelta or an int of micro"):
        str(InsertStatement("t", [AssignmentClause("a", 1)], timestamp=timestamp))


# errors


def test_errors_name_the_given_value() -> None:
    with pytest.raises(ValidationError, match="datetime instance is required, not 5"):
        MinTimeUUID(5)  # type: ignore[arg-type]
    with pytest.raises(QueryOperatorException, match="cql symbol is None of BaseQueryOperator"):
        str(BaseQueryOperator())
    with pytest.raises(TypeError, match=r"Token\(1, 2\) is not used with a partition key"):
        Token(1, 2).update_context({})


def test_the_row_that_prevented_a_write_is_pickled_with_the_error() -> None:
    import pickle

    error = pickle.loads(pickle.dumps(LWTException({"a": 1})))
    assert (str(error), error.existing) == ("LWT Query was not applied", {"a": 1})
