"""RESULT bodies of every kind, flag and version; errors of malformed ones."""

from __future__ import annotations

import gc
import struct
import tracemalloc
import uuid
from typing import Any

import pytest

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._base.names import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._core.codec import (
    Result,
    ResultDecoder,
    ResultPlan,
    TypeContext,
    decode_result,
    is_plain_rows,
    list_codec,
    map_codec,
)
from tests.unit.core.codec_frames import (
    CHANGED,
    COLUMNS,
    GLOBAL,
    INT,
    MORE,
    NO_METADATA,
    PLACE,
    PREPARED,
    ROWS,
    SCHEMA_CHANGE,
    SET_KEYSPACE,
    TEXT,
    VOID,
    bytes_,
    cells,
    decode,
    encoded,
    int_,
    metadata,
    option,
    prepared,
    rows_body,
    short,
    string,
)

FIELDS = [
    "page",
    "plan",
    "paging_state",
    "new_keyspace",
    "query_id",
    "bind_plan",
    "pk_indexes",
    "result_metadata_id",
    "schema_change_event",
    "continuous_paging_seq",
    "continuous_paging_last",
    "trace_id",
    "custom_payload",
    "warnings",
    "parsed_rows",
    "column_names",
    "column_metadata",
    "bind_metadata",
    "kind",
]


class Message(Result):
    __slots__ = ()


def test_void() -> None:
    result = decode(int_(VOID), stream_id=7)
    assert result.kind == VOID
    assert all(getattr(result, name) is None for name in FIELDS if name != "kind")
    assert (result.is_lwt, result.metadata_changed, result.stream_id) == (False, False, 7)


def test_every_field_of_a_new_result_is_initialised() -> None:
    for result in (Result(), Message(), Message(kind=None)):
        assert all(getattr(result, name) is None for name in FIELDS)
    assert Message(ROWS).kind == ROWS
    assert not hasattr(Message(), "__dict__")


def test_every_field_can_be_set() -> None:
    result = Message()
    for name in FIELDS[2:-1]:
        marker: Any = [name]
        setattr(result, name, marker)
        assert getattr(result, name) is marker
        assert getattr(Message(), name) is None, "not shared"
    result.kind = PREPARED
    assert result.kind == PREPARED


def test_subclasses() -> None:
    class Rich(Message):
        def __init__(self) -> None:
            raise AssertionError("decode_result does not call __init__")

    result = decode_result(Rich, int_(VOID), 0, 4, TypeContext())
    assert type(result) is Rich
    result.anything = 5  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="expected a subclass of Result"):
        decode_result(dict, int_(VOID), 0, 4, TypeContext())  # type: ignore[type-var]
    with pytest.raises(TypeError):
        decode_result(Result, int_(VOID), 0, 4, None)  # type: ignore[arg-type]


def test_rows() -> None:
    result = decode(rows_body(COLUMNS, encoded(COLUMNS, [(1, "x"), (2, "y")])))
    assert result.kind == ROWS
    assert result.page is not None and result.plan is result.page.plan
    assert (len(result.page), result.column_names) == (2, ["a", "b"])
    assert result.column_metadata == [("ks", "t", "a", INT), ("ks", "t", "b", TEXT)]
    assert result.page.nbytes == len(cells(encoded(COLUMNS, [(1, "x"), (2, "y")])))
    assert result.parsed_rows == [(1, "x"), (2, "y")]
    assert result.parsed_rows is result.parsed_rows
    assert (result.plan.keyspace, result.plan.table) == ("ks", "t")
    assert result.page is None, "the list can be changed now, and replaces the page"


