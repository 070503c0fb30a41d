"""Values as cqlsh spells them, both ways: whole columns by kernels, single values, files that a real cqlsh wrote."""

from __future__ import annotations

import datetime
import io
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cassandra._bulk import csv_scan
from cassandra._bulk.csv_files import CsvFile, CsvWriter
from cassandra._bulk.files import FileReader
from cassandra._bulk.options import Dialect, Style
from cassandra._bulk.streams import InputFile
from cassandra._bulk.tables import Kind, arrow_type, kind_of
from cassandra._bulk.texts_in import moment_of, read_column
from cassandra._bulk.texts_out import duration_of, duration_text, texts_of

FILES = Path(__file__).parent / "cqlsh"
PLAIN = Style()
AS_CQLSH = Style(as_cqlsh=True, float_precision=5, double_precision=12)
UTC = datetime.timezone.utc


class Fields:
    """A user type."""

    def __init__(self, **fields: str) -> None:
        self.field_names = list(fields)
        self.field_types = list(fields.values())


TYPES = {"address": Fields(street="text", zip="int", tags="frozen<set<text>>"), "Odd": Fields(**{"a b:": "time"})}


def kind(text: str) -> Kind:
    return kind_of(text, TYPES)


def written_csv(batches: list[pa.RecordBatch], kinds: list[Kind], dialect: Dialect, style: Style) -> bytes:
    """The file that *batches* become."""
    file = io.BytesIO()
    writer = CsvWriter(file, batches[0].schema.names, dialect, style)
    for batch in batches:
        writer.write_batch(batch, kinds)
    writer.close()
    return file.getvalue()


def written(text: str, values: list[Any], style: Style = PLAIN) -> list[Any]:
    of = kind(text)
    found: list[Any] = texts_of(pa.array(values, arrow_type(of)), of, style).to_pylist()
    return found


def read(text: str, texts: list[Any], style: Style = PLAIN) -> Any:
    return read_column(pa.array(texts, pa.string()), kind(text), style)


#: (type, value as Arrow takes it, text)
VALUES: list[tuple[str, Any, str]] = [
    ("tinyint", -128, "-128"),
    ("bigint", -(2**63), "-9223372036854775808"),
    ("varint", str(10**40), "1" + "0" * 40),
    ("double", 0.1, "0.1"),
    ("double", 1e300, "1e+300"),
    ("double", 5e-324, "5e-324"),
    ("double", float("-inf"), "-Infinity"),
    ("double", -0.0, "-0"),
    ("float", 16777216.0, "16777216"),
    ("decimal", "1.50", "1.50"),
    ("decimal", "-1E-10", "-1E-10"),
    ("boolean", True, "True"),
    ("text", "it's\n", "it's\n"),
    ("blob", b"\x00\xff", "0x00ff"),
    ("blob", b"", "0x"),
    ("inet", "::1", "::1"),
    ("timestamp", 1, "1970-01-01 00:00:00.001+0000"),
    ("timestamp", -62135596800000, "0001-01-01 00:00:00.000+0000"),
    ("timestamp", 253402300800000, "253402300800000"),
    ("timestamp", -62135596800001, "-62135596800001"),
    ("date", -1, "1969-12-31"),
    ("date", 2**31 - 1, "+5881580-07-11"),
    ("date", -(2**31), "-5877641-06-23"),
    ("date", -719528, "0000-01-01"),
    ("date", 2932897, "+10000-01-01"),
    ("time", 86399999999999, "23:59:59.999999999"),
    ("duration", (14, 3, 5_000_000_001), "1y2mo3d5s1ns"),
    ("duration", (-1, 0, -1), "-1mo1ns"),
    ("duration", (0, 0, 0), "0s"),
    ("list<int>", [1, -2], "[1, -2]"),
    ("set<text>", ["a, b", "it's", "", "{"], "{'a, b', 'it''s', '', '{'}"),
    ("frozen<list<int>>", [], "[]"),
    ("map<text, int>", [("a: b", 1), ("c", None)], "{'a: b': 1, 'c': }"),
    ("map<timestamp, time>", [(0, 1)], "{'1970-01-01 00:00:00.000+0000': '00:00:00.000000001'}"),
    ("map<inet, blob>", [("10.0.0.1", b"\1")], "{'10.0.0.1': 0x01}"),
    ("tuple<int, text, boolean>", {"f0": None, "f1": "(", "f2": False}, "(, '(', False)"),
    ("tuple<int>", {"f0": None}, "()"),
    ("vector<float, 3>", [0.5, -1.25, 3.0], "[0.5, -1.25, 3]"),
    ("address", {"street": "null", "zip": None, "tags": ["x"]}, "{street: 'null', zip: , tags: {'x'}}"),
    ('frozen<"Odd">', {"a b:": 1}, "{'a b:': '00:00:00.000000001'}"),
    ("list<frozen<map<int, frozen<list<double>>>>>", [[(1, [1.5]), (2, [])]], "[{1: [1.5], 2: []}]"),
]


