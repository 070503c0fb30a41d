"""What is encoded decodes to the same value: random types, nested, alone, in rows and in bound statements."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cassandra._core.codec import (
    UNSET,
    BindPlan,
    Codec,
    Reader,
    ResultPlan,
    RowPlan,
    TypeContext,
    Writer,
    list_codec,
    scalar,
)
from tests.property.codec_types import plain, tables, typed_values
from tests.unit.core.codec_frames import GLOBAL, NO_METADATA, decode, encoded, page_of, rows_body


def cells(codecs: list[Codec], rows: list[Any]) -> list[list[Any]]:
    return [[plain(codec, cell) for codec, cell in zip(codecs, row, strict=True)] for row in rows]


@given(typed_values(), st.sampled_from([3, 4, 5]))
def test_values(typed: tuple[Codec, Any], version: int) -> None:
    codec, value = typed
    data = codec.encode(value, version)
    assert plain(codec, codec.decode(data, version)) == plain(codec, value)


@given(typed_values())
def test_encoding_is_stable(typed: tuple[Codec, Any]) -> None:
    """What was decoded encodes to a value that is the same again, and so do equal lengths of bytes."""
    codec, value = typed
    data = codec.encode(value)
    again = codec.encode(codec.decode(data))
    assert len(again) == len(data)
    assert plain(codec, codec.decode(again)) == plain(codec, value)


@given(tables(), st.sampled_from(["tuple", "named", "dict", "ordered"]))
def test_rows(table: tuple[list[Codec], list[tuple[Any, ...]]], kind: str) -> None:
    codecs, rows = table
    columns = [(f"c{i}", codec) for i, codec in enumerate(codecs)]
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    page = decode(rows_body(columns, encoded(columns, rows), NO_METADATA), plan=plan).page
    assert page is not None
    cls = namedtuple("cls", plan.names) if kind == "named" else None
    how = RowPlan(plan, kind, cls)
    whole = page.decode(how)
    parts = [row for part in page.batches(how, 2) for row in part]
    for found in (whole, parts):
        made = [tuple(row) if kind in ("tuple", "named") else tuple(row.values()) for row in found]
        assert cells(codecs, made) == cells(codecs, rows)


def walk(codec: Codec) -> Iterator[Codec]:
    yield codec
    for child in codec.children:
        yield from walk(child)


@given(tables())
def test_types_survive_the_metadata(table: tuple[list[Codec], list[tuple[Any, ...]]]) -> None:
    columns = [(f"c{i}", codec) for i, codec in enumerate(table[0])]
    known = {part.cql() if part.name == "vector" else part.name: part for codec in table[0] for part in walk(codec)}
    context = TypeContext(known.__getitem__)
    for flags in (GLOBAL, 0):
        result = decode(rows_body(columns, encoded(columns, table[1]), flags), context=context)
        assert result.plan is not None and result.parsed_rows is not None
        assert [codec.cql() for codec in result.plan.codecs] == [codec.cql() for codec in table[0]]
        assert cells(table[0], result.parsed_rows) == cells(table[0], table[1])


@given(tables(), st.data())
def test_bound_values(table: tuple[list[Codec], list[tuple[Any, ...]]], data: st.DataObject) -> None:
    codecs, rows = table
    plan = BindPlan([("ks", "t", f"c{i}", codec) for i, codec in enumerate(codecs)])
    for row in rows:
        values: list[Any] = [data.draw(st.sampled_from([cell, UNSET])) for cell in row]
        bound = plan.bind(values, 4)
        for codec, value, sent in zip(codecs, values, bound.values, strict=True):
            if value is UNSET or value is None:
                assert sent is value
            else:
                assert sent == codec.encode(value)
        named = {f"c{i}": value for i, value in enumerate(values)}
        assert plan.bind(named, 4).data == bound.data


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_notations(numbers: list[int], texts: list[str]) -> None:
    writer = Writer()
    for number in numbers:
        writer.long(number)
        writer.int(number % 2**31)
        writer.short(number % 65536)
        writer.byte(number % 256)
    writer.string_list(texts)
    writer.string_map(dict(zip(texts, texts, strict=True)))
    reader = Reader(writer.getvalue())
    for number in numbers:
        assert (reader.long(), reader.int(), reader.short(), reader.byte()) == (
            number,
            number % 2**31,
            number % 65536,
            number % 256,
        )
    assert (reader.string_list(), reader.string_map()) == (texts, dict(zip(texts, texts, strict=True)))
    assert reader.remaining == 0


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=50), st.integers(0, 60), st.integers(0, 60))
def test_slices_of_a_page(numbers: list[int], start: int, stop: int) -> None:
    page = page_of([("a", scalar(9)), ("b", list_codec(scalar(9)))], [(n, [n]) for n in numbers])
    how = RowPlan(page.plan, "tuple")
    whole = [(n, [n]) for n in numbers]
    assert page.decode(how, start, stop) == whole[start:stop]
    assert page.decode(how, stop) == whole[stop:]
    assert page.decode(how) == whole
    columns = [("a", scalar(9))]
    assert decode(rows_body(columns, encoded(columns, [(n,) for n in numbers]))).parsed_rows == [(n,) for n in numbers]
