"""Rows of the driver's own queries, which stay bytes until a caller reads them."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._base.errors import DriverException, ProtocolError
from cassandra._core.codec import ResultDecoder, TypeContext
from cassandra._session.control import queries
from cassandra._session.control.queries import Rows, gather_async
from cassandra._wire.messages.responses import ResultMessage
from tests.checked_locks import as_driver
from tests.unit.core.codec_frames import INT, TEXT, encoded, page_of, rows_body
from tests.unit.core.codec_frames import decode as decode_result
from tests.unit.core.test_codec_result import frame

COLUMNS = [("id", INT), ("name", TEXT)]
ONE, TWO = {"id": 1, "name": "one"}, {"id": 2, "name": "two"}


def answer(*rows: Any) -> Any:
    return SimpleNamespace(page=page_of(COLUMNS, rows))


def raw(body: bytes) -> Any:
    return ResultDecoder(ResultMessage, TypeContext()).raw(frame(body))


def test_pages_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[int] = []
    decode = queries.decode_page
    monkeypatch.setattr(queries, "decode_page", lambda page, how: decoded.append(len(page)) or decode(page, how))
    rows = Rows()
    assert not rows and list(rows) == [] and decoded == []
    rows = Rows()
    rows.add(answer((1, "one")))
    rows.add(answer())
    rows.add(answer((2, "two")))
    assert decoded == [], "no caller has read them"
    assert (
        len(rows) == 2 and rows and list(rows) == [ONE, TWO] and rows[1] == TWO and rows[:1] == [ONE] and len(rows) == 2
    )
    assert decoded == [1, 1], "once, and no empty page"


def test_pages_of_which_nothing_was_decoded() -> None:
    rows = Rows()
    for values in [(1, "one")], [], [(2, "two")]:
        rows.add(raw(rows_body(COLUMNS, encoded(COLUMNS, values))))
    rows.add(answer((3, "three")))
    assert len(rows) == 3 and list(rows) == [ONE, TWO, {"id": 3, "name": "three"}]
    rows = Rows()
    rows.add(raw(rows_body(COLUMNS, encoded(COLUMNS, [(1, "one")]))[:-20]))
    for _ in range(2):
        with pytest.raises(ProtocolError):
            list(rows)


def test_rows_without_a_page() -> None:
    rows = Rows()
    rows.add(SimpleNamespace(page=None, column_names=["id", "name"], parsed_rows=[(1, "one")]))
    rows.add(SimpleNamespace(page=None, column_names=None, parsed_rows=None))
    rows.add(answer((2, "two")))
    assert len(rows) == 2 and list(rows) == [ONE, TWO]


def test_rows_that_do_not_fit_their_columns_are_an_error_each_time() -> None:
    cells = encoded(COLUMNS, [(1, "one")])
    cells[0][0] = b"\x00" * 3
    rows = Rows()
    rows.add(SimpleNamespace(page=decode_result(rows_body(COLUMNS, cells)).page))
    for _ in range(2):
        with pytest.raises(DriverException, match="id"):
            list(rows)


def test_several_threads_look_first() -> None:
    for _ in range(200):
        rows = Rows()
        rows.add(answer((1, "one"), (2, "two")))
        start, seen = threading.Barrier(4), []

        def look(rows: Rows = rows, start: threading.Barrier = start, seen: list[Any] = seen) -> None:
            start.wait()
            seen.append((len(rows), list(rows), rows[0]))

        threads = [threading.Thread(target=look) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert seen == [(2, [ONE, TWO], ONE)] * 4


def test_queries_at_once_leave_together() -> None:
    sent: list[tuple[Any, bool]] = []

    class Connection:
        def request_async(self, message: Any, on_done: Any, timeout: float, later: bool, raw: bool) -> None:
            assert not raw
            sent.append((message, later))
            on_done(message)

    answers: list[Any] = []
    as_driver(gather_async, Connection(), ["a", "b", "c"], 1.0, answers.extend)
    assert sent == [("a", True), ("b", True), ("c", False)] and answers == ["a", "b", "c"]
