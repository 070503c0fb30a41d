"""Rows that are read in one step when their metadata are those of the statement: compared with reading all of it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import (
    Codec,
    LazyRows,
    Result,
    ResultDecoder,
    ResultPlan,
    RowPlan,
    TypeContext,
    custom_codec,
    retained_page,
    udt_codec,
)
from cassandra._wire.rows import decode_page
from cassandra._wire.rows import tuple_factory as factory
from tests.unit.core.codec_frames import GLOBAL, INT, MORE, NO_METADATA, TEXT, bytes_, encoded, rows_body
from tests.unit.core.test_codec_result import frame

COLUMNS: list[tuple[str, Codec]] = [("a", INT), ("b", TEXT)]
ROWS = [(1, "x"), (None, "yy")]


def known(context: TypeContext, columns: list[tuple[str, Codec]] = COLUMNS) -> tuple[ResultDecoder, ResultPlan]:
    """A decoder, and the plan of *columns*, whose rows were read before."""
    decoder = ResultDecoder(Result, context)
    body = rows_body(columns, [])
    first = decoder.decode(frame(body))
    assert first is not None and first.plan is not None and first.page is not None
    decode_page(first.page, factory)
    return decoder, first.plan


def plain(
    decoder: ResultDecoder, answer: Any, plan: ResultPlan | None, factory: Any
) -> tuple[list[Any] | None, bytes | None] | None:
    """Rows and paging state. What is kept of the page gives the rows again."""
    found = decoder.plain(answer, answer.version << 16 | answer.flags << 8 | answer.opcode, plan, factory)
    if found is None:
        return None
    rows, paging_state, kept = found
    if isinstance(rows, LazyRows):
        assert rows.rows() is rows.rows()
        rows = rows.rows()
    if rows is not None:
        assert plan is not None and kept is not None
        assert retained_page(plan, kept).decode(RowPlan(plan, "tuple")) == rows
    return rows, paging_state


@pytest.mark.parametrize("count", [0, 1, 200, 3000, 20_000])
def test_pages_of_any_size(count: int) -> None:
    """Rows of small ones are made at once; what is kept of large ones is the page, of others a copy."""
    decoder, plan = known(TypeContext())
    rows = [(i, f"text {i}") for i in range(count)]
    assert plain(decoder, frame(rows_body(COLUMNS, encoded(COLUMNS, rows))), plan, factory) == (rows, None)


def test_the_same_metadata() -> None:
    decoder, plan = known(TypeContext())
    assert plain(decoder, frame(rows_body(COLUMNS, encoded(COLUMNS, ROWS))), plan, factory) == (ROWS, None)
    more = rows_body(COLUMNS, encoded(COLUMNS, ROWS), GLOBAL | MORE, bytes_(b"next"))
    assert plain(decoder, frame(more), plan, factory) == (ROWS, b"next")
    left_out = rows_body(COLUMNS, encoded(COLUMNS, ROWS), NO_METADATA)
    assert plain(decoder, frame(left_out), plan, factory) == (ROWS, None)


@pytest.mark.parametrize(
    "columns",
    [
        [("a", INT)],
        [("a", INT), ("b", INT)],
        [("a", INT), ("c", TEXT)],
        [("a", INT), ("bb", TEXT)],
        [("a", INT), ("b", TEXT), ("c", TEXT)],
        [],
    ],
)
def test_other_columns(columns: list[tuple[str, Codec]]) -> None:
    decoder, plan = known(TypeContext())
    assert plain(decoder, frame(rows_body(columns, [])), plan, factory) is None


def test_columns_with_a_table_each() -> None:
    decoder, plan = known(TypeContext())
    assert plain(decoder, frame(rows_body(COLUMNS, encoded(COLUMNS, ROWS), 0)), plan, factory) is None


def test_types_that_have_changed_since() -> None:
    """The bytes are the same, what they mean is not."""
    classes = {"one": type("One", (), {}), "two": type("Two", (), {})}
    user_type = udt_codec("ks", "kind", ["n"], [INT])
    context = TypeContext(resolve_udt=lambda keyspace, name: classes.get(name))
    columns: list[tuple[str, Codec]] = [("u", user_type)]
    decoder, plan = known(context, columns)
    body = frame(rows_body(columns, []))
    assert plain(decoder, body, plan, factory) == ([], None)
    context.clear()
    assert plain(decoder, body, plan, factory) is None, "to be read by a new plan"


def test_a_plan_of_another_context() -> None:
    _, plan = known(TypeContext())
    decoder, own = known(TypeContext())
    body = frame(rows_body(COLUMNS, encoded(COLUMNS, ROWS)))
    assert plain(decoder, body, plan, factory) is None
    assert plain(decoder, body, own, factory) == (ROWS, None)


def test_a_plan_that_was_not_read_from_metadata() -> None:
    decoder = ResultDecoder(Result, TypeContext())
    plan = ResultPlan([("ks", "t", name, kind) for name, kind in COLUMNS])
    assert plain(decoder, frame(rows_body(COLUMNS, [])), plan, factory) is None


def test_custom_types() -> None:
    columns: list[tuple[str, Codec]] = [("c", custom_codec("com.example.Odd"))]
    decoder, plan = known(TypeContext(), columns)
    body = rows_body(columns, [[b"raw"]])
    assert plain(decoder, frame(body), plan, factory) == ([(b"raw",)], None)


def test_a_plan_that_was_dropped_from_the_cache() -> None:
    """It says the same as the one that would be made anew."""
    decoder, plan = known(TypeContext(plan_cache_size=1))
    decoder.decode(frame(rows_body([("other", INT)], [])))
    assert plain(decoder, frame(rows_body(COLUMNS, encoded(COLUMNS, ROWS))), plan, factory) == (ROWS, None)


def test_cut_off_or_damaged_anywhere() -> None:
    """Never anything else than what reading all of it gives."""
    chance = random.Random(7)
    whole = rows_body(COLUMNS, encoded(COLUMNS, ROWS), GLOBAL | MORE, bytes_(b"next"))
    bodies = [whole[:length] for length in range(len(whole))]
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.choice(
                (0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF, chance.randrange(256))
            )
        bodies.append(bytes(damaged))
    read = 0
    for body in bodies:
        decoder, plan = known(TypeContext())
        try:
            found = plain(decoder, frame(body), plan, factory)
        except (DriverException, ProtocolError):
            with pytest.raises((DriverException, ProtocolError)):
                read_all(decoder, body, plan)
            continue
        if found is not None:
            assert found == read_all(decoder, body, plan)
            read += 1
    assert read > 100


def read_all(decoder: ResultDecoder, body: bytes, plan: ResultPlan) -> Any:
    result = decoder.decode(frame(body), plan)
    assert result is not None
    return (None if result.page is None else decode_page(result.page, factory)), result.paging_state
