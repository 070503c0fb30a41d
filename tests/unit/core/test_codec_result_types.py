"""Types in the metadata of results, and plans that are shared by results with the same metadata."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._base.errors import ProtocolError
from cassandra._core.codec import (
    Codec,
    ResultPlan,
    TypeContext,
    custom_codec,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from tests.unit.core.codec_frames import (
    COLUMNS,
    GLOBAL,
    INT,
    MORE,
    PLACE,
    ROWS,
    TEXT,
    UUID,
    bytes_,
    decode,
    encoded,
    int_,
    option,
    prepared,
    rows_body,
    short,
    string,
)

TYPES = [
    list_codec(INT),
    set_codec(map_codec(TEXT, UUID)),
    tuple_codec((INT, tuple_codec(()), TEXT)),
    PLACE,
    map_codec(TEXT, list_codec(PLACE)),
    custom_codec("com.example.Shape"),
]


@pytest.mark.parametrize("codec", TYPES, ids=lambda c: c.cql())
@pytest.mark.parametrize("shared", [True, False])
def test_types_in_metadata(codec: Codec, shared: bool) -> None:
    columns = [("before", INT), ("x", codec), ("after", TEXT)]
    result = decode(rows_body(columns, [], GLOBAL if shared else 0))
    assert result.plan is not None
    assert [one.cql() for one in result.plan.codecs] == ["int", codec.cql(), "text"]
    assert result.plan.names == ("before", "x", "after")


def test_unknown_types_are_refused() -> None:
    with pytest.raises(ProtocolError, match="unknown CQL type 0x0099"):
        decode(int_(ROWS) + int_(GLOBAL) + int_(1) + string("ks") + string("t") + string("a") + short(0x99) + int_(0))


@pytest.mark.parametrize("head", [short(0x20), short(0x22), short(0x31) + short(1)])
def test_types_nested_too_deeply_are_refused(head: bytes) -> None:
    start = int_(ROWS) + int_(GLOBAL) + int_(1) + string("ks") + string("t") + string("a")
    with pytest.raises(ProtocolError, match="nested more than 128 levels"):
        decode(start + head * 100000 + option(INT) + int_(0))
    assert decode(start + head * 127 + option(INT) + int_(0)).plan is not None
    with pytest.raises(ProtocolError, match="nested more than 128 levels"):
        decode(start + head * 128 + option(INT) + int_(0))


def test_custom_types_are_resolved_once() -> None:
    asked: list[str] = []

    def resolve(name: str) -> Codec:
        asked.append(name)
        return vector_codec(INT, 2)

    context = TypeContext(resolve)
    columns = [("a", custom_codec("Vector")), ("b", list_codec(custom_codec("Vector")))]
    for name in ("x", "y"):
        result = decode(rows_body([*columns, (name, INT)], []), context=context)
        assert result.plan is not None and result.plan.codecs[1].cql() == "list<vector<int, 2>>"
    assert asked == ["Vector"]
    context.clear()
    decode(rows_body(columns, []), context=context)
    assert asked == ["Vector", "Vector"]
    with pytest.raises(ProtocolError, match="cannot resolve the type 'Vector': 'Vector'"):
        decode(rows_body(columns, []), context=TypeContext({}.__getitem__))
    with pytest.raises(TypeError, match="resolve_custom returned str"):
        decode(rows_body(columns, []), context=TypeContext(lambda name: name))  # type: ignore[arg-type,return-value]


def test_user_types_are_resolved() -> None:
    context = TypeContext(None, lambda keyspace, name: dict if (keyspace, name) == ("ks", "place") else None)
    data = PLACE.encode(("Main", [1]))
    result = decode(rows_body([("p", PLACE)], [[data]]), context=context)
    assert result.parsed_rows == [({"street": "Main", "more": [1]},)]


def test_plans_are_shared_by_equal_metadata() -> None:
    context = TypeContext()
    one = decode(rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")])), context=context)
    two = decode(rows_body(COLUMNS, [], GLOBAL | MORE, bytes_(b"p")), context=context)
    other = decode(rows_body([("a", INT), ("c", TEXT)], []), context=context)
    unshared = decode(rows_body(COLUMNS, [], 0), context=context)
    third = decode(prepared([("x", INT)], COLUMNS), context=context)
    assert one.plan is two.plan is third.plan
    assert len({id(r.plan) for r in (one, other, unshared)}) == 3
    assert len(context) == 3
    context.clear()
    assert len(context) == 0
    assert decode(rows_body(COLUMNS, []), context=context).plan is not one.plan


def test_a_type_that_changes_while_it_is_read_is_not_kept() -> None:
    """A user type is registered in another thread, just as metadata with the type as it was is read."""
    place = udt_codec("ks", "place", ["x"], [INT])
    columns = [("p", place)]
    body = rows_body(columns, [[bytes_(int_(1))]])
    found: list[Any] = [None, dict]

    def resolve(keyspace: str, name: str) -> Any:
        before = found.pop(0)
        if not before:
            context.clear()  # the last step of registering a type
        return before

    context = TypeContext(resolve_udt=resolve)
    assert decode(body, context=context).parsed_rows == [((1,),)] and len(context) == 0
    assert decode(body, context=context).parsed_rows == [({"x": 1},)] and len(context) == 1


def test_a_custom_type_that_changes_while_it_is_read_is_not_kept() -> None:
    def resolve(name: str) -> Codec:
        seen.append(name)
        if len(seen) == 1:
            context.clear()
        return custom_codec(name)

    seen: list[str] = []
    context = TypeContext(resolve)
    columns = [("p", custom_codec("my.Type"))]
    for _ in range(3):
        decode(rows_body(columns, []), context=context)
    assert len(seen) == 2


def test_metadata_of_unreasonable_length_is_not_kept() -> None:
    context = TypeContext()
    for length, kept in ((2**16 - 1, 0), (1000, 1)):
        columns = [(f"{i}" + "x" * (length - 1), INT) for i in range(5)]
        assert len(decode(rows_body(columns, []), context=context).column_names or ()) == 5
        assert len(context) == kept


def test_plan_cache_evicts_the_least_recently_used_plan() -> None:
    context = TypeContext(plan_cache_size=3)

    def plan(name: str) -> ResultPlan | None:
        return decode(rows_body([(name, INT)], []), context=context).plan

    a, b, _ = plan("a"), plan("b"), plan("c")
    assert plan("a") is a
    plan("d")
    assert len(context) == 3
    assert plan("a") is a
    assert plan("b") is not b
    uncached = TypeContext(plan_cache_size=0)
    decode(rows_body(COLUMNS, []), context=uncached)
    assert len(uncached) == 0
    with pytest.raises(ValueError, match="negative"):
        TypeContext(plan_cache_size=-1)
