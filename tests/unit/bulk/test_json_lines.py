"""JSON lines: the form of each type, both ways; rows that are invalid; rows without a column; compressed files."""

from __future__ import annotations

import gzip
import io
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cassandra._bulk import csv_scan
from cassandra._bulk.console import UsageError
from cassandra._bulk.csv_files import Row
from cassandra._bulk.json_lines import JsonLinesFile, JsonLinesWriter
from cassandra._bulk.streams import InputFile, compressing
from cassandra._bulk.tables import Kind, arrow_type, kind_of


class Fields:
    """A user type."""

    def __init__(self, **fields: str) -> None:
        self.field_names = list(fields)
        self.field_types = list(fields.values())


TYPES = {"address": Fields(street="text", zip="int"), "Odd": Fields(**{'a "b:': "decimal"})}

#: CQL type, a value of Arrow, its JSON.
FORMS: list[tuple[str, Any, str]] = [
    ("int", -7, "-7"),
    ("bigint", 2**63 - 1, "9223372036854775807"),
    ("varint", "123456789012345678901234567890", "123456789012345678901234567890"),
    ("decimal", "1.10", "1.10"),
    ("decimal", "1E-7", "1E-7"),
    ("decimal", "0.1234567890123456789012345678901234567890", "0.1234567890123456789012345678901234567890"),
    ("double", 0.1, "0.1"),
    ("double", -0.0, "-0"),
    ("double", math.inf, '"Infinity"'),
    ("double", -math.inf, '"-Infinity"'),
    ("float", 1e10, "1e+10"),
    ("boolean", True, "true"),
    ("text", "", '""'),
    ("text", 'é "\\\n\x01\u2028', '"é \\"\\\\\\n\\u0001\u2028"'),
    ("ascii", "null", '"null"'),
    ("blob", b"\x00\xff", '"0x00ff"'),
    ("blob", b"", '"0x"'),
    ("date", 20484, '"2026-01-31"'),
    ("date", 4000000, '"+12921-08-18"'),
    ("time", 45296123456789, '"12:34:56.123456789"'),
    ("timestamp", 1769862896789, '"2026-01-31T12:34:56.789Z"'),
    ("timestamp", 2**60, "1152921504606846976"),
    ("duration", (14, 3, 4 * 10**9), '"1y2mo3d4s"'),
    ("uuid", "5b6962dd-3f90-4c93-8f61-eabfa4a803e2", '"5b6962dd-3f90-4c93-8f61-eabfa4a803e2"'),
    ("list<int>", [1, 2], "[1, 2]"),
    ("list<int>", [], "[]"),
    ("set<text>", ["a", 'b"'], '["a", "b\\""]'),
    ("map<text, int>", [("a", 1), ("", 2)], '{"a": 1, "": 2}'),
    ("map<int, text>", [(1, "x"), (-2, "y")], '{"1": "x", "-2": "y"}'),
    ("map<boolean, timestamp>", [(True, 0)], '{"true": "1970-01-01T00:00:00.000Z"}'),
    ("map<blob, boolean>", [(b"\x01", False)], '{"0x01": false}'),
    ("map<frozen<list<text>>, int>", [(["a", "b"], 1)], '{"[\\"a\\", \\"b\\"]": 1}'),
    ("map<frozen<map<int, text>>, int>", [([(1, "x")], 1)], '{"{\\"1\\": \\"x\\"}": 1}'),
    ("tuple<int, text>", {"f0": 1, "f1": None}, "[1, null]"),
    ("address", {"street": "a", "zip": None}, '{"street": "a", "zip": null}'),
    ('frozen<"Odd">', {'a "b:': "1.50"}, '{"a \\"b:": 1.50}'),
    ("vector<float, 2>", [0.5, -1.0], "[0.5, -1]"),
    ("list<frozen<address>>", [{"street": "s", "zip": 1}], '[{"street": "s", "zip": 1}]'),
]


def kind(text: str) -> Kind:
    return kind_of(text, TYPES)


def array_of(of: Kind, values: list[Any]) -> pa.Array:
    storage = {"uuid": pa.uuid()}.get(of.name)
    if storage is not None:
        from uuid import UUID

        values = [None if value is None else UUID(value).bytes for value in values]
    return pa.array(values, arrow_type(of) if storage is None else storage)


def written(columns: dict[str, Kind], *arrays: pa.Array) -> bytes:
    file = io.BytesIO()
    writer = JsonLinesWriter(file)
    writer.write_batch(pa.RecordBatch.from_arrays(list(arrays), list(columns)), list(columns.values()))
    writer.close()
    return file.getvalue()


def listed(column: pa.Array) -> list[Any]:
    wide = {pa.timestamp("ms", "UTC"): pa.int64(), pa.date32(): pa.int32()}.get(column.type, column.type)
    values: list[Any] = column.cast(wide).to_pylist()
    return values