def test_assigned_parsed_rows_replace_the_page() -> None:
    result = decode(rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")])))
    result.parsed_rows = [("mine",)]
    assert (result.parsed_rows, result.page) == ([("mine",)], None)


class FakeFrame(bytes):
    """The attributes of a transport's frame that a decoder reads."""

    opcode, flags, version, stream = 8, 0, 4, -5


def frame(body: bytes, **head: int) -> FakeFrame:
    made = FakeFrame(body)
    vars(made).update(head)
    return made


def test_a_decoder_of_frames() -> None:
    context, plan = TypeContext(), ResultPlan([("ks", "t", name, kind) for name, kind in COLUMNS])
    decoder = ResultDecoder(Message, context, 0x80000000, True)
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]), NO_METADATA)
    result = decoder.decode(frame(body), plan)
    assert type(result) is Message and (result.kind, result.stream_id) == (ROWS, -5)
    assert result.plan is plan and result.parsed_rows == [(1, "x")]
    warned = decoder.decode(frame(short(1) + string("careful") + int_(VOID), flags=0x08))
    assert (warned.kind, warned.warnings) == (VOID, ["careful"])
    assert decoder.decode(frame(rows_body(COLUMNS, []))).plan is decoder.decode(frame(rows_body(COLUMNS, []))).plan
    marked = int_(PREPARED) + short(1) + b"q" + short(2) + b"id" + int_(-0x80000000) + int_(0) + int_(0)
    statement = decoder.decode(frame(marked + int_(NO_METADATA) + int_(0)))
    assert statement.is_lwt and statement.result_metadata_id == b"id", "mask and metadata ids are the connection's"


def test_a_decoder_leaves_other_frames_alone() -> None:
    decoder = ResultDecoder(Message, TypeContext())
    assert decoder.decode(frame(b"", opcode=0)) is None
    assert decoder.decode(frame(int_(VOID), opcode=2)) is None
    assert decoder.decode(frame(b"compressed", flags=1)) is None
    with pytest.raises(ProtocolError, match="cut off"):
        decoder.decode(frame(b"\0\0"))
    with pytest.raises(AttributeError):
        decoder.decode(b"no frame")


def test_decoders_make_results_only() -> None:
    class Odd(Message):
        def __new__(cls) -> Any:
            return 5

    for cls in (dict, 5):
        with pytest.raises(TypeError, match="expected a subclass of Result"):
            ResultDecoder(cls, TypeContext())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="int"):
        ResultDecoder(Odd, TypeContext())
    with pytest.raises(TypeError, match="int"):
        decode_result(Odd, int_(VOID), 0, 4, TypeContext())


def test_plain_rows() -> None:
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]))
    assert is_plain_rows(decode(body))
    assert is_plain_rows(decode_result(Message, body, 0, 4, TypeContext())), "subclasses too"
    assert is_plain_rows(decode(rows_body(COLUMNS, [], GLOBAL | MORE, bytes_(b"next")))), "with more to come"
    assert is_plain_rows(decode(short(0) + body, flags=0x08)) is False, "an empty list of warnings is not none"


PREFIXES = {
    "trace": (0x02, b"\1" * 16, "trace_id"),
    "payload": (0x04, short(1) + string("k") + bytes_(b"v"), "custom_payload"),
    "warnings": (0x08, short(1) + string("careful"), "warnings"),
}


@pytest.mark.parametrize("what", PREFIXES)
def test_rows_with_something_beside_them_are_not_plain(what: str) -> None:
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]))
    flag, prefix, name = PREFIXES[what]
    result = decode(prefix + body, flags=flag)
    assert result.kind == ROWS and getattr(result, name) and is_plain_rows(result) is False
    setattr(result, name, None)
    assert is_plain_rows(result) is True
    setattr(result, name, [1])
    assert is_plain_rows(result) is False, "a handler may have put it there"


def test_changed_metadata_is_not_plain() -> None:
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]), GLOBAL | CHANGED, short(2) + b"id")
    assert is_plain_rows(decode(body, 5)) is False


def test_rows_that_may_have_been_changed_are_not_plain() -> None:
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]))
    read, replaced, emptied = decode(body), decode(body), decode(body)
    assert read.parsed_rows == [(1, "x")]
    replaced.parsed_rows = [(2, "y")]
    emptied.page = None
    assert not any(map(is_plain_rows, (read, replaced, emptied)))


