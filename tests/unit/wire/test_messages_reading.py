"""Subclasses of ResultMessage with steps of their own: what each step is given, and what becomes of what it leaves."""

from __future__ import annotations

import io
import uuid
from typing import Any

import pytest

from cassandra import cqltypes, protocol
from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import ResultPlan, TypeContext, is_plain_rows, list_codec, map_codec, tuple_codec, udt_codec
from cassandra._wire.messages.reading import STEPS
from cassandra.policies import ColumnEncryptionPolicy
from cassandra.protocol import NotSupportedError, ProtocolHandler, ResultMessage, read_int, read_value
from tests.fakes import wire
from tests.unit.core.codec_frames import (
    CHANGED,
    GLOBAL,
    INT,
    MORE,
    NO_METADATA,
    TEXT,
    UUID,
    bytes_,
    cells,
    encoded,
    int_,
    metadata,
    option,
    rows_body,
    short,
    specs,
    string,
)

COLUMNS = [("id", INT), ("name", TEXT)]
VALUES: list[Any] = [(1, "one"), (2, None)]
BODY = rows_body(COLUMNS, encoded(COLUMNS, VALUES))
SKIPPED = rows_body(COLUMNS, encoded(COLUMNS, VALUES), NO_METADATA)
PREPARED = int_(4) + string("q") + int_(1) + int_(1) + int_(1) + short(0) + specs([("p", UUID)]) + metadata(COLUMNS)
POLICY = type("Policy", (ColumnEncryptionPolicy,), {"contains_column": lambda self, column: False})()
PLAN = ResultPlan([("ks", "t", name, kind) for name, kind in COLUMNS])


def decode(cls: Any, body: bytes, plan: Any = None, *, version: int = 4, flags: int = 0, types: Any = None) -> Any:
    class Handler(ProtocolHandler):
        message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, wire.RESULT: cls}
        column_encryption_policy = POLICY

    context = TypeContext() if types is None else types
    return Handler.decode_message(version, None, context, 5, flags, wire.RESULT, body, None, plan)


def test_the_arguments_of_reading_rows() -> None:
    seen: list[Any] = []

    class Mine(ResultMessage):
        def recv_results_rows(self, *arguments: Any) -> None:
            seen.append((arguments, arguments[0].tell()))
            super().recv_results_rows(*arguments)

    message = decode(Mine, wire.string_list(["w"]) + SKIPPED, PLAN, flags=wire.WARNING)
    ((f, version, user_types, columns, policy), position) = seen[0]
    assert isinstance(f, io.BytesIO) and position == 4 and (version, policy) == (4, POLICY)
    assert columns == [("ks", "t", "id", cqltypes.Int32Type), ("ks", "t", "name", columns[1].type)]
    assert isinstance(columns, list) and columns[0].name == "id" and issubclass(columns[1].type, cqltypes.UTF8Type)
    assert user_types.get("ks", {}).get("none") is None
    assert type(message) is Mine and message.parsed_rows == VALUES
    assert (message.column_names, message.column_types) == (["id", "name"], [column[3] for column in columns])
    assert (message.kind, message.stream_id, message.warnings) == (2, 5, ["w"])
    assert not is_plain_rows(message), "its rows are tuples, the session's factory is for them"
    assert decode(Mine, BODY).column_metadata == columns and seen[1][0][3] is None


def test_reading_rows_without_a_word_of_encryption() -> None:
    """As cassarrow does, which was written before."""

    class Old(ResultMessage):
        def recv_results_rows(  # type: ignore[override]
            self, f: Any, protocol_version: int, user_type_map: Any, result_metadata: Any
        ) -> None:
            self.recv_results_metadata(f, user_type_map)
            self.column_names = [column[2] for column in self.column_metadata]
            self.parsed_rows = f.read()

    class Older(Old):
        pass

    for kind in (Old, Older):
        message = decode(kind, BODY)
        assert message.column_names == ["id", "name"] and message.parsed_rows.startswith(wire.int32(len(VALUES)))


