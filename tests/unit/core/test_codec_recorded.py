"""Answers recorded from a real Cassandra 5.0 (``codec_recorder.py``): its bytes decode to the expected values."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from cassandra._base.temporal import Date, Duration, Time
from cassandra._core.codec import Result, TypeContext, decode_result
from cassandra._wire.types.registry import resolve_custom
from tests.unit.core.codec_recorder import COLUMNS

FOLDER = Path(__file__).parent / "recorded"
SOME_UUID = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")

# the literals of codec_recorder.COLUMNS as values of Python
VALUES: dict[str, Any] = {
    "c_ascii": "plain",
    "c_bigint": -(2**63),
    "c_blob": b"\x00\xff\x10",
    "c_boolean": True,
    "c_date": Date(-(2**31)),
    "c_date2": Date(datetime.date(2024, 2, 29)),
    "c_decimal": Decimal("-123.4500"),
    "c_decimal2": Decimal("1234567890123456789012345678901234567890E-60"),
    "c_double": -0.1,
    "c_duration": Duration(-1, -2, -3 * 3600 * 10**9 - 4),
    "c_float": 1.5,
    "c_inet": "192.168.1.255",
    "c_inet6": "2001:db8::8a2e:370:7334",
    "c_int": -(2**31),
    "c_smallint": -32768,
    "c_text": "grüße 😀 'quoted'",
    "c_time": Time(86399999999999),
    "c_timestamp": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
    "c_timestamp2": 2**63 - 1,
    "c_timestamp3": datetime.datetime(9999, 12, 31, 23, 59, 59, 999000),
    "c_timeuuid": uuid.UUID("50554d6e-29bb-11e5-b345-feff819cdc9f"),
    "c_tinyint": -128,
    "c_uuid": SOME_UUID,
    "c_varint": -(2**127) - 1,
    "c_varint2": 128,
    "c_list": [3, 1, 2],
    "c_set": {"a", "b", "ä"},
    "c_map": {"a": -1, "k": 1},
    "c_tuple": (1, None, False),
    "c_udt": ("Main", 7, {"x", "y"}),
    "c_udt2": (None, 8, None),
    "c_vector": [1.5, -2.5, 0.0],
    "c_vector2": ["", "two"],
    "c_vector3": [1, -2, 3],
    "c_vector4": [[1, 2], [3, 4]],
    "c_vector5": [[1], [128, -129]],
    "c_nested": {(1, "a"): [{"u": {SOME_UUID}}, {}]},
    "c_empty_int": None,
    "c_empty_text": "",
    "c_empty_time": None,
    "c_empty_uuid": None,
    "c_null": None,
}

IN_SERVER_ORDER = {"c_set": ["a", "b", "ä"], "c_map": {"a": -1, "k": 1}, "c_udt": ("Main", 7, ["x", "y"])}


def answer(name: str) -> Result:
    body = (FOLDER / f"{name}.body").read_bytes()
    return decode_result(Result, body, 0, 4, TypeContext(resolve_custom))


def row(name: str) -> dict[str, Any]:
    result = answer(name)
    assert result.column_names is not None and result.parsed_rows is not None
    (found,) = result.parsed_rows
    return dict(zip(result.column_names, found, strict=True))


@pytest.mark.parametrize("column", COLUMNS)
def test_every_type(column: str) -> None:
    assert row("types")[column] == VALUES[column]


@pytest.mark.parametrize("column", [name for name in COLUMNS if "empty" not in name and name != "c_null"])
def test_encoded_values_equal_the_server_bytes(column: str) -> None:
    """Byte for byte: the cell re-encoded from its value."""
    result = answer("types")
    assert result.plan is not None and result.page is not None
    index = result.plan.names.index(column)
    codec, value = result.plan.codecs[index], IN_SERVER_ORDER.get(column, VALUES[column])
    data = codec.encode(value)
    body = (FOLDER / "types.body").read_bytes()
    assert len(data).to_bytes(4, "big") + data in body


def test_nulls_of_every_type() -> None:
    assert set(row("nulls").values()) == {None}


def test_types_by_their_names() -> None:
    result = answer("types")
    assert result.plan is not None
    spelled = {name: codec.cql() for name, codec in zip(result.plan.names, result.plan.codecs, strict=True)}
    for name, (kind, _) in COLUMNS.items():
        assert spelled[name].replace(" ", "") == kind.replace("frozen<", "<").replace(" ", "") or "frozen" in kind


def test_counters() -> None:
    assert row("counter") == {"k": 1, "n": -5}


def test_a_page_that_is_not_the_last() -> None:
    result = answer("page")
    assert result.paging_state and len(result.parsed_rows or ()) == 1


def test_no_rows() -> None:
    result = answer("empty")
    assert result.parsed_rows == [] and result.paging_state is None
    assert result.column_names is not None and len(result.column_names) == len(COLUMNS) + 1


def test_system_local() -> None:
    found = row("local")
    assert found["cluster_name"] and isinstance(found["host_id"], uuid.UUID)
    assert found["native_protocol_version"] == "5" and len(found["tokens"]) > 0


def test_other_kinds() -> None:
    assert answer("void").kind == 1
    assert answer("use").new_keyspace == "recorded"
    created = {"change_type": "CREATED", "keyspace": "recorded"}
    assert answer("create_keyspace").schema_change_event == {**created, "target_type": "KEYSPACE"}
    assert answer("create_table").schema_change_event == {**created, "target_type": "TABLE", "table": "other"}
    assert answer("create_type").schema_change_event == {**created, "target_type": "TYPE", "type": "place"}
    event = answer("create_function").schema_change_event
    assert event is not None and event["function"].signature == "twice(int,text)"


def test_prepared_statements() -> None:
    select = answer("prepared_select")
    assert select.query_id is not None and len(select.query_id) == 16
    assert select.pk_indexes == [0] and select.bind_metadata is not None
    assert select.bind_metadata[0][:3] == ("recorded", "types", "pk")
    assert select.plan is not None and len(select.plan) == len(COLUMNS) + 1
    insert = answer("prepared_composite")
    assert insert.bind_plan is not None and insert.bind_plan.names == ("c", "b", "v", "a")
    assert insert.pk_indexes == [3, 1] and insert.plan is not None and len(insert.plan) == 0
    assert answer("prepared_lwt").bind_plan is not None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.body")), ids=lambda path: path.stem)
def test_recordings_cut_off_anywhere(path: Path) -> None:
    body, context = path.read_bytes(), TypeContext(resolve_custom)
    step = max(1, len(body) // 300)
    for length in range(0, len(body), step):
        with pytest.raises(Exception) as caught:
            result = decode_result(Result, body[:length], 0, 4, context)
            assert result.parsed_rows is not None
        assert type(caught.value).__name__ in {"ProtocolError", "DriverException"}
