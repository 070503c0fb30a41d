"""Differential fuzzing of ``load``: files of every layout, with times and counters, against prepared statements."""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute  # pa.compute
import pyarrow.parquet as pq
import pytest

from cassandra.bulk import main
from cassandra.cluster import Session
from cassandra.query import tuple_factory
from cassandra.util import Date
from tests.fuzz.arrow_layouts import (
    KEYS,
    USER_TYPES,
    Kind,
    array_of,
    json_of,
    random_kind,
    random_scalar,
    random_value,
    text_of,
)
from tests.fuzz.conftest import Rounds

pytestmark = pytest.mark.server

TABLES = ("expected", "plain", "timed")
Bulk = Callable[..., int]


class Case:
    """A random table and rows of it: values by column, in the order of ``names``."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.partition = {f"p{i}": Kind(random.choice(KEYS)) for i in range(random.randrange(1, 3))}
        self.clustering = {f"c{i}": Kind(random.choice(KEYS)) for i in range(random.randrange(3))}
        has_statics = bool(self.clustering) and random.random() < 0.4
        self.statics = {"s": random_kind(random)} if has_statics else {}
        self.values = {f"v{i}": random_kind(random) for i in range(random.randrange(1, 6))}
        self.kinds = {**self.partition, **self.clustering, **self.statics, **self.values}
        self.names = list(self.kinds)
        random.shuffle(self.names)
        self.rows = self._rows()

    def _rows(self) -> list[dict[str, Any]]:
        random = self.random
        found: dict[str, dict[str, Any]] = {}
        partitions = [self._some(self.partition, 0.0) for _ in range(random.randrange(1, 6))]
        statics = {repr(partition): self._some(self.statics, 0.3) for partition in partitions}
        for _ in range(random.randrange(1, 40)):
            partition = random.choice(partitions)
            key = {**partition, **self._some(self.clustering, 0.0)}
            found[repr(key)] = {**key, **statics[repr(partition)], **self._some(self.values, 0.3)}
        return list(found.values())

    def _some(self, kinds: dict[str, Kind], nulls: float) -> dict[str, Any]:
        """Values; those of keys are not empty."""
        made = {}
        for name, kind in kinds.items():
            value = None if self.random.random() < nulls else random_value(self.random, kind)
            made[name] = value if value not in ("", b"") or name[0] != "p" else random_scalar(self.random, "int")
            if name[0] == "p" and kind.name in ("text", "blob") and value in ("", b""):
                made[name] = "x" if kind.name == "text" else b"x"
        return made

    def create(self, session: Session) -> None:
        columns = [f"{name} {kind.cql()}{' STATIC' * (name in self.statics)}" for name, kind in self.kinds.items()]
        key = ", ".join([f"({', '.join(self.partition)})", *self.clustering])
        for table in TABLES:
            session.execute(f"DROP TABLE IF EXISTS {table}", timeout=60)
            session.execute(f"CREATE TABLE {table} ({', '.join(columns)}, PRIMARY KEY ({key}))", timeout=60)

    def insert(self, session: Session) -> None:
        names = list(self.kinds)
        insert = session.prepare(f"INSERT INTO expected ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})")
        for row in self.rows:
            values = {name: value for name, value in row.items() if value is not None}
            session.execute(insert.bind(values), timeout=60)

    def column(self, name: str) -> list[Any]:
        return [row[name] for row in self.rows]

    def times(self) -> dict[str, list[int | None]]:
        """Columns of times of their own, of some columns."""
        random = self.random
        timed = [name for name in (*self.statics, *self.values) if random.random() < 0.6] or ["v0"]
        found: dict[str, list[int | None]] = {}
        for name in timed:
            for what, low, high in (("ttl", 10**6, 10**7), ("writetime", 10**6, 10**15)):
                if random.random() < 0.7:
                    found[f"{what}({name})"] = [random.choice([None, random.randrange(low, high)]) for _ in self.rows]
        return found


def contents(session: Session, table: str, case: Case) -> list[str]:
    names = ", ".join(case.kinds)
    return sorted(map(repr, session.execute(f"SELECT {names} FROM {table}", timeout=60)))


@pytest.fixture(scope="module")
def tables(session: Session) -> Session:
    session.row_factory = tuple_factory
    for name, fields in USER_TYPES.items():
        session.execute(f"CREATE TYPE {name} ({', '.join(f'{field} {kind}' for field, kind in fields)})", timeout=60)
    return session


@pytest.fixture
def bulk(keyspace: str, cassandra_node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bulk]:
    """Runs a command with a table of the keyspace; what it says is in ``bulk.said`` of a failure."""
    monkeypatch.chdir(tmp_path)
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]

    def run(command: str, table: str, *arguments: str) -> int:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = main([command, f"{keyspace}.{table}", *arguments, *where])
        print(said.getvalue())
        return code

    yield run
    for path in tmp_path.iterdir():
        path.unlink()


def write_arrow(random: Random, columns: dict[str, pa.Array], path: str) -> str:
    """A file of Arrow or Parquet; of the former in several batches."""
    table = pa.table(columns)
    if random.random() < 0.3:
        try:
            pq.write_table(table, f"{path}.parquet", row_group_size=random.choice([1, 7, 1000]))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError):  # types that Parquet does not have
            pass
        else:
            return f"{path}.parquet"
    with pa.OSFile(f"{path}.arrow", "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        batches = table.to_batches(max_chunksize=random.choice([1, 5, 1000]))
        for batch in batches if not any(_is_encoded(field.type) for field in table.schema) else table.to_batches():
            file.write_batch(batch)
    return f"{path}.arrow"


def _is_encoded(type_: pa.DataType) -> bool:
    """Types that PyArrow does not write to IPC as slices in the way that they are."""
    if pa.types.is_run_end_encoded(type_) or pa.types.is_dictionary(type_):
        return True
    return any(_is_encoded(type_.field(i).type) for i in range(type_.num_fields))


def test_arrow(rounds: Rounds, tables: Session, bulk: Bulk) -> None:
    for random in rounds:
        case = Case(random)
        case.create(tables)
        case.insert(tables)
        columns = {name: array_of(random, case.kinds[name], case.column(name)) for name in case.names}
        assert bulk("load", "plain", write_arrow(random, columns, "plain")) == 0
        expected = contents(tables, "expected", case)
        assert contents(tables, "plain", case) == expected
        times = {name: pa.array(values, pa.int64()) for name, values in case.times().items()}
        assert bulk("load", "timed", write_arrow(random, columns | times, "timed")) == 0
        assert contents(tables, "timed", case) == expected
        check_times(tables, case, {name: array.to_pylist() for name, array in times.items()})


def check_times(session: Session, case: Case, times: dict[str, list[int | None]]) -> None:
    """Write times of cells that the server tells one of."""
    for name, kind in case.values.items():
        given = times.get(f"writetime({name})")
        if given is None or (kind.parts and kind.name not in ("tuple", "vector")):
            continue
        wanted = {w for w, value in zip(given, case.column(name), strict=True) if w is not None and value is not None}
        found = {row[0] for row in session.execute(f"SELECT writetime({name}) FROM timed", timeout=60)}
        assert wanted <= found, name


def test_out_of_range(rounds: Rounds, tables: Session, bulk: Bulk) -> None:
    """Columns of wider types: a value that the column does not have exactly is refused, whichever way its row takes;
    only floats are rounded, as INSERT does."""
    columns = "k int PRIMARY KEY, a tinyint, b smallint, c int, d float, e date, f timestamp, g bigint"
    for table in TABLES:
        tables.execute(f"DROP TABLE IF EXISTS {table}", timeout=60)
        tables.execute(f"CREATE TABLE {table} ({columns})", timeout=60)
    for random in rounds:
        for table in TABLES:
            tables.execute(f"TRUNCATE {table}", timeout=60)
        count = random.randrange(1, 50)
        bits = {"a": 7, "b": 15, "c": 31}
        given: dict[str, list[Any]] = {"k": list(range(count))}
        for name, width in bits.items():
            edge = 1 << width
            given[name] = [random.choice([0, edge - 1, -edge, edge, -edge - 1, None]) for _ in range(count)]
        given["d"] = [random.choice([0.5, 0.1, 1e39, -math.inf, 3.4028234663852886e38, None]) for _ in range(count)]
        given["e"] = [random.choice([0, 86_400_000, -86_400_000 * 800_000, 1, None]) for _ in range(count)]
        given["f"] = [random.choice([0, 10**6, -(10**15), 10**6 + 1, None]) for _ in range(count)]
        given["g"] = [random.choice([0, 2**63 - 1, 2**63, None]) for _ in range(count)]
        types = {"d": pa.float64(), "e": pa.timestamp("ms"), "f": pa.timestamp("ns"), "g": pa.uint64(), "k": pa.int32()}
        arrays = {name: pa.array(values, types.get(name, pa.int64())) for name, values in given.items()}
        rows = []
        for row in zip(*given.values(), strict=True):
            _, a, b, c, d, e, f, g = row
            exact = all(v is None or -(1 << w) <= v < 1 << w for v, w in zip((a, b, c), bits.values(), strict=True))
            if exact and d != 1e39 and e != 1 and f != 10**6 + 1 and g != 2**63:
                day = None if e is None else Date(e // 86_400_000)
                rows.append((*row[:5], day, None if f is None else f // 10**6, g))
        insert = tables.prepare(f"INSERT INTO expected ({', '.join(given)}) VALUES ({', '.join('?' * len(given))})")
        for row in rows:
            tables.execute(insert, row, timeout=60)
        expected = sorted(map(repr, tables.execute("SELECT * FROM expected", timeout=60)))
        times = {"ttl(a)": pa.array([random.choice([None, 10**6]) for _ in range(count)], pa.int64())}
        for table, columns_of in (("plain", arrays), ("timed", arrays | times)):
            assert bulk("load", table, write_arrow(random, columns_of, table)) == (len(rows) < count)
            assert sorted(map(repr, tables.execute(f"SELECT * FROM {table}", timeout=60))) == expected


# -- CSV


def write_csv(random: Random, case: Case, times: dict[str, list[int | None]], path: str) -> tuple[list[str], set[int]]:
    """Arguments of load, and the rows that are broken."""
    delimiter, quote = random.choice([",", ";", "\t", "|"]), random.choice(['"', '"', "'", "~"])
    escape = random.choice([quote, "\\"])
    null = random.choice(["", "NULL", "\\N", "-"])
    encoding = random.choice(["utf8", "utf8", "utf-8-sig", "utf16", "utf-32-le"])
    end = random.choice(["\n", "\r\n"])
    names = [*case.names, *times]

    def field(text: str) -> str:
        plain = not any(mark in text for mark in (delimiter, quote, escape, "\n", "\r", "\ufeff"))
        if plain and text not in ("", null) and random.random() < 0.5:
            return text
        if escape != quote:
            text = text.replace(escape, escape * 2)
        return quote + text.replace(quote, escape + quote) + quote

    lines = [delimiter.join(field(name) for name in names)]
    broken = set()
    for number, row in enumerate(case.rows):
        shown = [
            null if row[name] is None else field(text_of(random, case.kinds[name], row[name])) for name in case.names
        ]
        shown += [null if values[number] is None else field(str(values[number])) for values in times.values()]
        if random.random() < 0.1:
            broken.add(number)
            shown = random.choice([[*shown, "x"], ["\udcff", *shown[1:]], [*shown, "", ""]])
        lines.append(delimiter.join(shown))
        if random.random() < 0.1:
            lines.append("")
    text = end.join(lines) + random.choice(["", end])
    bad = b"\xff" if encoding.startswith("utf8") or encoding == "utf-8-sig" else b"\x00\xdc\x00\xdc"
    data = bad.join(
        piece.encode(encoding) if i == 0 else piece.encode(_bare(encoding))
        for i, piece in enumerate(text.split("\udcff"))
    )
    Path(path).write_bytes(data)
    options = ["--header", f"--delimiter={delimiter}", f"--quote={quote}", f"--escape={escape}", f"--null={null}"]
    return [path, *options, f"--encoding={encoding}"], broken


def _bare(encoding: str) -> str:
    """Without a byte order mark."""
    return {"utf-8-sig": "utf8", "utf16": "utf-16-le"}.get(encoding, encoding)


def test_csv(rounds: Rounds, tables: Session, bulk: Bulk, monkeypatch: pytest.MonkeyPatch) -> None:
    for random in rounds:
        case = Case(random)
        monkeypatch.setattr("cassandra._bulk.csv_scan.BLOCK", random.choice([16, 100, 1 << 22]))
        case.create(tables)
        for table, times in (("plain", {}), ("timed", case.times())):
            arguments, broken = write_csv(random, case, times, "t.csv")
            assert bulk("load", table, *arguments) == bool(broken)
            tables.execute("TRUNCATE expected", timeout=60)
            rows = case.rows
            case.rows = [row for number, row in enumerate(rows) if number not in broken]
            case.insert(tables)
            case.rows = rows
            assert contents(tables, table, case) == contents(tables, "expected", case)


# -- JSON lines


def write_json(random: Random, case: Case, times: dict[str, list[int | None]], path: str) -> tuple[str, set[int]]:
    """The file, compressed or not, and the rows that are broken. A null may be absent."""
    lines: list[bytes] = []
    broken = set()
    for number, row in enumerate(case.rows):
        shown = [(name, json_of(random, case.kinds[name], row[name])) for name in case.names]
        shown += [(name, "null" if values[number] is None else str(values[number])) for name, values in times.items()]
        random.shuffle(shown)
        if number:  # the first row has all names: others are unknown
            shown = [(name, text) for name, text in shown if text != "null" or random.random() < 0.5]
        line = ("{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in shown) + "}").encode()
        if number and random.random() < 0.1:
            broken.add(number)
            line = random.choice(
                [
                    line[:-1],
                    line + b"}",
                    b"[" + line + b"]",
                    line.replace(b"{", b'{"x": 1, ', 1),
                    b"\xff" + line,
                    b"null",
                ]
            )
        lines.append(line)
        if random.random() < 0.1:
            lines.append(random.choice([b"", b" ", b"\r"]))
    data = random.choice([b"\n", b"\r\n"]).join(lines) + random.choice([b"", b"\n"])
    compression = random.choice([None, None, "gzip", "zstd"])
    path += ".jsonl" + {None: "", "gzip": ".gz", "zstd": ".zst"}[compression]
    with pa.output_stream(path, compression=compression) as file:
        file.write(data)
    return path, broken


def test_json_lines(rounds: Rounds, tables: Session, bulk: Bulk, monkeypatch: pytest.MonkeyPatch) -> None:
    for random in rounds:
        case = Case(random)
        monkeypatch.setattr("cassandra._bulk.csv_scan.BLOCK", random.choice([16, 100, 1 << 22]))
        case.create(tables)
        for table, times in (("plain", {}), ("timed", case.times())):
            path, broken = write_json(random, case, times, "t")
            assert bulk("load", table, path, "--nulls", random.choice(["unset", "null"])) == bool(broken)
            tables.execute("TRUNCATE expected", timeout=60)
            rows = case.rows
            case.rows = [row for number, row in enumerate(rows) if number not in broken]
            case.insert(tables)
            case.rows = rows
            assert contents(tables, table, case) == contents(tables, "expected", case)


# -- counters


def test_counters(rounds: Rounds, tables: Session, bulk: Bulk) -> None:
    tables.execute("DROP TABLE IF EXISTS counted", timeout=60)
    tables.execute(
        "CREATE TABLE counted (p int, c text, s counter STATIC, n counter, m counter, PRIMARY KEY (p, c))", timeout=60
    )
    for random in rounds:
        tables.execute("TRUNCATE counted", timeout=60)
        statics = {p: random.choice([None, random.randrange(-(2**40), 2**40)]) for p in range(5)}
        rows: dict[Any, tuple[Any, ...]] = {}
        for _ in range(random.randrange(1, 60)):
            key = (random.randrange(5), random.choice(["a", "b", "c", "é", "'"]) * random.randrange(1, 5))
            numbers = [random.choice([None, 0, random.randrange(-(2**62), 2**62)]) for _ in range(2)]
            rows[key] = (*key, statics[key[0]], *numbers)
        kinds = [Kind(name) for name in ("int", "text", "bigint", "bigint", "bigint")]
        arrays = [
            array_of(random, kind, list(column))
            for kind, column in zip(kinds, zip(*rows.values(), strict=True), strict=True)
        ]
        path = write_arrow(random, dict(zip("pcsnm", arrays, strict=True)), "counted")
        assert bulk("load", "counted", path, "--counters") == 0
        found = {
            row[:2]: row
            for row in tables.execute("SELECT p, c, s, n, m FROM counted", timeout=60)
            if row[1] is not None
        }
        visible = {key: row for key, row in rows.items() if row[3:] != (None, None)}
        assert found == visible