class Found:
    """The contents of a file: values and columns that are absent, errors, and raw rows, by row number."""

    def __init__(self, file: InputFile, kinds: dict[str, Kind], wanted: str | None = None, first: int = 0) -> None:
        self.values: dict[int, tuple[Any, ...]] = {}
        self.absent: dict[int, set[str]] = {}
        self.wrong: dict[int, str] = {}
        self.rows: dict[int, Row] = {}
        lines = JsonLinesFile(file, kinds)
        ignored = () if wanted is None else None
        for numbers, batch, wrong, absent in lines.batches(list(wanted or kinds), ignored, first):
            columns = [listed(column) for column in batch.columns]
            self.values |= dict(zip(numbers, zip(*columns, strict=True), strict=True))
            self.absent |= {
                number: set(row) for number, row in zip(numbers, absent or [()] * len(numbers), strict=True)
            }
            self.wrong |= wrong
            for number in (*numbers, *wrong):
                self.rows[number] = lines.row(number)
        lines.close()


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Found]:
    def read(data: bytes, kinds: dict[str, str], wanted: str | None = None, first: int = 0) -> Found:
        path = tmp_path / "t.jsonl"
        path.write_bytes(data)
        return Found(InputFile(path), {name: kind(text) for name, text in kinds.items()}, wanted, first)

    return read


@pytest.mark.parametrize(("text", "value", "form"), FORMS)
def test_the_form_of_a_type(text: str, value: Any, form: str, read: Callable[..., Found]) -> None:
    columns = {"n": kind("int"), "c": kind(text)}
    data = written(columns, pa.array([1, 2], pa.int32()), array_of(columns["c"], [value, None]))
    assert data.decode() == f'{{"n": 1, "c": {form}}}\n{{"n": 2, "c": null}}\n'
    for line in data.splitlines():
        json.loads(line)
    found = read(data, {"n": "int", "c": text})
    assert not found.wrong
    again = pa.array([found.values[0][1]], arrow_type(columns["c"]))
    assert str(listed(again)) == str(listed(pa.array([value], arrow_type(columns["c"]))))
    assert found.values[1] == (2, None) and found.absent[1] == set()


def test_every_nan_is_a_text(read: Callable[..., Found]) -> None:
    data = written({"f": kind("float")}, pa.array([math.nan], pa.float32()))
    assert data == b'{"f": "NaN"}\n'
    assert math.isnan(read(data, {"f": "float"}).values[0][0])
    assert math.isnan(read(b'{"f": NaN}\n', {"f": "float"}).values[0][0])  # of Python's json


@pytest.mark.parametrize(
    ("text", "form", "why"),
    [
        ("int", '"x"', "invalid int: 'x'"),
        ("int", "1.5", "invalid int: '1.5'"),
        ("int", "1.0", "invalid int: '1.0'"),
        ("int", "3000000000", "3000000000"),
        ("int", "true", "invalid int: 'true'"),
        ("int", '""', "invalid int"),
        ("float", "1e39", "out of the range of a float"),
        ("text", "5", "invalid text: '5'"),
        ("text", '"\\ud800"', "surrogates not allowed"),
        ("boolean", "1", "invalid boolean: '1'"),
        ("blob", '"00"', "invalid blob"),
        ("timestamp", '"2026-02-30"', "day"),
        ("list<int>", '{"a": 1}', "invalid list: expected an array, got"),
        ("list<int>", "[[1]]", "invalid int: '[1]'"),
        ("map<text, int>", "[1]", "invalid map: expected an object"),
        ("map<int, int>", '{"1": 1, "01": 2}', "duplicate key"),
        ("map<int, int>", '{"x": 1}', "invalid int: 'x'"),
        ("map<frozen<list<int>>, int>", '{"[": 1}', "invalid JSON"),
        ("tuple<int, int>", "[1, 2, 3]", "the tuple has 3 fields, not 2"),
        ("address", '{"town": "x"}', "the type has no field 'town'"),
        ("vector<float, 2>", "[1]", "the vector has 1 elements, not 2"),
    ],
)
def test_an_invalid_value_concerns_its_row_alone(text: str, form: str, why: str, read: Callable[..., Found]) -> None:
    found = read(f'{{"k": 1}}\n{{"k": 2, "c": {form}}}\n{{"k": 3, "c": null}}\n'.encode(), {"k": "int", "c": text})
    assert [row[0] for row in found.values.values()] == [1, 3]
    assert list(found.wrong) == [1] and found.wrong[1].startswith("c: ") and why in found.wrong[1]
    assert found.rows[1] == Row(2, f'{{"k": 2, "c": {form}}}\n')


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
def test_rows_that_are_invalid(block: int, read: Callable[..., Found], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_scan, "BLOCK", block)
    lines = [
        b'\xef\xbb\xbf{"k": 1}\r', b"", b"nothing", b'{"k": 2', b"[2]", b"   ", b'{"k": "\xff"}', b'{"k": 2, "k": 3}',
        b'{"K": 4}', b'{"k": 5, "more": 1}', b"[" * 100000, b'{"k": 6}{"k": 7}', b'{"k": 8}',
    ]  # fmt: skip
    found = read(b"\n".join(lines), {"k": "int"})
    assert {number: row[0] for number, row in found.values.items()} == {0: 1, 10: 8}
    reasons = ["Expecting value", "Expecting ',' delimiter", "expected a JSON object, got '[2]'", "it is not utf8"]
    reasons += ["duplicate name 'k'", "unknown columns K: k differs from K by case only", "unknown columns more"]
    reasons += ["nested too deeply", "Extra data"]
    assert list(found.wrong) == list(range(1, 10))
    for reason, why in zip(reasons, found.wrong.values(), strict=True):
        assert reason in why
    assert found.rows[10].line == 13 and found.rows[5].text == '{"k": 2, "k": 3}\n'
    assert found.rows[4] == Row(7, '{"k": "\udcff"}\n')


