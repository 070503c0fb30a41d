"""Rows of CSV: where they begin and end, errors of rows, encodings, and rows as the file has them."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import pytest

from cassandra._bulk import csv_scan
from cassandra._bulk.csv_files import CsvFile, Row
from cassandra._bulk.options import Dialect
from cassandra._bulk.streams import InputFile

PLAIN = Dialect()
DOUBLED = Dialect(escape='"')


class Found:
    """The contents of a file: values, errors, and raw rows, by row number."""

    def __init__(self, file: CsvFile, first: int = 0) -> None:
        self.values: dict[int, list[str | None]] = {}
        self.wrong: dict[int, str] = {}
        self.rows: dict[int, Row] = {}
        for numbers, batch, wrong in file.batches(first):
            columns = [column.to_pylist() for column in batch.columns]
            self.values |= {number: list(row) for number, row in zip(numbers, zip(*columns, strict=True), strict=True)}
            self.wrong |= wrong
        for number in [*self.values, *self.wrong]:
            self.rows[number] = file.row(number)


def read(
    path: Path, data: bytes, names: str | None = "ab", dialect: Dialect = PLAIN, null: str = "", most: int = 1000
) -> Found:
    path.write_bytes(data)
    return Found(CsvFile(InputFile(path), None if names is None else list(names), dialect, null, most))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


@pytest.fixture(params=[1, 7, 64, 1 << 20])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes that are read at a time."""
    monkeypatch.setattr(csv_scan, "BLOCK", request.param)
    monkeypatch.setattr(csv_scan, "STEP", min(request.param, 16))
    return int(request.param)


@pytest.mark.usefixtures("block")
def test_a_line_that_is_no_text_concerns_its_row_alone(path: Path) -> None:
    found = read(path, b"1,x\n2,caf\xe9\n3,\xc3\xa9\n")
    assert found.values == {0: ["1", "x"], 2: ["3", "é"]}
    assert found.wrong == {1: "it is not utf8: '2,caf\\udce9\\n'"}
    assert found.rows[1] == Row(2, "2,caf\udce9\n")


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("dialect", [Dialect(), DOUBLED])
def test_a_quote_that_is_not_closed_costs_one_row(path: Path, dialect: Dialect) -> None:
    lines = [f"{i},x{i}" for i in range(50)]
    lines[10] = '10,"x10'
    found = read(path, "\n".join(lines).encode(), dialect=dialect, most=20)
    assert found.values == {i: [str(i), f"x{i}"] for i in range(50) if i != 10}
    assert list(found.wrong) == [10]
    assert "not closed" in found.wrong[10]
    assert found.rows[10].line == 11


@pytest.mark.usefixtures("block")
def test_a_cell_has_so_many_lines(path: Path) -> None:
    lines = ["0,x", '1,"x', *["y"] * 18, 'x"', "2,z"]
    data = "\n".join(lines).encode()
    text = "\n".join(["x", *["y"] * 18, "x"])
    assert read(path, data, most=20).values == {0: ["0", "x"], 1: ["1", text], 2: ["2", "z"]}
    assert read(path, data, most=-1).values == {0: ["0", "x"], 1: ["1", text], 2: ["2", "z"]}
    found = read(path, data, most=19)
    assert found.values == {0: ["0", "x"], 21: ["2", "z"]}
    assert found.wrong[1] == "it has a cell with more than 19 lines (--max-cell-lines)"
    assert found.rows[1] == Row(2, '1,"x\n')
    assert found.rows[21].line == 22


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_file(path: Path, end: str) -> None:
    text = f'h,"i{end}j"{end}{end}1,"a{end}b"{end}{end}2{end}3,c{end}'
    found = read(path, text.encode(), None, Dialect(header=True))
    assert found.values == {0: ["1", f"a{end}b"], 2: ["3", "c"]}
    assert [found.rows[number].line for number in (0, 1, 2)] == [4, 7, 8]
    assert found.rows[0].text == f'1,"a{end}b"{end}'
    assert found.wrong == {1: "it has 1 field, not 2: '2'"}


def test_names_with_line_breaks(path: Path) -> None:
    path.write_bytes(b'a,"b\nc"\n1,2\n')
    file = CsvFile(InputFile(path), None, Dialect(header=True), "")
    assert file.names == ["a", "b\nc"]
    assert file.header == 'a,"b\nc"\n'


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize(
    "encoding", ["utf8", "utf-8-sig", "utf16", "utf-16-le", "utf32", "latin-1", "utf7", "shift_jis"]
)
@pytest.mark.parametrize("header", [True, False])
def test_encodings(path: Path, encoding: str, header: bool) -> None:
    value = "é" if encoding != "shift_jis" else "表ソ"  # the second byte is a backslash
    rows = [[f"{value}{i}", f'{value}, "{i}"\n'] for i in range(20)]
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="\n").writerows([["a", value], *rows] if header else rows)
    path.write_bytes(file.getvalue().encode(encoding))
    read_file = CsvFile(
        InputFile(path), None if header else ["a", value], DOUBLED._replace(header=header, encoding=encoding), ""
    )
    assert read_file.names == ["a", value]
    assert Found(read_file).values == dict(enumerate(rows))
    assert Found(read_file, 7).values == {i: rows[i] for i in range(7, 20)}
    assert Found(read_file).rows[3] == Row(3 * 2 + 1 + header, f'{value}3,"{value}, ""3""\n"\n')


