"""Literals of hostile values: each object becomes one literal and no other CQL, for any text it returns."""

from __future__ import annotations

import datetime as dt
import enum
import ipaddress
import pathlib
import re
import uuid
from collections import OrderedDict, UserDict, UserList, UserString, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cassandra.cqlengine.statements import InQuoter, ValueQuoter
from cassandra.encoder import Encoder, ValueSequence, cql_quote
from cassandra.metadata import escape_name, maybe_escape_name, protect_name, protect_value
from cassandra.query import BatchStatement, SimpleStatement, bind_params
from cassandra.util import Date, Duration, OrderedMap, Point, SortedSet, Time

EVIL = "x'; DROP TABLE t; --"

#: One literal: a string, a word or number, bytes, or brackets of these.
TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[-+\w.]+|[\[\](){},:]|\s+")


def is_harmless(literal: str) -> bool:
    """Whether *literal* consists of strings, words, numbers and brackets that are in pairs."""
    tokens = TOKEN.findall(literal)
    depth = 0
    for token in tokens:
        depth += (token in "[({") - (token in "])}")
        if depth < 0:
            return False
    return "".join(tokens) == literal and depth == 0


class Said(str):
    """Text that says something else in every way there is."""

    def __str__(self) -> str:
        return EVIL

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return EVIL

    def replace(self, *args: Any) -> str:  # type: ignore[override]
        return EVIL


class Number(int):
    def __str__(self) -> str:
        return EVIL

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return EVIL


class Real(float):
    def __str__(self) -> str:
        return EVIL

    __repr__ = __str__

    def __float__(self) -> float:
        raise AssertionError("not asked")


class Id(uuid.UUID):
    def __str__(self) -> str:
        return EVIL


class Day(dt.date):
    def isoformat(self) -> str:
        return EVIL


class Moment(dt.datetime):
    def isoformat(self, *args: Any, **kwargs: Any) -> str:
        return EVIL

    def __str__(self) -> str:
        return EVIL


class Clock(dt.time):
    def isoformat(self, *args: Any) -> str:
        return EVIL


class Address(ipaddress.IPv4Address):
    @property
    def compressed(self) -> str:
        return EVIL


class Span(Duration):
    def __str__(self) -> str:
        return EVIL


class TimeOfDay(Time):
    def __str__(self) -> str:
        return EVIL


class Place(Point):
    def __str__(self) -> str:
        return EVIL


class Bytes(bytes):
    def hex(self, *args: Any) -> str:
        return EVIL


class Colour(str, enum.Enum):
    RED = "it's red"

    def __str__(self) -> str:
        return EVIL


class Level(enum.IntEnum):
    HIGH = 3

    def __str__(self) -> str:
        return EVIL


class Plain(enum.Enum):
    ONE = EVIL


class Shouting:
    def __str__(self) -> str:
        return EVIL


