"""Descriptions from a server cost time and memory by their length, and no cache keeps them beyond its bounds."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from cassandra import util
from cassandra._base.tuples import row_class, udt_class
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Frame
from cassandra._wire.class_rows import class_row
from cassandra._wire.messages.responses import decode_response
from cassandra._wire.rows import decode_page, named_tuple_factory
from cassandra._wire.types.registry import resolve_custom
from cassandra.cqltypes import UserType, cqltype_to_python, lookup_casstype, strip_frozen
from tests.fakes import wire
from tests.fakes.wire import bytes_, int32, short, string

pytestmark = [pytest.mark.long, pytest.mark.versions]

MB = 1 << 20


def described(columns: list[tuple[str, bytes]], rows: int = 0, cells: bytes = b"") -> bytes:
    specs = b"".join(string(name) + kind for name, kind in columns)
    return int32(2) + int32(1) + int32(len(columns)) + string("ks") + string("t") + specs + int32(rows) + cells


def decoded(body: bytes, context: TypeContext) -> Any:
    return decode_response(Frame(4, 0, 0, wire.RESULT, body), context)


def user_type(number: int) -> bytes:
    return short(0x30) + string("ks") + string(f"hostile{number}") + short(1) + string("f") + short(9)


@pytest.fixture
def context() -> TypeContext:
    return TypeContext(resolve_custom, lambda keyspace, name: None)


def test_classes_of_user_types_are_made_for_values_only(context: TypeContext) -> None:
    """30,000 in one answer took 5 s."""
    before = len(udt_class)
    columns = [(f"c{number}", user_type(number)) for number in range(20_000)]
    assert len(decoded(described(columns), context).column_names) == 20_000
    assert len(udt_class) == before


def test_values_of_user_types(context: TypeContext) -> None:
    cell = bytes_(bytes_(int32(7)))
    message = decoded(described([("a", user_type(1))], 2, cell * 2), context)
    (first,), (second,) = message.parsed_rows
    assert first == (7,) and first.f == 7 and type(first) is type(second) and type(first).__name__ == "hostile1"


def test_wide_results_do_not_fill_the_caches(context: TypeContext) -> None:
    tracemalloc.start()
    try:
        for number in range(8):
            columns = [(f"c{number}_{column}", short(9)) for column in range(20_000)]
            decode_page(decoded(described(columns), context).page, named_tuple_factory)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 100 * MB
    assert row_class.size <= 64 * MB


def test_plans_of_ordinary_results_are_kept(context: TypeContext) -> None:
    for number in range(300):
        decoded(described([(f"c{number}_{column}", short(9)) for column in range(50)]), context)
    assert len(context) == 256


def test_plans_of_wide_results_replace_each_other(context: TypeContext) -> None:
    for number in range(60):
        decoded(described([(f"c{number}_{column}", short(9)) for column in range(4_000)]), context)
    assert 10 < len(context) < 30
    again = [decoded(described([(f"c59_{column}", short(9)) for column in range(4_000)]), context) for _ in range(2)]
    assert again[0].plan is again[1].plan
    context.clear()
    assert len(context) == 0


def test_the_latest_row_class_is_kept_at_any_size() -> None:
    names = tuple(f"n{i}" for i in range(60_000))
    others = tuple(f"m{i}" for i in range(60_000))
    made = row_class(names)
    assert row_class(names) is made
    small = row_class(("a", "b"))
    for _ in range(3):
        row_class(others)
        row_class(("a", "b"))
    assert row_class(("a", "b")) is small


def test_factories_of_classes_forget_wide_results() -> None:
    class Any_:
        def __init__(self, **fields: object) -> None:
            self.fields = fields

    factory = class_row(Any_)
    for number in range(10):
        (row,) = factory([f"c{number}_{column}" for column in range(20_000)], [range(20_000)])
        assert len(row.fields) == 20_000
    assert sum(map(len, factory._known)) <= 1 << 16


def test_custom_types_that_are_deeply_nested_and_wide(context: TypeContext) -> None:
    """64 kB took a second, by the depth times the length."""
    name = "A"
    for _ in range(120):
        name = f"TupleType({'A,' * 250}{name})"
    kind = short(0) + string(name)
    message = decoded(described([(f"c{number}", kind) for number in range(8)]), context)
    assert len(message.column_names) == 8
    with pytest.raises(Exception, match="more types"):
        decoded(described([(f"c{number}", kind) for number in range(20)]), context)


@pytest.mark.parametrize(
    "name",
    ["VectorType(FloatType, 999999999999999)", f"VectorType(FloatType, {'9' * 6000})", "VectorType(FloatType, ²)"],
)
def test_an_impossible_custom_type_is_bytes(name: str, context: TypeContext) -> None:
    body = described([("a", short(0) + string(name)), ("b", short(9))], 1, bytes_(b"x") + bytes_(int32(1)))
    assert decoded(body, context).parsed_rows == [(b"x", 1)]


def test_classes_of_user_types_by_name_are_bounded() -> None:
    kept = UserType.make_udt_class("ks", "mine", ["a"], [lookup_casstype("Int32Type")])
    for number in range(3_000):
        UserType.make_udt_class("ks", f"theirs{number}", ["a"], [lookup_casstype("Int32Type")])
    again = UserType.make_udt_class("ks", "mine", ["a"], [lookup_casstype("Int32Type")])
    assert again.fieldnames == kept.fieldnames


def test_spellings_nest_to_a_bound() -> None:
    text = "list<" * 10_000 + "int" + ">" * 10_000
    for parse in (cqltype_to_python, strip_frozen):
        with pytest.raises(ValueError, match="nested more than") as caught:
            parse(text)
        assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("text", ["DISTANCE ((" + "1" * 50_000, "POLYGON (" + " " * 50_000 + "!"])
def test_geometries_are_refused_at_once(text: str) -> None:
    for kind in (util.Distance, util.Polygon):
        with pytest.raises(ValueError, match="Invalid WKT"):
            kind.from_wkt(text)
