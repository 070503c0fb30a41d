"""``bulk unload``: files against the rows that were written, and failing writes and kills against exact multisets."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from cassandra.bulk import main
from cassandra.cluster import Session
from tests.fuzz.conftest import Rounds
from tests.fuzz.cql_values import Schema, Type, decimal_form, float_form, loose, multiset, rows_of

pytestmark = pytest.mark.server
ROOT = Path(__file__).resolve().parents[2]


def random_options(rng: random.Random) -> list[str]:
    file_format = rng.choice(["parquet", "arrow", "jsonl", "jsonl", "csv", "csv", "csv"])
    options = ["--format", file_format]
    if file_format in ("csv", "jsonl"):
        options += [f"--compression={rng.choice(['none', 'gzip', 'zstd'])}"]
    if file_format == "csv":
        for option, values in {
            "--null": ["N/A", "0", "True", "null", "\\N", "[]", "-1", "''", "\\", "1970-01-01"],
            "--encoding": ["utf16", "utf-8-sig", "utf-16-be", "utf-32", "utf-7", "gb18030"],
            "--boolstyle": ["yes,no", "1,0", "(y),[n]", "null,None", "a b,'"],
            "--header": ["true", "false"],
        }.items():
            if rng.random() < 0.4:
                options += [f"{option}={rng.choice(values)}"]
        delimiter, quote, escape = rng.choice([(",", '"', "\\"), ("|", "'", "'"), ("\\t", '"', '"'), (";", "$", "%")])
        options += [f"--delimiter={delimiter}", f"--quote={quote}", f"--escape={escape}"]
        if quote in given(options, "null", ""):  # which is refused
            options = [option for option in options if not option.startswith("--null=")]
        if rng.random() < 0.3:
            thousands, point = rng.choice([(".", ","), ("'", "."), (" ", ","), ("_", "."), ("", ",")])
            options += [f"--thousandssep={thousands}", f"--decimalsep={point}"]
        if rng.random() < 0.3:
            options += [f"--datetimeformat={rng.choice(['%d.%m.%Y %H:%M:%S.%f%z', '%Y%m%d %H%M%S.%f', '%Y %j %X.%f'])}"]
    if rng.random() < 0.5:
        options += ["--max-output-size", str(rng.choice([1, 7, 50]))]
    return options


def given(options: list[str], name: str, default: str) -> str:
    return next((option.partition("=")[2] for option in options if option.startswith(f"--{name}=")), default)


def check_csv(
    folder: Path, files: list[str], options: list[str], columns: list[str], types: dict[str, Type]
) -> list[Any]:
    """The rows by the csv module: canonical forms of the columns that it can be read without a parser of CQL."""
    null, encoding = given(options, "null", ""), given(options, "encoding", "utf8")
    quote, escape = given(options, "quote", '"'), given(options, "escape", "\\")
    found = []
    for name in files:
        text = data_of(folder / name).decode(encoding)
        assert "\ufffe" not in text
        lines = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=given(options, "delimiter", ",").replace("\\t", "\t"),
            quotechar=quote,
            escapechar=None if quote == escape else escape,
            doublequote=quote == escape,
            strict=True,
        )
        rows = list(lines)
        if given(options, "header", "false") == "true":
            assert rows.pop(0) == columns
        for row in rows:
            assert len(row) == len(columns)
            found.append(
                {
                    column: _of_text(types[column], text, null, options)
                    for column, text in zip(columns, row, strict=True)
                }
            )
    return found


def data_of(path: Path) -> bytes:
    """The contents of a file, decompressed by another library than that which has compressed it."""
    with pa.input_stream(str(path), compression="detect") as file:
        data: bytes = file.read()
    return data


def check_json(folder: Path, files: list[str], columns: list[str], types: dict[str, Type]) -> list[dict[str, Any]]:
    """The rows by the json module: canonical forms of scalars."""
    found = []
    for name in files:
        for line in data_of(folder / name).decode().split("\n")[:-1]:
            row = json.loads(line, parse_float=Decimal)
            assert list(row) == columns
            found.append({column: _of_json(types[column], value) for column, value in row.items()})
    return found


def _of_json(of: Type, value: Any) -> Any:
    if value is None:
        return None
    if of.name in ("text", "ascii", "tinyint", "smallint", "int", "bigint"):
        return value
    if of.name == "blob":
        return bytes.fromhex(value.removeprefix("0x"))
    if of.name in ("uuid", "timeuuid"):
        return UUID(value).bytes
    if of.name == "decimal":
        return decimal_form(Decimal(value))
    if of.name == "varint":
        return hex(value)
    if of.name == "double":
        return float_form(float(value))
    if of.name == "float":
        return float_form(struct.unpack("f", struct.pack("f", float(value)))[0])
    return _UNREAD


def is_row(read: dict[str, Any], row: dict[str, Any]) -> bool:
    return all(
        row[column] is not None if value is _UNREAD else loose(value) == loose(row[column])
        for column, value in read.items()
    )


def _of_text(of: Type, text: str, null: str, options: list[str]) -> Any:
    if text == null and null not in ("0", "-1", "True", "1970-01-01", "[]"):
        return _MAYBE_NULL
    thousands, point = given(options, "thousandssep", ""), given(options, "decimalsep", ".")
    number = (text.replace(thousands, "") if thousands else text).replace(point, ".")
    if of.name in ("text", "ascii"):
        return text
    if of.name in ("tinyint", "smallint", "int", "bigint"):
        return _MAYBE_NULL if text == null else int(number)
    if of.name in ("blob", "uuid", "timeuuid") and text == null:
        return _MAYBE_NULL
    if of.name == "blob":
        return bytes.fromhex(text.removeprefix("0x"))
    if of.name in ("uuid", "timeuuid"):
        return UUID(text).bytes
    if of.name == "decimal" and text != null:
        return decimal_form(Decimal(number))
    if of.name == "varint" and text != null:
        return hex(int(Decimal(number)))
    if of.name == "double" and text != null:
        return float_form(float(number))
    if of.name == "float" and text != null:
        return float_form(struct.unpack("f", struct.pack("f", float(number)))[0])
    return _UNREAD


_MAYBE_NULL, _UNREAD = object(), object()


def agrees(read: dict[str, Any], row: dict[str, Any], null: str, types: dict[str, Type]) -> bool:
    for column, value in read.items():
        wanted = row[column]
        if value is _UNREAD:
            continue
        if value is _MAYBE_NULL:
            if wanted is not None and types[column].name in ("text", "ascii") and wanted != null:
                return False
        elif wanted is None:
            if types[column].name not in ("text", "ascii") or value != null:
                return False
        elif loose(value) != loose(wanted):
            return False
    return True


def test_files_have_the_rows(
    rounds: Rounds, session: Session, keyspace: str, cassandra_node: Any, tmp_path: Path
) -> None:
    """Every type, name, format and option. Files of Parquet and Arrow are read by PyArrow, those of CSV by the csv
    module, which compares scalars, and by ``load``, after which the second table has the same rows."""
    where = [
        "--host",
        cassandra_node.contact_points[0],
        "--port",
        str(cassandra_node.port),
        "--cqlshrc",
        "none",
        "--quiet",
    ]
    for number, rng in enumerate(rounds):
        schema = Schema(rng)
        types = dict(schema.columns)
        folder = tmp_path / f"out{number}"
        here, there = f"here_{number}_{os.getpid()}", f"there_{number}_{os.getpid()}"
        try:
            schema.create(session, here)
            writes = schema.random_writes(rng)
            schema.write(session, f"{keyspace}.{here}", writes)
            rows = schema.rows(writes)
            options = random_options(rng)
            assert main(["unload", f"{keyspace}.{here}", "--out", str(folder), *options, *where]) == 0
            manifest = json.loads((folder / "unload.json").read_text())
            columns = manifest["what"]["columns"]
            assert sorted(columns) == sorted(types)
            files = [file["name"] for file in manifest["state"]["files"]]
            assert {path.name for path in folder.iterdir()} == {*files, "unload.json"}
            if options[1] == "csv":
                read = check_csv(folder, files, options, columns, types)
                null = given(options, "null", "")
                fits = [[at for at, row in enumerate(rows) if agrees(one, row, null, types)] for one in read]
                assert len(read) == len(rows) == matched(fits)
            elif options[1] == "jsonl":
                read = check_json(folder, files, columns, types)
                fits = [[at for at, row in enumerate(rows) if is_row(one, row)] for one in read]
                assert len(read) == len(rows) == matched(fits)
            else:
                opened = [_opened(folder / name) for name in files]
                durations = [column for column, of in types.items() if of.has_durations and options[1] == "parquet"]
                known = [column for column in columns if column not in durations]
                read = [row for table in opened for row in rows_of(table.select(known), types)]
                assert multiset(read, known) == multiset(rows, known)
            schema.create(session, there)
            assert main(["load", f"{keyspace}.{there}", str(folder), *where]) == 0
            again = session.scan(f"{keyspace}.{there}").to_arrow()
            is_text = options[1] in ("csv", "jsonl") or any(of.has_durations for of in types.values())
            read = rows_of(again, types)
            assert multiset(read, columns, exactly=not is_text) == multiset(rows, columns, exactly=not is_text)
        finally:
            schema.drop(session, here, there)
        shutil.rmtree(folder)


def _opened(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pyarrow.ipc.open_file(path) as file:
        return file.read_all()


def matched(fits: list[list[int]]) -> int:
    """How many can each have one of those that fit it (the largest matching of a bipartite graph)."""
    taken: dict[int, int] = {}

    def place(one: int, seen: set[int]) -> bool:
        for at in fits[one]:
            if at not in seen:
                seen.add(at)
                if at not in taken or place(taken[at], seen):
                    taken[at] = one
                    return True
        return False

    return sum(place(one, set()) for one in range(len(fits)))


# -- failing writes, kills

ROWS = 3000
WORKER = """
import json, os, resource, signal, sys, time
from cassandra._bulk import unloading
from cassandra.bulk import main
for line in sys.stdin:
    task = json.loads(line)
    pid = os.fork()
    if not pid:
        if task["size"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (task["size"], resource.RLIM_INFINITY))
        unloading.MOST_HELD = task["held"]
        code = 99
        try:
            code = main(task["arguments"])
        finally:
            os._exit(code)
    if task["seconds"] is not None:
        time.sleep(task["seconds"])
        os.kill(pid, signal.SIGKILL)  # it was not waited for, so that the number is still its own
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class Worker:
    """A process that forks one for each command: it is started once, and its children can be limited and killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __call__(self, *arguments: str, held: int, size: int | None = None, seconds: float | None = None) -> int:
        """The exit code. *size*: bytes that a file can have; *seconds*: after which it is killed."""
        assert self._process.stdin is not None and self._process.stdout is not None
        task = {"arguments": arguments, "held": held, "size": size, "seconds": seconds}
        print(json.dumps(task), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


@pytest.fixture(scope="module")
def numbers(session: Session, keyspace: str) -> str:
    session.execute("CREATE TABLE numbers (id int PRIMARY KEY, t text)", timeout=60)
    ids = pa.array(range(ROWS), pa.int32())
    session.ingest(f"{keyspace}.numbers", pa.table({"id": ids, "t": [f"{i}" * (i % 40) for i in range(ROWS)]}))
    return f"{keyspace}.numbers"


def test_failing_writes_and_kills(
    rounds: Rounds, numbers: str, worker: Worker, cassandra_node: Any, tmp_path: Path
) -> None:
    """An unload is stopped again and again, by a limit of the size of files or a kill, and resumed. Each file that is
    noted is whole at any time; at the end every row is there once."""
    where = [
        "--host",
        cassandra_node.contact_points[0],
        "--port",
        str(cassandra_node.port),
        "--cqlshrc",
        "none",
        "--quiet",
    ]
    for number, rng in enumerate(rounds):
        folder = tmp_path / f"out{number}"
        file_format = rng.choice(["parquet", "arrow", "csv"])
        options = ["--format", file_format, "--max-output-size", str(rng.choice([10, 100, 1000, 100000]))]
        arguments = ["unload", numbers, "--out", str(folder), *options, *where]
        held = rng.choice([1000, 20000, 1 << 28])
        for _ in range(rng.randint(1, 4)):
            resume = ["--resume"] * (folder / "unload.json").exists()
            if rng.random() < 0.6:
                size = int(10 ** rng.uniform(0, 5.2))
                code = worker(*arguments, *resume, held=held, size=size)
                assert code in (0, 3)
            else:
                code = worker(*arguments, *resume, held=held, seconds=rng.uniform(0, 1.5))
                assert code in (0, -signal.SIGKILL)
            ids = noted_ids(folder, file_format)
            assert max(Counter(ids).values(), default=1) == 1
            if code == 0:
                assert sorted(ids) == list(range(ROWS))
        resume = ["--resume"] * (folder / "unload.json").exists()
        assert worker(*arguments, *resume, held=held) == 0
        assert sorted(noted_ids(folder, file_format)) == list(range(ROWS))
        noted = {file["name"] for file in json.loads((folder / "unload.json").read_text())["state"]["files"]}
        assert {path.name for path in folder.iterdir()} == {"unload.json", *noted}
        shutil.rmtree(folder)


def noted_ids(folder: Path, file_format: str) -> list[int]:
    if not (folder / "unload.json").exists():
        return []
    found = []
    for file in json.loads((folder / "unload.json").read_text())["state"]["files"]:
        path = folder / file["name"]
        if file_format == "csv":
            with path.open(newline="") as lines:
                rows = list(csv.reader(lines))
            assert all(len(row) == 2 and row[1] == row[0] * (int(row[0]) % 40) for row in rows)
            ids = [int(row[0]) for row in rows]
        else:
            table = _opened(path)
            ids = table["id"].to_pylist()
            assert table["t"].to_pylist() == [f"{i}" * (i % 40) for i in ids]
        assert len(ids) == file["rows"]
        found += ids
    return found