def test_rows_read_as_an_application_does() -> None:
    """Values of one type shown in another way, the example that is passed around."""

    class UuidAsText(cqltypes.UUIDType):
        @staticmethod
        def deserialize(byts: bytes, protocol_version: int) -> str:
            return str(uuid.UUID(bytes=bytes(byts))).upper()

    class Mine(ResultMessage):
        type_codes = {**ResultMessage.type_codes, 0xC: UuidAsText}

        def recv_results_rows(
            self, f: Any, protocol_version: int, user_type_map: Any, result_metadata: Any, encryption: Any
        ) -> None:
            self.recv_results_metadata(f, user_type_map)
            columns = self.column_metadata or result_metadata
            found = [self.recv_row(f, len(columns)) for _ in range(read_int(f))]
            self.column_names = [column[2] for column in columns]
            self.column_types = [column[3] for column in columns]
            self.parsed_rows = [
                tuple(
                    kind.from_binary(cell, protocol_version) for kind, cell in zip(self.column_types, row, strict=True)
                )
                for row in found
            ]

    columns = [("u", UUID), ("n", INT)]
    body = rows_body(columns, encoded(columns, [(uuid.UUID(int=10), 5)]))
    message = decode(Mine, body)
    assert message.parsed_rows == [("00000000-0000-0000-0000-00000000000A", 5)]
    assert message.column_types == [UuidAsText, cqltypes.Int32Type]


class Numbered(cqltypes.UUIDType):
    @staticmethod
    def deserialize(byts: bytes, protocol_version: int) -> int:
        return uuid.UUID(bytes=bytes(byts)).int

    @staticmethod
    def serialize(val: int, protocol_version: int) -> bytes:
        return uuid.UUID(int=val).bytes


class OwnTypes(ResultMessage):
    type_codes = {**ResultMessage.type_codes, 0xC: Numbered}


def test_own_types_alone() -> None:
    nested = tuple_codec([UUID, list_codec(UUID), map_codec(UUID, INT)])
    columns = [("u", UUID), ("n", nested)]
    u = uuid.UUID(int=7)
    message = decode(OwnTypes, rows_body(columns, encoded(columns, [(u, (u, [u], {u: 1}))])))
    ((number, inner),) = message.parsed_rows
    assert number == 7 and inner[:2] == (7, [7]) and dict(inner[2]) == {7: 1}
    # what is prepared through it binds with it, and its answers without metadata are read with it
    prepared = decode(OwnTypes, PREPARED)
    assert prepared.bind_metadata[0].type is Numbered and prepared.pk_indexes == [0]
    assert prepared.bind_plan.bind([9], 4).values == [uuid.UUID(int=9).bytes]
    assert prepared.plan.names == ("id", "name")
    plan = ResultPlan([("ks", "t", "u", Numbered.codec())])
    skipped = rows_body([("u", UUID)], [[u.bytes]], NO_METADATA)
    assert decode(OwnTypes, skipped, plan).parsed_rows == [(7,)]


@pytest.mark.parametrize("step", STEPS)
def test_every_step_counts(step: str) -> None:
    called = []

    def override(*arguments: Any) -> Any:
        called.append(step)
        return getattr(super(cls, cls), step)(*arguments)

    if step == "type_codes":
        attribute: Any = dict(ResultMessage.type_codes)
    elif step == "read_type":
        attribute = classmethod(lambda cls, *arguments: (called.append(step), ResultMessage.read_type(*arguments))[1])
    elif step == "recv_row":
        attribute = staticmethod(override)
    else:
        attribute = override
    cls: Any = type("Mine", (ResultMessage,), {"__slots__": (), step: attribute})
    changed = int_(5) + string("CREATED") + string("KEYSPACE") + string("ks")
    messages = [decode(cls, body) for body in (BODY, PREPARED, changed)]
    assert cls._has_own_steps and (called or step == "type_codes")
    assert messages[0].parsed_rows == VALUES and messages[0].page is None
    assert (messages[1].query_id, messages[1].plan.names) == (b"q", ("id", "name"))
    event = {"target_type": "KEYSPACE", "change_type": "CREATED", "keyspace": "ks"}
    assert messages[2].schema_change_event == event