Odd = namedtuple("Odd", "a")


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (Said("it's"), "'it''s'"),
        (Number(5), "5"),
        (Real(1.5), "1.5"),
        (Id(int=1), "00000000-0000-0000-0000-000000000001"),
        (Day(2024, 2, 29), "'2024-02-29'"),
        (Moment(1970, 1, 1, 0, 0, 1), "1000"),
        (Colour.RED, "'it''s red'"),
        (Level.HIGH, "3"),
        (Span(1, 2, 3), "1mo2d3ns"),
        (Bytes(b"\1"), "0x01"),
        (True, "True"),
        (np.int64(-5), "-5"),
        (np.uint8(5), "5"),
        (np.bool_(True), "True"),
        (np.float32(0.5), "0.5"),
        (np.float64("nan"), "NaN"),
        (np.longdouble(1.5), "1.5"),
        (np.str_("it's"), "'it''s'"),
        (np.bytes_(b"\1"), "0x01"),
        (pd.Timestamp("1970-01-01 00:00:01"), "1000"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_written_by_their_content(value: Any, literal: str) -> None:
    assert Encoder().cql_encode_all_types(value) == literal
    assert is_harmless(literal)


@pytest.mark.parametrize(
    "value",
    [Said(EVIL), Clock(1), Address("10.0.0.1"), TimeOfDay(1), Place(1, 2), Colour.RED, Odd(Said(EVIL))],
    ids=lambda value: type(value).__name__,
)
def test_hostile_values_are_one_literal_wherever_they_are(value: Any) -> None:
    encoder = Encoder()
    write = encoder.cql_encode_all_types
    literal = write(value)
    assert is_harmless(literal)
    assert write([value]) == f"[{literal}]"
    assert write((value, 1)) == f"[{literal}, 1]"
    assert write({"k": value}) == f"{{'k': {literal}}}"
    assert write(OrderedDict(k=[value])) == f"{{'k': [{literal}]}}"
    assert write(OrderedMap([([value], value)])) == f"{{[{literal}]: {literal}}}"
    assert write(ValueSequence([value])) == f"({literal})"
    assert write(Odd(value)) == f"{{a: {literal}}}"
    assert write(InQuoter([value])) == f"({literal})"
    assert write(ValueQuoter({"k": value})) == f"{{'k':{literal}}}"
    assert bind_params("f(%s)", (value,), encoder) == f"f({literal})"


UNKNOWN = [
    ValueError(EVIL),
    pathlib.PurePosixPath(EVIL),
    UserString(EVIL),
    UserList([EVIL]),
    UserDict(a=EVIL),
    Plain.ONE,
    Shouting(),
    Shouting,
    object(),
    range(3),
    dt.timedelta(1),
    Fraction(1, 2),
    1j,
    ipaddress.ip_network("10.0.0.0/8"),
    np.array([1, 2]),
    np.array([5]),
    np.datetime64("2020-01-01"),
    np.timedelta64(5, "D"),
    np.complex128(1),
    pd.NA,
    pd.NaT,
    re.compile(EVIL),
    1j,
    np.complex64(1),
    np.ma.masked,
    np.ma.masked_array(5, mask=True),
    np.ma.masked_array(True, mask=True),
    np.ma.masked_array([1.5, 2.5], mask=[True, False])[0],
    np.timedelta64(5, "s"),
]


@pytest.mark.parametrize("value", UNKNOWN, ids=lambda value: type(value).__name__)
def test_objects_of_unknown_types_are_refused(value: Any) -> None:
    encoder = Encoder()
    for nested in (value, [value], (value,), {"k": value}, ValueSequence([value]), Odd([value]), InQuoter([value])):
        with pytest.raises(TypeError):
            encoder.cql_encode_all_types(nested)
        with pytest.raises(TypeError):
            bind_params("SELECT %s", (nested,), encoder)
    with pytest.raises(TypeError):
        BatchStatement().add(SimpleStatement("INSERT INTO t (a) VALUES (%s)"), (value,))


def test_masked_elements_of_parameters() -> None:
    values = np.ma.masked_array([1.5, 2.5], mask=[False, True])
    for parameters in (values, list(values), {"a": values[0], "b": values[1]}, [{1: values[1]}, 5]):
        text = "f(%(a)s, %(b)s)" if isinstance(parameters, dict) else "f(%s, %s)"
        with pytest.raises(TypeError, match="no CQL literal is known for MaskedConstant"):
            bind_params(text, parameters, Encoder())
    assert bind_params("f(%s, %s)", np.ma.masked_array([1.5, 2.5]), Encoder()) == "f(1.5, 2.5)"
    assert Encoder().cql_encode_all_types(np.ma.masked_array(5, mask=False)) == "5"


def test_scopes_are_refused_whatever_they_are() -> None:
    with pytest.raises(ValueError, match="inet cannot hold the scope"):
        Encoder().cql_encode_all_types([ipaddress.ip_address("::1%1', role='admin")])


def test_numbers_beyond_double_are_refused() -> None:
    huge = np.longdouble("1e400")
    if not np.isinf(huge):  # where long doubles have more bits
        with pytest.raises(OverflowError, match="out of range for double"):
            Encoder().cql_encode_all_types(huge)
    assert Encoder().cql_encode_all_types(np.longdouble("inf")) == "Infinity"


def test_the_error_for_an_unknown_type_names_the_encoder_mapping() -> None:
    with pytest.raises(TypeError, match=r"no CQL literal is known for Shouting: .* session\.encoder\.mapping"):
        Encoder().cql_encode_all_types(Shouting())


def test_unhashable_and_sorted_members_are_refused_too() -> None:
    for value in ({Shouting()}, frozenset([Plain.ONE]), SortedSet([pathlib.PurePosixPath(EVIL)])):
        with pytest.raises(TypeError):
            Encoder().cql_encode_all_types(value)


# ---- encoders of programs


def test_registered_encoders_write_their_classes_and_subclasses() -> None:
    class Louder(Shouting):
        pass

    encoder = Encoder()
    encoder.mapping[Shouting] = lambda value: "'mine'"
    assert encoder.cql_encode_all_types([Shouting(), Louder()]) == "['mine', 'mine']"
    encoder.mapping[pathlib.PurePosixPath] = encoder.cql_encode_str_quoted
    assert encoder.cql_encode_all_types(pathlib.PurePosixPath("/it's")) == "'/it''s'"
    encoder.mapping[Plain] = encoder.cql_encode_object
    assert encoder.cql_encode_all_types(Plain.ONE) == "Plain.ONE"
    encoder.mapping[object] = encoder.cql_encode_str_quoted
    assert encoder.cql_encode_all_types(UserString("it's")) == "'it''s'"


def test_an_encoder_of_a_program_may_write_all_objects() -> None:
    class Own(Encoder):
        def cql_encode_object(self, val: Any) -> str:
            return f"own({type(val).__name__})"

    assert Own().cql_encode_all_types([Shouting(), 1, True]) == "[own(Shouting), 1, True]"


# ---- names and options


def test_names_are_quoted_by_their_content() -> None:
    assert maybe_escape_name(Said("plain")) == protect_name(Said("plain")) == "plain"
    assert type(maybe_escape_name(Said("plain"))) is str
    assert escape_name(Said('a"b')) == maybe_escape_name(Said('a"b')) == '"a""b"'


def test_options_are_quoted_by_their_content() -> None:
    assert protect_value(Number(5)) == "5"
    assert protect_value(Real(0.5)) == "0.5"
    assert protect_value(Said("it's")) == f"'{EVIL}'".replace("x'", "x''")
    assert protect_value(Shouting()) == protect_value(EVIL)
    assert is_harmless(protect_value(EVIL))


@pytest.mark.parametrize(
    ("term", "literal"),
    [
        ("it's", "'it''s'"),
        (Said("it's"), "'it''s'"),
        (None, "NULL"),
        (True, "True"),
        (Number(5), "5"),
        (Real(1.5), "1.5"),
        (Decimal("1.50"), "1.50"),
        (Id(int=1), "00000000-0000-0000-0000-000000000001"),
        (b"it's", "0x69742773"),
        (bytearray(b"\1"), "0x01"),
        (memoryview(b"\1"), "0x01"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_cql_quote(term: Any, literal: str) -> None:
    assert cql_quote(term) == literal


@pytest.mark.parametrize("term", [ValueError(EVIL), pathlib.PurePosixPath(EVIL), UserString(EVIL), [EVIL], Shouting()])
def test_cql_quote_refuses_the_rest(term: Any) -> None:
    with pytest.raises(TypeError, match="no CQL literal"):
        cql_quote(term)


def test_dates_and_numbers_of_time_are_checked() -> None:
    odd = Date(5)
    odd.days_from_epoch = 1.5  # type: ignore[assignment]
    with pytest.raises(TypeError, match="a date should be a whole number"):
        Encoder().cql_encode_all_types(odd)
