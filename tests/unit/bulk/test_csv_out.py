"""Files of CSV as they are written: encodings, what null is written as, moments, numbers of any size."""

from __future__ import annotations

import codecs
import csv
import datetime
import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from cassandra._bulk.console import UsageError
from cassandra._bulk.csv_files import CsvWriter
from cassandra._bulk.options import Dialect, Style, check_copy_options, encoding, style_of
from cassandra._bulk.tables import Kind, arrow_type, kind_of
from cassandra._bulk.texts_in import read_column
from cassandra._bulk.texts_out import texts_of

BEGIN = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
PLAIN, USUAL = Style(), Dialect()


class Fields:
    """A user type."""

    def __init__(self, **fields: str) -> None:
        self.field_names = list(fields)
        self.field_types = list(fields.values())


TYPES = {"pair": Fields(n="int", t="text", b="boolean", d="date", l="frozen<list<int>>")}


def kind(text: str) -> Kind:
    return kind_of(text, TYPES)


def file_of(
    columns: dict[str, tuple[str, list[Any]]], dialect: Dialect = USUAL, style: Style = PLAIN, batches: int = 1
) -> bytes:
    """*columns*: type and values by name; each batch has the same rows."""
    arrays = [pa.array(values, arrow_type(kind(of))) for of, values in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, list(columns))
    file = io.BytesIO()
    writer = CsvWriter(file, list(columns), dialect, style)
    for _ in range(batches):
        writer.write_batch(batch, [kind(of) for of, _ in columns.values()])
    writer.close()
    return file.getvalue()


def milliseconds_of(*moment: int) -> int:
    return (datetime.datetime(*moment, tzinfo=datetime.timezone.utc) - BEGIN) // datetime.timedelta(milliseconds=1)


def texts(of: str, values: Sequence[Any], style: Style = PLAIN) -> list[Any]:
    found: list[Any] = texts_of(pa.array(values, arrow_type(kind(of))), kind(of), style).to_pylist()
    return found


# -- encodings


@pytest.mark.parametrize(
    "name", ["utf8", "utf-8", "utf16", "utf-16-le", "utf-8-sig", "utf-32", "latin-1", "utf-7", "iso2022_jp", "cp037"]
)
@pytest.mark.parametrize("header", [False, True])
def test_a_file_has_one_byte_order_mark_at_most(name: str, header: bool) -> None:
    text = "漢字" if name in ("iso2022_jp", "utf16", "utf-8-sig") else "plain"
    found = file_of({"a": ("text", [text])}, Dialect(encoding=name, header=header), batches=3)
    assert found.decode(name) == ("a\r\n" if header else "") + f"{text}\r\n" * 3
    if name == "utf16":
        assert found.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if name == "utf-8-sig":
        assert found.count(codecs.BOM_UTF8) == 1


def test_a_text_that_begins_with_a_byte_order_mark_is_in_quotes_where_it_would_be_taken_for_that_of_the_file() -> None:
    assert file_of({"a": ("text", ["\ufeffx"]), "b": ("text", ["\ufeffy"])}).decode() == '"\ufeffx",\ufeffy\r\n'


@pytest.mark.parametrize(
    ("name", "character"), [("latin-1", "€"), ("ascii", "é"), ("shift_jis", "¥"), ("cp1252", "漢")]
)
def test_characters_that_an_encoding_does_not_have(name: str, character: str) -> None:
    with pytest.raises(ValueError, match="has no character"):
        file_of({"a": ("text", ["fine", f"not {character} fine"])}, Dialect(encoding=name))


@pytest.mark.parametrize("name", ["hex", "base64", "rot13", "punycode", "idna", "unicode_escape", "undefined", "none"])
def test_codecs_that_are_no_encodings_of_files(name: str) -> None:
    with pytest.raises(ValueError, match="encoding"):
        encoding(name)


# -- what null is written as


@pytest.mark.parametrize("null", ["", "0", "True", "NULL", "\\N", "2026-01-31", "[]", "{}", "\\", "1.5", "0x", "-"])
@pytest.mark.parametrize("dialect", [Dialect(), Dialect(quote="'", escape="'"), Dialect("|", "$", "%")], ids=str)
def test_null_is_told_from_values(null: str, dialect: Dialect) -> None:
    """Fields in quotes are values: those that read as null is written are in quotes."""
    columns: dict[str, tuple[str, list[Any]]] = {
        "n": ("int", [0, None, 1]),
        "t": ("text", [null, None, "NULL"]),
        "b": ("boolean", [True, None, False]),
        "d": ("date", [datetime.date(2026, 1, 31), None, None]),
        "l": ("frozen<list<int>>", [[], None, [0]]),
        "m": ("frozen<map<int, int>>", [[], None, [(0, 0)]]),
        "f": ("double", [1.5, None, 0.0]),
        "x": ("blob", [b"", None, b"-"]),
    }
    style = Style(null=null)
    check_copy_options(dialect, style)
    line = file_of(columns, dialect, style).decode().split("\r\n")[1]
    raw = null if dialect.doubles else null.replace(dialect.escape, dialect.escape * 2)
    assert line == dialect.delimiter.join([raw] * len(columns))  # the row of nulls
    for place, (of, values) in enumerate(columns.values()):
        fields = file_of({"c": (of, values)}, dialect, style).decode().split("\r\n")[:-1]
        assert [field == raw for field in fields] == [value is None for value in values], (place, fields)