def test_classes_without_steps_are_read_natively() -> None:
    class Attributes(ResultMessage):
        more = 1

        def describe(self) -> str:
            return "own methods are no steps"

    class Later(OwnTypes):
        pass

    assert not ResultMessage._has_own_steps and not Attributes._has_own_steps and Later._has_own_steps
    message = decode(Attributes, BODY)
    assert type(message) is Attributes and is_plain_rows(message)


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        SKIPPED,
        PREPARED,
        rows_body(COLUMNS, [], GLOBAL | MORE, bytes_(b"state")),
        rows_body(COLUMNS, [], 0),
        int_(1),
        int_(3) + string("ks"),
    ],
    ids=["rows", "skipped", "prepared", "more", "tables", "void", "keyspace"],
)
def test_the_same_as_native(body: bytes) -> None:
    class Mine(ResultMessage):
        __slots__ = ()

        def recv(self, *arguments: Any) -> None:
            super().recv(*arguments)

    slow, native = decode(Mine, body, PLAN), decode(ResultMessage, body, PLAN)
    for name in ResultMessage.__mro__[1].__slots__:
        if name not in ("page", "plan", "bind_plan", "column_metadata"):
            assert getattr(slow, name) == getattr(native, name), name
    if body is PREPARED:
        assert slow.plan.names == native.plan.names and slow.bind_plan.specs == native.bind_plan.specs
        assert slow.bind_plan.pk_indexes == native.bind_plan.pk_indexes
        assert slow.column_metadata == native.column_metadata


def test_protocol_5_and_features() -> None:
    class Mine(ResultMessage):
        def recv(self, *arguments: Any) -> None:
            super().recv(*arguments)

    changed = rows_body(COLUMNS, [], GLOBAL | CHANGED, short(2) + b"id")
    message = decode(Mine, changed, version=5)
    assert (message.result_metadata_id, message.metadata_changed) == (b"id", True)
    with_id = PREPARED[:7] + short(2) + b"id" + PREPARED[7:]
    assert decode(Mine, with_id, version=ProtocolVersion.V5).result_metadata_id == b"id"
    third = int_(4) + string("q") + int_(1) + int_(1) + specs([("p", UUID)]) + int_(NO_METADATA) + int_(0)
    message = decode(Mine, third, version=3)
    assert message.pk_indexes is None and message.plan is None and message.bind_plan.names == ("p",)

    class Features:
        use_metadata_id = True

        class lwt_info:
            lwt_meta_bit_mask = 0x1

            @staticmethod
            def get_lwt_flag(flags: int) -> int:
                return flags & 0x1

    message = Mine.recv_body(io.BytesIO(with_id), 4, Features, None, None, None)
    assert message.result_metadata_id == b"id" and message.is_lwt is True


def test_user_types() -> None:
    class Place:
        def __init__(self, street: str) -> None:
            self.street = street

    def resolve(keyspace: str, name: str) -> Any:
        return Place if (keyspace, name) == ("ks", "place") else None

    seen = []

    class Mine(ResultMessage):
        @classmethod
        def read_type(cls, f: Any, user_type_map: Any) -> Any:
            seen.append((user_type_map["ks"].get("place"), user_type_map.get("ks").get("other"), bool(user_type_map)))
            return super().read_type(f, user_type_map)

    place = udt_codec("ks", "place", ["street"], [TEXT])
    body = rows_body([("p", place)], [[bytes_(b"Main")]])
    for types in (TypeContext(resolve_udt=resolve), {"ks": {"place": Place}}):
        ((found,),) = decode(Mine, body, types=types).parsed_rows
        assert type(found) is Place and found.street == "Main"
    assert seen == [(Place, None, True)] * 4
    ((found,),) = decode(OwnTypes, body).parsed_rows
    assert found == ("Main",) and found.street == "Main", "nothing is left of what others registered"


def test_plans_of_columns() -> None:
    """``recv_body`` may be called with what scylla-driver keeps as result metadata."""
    columns = [("ks", "t", "id", cqltypes.Int32Type), ("ks", "t", "name", cqltypes.UTF8Type)]
    message = ResultMessage.recv_body(io.BytesIO(SKIPPED), 4, None, None, columns, None)
    assert message.parsed_rows == VALUES and message.column_names == ["id", "name"]
    seen = []

    class Mine(ResultMessage):
        @classmethod
        def recv_body(cls, f: Any, *arguments: Any) -> Any:
            seen.append(arguments[3])
            return super().recv_body(f, *arguments)

    message = decode(Mine, SKIPPED, PLAN)
    assert message.plan is PLAN and seen[0][0].name == "id" and is_plain_rows(message)


