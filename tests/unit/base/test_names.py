"""Quoting of CQL names and values; function signatures."""

from __future__ import annotations

import pytest

from cassandra import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._base import names


@pytest.mark.parametrize("name", ["a", "key_2", "sasi", "a1b2", "timestamp", "type"])
def test_plain_names_stay(name: str) -> None:
    assert names.is_valid_name(name)
    assert names.maybe_escape_name(name) == names.protect_name(name) == name


@pytest.mark.parametrize("name", ["", "A", "1a", "_a", "a b", 'a"b', "select", "table", "ä", "a\n", "a-b", "Select"])
def test_other_names_are_quoted(name: str) -> None:
    assert not names.is_valid_name(name)
    quoted = names.maybe_escape_name(name)
    assert quoted[0] == quoted[-1] == '"'
    assert quoted[1:-1].replace('""', '"') == name


def test_none_is_no_name() -> None:
    assert not names.is_valid_name(None)


def test_many_names() -> None:
    assert names.protect_names(["a", "B", "from"]) == ["a", '"B"', '"from"']


def test_keyword_tables() -> None:
    assert {"select", "from", "where", "token", "materialized"} <= names.cql_keywords_reserved
    assert {"timestamp", "ttl", "counter"} <= names.cql_keywords_unreserved
    assert not names.cql_keywords_reserved & names.cql_keywords_unreserved
    assert names.cql_keywords == names.cql_keywords_reserved | names.cql_keywords_unreserved


@pytest.mark.parametrize(
    ("value", "literal"), [(None, "NULL"), (True, "true"), (1, "1"), (0.5, "0.5"), ("it's", "'it''s'")]
)
def test_option_values(value: object, literal: str) -> None:
    assert names.protect_value(value) == literal


def test_cql_quote() -> None:
    assert names.cql_quote("it's") == "'it''s'"
    assert names.cql_quote(5) == "5"


def test_signatures() -> None:
    function = UserFunctionDescriptor("f", ["int", "frozen<list<text>>"])
    assert function.signature == "f(int,frozen<list<text>>)"
    assert UserAggregateDescriptor("A", []).signature == "A()"
    assert repr(function) == "UserFunctionDescriptor(f, ['int', 'frozen<list<text>>'])"