@pytest.mark.parametrize(("of", "value", "text"), VALUES, ids=[f"{of} {text[:20]}" for of, _, text in VALUES])
def test_a_value_and_its_text(of: str, value: Any, text: str) -> None:
    wanted = pa.array([None, value, value], arrow_type(kind(of)))
    if of in ("inet", "map<inet, blob>"):  # which a session reads as text, and writes from bytes
        bytes_, inner = b"\n\0\0\1", pa.binary()
        shown = (
            pa.array([None, bytes(15) + b"\1"] * 1 + [bytes(15) + b"\1"], inner)
            if of == "inet"
            else pa.array([None, [(bytes_, b"\1")], [(bytes_, b"\1")]], pa.map_(inner, pa.binary()))
        )
    else:
        shown = wanted
    for array in (shown, pa.concat_arrays([shown, shown])[3:]):  # a slice has an offset
        assert texts_of(array, kind(of), Style()).to_pylist() == [None, text, text]
    found = read(of, [None, text, text])
    assert not found.errors
    assert found.values.equals(wanted)
    if of == "double":
        assert str(found.values[1]) == str(wanted[1])  # the sign of zero


def test_uuids() -> None:
    values = [bytes(range(16)), None, bytes(16)]
    for array in (pa.array(values, pa.binary(16)), pa.array([b"x" * 16, *values], pa.binary(16))[1:]):
        assert texts_of(array, kind("uuid"), Style()).to_pylist() == [
            "00010203-0405-0607-0809-0a0b0c0d0e0f",
            None,
            "00000000-0000-0000-0000-000000000000",
        ]
    assert texts_of(pa.array([], pa.binary(16)), kind("timeuuid"), Style()).to_pylist() == []


@pytest.mark.parametrize(
    ("of", "text", "value"),
    [
        ("int", " +5 ", 5),
        ("double", "nan ", None),
        ("double", ".5", 0.5),
        ("boolean", "tRUE", True),
        ("timestamp", "2026-01-02", 1767312000000),
        ("timestamp", "2026-01-02T03:04Z", 1767323040000),
        ("timestamp", "2026-01-02 03:04:05.6+01:30", 1767317645600),
        ("timestamp", "2026-01-02 03:04:05.678000000-0000", 1767323045678),
        ("timestamp", "-5", -5),
        ("date", "2026-02-28", 20512),
        ("time", "3:4:5", 11045000000000),
        ("duration", "2W1H", (0, 14, 3600 * 10**9)),
        ("list<int>", "[ 1 ,2]", [1, 2]),
        ("set<text>", "{a b, 'c'}", ["a b", "c"]),
        ("map<time, int>", "{10:00:00.5: 1}", [(36000500000000, 1)]),
        ("map<text, int>", "{a:1}", [("a", 1)]),
        ("tuple<int, text, boolean>", "(1, null)", {"f0": 1, "f1": None, "f2": None}),
        ("address", "{zip: 1}", {"street": None, "zip": 1, "tags": None}),
        ("list<frozen<list<int>>>", "[[1], null]", [[1], None]),
    ],
)
def test_other_texts_that_are_read(of: str, text: str, value: Any) -> None:
    found = read(of, [text])
    assert not found.errors
    if value is not None:
        assert found.values.equals(pa.array([value], arrow_type(kind(of))))