@pytest.mark.parametrize("kind", [VOID, SET_KEYSPACE, PREPARED, SCHEMA_CHANGE, None])
def test_results_of_other_kinds_are_not_plain_rows(kind: int | None) -> None:
    result = decode(rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")])))
    result.kind = kind
    assert is_plain_rows(result) is False


def test_objects_other_than_results_are_not_plain_rows() -> None:
    assert not any(map(is_plain_rows, (None, 2, "rows", Result, Result(ROWS), Message(), object(), [])))


def test_rows_without_a_common_table() -> None:
    body = int_(ROWS) + int_(0) + int_(2)
    body += string("k1") + string("t1") + string("a") + option(INT)
    body += string("k2") + string("t2") + string("b") + option(TEXT) + int_(0)
    result = decode(body)
    assert result.column_metadata == [("k1", "t1", "a", INT), ("k2", "t2", "b", TEXT)]
    assert result.parsed_rows == []


def test_paging_state() -> None:
    result = decode(rows_body(COLUMNS, [], GLOBAL | MORE, bytes_(b"next")))
    assert result.paging_state == b"next"
    assert decode(rows_body(COLUMNS, [], GLOBAL | MORE, bytes_(None))).paging_state is None
    assert decode(rows_body(COLUMNS, [])).paging_state is None


def test_skipped_metadata_takes_the_given_plan() -> None:
    plan = ResultPlan([("ks", "t", "a", INT), ("ks", "t", "b", TEXT)])
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]), NO_METADATA | MORE, bytes_(b"p"))
    result = decode(body, plan=plan)
    assert result.plan is plan and result.parsed_rows == [(1, "x")] and result.paging_state == b"p"
    assert result.column_names == ["a", "b"]


def test_metadata_of_the_answer_wins_over_the_given_plan() -> None:
    plan = ResultPlan([("ks", "t", "z", TEXT)])
    result = decode(rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")])), plan=plan)
    assert result.column_names == ["a", "b"] and result.parsed_rows == [(1, "x")]


def test_skipped_metadata_without_a_matching_plan_is_an_error() -> None:
    body = rows_body(COLUMNS, [], NO_METADATA)
    with pytest.raises(ProtocolError, match="2 columns without metadata"):
        decode(body)
    plan = ResultPlan([("ks", "t", "a", INT)])
    with pytest.raises(DriverException, match=r"2 columns, the metadata .* has 1: .*altered"):
        decode(body, plan=plan)


def test_changed_metadata() -> None:
    extra = bytes_(b"page") + short(3) + b"new"
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]), GLOBAL | MORE | CHANGED, extra)
    result = decode(body, 5, plan=ResultPlan([("ks", "t", "a", INT)]))
    assert (result.metadata_changed, result.result_metadata_id, result.paging_state) == (True, b"new", b"page")
    assert result.parsed_rows == [(1, "x")]


def test_no_columns_at_all() -> None:
    result = decode(int_(ROWS) + int_(NO_METADATA) + int_(0) + int_(0))
    assert result.parsed_rows == [] and result.column_names == []


@pytest.mark.parametrize("count", [-1, 2, 2**31 - 1, -(2**31)])
def test_a_row_count_that_the_body_cannot_hold(count: int) -> None:
    body = int_(ROWS) + metadata(COLUMNS) + int_(count) + bytes_(None) * 2
    with pytest.raises(ProtocolError, match=f"claims {count} rows of 2 columns in 8 bytes"):
        decode(body)


def test_rows_of_no_columns_are_refused() -> None:
    with pytest.raises(ProtocolError, match="claims 1000000000 rows of 0 columns"):
        decode(int_(ROWS) + int_(NO_METADATA) + int_(0) + int_(1000000000))


@pytest.mark.parametrize("count", [-1, 10, 2**31 - 1])
def test_a_column_count_that_the_body_cannot_hold(count: int) -> None:
    with pytest.raises(ProtocolError, match=f"metadata of {count} columns"):
        decode(int_(ROWS) + int_(GLOBAL) + int_(count) + string("ks") + string("t"))