@pytest.mark.parametrize("encoding", ["ascii", "utf16", "cp1252"])
def test_bytes_that_an_encoding_does_not_have(path: Path, encoding: str) -> None:
    bad = {"ascii": b"\xe9", "utf16": b"\x00\xdc", "cp1252": b"\x81"}[encoding]
    one, other = ("1,x\n".encode(encoding), "2,y\n".encode(encoding).removeprefix(b"\xff\xfe"))
    comma = ",".encode(encoding).removeprefix(b"\xff\xfe")
    end = "\n".encode(encoding).removeprefix(b"\xff\xfe")
    found = read(path, one + bad + comma + end + other, dialect=Dialect(encoding=encoding))
    assert found.values == {0: ["1", "x"], 2: ["2", "y"]}
    assert found.wrong[1].startswith(f"it is not {encoding}")
    written = path.with_name("bad")
    with written.open("w", encoding=encoding, errors=csv_scan.UNDECODED, newline="") as file:
        file.write(found.rows[1].text)
    assert written.read_bytes().removeprefix(b"\xff\xfe") == bad + comma + end


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-le"])
@pytest.mark.parametrize("before", range(20, 24))
def test_an_excerpt_of_a_row_has_whole_characters(path: Path, encoding: str, before: int) -> None:
    bad = {"utf-16-le": b"\x00\xdc", "utf-32-le": b"\x00\xdc\x00\x00"}[encoding]
    text = "é" * 40, "x" * before + "漢" * 30
    found = read(path, bad.join(one.encode(encoding) for one in (*text, ",y\n")), dialect=Dialect(encoding=encoding))
    assert found.values == {}
    assert found.wrong[0].startswith(f"it is not {encoding}: '\\xe9")


@pytest.mark.usefixtures("block")
def test_null_with_the_escape(path: Path) -> None:
    data = b'1,\\N\n2,\\\\N\n3,"\\\\N"\n4,N\n5,"\\N"\n\\N,\\N\n"a\n\\N","b,\\N,"\n'
    found = read(path, data, null="\\N")
    wanted = [["1", None], ["2", None], ["3", "\\N"], ["4", "N"], ["5", "N"], [None, None], ["a\nN", "b,N,"]]
    assert list(found.values.values()) == wanted


def test_text_between_quotes_and_delimiters_is_kept(path: Path) -> None:
    data = b'"a"b,c"d\n"a""b",""\n"a,""\n",x\n"",\n a ,"b" \n'
    found = read(path, data, dialect=DOUBLED)
    assert list(found.values.values()) == [
        ["ab", 'c"d'],
        ['a"b', ""],
        ['a,"\n', "x"],
        ["", None],
        [" a ", "b "],
    ]


@pytest.mark.parametrize("dialect", [Dialect(), DOUBLED, Dialect(delimiter="\t", quote="'", escape="^")])
def test_random_files_by_the_reader_of_python(path: Path, monkeypatch: pytest.MonkeyPatch, dialect: Dialect) -> None:
    """Odd texts, however they are cut: values, lines and raw rows."""
    made = random.Random(7)
    pieces = [
        "a",
        "é",
        dialect.delimiter,
        dialect.quote,
        "\n",
        "\r\n",
        "\r",
        " ",
        dialect.escape + dialect.quote,
        "x" * 30,
    ]
    for _ in range(100):
        rows: list[list[str]] = []
        texts: list[str] = []
        for _ in range(made.randrange(1, 12)):
            cells = ["".join(made.choices(pieces[:8] + pieces[9:], k=made.randrange(5))) for _ in range(2)]
            rows.append(cells)
            shown = []
            for cell in cells:
                if dialect.doubles:
                    inside = cell.replace(dialect.quote, dialect.quote * 2)
                else:
                    inside = cell.replace(dialect.escape, dialect.escape * 2)
                    inside = inside.replace(dialect.quote, dialect.escape + dialect.quote)
                shown.append(dialect.quote + inside + dialect.quote)
            texts.append(dialect.delimiter.join(shown) + made.choice(["\n", "\r\n", "\r"]))
        monkeypatch.setattr(csv_scan, "BLOCK", made.choice([1, 2, 3, 10, 100, 1000]))
        monkeypatch.setattr(csv_scan, "STEP", made.choice([1, 5, 50]))
        found = read(path, "".join(texts).encode(), dialect=dialect)
        assert found.values == dict(enumerate(rows))
        line = 1
        for number, text in enumerate(texts):
            assert found.rows[number] == Row(line, text)
            line += len(text.replace("\r\n", "\n").replace("\r", "\n").splitlines())


def any_bytes(made: random.Random) -> bytes:
    pieces = [b"a", b",", b'"', b"\n", b"\r", b"\\", b"\xff", b"", b'","', b'"\n"', b"\n1,2\n"]
    return b"".join(made.choices(pieces, k=made.randrange(60)))


@pytest.mark.parametrize("dialect", [Dialect(), DOUBLED])
def test_any_bytes_are_read_alike_however_they_are_cut(
    path: Path, monkeypatch: pytest.MonkeyPatch, dialect: Dialect
) -> None:
    made = random.Random(11)
    for _ in range(120):
        data = any_bytes(made)
        seen: list[Any] = []
        for block, step in ((1 << 20, 1 << 16), (1, 1), (5, 3), (17, 7)):
            monkeypatch.setattr(csv_scan, "BLOCK", block)
            monkeypatch.setattr(csv_scan, "STEP", step)
            found = read(path, data, dialect=dialect, most=3)
            seen.append((found.values, found.wrong.keys(), found.rows))
            raw = "".join(found.rows[number].text for number in sorted(found.rows))
            whole = data.decode("utf8", "surrogateescape")
            assert raw.replace("\n", "").replace("\r", "") == whole.replace("\n", "").replace("\r", "")
        assert all(one == seen[0] for one in seen), data
