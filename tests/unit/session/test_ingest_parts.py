"""The pure parts of an ingest: names, statements, reports."""

from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._ingest.report import failed, with_report
from cassandra._ingest.target import TableName, TargetOptions, statement_text
from cassandra.cluster import NoHostAvailable
from cassandra.ingest import IngestError, IngestReport, report_of


@pytest.mark.parametrize(
    ("text", "keyspace", "table"),
    [
        ("t", "own", "t"),
        ("ks.t", "ks", "t"),
        ("KS.T", "ks", "t"),
        ('"KS"."T"', "KS", "T"),
        ('ks."a ""b"".c"', "ks", 'a "b".c'),
        (" ks . t ", "ks", "t"),
        ("t1_x", "own", "t1_x"),
    ],
)
def test_names_of_tables(text: str, keyspace: str, table: str) -> None:
    name = TableName(text, "own")
    assert (name.keyspace, name.table) == (keyspace, table)
    assert TableName(str(name), None).table == table


@pytest.mark.parametrize("text", ["", ".", "t.", ".t", "a.b.c", "a b", '"a', 'a"b"', '""', "a;b", "a-b", "ks.t DROP"])
def test_invalid_table_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid table name"):
        TableName(text, "own")


def target_options(**given: Any) -> TargetOptions:
    options: dict[str, Any] = {"columns": None, "ttl": None, "timestamp": None, "nulls": "unset", "batch_rows": 1}
    return TargetOptions(TableName("ks.t", None), **{**options, **given})


def known(*columns: tuple[str, str], key: int = 1) -> Any:
    made = [SimpleNamespace(name=name, cql_type=kind, is_static=False) for name, kind in columns]
    return SimpleNamespace(
        columns={column.name: column for column in made}, partition_key=made[:key], clustering_key=[]
    )


def test_statements() -> None:
    table = known(("id", "int"), ("Select", "text"), ("v", "int"))
    insert = 'INSERT INTO ks.t (id, "Select") VALUES (?, ?)'
    assert statement_text(target_options(), table, ["id", "Select"]) == insert
    assert statement_text(target_options(ttl=5), table, ["id", "Select"]) == f"{insert} USING TTL ?"
    assert statement_text(target_options(columns=["Select", "id"]), table, ["id", "v", "Select"]) == (
        'INSERT INTO ks.t ("Select", id) VALUES (?, ?)'
    )
    # Missing and surplus columns will be reported together, with the types.
    assert statement_text(target_options(), table, ["v", "more"]) == "INSERT INTO ks.t (v, id) VALUES (?, ?)"
    assert statement_text(target_options(), None, ["a", "b"]) == "INSERT INTO ks.t (a, b) VALUES (?, ?)"
    with pytest.raises(ValueError, match=r"no column of ks\.t: it has x, the table id, Select, v"):
        statement_text(target_options(), table, ["x"])
    with pytest.raises(ValueError, match="the data has no columns y; it has id"):
        statement_text(target_options(columns=["y", "id"]), table, ["id"])
    with pytest.raises(ValueError, match=r"ks\.t has no columns y"):
        statement_text(target_options(columns=["y", "id"]), table, ["id", "y"])
    with pytest.raises(ValueError, match="n is a counter"):
        statement_text(target_options(), known(("id", "int"), ("n", "counter")), ["id", "n"])
    with pytest.raises(ValueError, match="no columns to write"):
        statement_text(target_options(), None, [])


def test_reports() -> None:
    report = IngestReport("ks.t", 1_000, 50_000, 0.5, 3, 1_003, {7: ValueError("seven")}, [8, 9])
    assert [report.is_done(row) for row in (0, 7, 8, 1002, 1003, -1)] == [True, False, False, True, False, False]
    assert repr(report) == (
        "<IngestReport: 1,000 rows into ks.t in 0.500 s, 2,000 rows/s, 1 failed, 2 unfinished, 3 retries>"
    )
    assert repr(IngestReport("ks.t")) == "<IngestReport: 0 rows into ks.t in 0.000 s>"
    assert pickle.loads(pickle.dumps(report)).errors.keys() == {7}
    assert copy.copy(report).rows == 1000


def test_reports_in_notebooks() -> None:
    errors: dict[int, Exception] = {row: ValueError(f"<b>{row}</b>") for row in range(12)}
    shown: str = IngestReport("ks.t", 1_000, 50_000, 0.5, 3, 1_020, errors, [15])._repr_html_()  # type: ignore[attr-defined]
    for text in ("Ingest into ks.t", "1,000 rows", "2,000 rows/s", "50,000 bytes", "12 rows", "&lt;b&gt;9&lt;/b&gt;"):
        assert text in shown
    assert "2 more failed rows" in shown and "<b>" not in shown and "&lt;b&gt;10" not in shown
    assert "Failed rows" not in IngestReport("ks.t")._repr_html_()  # type: ignore[attr-defined]


def test_errors_of_too_many_rows() -> None:
    report = IngestReport("ks.t", 10, 0, 0.5, 0, 100, {3: ValueError("three")}, [4], 90, 50)
    assert [report.is_done(row) for row in (2, 3, 4, 49, 50, 51, 99)] == [True, False, False, True, False, False, False]
    assert "90 failed (1 of them are in errors), 1 unfinished" in repr(report)
    assert "ks.t: 90 failed (1 of them are in errors), 10 were written" in str(failed(report))
    assert pickle.loads(pickle.dumps(report)).failed == 90
    assert IngestReport("ks.t", errors={1: ValueError()}).failed == 1


def test_errors() -> None:
    report = IngestReport("ks.t", 10, errors={7: ValueError("seven"), 9: ValueError("nine")}, unfinished=[11])
    error = failed(report)
    assert str(error).startswith(
        "Not all rows were written to ks.t: 2 failed, 10 were written, 1 are unfinished. Row 7"
    )
    assert error.errors is report.errors and error.__cause__ is report.errors[7]
    closed = NoHostAvailable("closed", {})
    assert failed(report, closed).__cause__ is closed and "closed" in str(failed(report, closed))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is IngestError and again.report.rows == 10 and str(again) == str(error)


def test_the_report_of_an_error() -> None:
    report = IngestReport("ks.t", 10, unfinished=[3])
    stopped = KeyboardInterrupt()
    with_report(stopped, report)
    assert report_of(stopped) is report
    assert any("10 rows were written" in note for note in getattr(stopped, "__notes__", ["10 rows were written"]))
    outer = RuntimeError("outer")
    outer.__context__ = stopped
    assert report_of(outer) is report
    assert report_of(failed(report)) is report
    assert report_of(ValueError()) is None
    one, other = ValueError(), ValueError()
    one.__context__, other.__context__ = other, one
    assert report_of(one) is None