@pytest.mark.parametrize("null", ["0", "True", "NULL", "a", "[]", "{", ",", ":", "'", " ", "None", "2026-01-31"])
@pytest.mark.parametrize("of", ["pair", "frozen<tuple<int, text, boolean, date, frozen<list<int>>>>"])
def test_null_is_told_from_values_within_others(null: str, of: str) -> None:
    style = Style(null=null)
    values = [(0, "0", True, datetime.date(2026, 1, 31), []), (None,) * 5, (1, "", False, None, [0, 1]), None]
    values += [(None, null, None, None, None), (None, "null", None, None, None), (0, None, None, None, None)]
    names = TYPES["pair"].field_names if of == "pair" else [f"f{at}" for at in range(5)]
    wanted = pa.array(
        [None if row is None else dict(zip(names, row, strict=True)) for row in values], arrow_type(kind(of))
    )
    written = texts_of(wanted, kind(of), style)
    found = read_column(written, kind(of), style)
    assert not found.errors and found.values.equals(wanted), written.to_pylist()


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"null": ","}, "--null"),
        ({"null": 'a"'}, "--null"),
        ({"null": "a\nb"}, "--null"),
        ({"null": "\r"}, "--null"),
        ({"thousandssep": "1"}, "--thousandssep"),
        ({"thousandssep": "-"}, "--thousandssep"),
        ({"thousandssep": "ab"}, "--thousandssep"),
        ({"decimalsep": "e"}, "--decimalsep"),
        ({"decimalsep": "+"}, "--decimalsep"),
        ({"decimalsep": "7"}, "--decimalsep"),
        ({"datetimeformat": ""}, "--datetimeformat"),
    ],
)
def test_options_that_values_cannot_be_told_by(options: dict[str, str], wrong: str) -> None:
    with pytest.raises(UsageError, match=wrong):
        check_copy_options(Dialect(), style_of(options, False))


# -- moments


@pytest.mark.parametrize("year", [1, 9, 99, 202, 999, 1000, 1969, 2026, 9999])
@pytest.mark.parametrize(
    "text_format",
    ["%d.%m.%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f%z", "%Y%m%d%H%M%S", "%j/%Y %X", "%Y-%m-%dT%H:%M:%S%%", "%F %T"],
)
def test_years_have_four_digits(year: int, text_format: str) -> None:
    style = Style(datetime_format=text_format)
    moment = milliseconds_of(year, 2, 3, 4, 5, 6)
    (text,) = texts("timestamp", [moment], style)
    assert f"{year:04}" in text
    if "%F" not in text_format:  # strptime has no %F, %T
        read = read_column(pa.array([text]), kind("timestamp"), style)
        assert not read.errors and read.values.cast(pa.int64()).to_pylist() == [moment]


@pytest.mark.parametrize(
    ("text_format", "text"),
    [
        ("%Y", "0202"),
        ("%C", "02"),
        ("%y", "02"),
        ("%G-W%V-%u", "0201-W53-6"),
        ("%F", "0202-01-02"),
        ("%D", "01/02/02"),
        ("%%Y", "%Y"),
        ("%%%Y", "%0202"),
        ("Y%Y", "Y0202"),
        ("%c", "Sat Jan  2 00:00:00 0202"),
    ],
)
def test_directives_of_years(text_format: str, text: str) -> None:
    assert texts("timestamp", [milliseconds_of(202, 1, 2)], Style(datetime_format=text_format)) == [text]


@pytest.mark.parametrize(
    ("text_format", "text"),
    [
        ("%S.%f", "06.789"),
        ("%f", "789000"),
        ("%d.%m.%Y %H:%M:%S", "03.02.2026 04:05:06"),
        ("%d.%m.%Y", "03.02.2026"),
        ("%S.%f %d.%m.%Y", "06.789 03.02.2026"),
        ("%H.%M", "04.05"),
        ("%S,%f", "06,789000"),
    ],
)
def test_points_that_are_no_fractions(text_format: str, text: str) -> None:
    moment = milliseconds_of(2026, 2, 3, 4, 5, 6, 789000)
    assert texts("timestamp", [moment], Style(datetime_format=text_format)) == [text]


# -- numbers of any size


def test_varints_of_any_length() -> None:
    numbers = ["1" * 9000, "-" + "9" * 5000, "0", "-1", "1234567"]
    assert texts("varint", numbers) == numbers
    style = Style(thousands_sep=".", decimal_sep=",")
    grouped = texts("varint", numbers, style)
    assert grouped[2:] == ["0", "-1", "1.234.567"]
    assert [text.replace(".", "") for text in grouped] == numbers
    assert grouped[0].startswith("111.111.") and grouped[1].startswith("-99.999.")


def test_decimals_of_any_exponent() -> None:
    numbers = ["1E+2147483648", "-1.23E-2147483647", "0E+2147483648", "1" * 5000 + ".5", "12345.678"]
    assert texts("decimal", numbers) == numbers
    grouped = texts("decimal", numbers, Style(thousands_sep=" ", decimal_sep=","))
    assert grouped[:3] == ["1E+2147483648", "-1,23E-2147483647", "0E+2147483648"]
    assert grouped[4] == "12 345,678" and grouped[3].replace(" ", "") == "1" * 5000 + ",5"


# -- headers


@pytest.mark.parametrize("dialect", [Dialect(header=True), Dialect(";", "'", "'", True)], ids=str)
def test_names_of_columns_come_back(dialect: Dialect) -> None:
    names = ["two\nlines", "a\r\nb", "ttl(a)", "x,y;z", "q\"'", "\\", "  ", "\ufeffm", "é"]
    text = file_of({name: ("int", [1]) for name in names}, dialect).decode()
    rows = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=dialect.delimiter,
        quotechar=dialect.quote,
        escapechar=None if dialect.doubles else dialect.escape,
        doublequote=dialect.doubles,
    )
    assert next(rows) == names
