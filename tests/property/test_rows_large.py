"""Large pages with broken bytes: lazily, in any batches, they give the same rows and the same error as at once."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import Result, ResultPlan, TypeContext, decode_result, is_plain_rows
from cassandra._wire.rows import (
    PageRows,
    decode_page,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    row_plan,
    tuple_factory,
)
from cassandra._wire.types.registry import resolve_custom
from cassandra.protocol import NotSupportedError, ResultMessage
from tests.property.codec_types import tables
from tests.property.test_codec_fuzz import RECORDED, mutations
from tests.unit.core.codec_frames import NO_METADATA, encoded, rows_body

FACTORIES = [tuple_factory, named_tuple_factory, dict_factory, ordered_dict_factory]


def taken(rows: Any) -> tuple[list[Any], str | None]:
    """The rows up to an error, and the error."""
    found: list[Any] = []
    try:
        for row in rows:
            found.append(row)
    except DriverException as error:
        return found, str(error)
    return found, None


def same(one: list[Any], other: list[Any]) -> bool:
    return repr(one) == repr(other)  # there are values that do not equal themselves, NaN for one


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_broken_rows_lazily_and_at_once(data: st.DataObject) -> None:
    codecs, values = data.draw(tables())
    columns = [(f"c{i}", codec) for i, codec in enumerate(codecs)]
    plan = ResultPlan([("ks", "t", name, codec) for name, codec in columns])
    body = rows_body(columns, encoded(columns, values), NO_METADATA)
    if data.draw(st.booleans()):
        body = body[:12] + data.draw(mutations(body[12:]))
    try:
        result = decode_result(Result, body, 0, 4, TypeContext(), plan)
    except (ProtocolError, DriverException):
        return
    page, factory = result.page, data.draw(st.sampled_from(FACTORIES))
    assert page is not None and is_plain_rows(result)
    how = row_plan(page.plan, factory)
    assert how is not None
    lazy = PageRows(page, how)
    rows, error = taken(lazy)
    assert len(rows) == len(page) if error is None else f"row {len(rows)} of the page" in error
    assert same(lazy[: len(rows)], rows)
    try:
        at_once = decode_page(page, factory)
        assert error is None and same(at_once, rows)
    except DriverException as problem:
        assert str(problem) == error
    size, nbytes = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 60))
    again, error_again = taken(row for batch in page.batches(how, size, nbytes) for row in batch)
    assert same(again, rows) and error_again == error
    for at in range(len(rows)):
        assert same([lazy[at]], [rows[at]])


class StepByStep(ResultMessage):
    def recv(self, *arguments: Any) -> None:
        super().recv(*arguments)


@given(st.sampled_from(RECORDED).flatmap(mutations), st.sampled_from([3, 4, 5]))
def test_corrupted_recordings_step_by_step(body: bytes, version: int) -> None:
    with contextlib.suppress(ProtocolError, DriverException, NotSupportedError):
        StepByStep.recv_body(io.BytesIO(body), version, None, TypeContext(resolve_custom), None, None)


def test_recordings_step_by_step() -> None:
    """Python's steps and the native decoder read the same out of everything a server sent."""
    for body in RECORDED:
        slow = StepByStep.recv_body(io.BytesIO(body), 4, None, TypeContext(resolve_custom), None, None)
        native = ResultMessage.recv_body(io.BytesIO(body), 4, None, TypeContext(resolve_custom), None, None)
        assert slow.kind == native.kind and slow.column_names == native.column_names
        assert same(slow.parsed_rows or [], native.parsed_rows or [])
        assert slow.column_types == native.column_types or repr(slow.column_types) == repr(native.column_types)