@pytest.mark.parametrize(
    ("of", "text"),
    [
        ("int", "1.0"),
        ("int", "0x10"),
        ("int", "1_000"),
        ("tinyint", "128"),
        ("double", "1,5"),
        ("boolean", "yes"),
        ("blob", "ff"),
        ("blob", "0xf"),
        ("timestamp", "2026-02-30"),
        ("timestamp", "2026-01-02 03:04:05.0001+0000"),
        ("timestamp", "soon"),
        ("date", "20260230x"),
        ("time", "24:00:00"),
        ("time", "12:34"),
        ("time", "12"),
        ("date", "20260131"),
        ("date", "\uff12\uff10\uff12\uff16-01-31"),
        ("float", "1e39"),
        ("float", "-1e39"),
        ("double", "1e400"),
        ("list<float>", "[1e39]"),
        ("double", "\uff11"),
        ("int", "\uff11"),
        ("blob", "0x12 34"),
        ("timestamp", "2026-01-02 03:04:05+9999"),
        ("duration", "1d1y"),
        ("duration", "1h1h"),
        ("list<int>", "{1}"),
        ("map<int, int>", "{1: 1, 1: 2}"),
        ("duration", "1"),
        ("duration", "-"),
        ("list<int>", "1, 2"),
        ("list<int>", "[1, 2"),
        ("list<int>", "[1, 2) "),
        ("list<int>", "[1] x"),
        ("set<text>", "{'a}"),
        ("map<text, int>", "{'a'}"),
        ("tuple<int, text>", "(1, 'a', 2)"),
        ("vector<float, 3>", "[1, 2]"),
        ("address", "{nowhere: 1}"),
        ("list<frozen<list<int>>>", "[1]"),
    ],
)
def test_invalid_text_is_an_error_of_its_row(of: str, text: str) -> None:
    found = read(of, ["", text, None])
    assert list(found.errors) == [1]
    assert found.values.to_pylist() == [None, None, None]


def test_separators_and_styles() -> None:
    style = Style(decimal_sep=",", thousands_sep=".", true="ja", false="nein", null="-")
    assert written("bigint", [2**63 - 1, -5, None], style) == ["9.223.372.036.854.775.807", "-5", None]
    assert written("double", [1234567.25, float("nan")], style) == ["1.234.567,25", "NaN"]
    assert written("decimal", ["-1234.50", "1E+7"], style) == ["-1.234,50", "1E+7"]
    assert written("list<double>", [[1234.5, None]], style) == ["['1.234,5', -]"]
    assert written("boolean", [True, False], style) == ["ja", "nein"]
    for of, values in (
        ("bigint", [2**63 - 1, -5, None]),
        ("double", [1234567.25, -0.5]),
        ("decimal", ["-1234.50", "1E+7"]),
        ("list<double>", [[1234.5, None]]),
        ("list<boolean>", [[True, False]]),
    ):
        found = read(of, written(of, values, style), style)
        assert not found.errors and found.values.to_pylist() == values


def test_times_in_a_format_of_ones_own() -> None:
    style = Style(datetime_format="%d.%m.%Y %H:%M:%S.%f%z")
    (text,) = written("timestamp", [1767323045678], style)
    assert text == "02.01.2026 03:04:05.678+0000"
    assert read("timestamp", [text], style).values.cast(pa.int64()).to_pylist() == [1767323045678]
    assert moment_of("2026-01-02 03:04:05+0000", "%d/%m/%Y") == 1767323045000
    assert moment_of("02/01/2026", "%d/%m/%Y") == 1767312000000


def test_rounded_as_cqlsh_rounds() -> None:
    values = [0.1, 123456789.123456789, 1e30, -1234567.891, 0.00001234567, 1e-7, 0.0, 12345.678]
    assert written("double", values, AS_CQLSH) == [
        "0.1",
        "123456789.123456791043",
        "1e+30",
        "-1234567.891000000061",
        "1.234567e-05",
        "1e-07",
        "0",
        "12345.678",
    ]


