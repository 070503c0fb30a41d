"""Rows that are kept as they came: compared with reading them at once."""

from __future__ import annotations

import gc
import random
from typing import Any

import pytest

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import RawRows, Result, ResultDecoder, TypeContext
from cassandra._wire.rows import decode_page, dict_factory
from tests.unit.core.codec_frames import GLOBAL, INT, MORE, TEXT, bytes_, encoded, int_, rows_body
from tests.unit.core.test_codec_result import frame

COLUMNS = [("a", INT), ("b", TEXT)]
ROWS: list[Any] = [(1, "x"), (None, "yy")]


def raw(answer: Any) -> RawRows | None:
    return ResultDecoder(Result, TypeContext()).raw(answer)


def rows_in(answer: Any) -> tuple[list[Any], bytes | None]:
    """Rows and paging state of an answer that is decoded at once."""
    found = ResultDecoder(Result, TypeContext()).decode(answer)
    return decode_page(found.page, dict_factory), found.paging_state


@pytest.mark.parametrize("rows", [ROWS, []])
def test_the_same_rows(rows: list[Any]) -> None:
    for flags, state in (GLOBAL, None), (GLOBAL | MORE, b"next"):
        answer = frame(rows_body(COLUMNS, encoded(COLUMNS, rows), flags, b"" if state is None else bytes_(state)))
        found = raw(answer)
        assert found is not None and found.paging_state == state
        for _ in range(2):
            assert (list(decode_page(found.page(), dict_factory)), found.paging_state) == rows_in(answer)


def test_the_frame_is_let_go() -> None:
    body = bytearray(rows_body(COLUMNS, encoded(COLUMNS, ROWS)))
    answer = frame(body)
    found = raw(answer)
    assert found is not None
    del answer
    gc.collect()
    body.clear()
    assert [row["b"] for row in decode_page(found.page(), dict_factory)] == ["x", "yy"]


def test_they_are_found_by_garbage_collection() -> None:
    """Types of programs may refer to the owner of the rows."""
    assert gc.is_tracked(raw(frame(rows_body(COLUMNS, []))))


def test_answers_other_than_plain_rows_have_no_raw_rows() -> None:
    body = rows_body(COLUMNS, encoded(COLUMNS, ROWS))
    assert raw(frame(int_(1))) is None, "VOID"
    assert raw(frame(body, opcode=0)) is None, "ERROR"
    for flag in 1, 2, 4, 8:
        assert raw(frame(body, flags=flag)) is None


def test_it_is_made_by_its_decoder_alone() -> None:
    with pytest.raises(TypeError, match="raw"):
        RawRows()


def test_cut_off_or_damaged_anywhere() -> None:
    """An error now, an error when it is read, or the result of decoding at once."""
    chance = random.Random(11)
    whole = rows_body(COLUMNS, encoded(COLUMNS, ROWS), GLOBAL | MORE, bytes_(b"next"))
    bodies = [whole[:length] for length in range(len(whole))]
    for _ in range(3000):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] = chance.choice((0, 1, 2, 4, 8, 0x7F, 0x80, 0xFF))
        bodies.append(bytes(damaged))
    read = 0
    for body in bodies:
        try:
            found = raw(frame(body))
            if found is None:
                continue
            page = found.page()
            seen = list(decode_page(page, dict_factory)), found.paging_state
        except (DriverException, ProtocolError):
            with pytest.raises((DriverException, ProtocolError)):
                rows_in(frame(body))
        else:
            assert seen == rows_in(frame(body))
            read += 1
    assert read > 100
