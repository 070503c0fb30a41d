"""ResultMessage as an object: its content, repr and size, and how it is copied."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import uuid
from typing import Any

import pytest

from cassandra import cqltypes, protocol
from cassandra._core.codec import ResultPlan, TypeContext, decode_result, is_plain_rows
from cassandra._core.transport import Frame
from cassandra._wire.messages.responses import decode_response
from cassandra._wire.rows import column_types, decode_page, named_tuple_factory
from cassandra.protocol import (
    BatchMessage,
    ErrorMessage,
    ExecuteMessage,
    FastResultMessage,
    QueryMessage,
    ReadyMessage,
    ResultMessage,
    _MessageType,
)
from tests.unit.core.codec_frames import (
    ASCII,
    INT,
    NO_METADATA,
    PREPARED,
    ROWS,
    VOID,
    bytes_,
    encoded,
    int_,
    metadata,
    rows_body,
    short,
    specs,
    string,
)

ATTRIBUTES = [
    "kind",
    "column_names",
    "column_types",
    "parsed_rows",
    "paging_state",
    "continuous_paging_seq",
    "continuous_paging_last",
    "new_keyspace",
    "column_metadata",
    "query_id",
    "bind_metadata",
    "pk_indexes",
    "schema_change_event",
    "is_lwt",
    "result_metadata_id",
    "stream_id",
    "trace_id",
    "custom_payload",
    "warnings",
]
COLUMNS = [("id", INT), ("name", ASCII)]
BODY = rows_body(COLUMNS, encoded(COLUMNS, [(1, "one"), (2, None)]))
PREPARED_BODY = (
    int_(PREPARED) + string("query") + int_(1) + int_(1) + int_(1) + short(0) + specs([("p", INT)]) + metadata(COLUMNS)
)


class Sub(ResultMessage):
    """As users write them: slots or not."""

    __slots__ = ()


class Rich(ResultMessage):
    one = "class"


def decoded(body: bytes, cls: Any = ResultMessage, flags: int = 0, **options: Any) -> Any:
    return decode_response(Frame(4, flags, 3, 8, body), TypeContext(), result_class=cls, **options)


@pytest.mark.parametrize("cls", [ResultMessage, FastResultMessage, Sub])
def test_every_attribute_can_be_read_and_set(cls: Any) -> None:
    message = cls(VOID)
    assert not hasattr(message, "__dict__") and not hasattr(message, "results")
    assert message.kind == VOID
    assert {name: getattr(message, name) for name in ATTRIBUTES[1:]} == {
        **dict.fromkeys(ATTRIBUTES[1:]),
        "is_lwt": False,
    }
    for name in ATTRIBUTES:
        value: Any = {"kind": ROWS, "stream_id": 7, "is_lwt": True}.get(name, [name])
        setattr(message, name, value)
    for name in ATTRIBUTES:
        value = {"kind": ROWS, "stream_id": 7, "is_lwt": True}.get(name, [name])
        if name not in ("column_metadata", "bind_metadata"):
            assert getattr(message, name) == value
    with pytest.raises(AttributeError):
        message.anything = 1


def test_no_message_class_at_the_root_has_a_dict() -> None:
    assert _MessageType.__slots__ == () == ResultMessage.__slots__ == FastResultMessage.__slots__
    assert issubclass(ResultMessage, _MessageType)


def test_subclasses_may_add_attributes() -> None:
    message = decoded(BODY, Rich)
    message.mine = 5
    assert (message.mine, message.one, message.kind) == (5, "class", ROWS) and is_plain_rows(message)
    assert "mine=5" in repr(message)


@pytest.mark.parametrize("message", [QueryMessage("q", 1), ExecuteMessage(b"id", [], 1), BatchMessage(0, [], 1)])
def test_paging_options_of_all_requests(message: Any) -> None:
    assert message.continuous_paging_options is None and "continuous_paging_options" not in vars(message)


@pytest.mark.parametrize(
    "cls", [cls for cls in vars(protocol).values() if isinstance(cls, type) and issubclass(cls, _MessageType)]
)
def test_prefix_fields_of_a_message_default_to_none(cls: Any) -> None:
    message = cls.__new__(cls)
    assert (message.trace_id, message.custom_payload, message.warnings) == (None, None, None)


@pytest.mark.parametrize("opcode", [0, 2, 8])
def test_only_prefix_fields_present_in_the_frame_are_assigned(opcode: int) -> None:
    bodies = {0: int_(0) + string("no"), 2: b"", 8: int_(VOID)}
    for flags, prefix, name, value in (
        (0x02, bytes(16), "trace_id", uuid.UUID(int=0)),
        (0x08, short(1) + string("careful"), "warnings", ["careful"]),
        (0x04, short(1) + string("k") + bytes_(b"v"), "custom_payload", {"k": b"v"}),
    ):
        message = decode_response(Frame(4, flags, 3, opcode, prefix + bodies[opcode]), TypeContext())
        assert isinstance(message, (ErrorMessage, ReadyMessage, ResultMessage))
        assert getattr(message, name) == value
        others = {"trace_id", "warnings", "custom_payload"} - {name}
        assert all(getattr(message, other) is None for other in others)
        assert not others & set(getattr(message, "__dict__", ()))


# ---- repr


@pytest.mark.parametrize("cls", [ResultMessage, FastResultMessage, Sub, Rich])
def test_repr_shows_fields_that_are_set(cls: Any) -> None:
    name = cls.__name__
    assert repr(cls(VOID)) == f"<{name}(kind=1)>"
    message = cls(4)
    message.query_id, message.is_lwt, message.stream_id, message.warnings = b"q", True, 0, []
    assert repr(message) == f"<{name}(kind=4, stream_id=0, query_id=b'q', is_lwt=True, warnings=[])>"


def test_repr_of_a_subclass_with_slots_of_its_own() -> None:
    class Slotted(ResultMessage):
        __slots__ = ("_private", "mine")

    class Single(Slotted):
        __slots__ = "more"

    message = Single(VOID)
    message.mine, message._private, message.more = "m", "p", "x"
    assert repr(message) == "<Single(more='x', mine='m', kind=1)>"
    del message.more
    assert repr(message) == "<Single(mine='m', kind=1)>"


def test_repr_makes_no_rows() -> None:
    message = decoded(BODY)
    shown = repr(message)
    assert "page=<RowsPage: 2 rows in 27 bytes>" in shown and "parsed_rows" not in shown
    assert "column_names=['id', 'name']" in shown and is_plain_rows(message)
    assert message.parsed_rows and "parsed_rows=[(1, 'one'), (2, None)]" in repr(message)


# ---- names and types


def test_types_and_metadata_of_rows() -> None:
    message = decoded(BODY)
    assert message.column_types == [cqltypes.Int32Type, cqltypes.AsciiType]
    assert message.column_metadata == [("ks", "t", "id", cqltypes.Int32Type), ("ks", "t", "name", cqltypes.AsciiType)]
    assert message.column_metadata[0].type is cqltypes.Int32Type
    assert column_types(message.plan) == message.column_types
    assert message.plan.types == tuple(message.column_types), "kept with the plan"
    message.column_types.append("mine")
    assert len(message.column_types) == 2, "a list of its own for every caller"
    message.column_types = ["mine"]
    assert message.column_types == ["mine"] and decoded(BODY).column_types != ["mine"]


def test_metadata_of_prepared_statements() -> None:
    message = decoded(PREPARED_BODY)
    (parameter,) = message.bind_metadata
    assert (parameter.keyspace_name, parameter.table_name, parameter.name) == ("ks", "t", "p")
    assert parameter.type is cqltypes.Int32Type
    assert message.column_types is message.column_names is None
    assert [column.name for column in message.column_metadata] == ["id", "name"]


# ---- copies


def fields(message: Any) -> dict[str, Any]:
    return {name: getattr(message, name) for name in ATTRIBUTES if name != "parsed_rows"}


@pytest.mark.parametrize("cls", [ResultMessage, Sub, Rich])
def test_copies_share_the_page(cls: Any) -> None:
    message = decoded(short(1) + string("careful") + BODY, cls, flags=0x08)
    twin = copy.copy(message)
    assert type(twin) is cls and fields(twin) == fields(message) and twin.page is message.page
    assert twin.plan is message.plan and twin.warnings is message.warnings
    assert twin.parsed_rows == [(1, "one"), (2, None)] and message.page is not None, "two messages now"
    again = copy.copy(twin)
    assert again.parsed_rows is twin.parsed_rows and again.page is None


@pytest.mark.parametrize("cls", [ResultMessage, Sub, Rich])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_have_their_rows(cls: Any, protocol: int) -> None:
    message = decoded(short(1) + string("careful") + BODY, cls, flags=0x08)
    if cls is Rich:
        message.mine = ["attribute"]
    restored = pickle.loads(pickle.dumps(message, protocol))
    assert type(restored) is cls and fields(restored) == fields(message)
    assert restored.parsed_rows == [(1, "one"), (2, None)] and restored.page is restored.plan is None
    assert getattr(restored, "mine", None) == getattr(message, "mine", None)
    assert message.page is not None, "pickling makes nothing of it"
    assert fields(copy.deepcopy(message)) == fields(message)


def test_pickles_of_other_kinds() -> None:
    message = decoded(PREPARED_BODY)
    restored = pickle.loads(pickle.dumps(message))
    assert fields(restored) == fields(message) and restored.bind_plan is None
    void = pickle.loads(pickle.dumps(decoded(int_(VOID))))
    assert (void.kind, void.stream_id, void.parsed_rows) == (VOID, 3, None)
    own = ResultMessage(ROWS)
    own.parsed_rows, own.column_names = [(1,)], ["a"]
    assert fields(pickle.loads(pickle.dumps(own))) == fields(own)
    assert pickle.loads(pickle.dumps(own)).parsed_rows == [(1,)]


@pytest.mark.parametrize("name", ["ListType(Int32Type)", "MapType(UTF8Type, ListType(UUIDType))", "Int32Type"])
def test_types_with_parameters_pickle(name: str) -> None:
    cls = cqltypes.lookup_casstype(name)
    assert pickle.loads(pickle.dumps(cls)) is cls and copy.deepcopy(cls) is cls


# ---- cost


def test_a_result_without_rows_is_small() -> None:
    plan = ResultPlan([("ks", "t", name, kind) for name, kind in COLUMNS])
    body = rows_body(COLUMNS, [], NO_METADATA)
    context = TypeContext()
    warm = [decode_result(ResultMessage, body, 0, 4, context, plan) for _ in range(100)]
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        kept = [decode_result(ResultMessage, body, 0, 4, context, plan, 3) for _ in range(20000)]
        each = (tracemalloc.get_traced_memory()[0] - before) / len(kept) - 8  # 8: the list's own pointer
    finally:
        tracemalloc.stop()
    assert each <= 200 and len(warm) == 100


def test_names_and_types_cost_nothing_per_result() -> None:
    """They are found once per plan: the same objects for every result with it."""
    context = TypeContext()
    results = [decode_result(ResultMessage, BODY, 0, 4, context) for _ in range(3)]
    assert len({id(result.plan) for result in results}) == 1
    rows = [decode_page(result.page, named_tuple_factory)[0] for result in results if result.page is not None]
    assert len({type(row) for row in rows}) == 1 and len(rows) == 3
    for result in results:
        assert result.column_types and result.plan is not None
        assert all(one is other for one, other in zip(result.plan.types, result.column_types, strict=True))
