"""Columns and rows of random and of corrupted tables give the same values, or the same error."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import (
    Codec,
    ResultPlan,
    RowPlan,
    RowsPage,
    decode_numbers,
    scalar,
    vector_codec,
)
from cassandra._wire.page_handlers import numpy_columns
from tests.property.codec_types import plain, tables
from tests.property.test_codec_fuzz import mutations
from tests.unit.core.codec_frames import NO_METADATA, decode, encoded, rows_body

ELEMENTS = {0x09, 0x02, 0x08, 0x07}


def from_columns(page: RowsPage) -> list[list[Any]]:
    """The rows of a page, by way of columns: numbers as arrays wherever the type has such."""
    columns = []
    for array in numpy_columns(page, vector_arrays=True).values():
        nulls = getattr(array, "mask", None)
        if nulls is None:
            columns.append(list(array))
        elif array.ndim == 2:
            columns.append([None if nulls[i].all() else row for i, row in enumerate(array.data.tolist())])
        else:
            columns.append(array.tolist())
    return [[column[i] for column in columns] for i in range(len(page))]


def from_rows(page: RowsPage) -> list[list[Any]]:
    return [list(row) for row in page.decode(RowPlan(page.plan, "tuple"))]


def outcome(read: Any, page: RowsPage) -> Any:
    try:
        rows = read(page)
    except DriverException as error:
        return str(error)
    return [[plain(codec, cell) for codec, cell in zip(page.plan.codecs, row, strict=True)] for row in rows]


def planned(codecs: list[Codec], rows: list[Any]) -> tuple[bytes, ResultPlan]:
    columns = [(f"c{i}", codec) for i, codec in enumerate(codecs)]
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    return rows_body(columns, encoded(columns, rows), NO_METADATA), plan


@given(tables())
def test_columns_and_rows_decode_to_the_same_values_or_error(table: tuple[list[Codec], list[Any]]) -> None:
    body, plan = planned(*table)
    page = decode(body, plan=plan).page
    assert page is not None
    assert outcome(from_columns, page) == outcome(from_rows, page)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_corrupted_columns(data: st.DataObject) -> None:
    body, plan = planned(*data.draw(tables()))
    try:
        page = decode(data.draw(mutations(body)), plan=plan).page
    except (ProtocolError, DriverException):
        return
    if page is not None:
        assert outcome(from_columns, page) == outcome(from_rows, page)


@given(st.sampled_from(sorted(ELEMENTS)), st.integers(1, 9), st.binary(max_size=80))
def test_vectors_as_numbers(kind: int, dimensions: int, data: bytes) -> None:
    """As a list, for any bytes."""
    codec = vector_codec(scalar(kind), dimensions)
    data = data[: dimensions * 8] if len(data) % 2 else data.ljust(80, b"\x11")[: len(codec.encode([0] * dimensions))]
    try:
        found = decode_numbers(codec, data).tolist()
    except DriverException:
        assert len(data) != len(codec.encode([0] * dimensions))
    else:
        assert plain(codec, found) == plain(codec, codec.decode(data))
