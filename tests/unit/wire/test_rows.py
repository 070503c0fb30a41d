"""Rows: what the factories make, by themselves and out of the decoder."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from typing import Any

import pytest

from cassandra import DriverException
from cassandra._core.codec import Codec, Result, RowsPage, TypeContext, Writer, decode_result, scalar
from cassandra._wire.rows import (
    decode_page,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    row_plan,
    tuple_factory,
)

INT, TEXT = scalar(9), scalar(10)
ROWS: list[tuple[Any, ...]] = [(1, "a"), (2, None), (None, "")]


def page(names: list[str], codecs: list[Codec], rows: list[tuple[Any, ...]]) -> RowsPage:
    """A page as a server sends it."""
    writer = Writer()
    for row in rows:
        for value, codec in zip(row, codecs, strict=True):
            writer.bytes(None if value is None else codec.encode(value))
    return answer(names, codecs, len(rows), writer.getvalue())


def answer(names: list[str], codecs: list[Codec], count: int, rows: bytes) -> RowsPage:
    """The page of *count* rows whose bytes are *rows*."""
    writer = Writer()
    writer.int(2)
    writer.int(1)  # one keyspace and table for all columns
    writer.int(len(names))
    writer.string("ks")
    writer.string("t")
    for name, codec in zip(names, codecs, strict=True):
        writer.string(name)
        writer.short(codec.kind)
    writer.int(count)
    decoded = decode_result(Result, writer.getvalue() + rows, 0, 4, TypeContext()).page
    assert decoded is not None
    return decoded


@pytest.fixture
def rows() -> RowsPage:
    return page(["k", "Odd name"], [INT, TEXT], ROWS)


def test_tuples(rows: RowsPage) -> None:
    for factory in (None, tuple_factory):
        decoded = decode_page(rows, factory)
        assert decoded == ROWS and {type(row) for row in decoded} == {tuple}


def test_named_tuples(rows: RowsPage) -> None:
    decoded = decode_page(rows, named_tuple_factory)
    assert decoded == ROWS and decoded[0]._fields == ("k", "Odd_name") and decoded[1].k == 2
    assert decoded == named_tuple_factory(["k", "Odd name"], ROWS)
    assert type(decoded[0]) is type(named_tuple_factory(["k", "Odd name"], ROWS)[0])
    assert repr(decoded[0]) == "Row(k=1, Odd_name='a')" and pickle.loads(pickle.dumps(decoded)) == decoded
    assert decoded[0]._asdict() == {"k": 1, "Odd_name": "a"} and decoded[0]._replace(k=5) == (5, "a")


def test_dicts(rows: RowsPage) -> None:
    decoded = decode_page(rows, dict_factory)
    assert decoded == [dict(zip(("k", "Odd name"), row, strict=True)) for row in ROWS]
    assert decoded == dict_factory(["k", "Odd name"], ROWS) and type(decoded[0]) is dict


def test_ordered_dicts(rows: RowsPage) -> None:
    decoded = decode_page(rows, ordered_dict_factory)
    assert decoded == ordered_dict_factory(["k", "Odd name"], ROWS)
    assert {type(row) for row in decoded} == {OrderedDict} and list(decoded[0]) == ["k", "Odd name"]


def test_any_callable(rows: RowsPage) -> None:
    seen = []

    def factory(names: list[str], values: list[Any]) -> str:
        seen.append((names, values))
        return "made"

    assert decode_page(rows, factory) == "made" and seen == [(["k", "Odd name"], ROWS)]
    assert isinstance(seen[0][0], list) and row_plan(rows.plan, factory) is None


def test_a_callable_without_hash(rows: RowsPage) -> None:
    class Factory:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, names: list[str], values: list[Any]) -> list[Any]:
            return [dict(zip(names, row, strict=True)) for row in values]

    assert decode_page(rows, Factory()) == decode_page(rows, dict_factory)


def test_plans_are_made_once(rows: RowsPage) -> None:
    for factory in (tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory):
        assert row_plan(rows.plan, factory) is row_plan(rows.plan, factory) is not None


def test_no_rows() -> None:
    empty = page(["a"], [INT], [])
    for factory in (None, tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory):
        assert decode_page(empty, factory) == []


def test_columns_of_one_name() -> None:
    twice = page(["a", "a"], [INT, INT], [(1, 2)])
    row = decode_page(twice, named_tuple_factory)[0]
    assert row == (1, 2) and row._fields == ("a", "a_")


def test_many_columns() -> None:
    names = [f"c{i}" for i in range(300)]
    wide = page(names, [INT] * 300, [tuple(range(300))])
    assert decode_page(wide, named_tuple_factory)[0].c299 == 299


def test_a_broken_value_names_its_column() -> None:
    writer = Writer()
    for number in (2, 1, 1):
        writer.int(number)
    for text in ("ks", "t", "b"):
        writer.string(text)
    writer.short(9)
    writer.int(1)
    writer.bytes(b"xyz")
    decoded = decode_result(Result, writer.getvalue(), 0, 4, TypeContext()).page
    assert decoded is not None
    with pytest.raises(DriverException, match=r"b.*int"):
        decode_page(decoded, named_tuple_factory)


def test_factories_refuse_rows_that_do_not_fit() -> None:
    for factory in (named_tuple_factory, dict_factory, ordered_dict_factory):
        with pytest.raises((TypeError, ValueError)):
            factory(["a"], [(1, 2)])