def test_more_at_the_end_is_ignored() -> None:
    assert decode(int_(VOID) + b"future").kind == VOID
    body = rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")])) + b"future"
    assert decode(body).parsed_rows == [(1, "x")]


def test_set_keyspace() -> None:
    result = decode(int_(SET_KEYSPACE) + string("Größe"))
    assert (result.kind, result.new_keyspace) == (SET_KEYSPACE, "Größe")


@pytest.mark.parametrize(
    ("target", "options", "key", "value"),
    [
        ("KEYSPACE", b"", None, None),
        ("TABLE", string("t"), "table", "t"),
        ("TYPE", string("t"), "type", "t"),
        (
            "FUNCTION",
            string("f") + short(2) + string("int") + string("text"),
            "function",
            UserFunctionDescriptor("f", ["int", "text"]),
        ),
        ("AGGREGATE", string("f") + short(0), "aggregate", UserAggregateDescriptor("f", [])),
    ],
)
def test_schema_change(target: str, options: bytes, key: str | None, value: Any) -> None:
    event = decode(
        int_(SCHEMA_CHANGE) + string("UPDATED") + string(target) + string("ks") + options
    ).schema_change_event
    assert event is not None
    expected = {"change_type": "UPDATED", "target_type": target, "keyspace": "ks"}
    if isinstance(value, (UserFunctionDescriptor, UserAggregateDescriptor)):
        found = event.pop(target.lower())
        assert type(found) is type(value)
        assert (found.name, list(found.argument_types)) == (value.name, list(value.argument_types))
    elif key:
        expected[key] = value
    assert event == expected


def test_prefix_of_the_flags() -> None:
    trace = uuid.uuid4()
    warnings = short(2) + string("slow") + string("tombstones")
    payload = short(2) + string("k") + bytes_(b"v") + string("n") + bytes_(None)
    result = decode(trace.bytes + warnings + payload + int_(VOID), flags=0x02 | 0x08 | 0x04)
    assert (result.trace_id, result.warnings) == (trace, ["slow", "tombstones"])
    assert result.custom_payload == {"k": b"v", "n": None}
    assert decode(payload + int_(VOID), flags=0x04).custom_payload == {"k": b"v", "n": None}
    assert decode(warnings + int_(VOID), flags=0x08).warnings == ["slow", "tombstones"]
    assert decode(trace.bytes + int_(VOID), flags=0x02 | 0x10 | 0x01).trace_id == trace


def test_prepared() -> None:
    result = decode(prepared([("x", INT), ("y", TEXT)], COLUMNS, indexes=(1, 0)))
    assert (result.kind, result.query_id, result.pk_indexes) == (PREPARED, b"qid", [1, 0])
    assert result.bind_plan is not None and result.bind_plan.names == ("x", "y")
    assert result.bind_plan.pk_indexes == (1, 0)
    assert result.bind_metadata == [("ks", "t", "x", INT), ("ks", "t", "y", TEXT)]
    assert result.plan is not None and result.plan.names == ("a", "b")
    assert result.column_metadata == [("ks", "t", "a", INT), ("ks", "t", "b", TEXT)]
    assert result.column_names is None and result.page is None and result.parsed_rows is None
    assert result.result_metadata_id is None and not result.is_lwt


def test_prepared_without_result_or_key() -> None:
    result = decode(prepared([("x", INT)], []))
    assert result.plan is not None and len(result.plan) == 0
    assert (result.pk_indexes, result.column_metadata) == ([], [])
    assert result.bind_plan is not None and result.bind_plan.pk_indexes is None
    bare = decode(prepared([], []))
    assert bare.bind_plan is not None and len(bare.bind_plan) == 0 and bare.bind_metadata == []


def test_prepared_on_protocol_3_has_no_key_positions() -> None:
    result = decode(prepared([("x", INT)], COLUMNS, 3), 3)
    assert result.pk_indexes is None and result.bind_plan is not None and result.bind_plan.pk_indexes is None


