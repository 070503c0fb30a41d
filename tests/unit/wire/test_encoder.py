"""CQL literals of Python values."""

from __future__ import annotations

import datetime as dt
import re
from collections import OrderedDict, namedtuple
from decimal import Decimal
from enum import IntEnum
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra.encoder import Encoder, ValueSequence, cql_quote
from cassandra.util import Date, Duration, LineString, OrderedMap, Point, Polygon, SortedSet, Time

UUID_TEXT = "12345678-1234-5678-1234-567812345678"


class Colour(IntEnum):
    RED = 1


class Name(str):
    def __str__(self) -> str:
        return "; DROP TABLE t"


class Price(Decimal):
    def __str__(self) -> str:
        return "0); DROP TABLE t"


Pair = namedtuple("Pair", "a Bc")


def spelled(value: Any) -> str:
    """The same in every run: without addresses."""
    return re.sub(r" at 0x\w+", "", repr(value))[:40]


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (None, "NULL"),
        (True, "True"),
        (5, "5"),
        (-(10**30), "-1000000000000000000000000000000"),
        (Colour.RED, "1"),
        (1.5, "1.5"),
        (1e300, "1e+300"),
        (0.1, "0.1"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("1.50"), "1.50"),
        (Decimal("0.1234567890123456789012345678901"), "0.1234567890123456789012345678901"),
        (Price("1.50"), "1.50"),
        ("it's", "'it''s'"),
        ("", "''"),
        (Name("it's"), "'it''s'"),
        (b"\x00\xff", "0x00ff"),
        (b"", "0x"),
        (bytearray(b"a"), "0x61"),
        (memoryview(b"a"), "0x61"),
        (UUID(UUID_TEXT), UUID_TEXT),
        (dt.datetime(2020, 1, 1, 0, 0, 0, 1999), "1577836800001"),
        (dt.datetime(2020, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))), "1577836800000"),
        (dt.datetime(9999, 12, 31, 23, 59, 59, 999000), "253402300799999"),
        (dt.date(20, 1, 2), "'0020-01-02'"),
        (dt.time(1, 2, 3, 4), "'01:02:03.000004'"),
        (Date(-1), "2147483647"),
        (Time(1), "'00:00:00.000000001'"),
        (Duration(1, 2, 3), "1mo2d3ns"),
        (ip_address("127.0.0.1"), "'127.0.0.1'"),
        (ip_address("::1"), "'::1'"),
        ([1, "a", None], "[1, 'a', NULL]"),
        ((1, (2, 3)), "[1, [2, 3]]"),
        ({1}, "{1}"),
        (frozenset(["a"]), "{'a'}"),
        (SortedSet([2, 1]), "{1, 2}"),
        ({"a": [1], "b": {2}}, "{'a': [1], 'b': {2}}"),
        (OrderedDict(a=1), "{'a': 1}"),
        (OrderedMap([([1], 2)]), "{[1]: 2}"),
        (ValueSequence([1, "a"]), "(1, 'a')"),
        (Pair(1, "x"), "{a: 1, \"Bc\": 'x'}"),
        (Point(1.0, 2.0), "'POINT (1.0 2.0)'"),
        (LineString([(1.0, 2.0)]), "'LINESTRING (1.0 2.0)'"),
        (Polygon(), "'POLYGON EMPTY'"),
    ],
    ids=spelled,
)
def test_literals(value: Any, literal: str) -> None:
    assert Encoder().cql_encode_all_types(value) == literal


def test_generators_are_lists() -> None:
    assert Encoder().cql_encode_all_types(i for i in (1, 2)) == "[1, 2]"


def test_the_mapping_can_be_changed() -> None:
    encoder = Encoder()
    encoder.mapping[tuple] = encoder.cql_encode_tuple
    assert encoder.cql_encode_all_types((1, "a")) == "(1, 'a')"
    assert encoder.cql_encode_all_types(Pair(1, "a")) == "(1, 'a')"
    assert Encoder().cql_encode_all_types((1,)) == "[1]"


def test_own_classes() -> None:
    class Money:
        def __str__(self) -> str:
            return "12"

    encoder = Encoder()
    with pytest.raises(TypeError, match="no CQL literal is known"):
        encoder.cql_encode_all_types(Money())
    encoder.mapping[Money] = lambda money: f"{{amount: {money}}}"
    assert encoder.cql_encode_all_types([Money()]) == "[{amount: 12}]"
    encoder.mapping[Pair] = lambda pair: "pair"
    assert encoder.cql_encode_all_types(Pair(1, 2)) == "pair"


def test_methods_for_types_of_columns() -> None:
    encoder = Encoder()
    for write, literal in (
        (encoder.cql_encode_sequence, "(1, 2)"),
        (encoder.cql_encode_tuple, "(1, 2)"),
        (encoder.cql_encode_list_collection, "[1, 2]"),
        (encoder.cql_encode_set_collection, "{1, 2}"),
    ):
        assert write([1, 2]) == literal
    assert encoder.cql_encode_unicode("a'") == encoder.cql_encode_str("a'") == cql_quote("a'") == "'a'''"
    assert encoder.cql_encode_str_quoted(5) == "'5'" and encoder.cql_encode_object(5) == "5"
    assert encoder.cql_encode_all_types("a", as_text_type=True) == "'a'"


@given(st.text())
def test_text_ends_where_it_ends(text: str) -> None:
    """Whatever is in it, the literal is one string: quotes inside come in pairs."""
    literal = Encoder().cql_encode_all_types(text)
    assert literal[0] == literal[-1] == "'"
    inside = literal[1:-1]
    assert inside.replace("''", "").count("'") == 0 and inside.replace("''", "'") == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_keep_their_digits(value: float) -> None:
    assert float(Encoder().cql_encode_all_types(value)) == value


@given(st.datetimes())
def test_timestamps_keep_their_milliseconds(when: dt.datetime) -> None:
    ms = int(Encoder().cql_encode_all_types(when))
    back = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)
    assert dt.timedelta(0) <= when - back < dt.timedelta(milliseconds=1)