# ---- what is malformed


class Slow(ResultMessage):
    def recv(self, *arguments: Any) -> None:
        super().recv(*arguments)


def test_a_broken_value_is_named() -> None:
    body = rows_body(COLUMNS, [[int_(1), b"x"], [b"xyz", b"x"]])
    with pytest.raises(DriverException, match=r"column 'id' of ks\.t as int in row 1 of the page") as caught:
        decode(Slow, body)
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize("known", [COLUMNS[:1], [*COLUMNS, ("more", INT)]], ids=["fewer", "more"])
def test_columns_that_are_not_those_of_the_statement(known: Any) -> None:
    """Read by others than its own, the values of a row would be taken for those of the next."""
    plan = ResultPlan([("ks", "t", name, kind) for name, kind in known])
    for cls in (ResultMessage, Slow):
        with pytest.raises(DriverException, match=rf"2 columns(,| where) the metadata .* has {len(known)}: .*altered"):
            decode(cls, SKIPPED, plan)


def test_own_metadata_that_are_not_counted() -> None:
    """An application's step need not say how many columns there are."""

    class Mine(ResultMessage):
        def recv_results_metadata(self, f: Any, user_type_map: Any) -> None:
            super().recv_results_metadata(f, user_type_map)

    assert decode(Mine, SKIPPED, PLAN).parsed_rows == VALUES


def test_bodies_cut_off_anywhere() -> None:
    for body in (
        BODY,
        PREPARED,
        int_(3) + string("ks"),
        int_(5) + string("CREATED") + string("KEYSPACE") + string("k"),
    ):
        for length in range(len(body)):
            with pytest.raises((ProtocolError, DriverException)):
                decode(Slow, body[:length])


def test_hostile_numbers() -> None:
    many = int_(2**31 - 1)
    for body in (
        int_(2) + int_(NO_METADATA) + int_(0) + many,
        int_(2) + int_(GLOBAL) + many + string("ks") + string("t"),
        BODY[: BODY.index(int_(2) + bytes_(int_(1)))] + many + cells([[int_(1)]]),
        int_(4) + string("q") + int_(1) + int_(0) + many,
        int_(4) + string("q") + int_(1) + int_(1) + int_(1) + short(1) + specs([("p", UUID)]) + metadata(COLUMNS),
    ):
        with pytest.raises(ProtocolError):
            decode(Slow, body)
    deep = int_(2) + int_(GLOBAL) + int_(1) + string("ks") + string("t") + string("c") + short(0x20) * 20000
    with pytest.raises(ProtocolError, match="nested"):
        decode(Slow, deep)


def test_unknown_numbers() -> None:
    for kind in (9, 0, -1, 256, 2**31 - 1):
        with pytest.raises(ProtocolError, match=f"unknown RESULT kind {kind}"):
            decode(Slow, int_(kind))
    with pytest.raises(ProtocolError, match="not UTF-8"):
        decode(Slow, int_(3) + short(1) + b"\xff")
    odd = int_(2) + int_(GLOBAL) + int_(1) + string("ks") + string("t") + string("c") + short(0) + string("a\0b")
    assert decode(Slow, odd + int_(0)).column_names == ["c"]  # a type like any other that is not known
    custom = ResultMessage.read_type(io.BytesIO(short(0) + string("org.example.(Odd")), {})
    assert custom.from_binary(b"as it is", 4) == b"as it is"
    with pytest.raises(NotSupportedError, match="0x0099"):
        ResultMessage.read_type(io.BytesIO(short(0x99)), {})
    assert ResultMessage.read_type(io.BytesIO(option(list_codec(INT))), {}).subtypes == (cqltypes.Int32Type,)
    assert ResultMessage.recv_row(io.BytesIO(int_(-1) + bytes_(b"")), 2) == [None, b""]
    assert ResultMessage.code_to_type[cqltypes.Int32Type] == 9 and read_value is protocol.read_value