@pytest.mark.parametrize("text", ["1y2mo3d4h5m6s7ms8us9ns", "-14mo", "0s", "3d"])
def test_durations(text: str) -> None:
    assert duration_of(duration_text(*duration_of(text))) == duration_of(text)


# -- files

CREATED = re.compile(r"CREATE TABLE (\S+) \((.*?)\);", re.DOTALL)


def kinds_of(table: str) -> dict[str, Kind]:
    """Of the columns of a table of tables.cql."""
    text = dict(CREATED.findall((FILES / "tables.cql").read_text("utf8")))[table]
    found, depth, begin = {}, 0, 0
    text = text.split(", PRIMARY KEY (")[0] + ","
    for at, character in enumerate(text):
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and not depth:
            name, of = text[begin:at].split(maxsplit=1)
            found[name] = kind(of.replace("PRIMARY KEY", "").replace("STATIC", "").strip())
            begin = at + 1
    return found


def rows_of(name: str, dialect: Dialect, style: Style, kinds: dict[str, Kind], names: Any = None) -> pa.Table:
    reader = FileReader(InputFile(FILES / name), None, names, kinds, dialect, style)
    batches = []
    for _, batch, wrong, _ in reader.batches(reader.names, 0):
        assert not wrong
        batches.append(batch)
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("name", ["scalars", "texts", "nested", "counted", "shared"])
def test_a_file_of_cqlsh_is_read_and_written_the_same(name: str, tmp_path: Path) -> None:
    kinds, dialect = kinds_of(name), Dialect(header=True)
    table = rows_of(f"{name}.csv", dialect, AS_CQLSH, kinds)
    as_bytes = {"uuid": 16, "timeuuid": 16}
    columns = []
    for column in table.schema.names:
        of, values = kinds[column], table[column].combine_chunks()
        if any(part.name in ("inet", *as_bytes) for part in of.walk()):
            continue  # read by the session
        columns.append((column, of, values))
    batch = pa.RecordBatch.from_arrays([values for _, _, values in columns], [column for column, _, _ in columns])
    of_all = [of for _, of, _ in columns]
    (tmp_path / "again.csv").write_bytes(written_csv([batch], of_all, dialect, Style()))
    reader = FileReader(InputFile(tmp_path / "again.csv"), None, None, kinds, dialect, Style())
    ((_, found, wrong, _),) = reader.batches(batch.schema.names, 0)
    assert not wrong
    for column in found.schema.names:
        one, other = found.column(column), batch.column(column)
        assert one.equals(other) or str(one.to_pylist()) == str(other.to_pylist())  # there are NaNs
    lines = written_csv([batch], of_all, dialect, AS_CQLSH).splitlines()[1:]
    if len(columns) == len(table.schema.names):
        assert lines == (FILES / f"{name}.csv").read_bytes().splitlines()[1:]


def test_cqlsh_csv_files_are_read() -> None:
    texts = rows_of("texts.csv", Dialect(header=True), AS_CQLSH, kinds_of("texts"))
    assert texts.to_pydict() == {
        "id": [1, 2, 3, 4, 5, 6, 7, 8],
        "t": ['comma, "quoted"', "line\nbreak", "it's", "  around  ", None, None, "#", "non-breaking space"],
        "u": ["back\\slash", "tab\tend", "'all'", "\\n is no break", "null", "nan", '"', "rocket 🚀"],
    }
    marked = rows_of("marked.csv", Dialect(header=True), AS_CQLSH._replace(null="N/A"), kinds_of("texts"))
    assert marked["t"].to_pylist()[4:6] == ["", None]
    kinds = kinds_of("scalars")
    names = ["id", *sorted(name for name in kinds if name != "id")]
    bare = rows_of("bare.csv", Dialect(), Style(), kinds, names).drop_columns(["at", "clock"]).to_pylist()
    assert bare[1]["exact"] == "1.50" and bare[1]["raw"] == b"\0\xff\x10" and bare[0]["raw"] is None
    assert bare[3]["took"] == (0, 0, 3600 * 10**9)