def test_columns_that_rows_do_not_have(read: Callable[..., Found]) -> None:
    data = b'{"a": 1, "b": null, "c": 3}\n{"b": 2, "x": 1}\n{"a": null}\n'
    kinds = {"a": "int", "b": "int", "c": "int"}
    found = read(data, kinds)
    assert found.wrong == {1: "unknown columns x"}
    assert found.values == {0: (1, None, 3), 2: (None, None, None)}
    assert found.absent == {0: set(), 2: {"b", "c"}}
    found = read(data, kinds, "ba")
    assert found.values == {0: (None, 1), 1: (2, None), 2: (None, None)}
    assert found.absent == {0: set(), 1: {"a"}, 2: {"b"}}


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
@pytest.mark.parametrize("block", [16, 1000, 1 << 20])
def test_any_position_of_any_file(
    compression: str | None, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load continues at any row, and finds the text of any row."""
    monkeypatch.setattr(csv_scan, "BLOCK", block)
    rng = random.Random(block)
    lines = [json.dumps({"k": i, "t": "é" * rng.randrange(20)}, ensure_ascii=False) for i in range(200)]
    data = ("\n" + "\n".join(lines) + "\n\n").encode()
    path = tmp_path / ("t.jsonl" + {None: "", "gzip": ".gz", "zstd": ".zst"}[compression])
    with path.open("wb") as file:
        output = compressing(file, compression)
        output.write(data)
        if output is not file:
            output.close()
    for first in (0, 1, 77, 199, 200):
        found = Found(InputFile(path), {"k": kind("int"), "t": kind("text")}, first=first)
        assert [row[0] for row in found.values.values()] == list(range(first, 200))
        assert {number: row.text for number, row in found.rows.items()} == {
            number: lines[number] + "\n" for number in range(first, 200)
        }
        assert all(row.line == number + 2 for number, row in found.rows.items())


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_damaged_data_is_an_error_and_never_a_row(compression: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    text = b"".join(b'{"k": %d, "t": "%x"}\n' % (i, rng.getrandbits(200)) for i in range(500))
    path = tmp_path / ("t.jsonl" + {"gzip": ".gz", "zstd": ".zst"}[compression])
    with path.open("wb") as file, compressing(file, compression) as output:
        output.write(text)
    whole = path.read_bytes()
    kinds = {"k": kind("int"), "t": kind("text")}
    assert len(Found(InputFile(path), kinds).values) == 500
    for cut in (0, 1, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(OSError, match=f"{path.name}: the {compression} data is damaged or incomplete"):
            Found(InputFile(path), kinds)
    for at in rng.sample(range(12, len(whole)), 50):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(OSError, match="is damaged or incomplete"):
            Found(InputFile(path), kinds)


def test_compressed_files_of_several_parts(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"k": 1}\n') + gzip.compress(b'{"k": 2}\n') + bytes(100))  # padded, as on tapes
    assert list(Found(InputFile(path), {"k": kind("int")}).values.values()) == [(1,), (2,)]
    path.write_bytes(gzip.compress(b""))
    assert Found(InputFile(path), {"k": kind("int")}).values == {}


def test_compressed_data_without_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(gzip.compress(b'{"k": 1}\n'))
    with pytest.raises(UsageError, match=r"t\.jsonl is compressed with gzip: use --compression gzip"):
        JsonLinesFile(InputFile(path), {"k": kind("int")})
    assert list(Found(InputFile(path, "gzip"), {"k": kind("int")}).values.values()) == [(1,)]