@pytest.mark.parametrize(("version", "options"), [(5, {}), (4, {"metadata_ids": True})])
def test_prepared_with_a_metadata_id(version: int, options: dict[str, Any]) -> None:
    result = decode(prepared([("x", INT)], COLUMNS, metadata_id=b"mid"), version, **options)
    assert (result.query_id, result.result_metadata_id) == (b"qid", b"mid")


def test_lwt_mark() -> None:
    mask = 0x80000000
    body = prepared([("x", INT)], [], flags=mask - 2**32)
    assert decode(body, lwt_mask=mask).is_lwt
    assert not decode(body).is_lwt
    assert not decode(prepared([("x", INT)], []), lwt_mask=mask).is_lwt


def test_prepared_with_key_positions_that_do_not_exist() -> None:
    with pytest.raises(ProtocolError, match="partition key positions"):
        decode(prepared([("x", INT)], [], indexes=(1,)))
    with pytest.raises(ProtocolError, match="a partition key of 1000000 columns"):
        decode(int_(PREPARED) + short(0) + int_(GLOBAL) + int_(0) + int_(1000000))


def test_prepared_with_more_key_positions_than_parameters() -> None:
    with pytest.raises(ProtocolError, match="a partition key of 2 columns in a statement of 1 parameters"):
        decode(prepared([("x", INT)], [], indexes=(0, 0)))


def test_as_many_columns_as_a_statement_can_have() -> None:
    columns = [("", INT)] * 65535
    result = decode(rows_body(columns, []))
    assert result.plan is not None and len(result.plan) == 65535
    assert decode(prepared(columns, [])).bind_metadata == [("ks", "t", "", INT)] * 65535


WHOLE = [
    (rows_body(COLUMNS, encoded(COLUMNS, [(1, "x")]), GLOBAL | MORE, bytes_(b"page")), 4, 0),
    (rows_body([("a", map_codec(TEXT, list_codec(PLACE)))], [], 0), 4, 0),
    (prepared([("x", INT), ("y", PLACE)], COLUMNS, indexes=(1, 0), metadata_id=b"m"), 5, 0),
    (int_(SET_KEYSPACE) + string("ks"), 4, 0),
    (
        int_(SCHEMA_CHANGE)
        + string("CREATED")
        + string("FUNCTION")
        + string("k")
        + string("f")
        + short(1)
        + string("int"),
        4,
        0,
    ),
    (b"\1" * 16 + short(1) + string("w") + short(1) + string("k") + bytes_(b"v") + int_(VOID), 4, 0x0E),
]


@pytest.mark.parametrize(("body", "version", "flags"), WHOLE)
def test_bodies_cut_off_anywhere(body: bytes, version: int, flags: int) -> None:
    for length in range(len(body)):
        with pytest.raises((ProtocolError, DriverException)):
            result = decode(body[:length], version, flags=flags)
            assert result.parsed_rows is not None
    assert decode(body, version, flags=flags).kind


def test_unknown_kinds_are_refused() -> None:
    for kind in (0, 6, -1):
        with pytest.raises(ProtocolError, match=f"unknown RESULT kind {kind}"):
            decode(int_(kind))


def test_names_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(ProtocolError, match="not UTF-8"):
        decode(int_(SET_KEYSPACE) + short(1) + b"\xff")


def test_results_are_small_and_do_not_leak() -> None:
    context, plan = TypeContext(), ResultPlan([("ks", "t", "a", INT)])
    body = struct.pack(">iiii", ROWS, NO_METADATA, 1, 0)
    kept = [decode_result(Message, body, 0, 4, context, plan)] * 1
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [decode_result(Message, body, 0, 4, context, plan) for _ in range(20000)]
        per_result = (tracemalloc.get_traced_memory()[0] - before) / len(kept) - 8  # 8: the list's own pointer
        assert per_result <= 200
        kept.clear()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 50000
    finally:
        tracemalloc.stop()