def test_cqlsh_csv_files_in_another_style_are_read() -> None:
    dialect = Dialect("|", "'", "'", True)
    style = Style("N/A", "yes", "no", "%d/%m/%Y %H:%M:%S", ",", ".")
    assert rows_of("styled.csv", dialect, style, kinds_of("styled")).to_pylist() == [
        {"id": 0, "at": None, "l": None, "n": None, "r": None, "t": None, "yes": None},
        {
            "id": 1,
            "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            "l": [1, 2],
            "n": 1234567,
            "r": 1234.5,
            "t": "it's | so",
            "yes": True,
        },
        {
            "id": 2,
            "at": datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
            "l": None,
            "n": -999,
            "r": -0.25,
            "t": "",
            "yes": False,
        },
    ]


TRICKY = [
    "",
    None,
    "N/A",
    'a"b',
    "a\\b",
    "\\",
    '"',
    ",",
    "\n",
    "\r\n",
    "é\x00\x85",
    " x ",
    '"",',
    "\\N",
    "''",
    "\ufeff",
]
DIALECTS = [
    Dialect(),
    Dialect(quote='"', escape='"'),
    Dialect("\t", "'", "\\", True),
    Dialect("|", "$", "$"),
    Dialect(encoding="utf-16-le", header=True),
]


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
@pytest.mark.parametrize("null", ["", "N/A"])
def test_any_text_comes_back(dialect: Dialect, null: str, tmp_path: Path) -> None:
    kinds = {"a": kind("text"), "b,\"'": kind("text")}
    batch = pa.RecordBatch.from_pydict({"a": TRICKY, "b,\"'": TRICKY[::-1]}, pa.schema({n: pa.string() for n in kinds}))
    style = Style(null=null)
    path = tmp_path / "texts.csv"
    path.write_bytes(written_csv([batch], list(kinds.values()), dialect, style))
    reader = FileReader(InputFile(path), None, list(kinds), kinds, dialect, style)
    assert reader.names == list(kinds)
    ((numbers, found, wrong, _),) = reader.batches(reader.names, 0)
    assert found.to_pydict() == batch.to_pydict() and list(numbers) == list(range(len(TRICKY))) and not wrong


def test_lines_that_are_no_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows keep their numbers, from wherever the file is read on, and however it is cut."""
    path = tmp_path / "bad.csv"
    lines = ["a,b"] + [f"{i}" if i % 7 == 3 else f"{i},x" for i in range(50)] + ["", "50,x", "51", "52"]
    path.write_text("\n".join(lines))
    bad = {*range(3, 50, 7), 51, 52}
    for block in (40, 1 << 20):
        monkeypatch.setattr(csv_scan, "BLOCK", block)
        for first in (0, 1, 3, 4, 30, 50, 51, 52, 53):
            file = CsvFile(InputFile(path), None, Dialect(header=True), "")
            rows: dict[int, str] = {}
            told: list[int] = []
            for numbers, batch, wrong in file.batches(first):
                rows |= dict(zip(numbers, batch.column("a").to_pylist(), strict=True))
                told += wrong
            assert rows == {i: str(i) for i in range(first, 51) if i not in bad}
            assert told == [i for i in sorted(bad) if i >= first]


def test_files_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    for content, header in ((b"", False), (b"\n\n", False), (b"a,b", True), (b"a,b\r\n", True)):
        path.write_bytes(content)
        file = CsvFile(InputFile(path), None if header else ["a", "b"], Dialect(header=header), "")
        assert [batch.num_rows for _, batch, _ in file.batches() if batch.num_rows] == []
    path.write_bytes(b"a,a\n1,2\n")
    with pytest.raises(ValueError, match="duplicate column names"):
        CsvFile(InputFile(path), None, Dialect(header=True), "")


def test_a_row_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_scan, "BLOCK", 64)
    path = tmp_path / "long.csv"
    path.write_text("".join(f"{i},{'x' * (i % 3 * 1000)}\n" for i in range(20)))
    file = CsvFile(InputFile(path), ["a", "b"], Dialect(), "")
    found: dict[int, int] = {}
    for numbers, batch, _ in file.batches(2):
        found |= dict(zip(numbers, map(len, batch.column("b").fill_null("").to_pylist()), strict=True))
    assert found == {i: i % 3 * 1000 for i in range(2, 20)}
