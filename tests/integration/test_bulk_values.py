"""``load`` stores the same values whichever way rows take: by session.ingest, with times of their own, as counters."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.query import tuple_factory
from cassandra.util import Date, Duration, Time
from tests.integration.conftest import create_keyspace

pytestmark = pytest.mark.server

Bulk = Callable[..., int]

DAY = datetime.date(2026, 1, 31)
MOMENT = datetime.datetime(2026, 1, 31, 12, 34, 56, 789000)
ADDRESS = pa.struct([("city", pa.string()), ("street", pa.string())])
PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.int64())]))
ID = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
#: CQL type, a value as Arrow has it, the value that the server has then.
CASES: list[tuple[str, pa.Array, Any]] = [
    ("timestamp", pa.array([MOMENT], pa.timestamp("us")), MOMENT),
    ("timestamp", pa.array([MOMENT], pa.timestamp("ns")), MOMENT),
    ("timestamp", pa.array([MOMENT], pa.timestamp("ms", "Europe/Berlin")), MOMENT),
    ("timestamp", pa.array([1_700_000_000], pa.timestamp("s")), datetime.datetime(2023, 11, 14, 22, 13, 20)),
    ("timestamp", pa.array([DAY], pa.date32()), datetime.datetime(2026, 1, 31)),
    ("timestamp", pa.array([DAY], pa.date64()), datetime.datetime(2026, 1, 31)),
    ("date", pa.array([DAY], pa.date32()), Date(DAY)),
    ("date", pa.array([DAY], pa.date64()), Date(DAY)),
    ("date", pa.array([datetime.datetime(2026, 1, 31)], pa.timestamp("us")), Date(DAY)),
    ("time", pa.array([1_500_000], pa.time64("us")), Time(1_500_000_000)),
    ("time", pa.array([1_500_000_001], pa.time64("ns")), Time(1_500_000_001)),
    ("time", pa.array([1500], pa.time32("ms")), Time(1_500_000_000)),
    ("time", pa.array([2], pa.time32("s")), Time(2_000_000_000)),
    ("duration", pa.array([(1, 2, 3)], pa.month_day_nano_interval()), Duration(1, 2, 3)),
    ("duration", pa.array([5], pa.duration("ms")), Duration(0, 0, 5_000_000)),
    ("address", pa.array([{"city": "Bonn", "street": "Weg"}], ADDRESS), ("Weg", "Bonn")),
    ("frozen<address>", pa.array([{"city": "Bonn", "street": None}], ADDRESS), (None, "Bonn")),
    ("map<text, int>", pa.array([[{"key": "a", "value": 1}]], PAIRS), {"a": 1}),
    ("map<text, int>", pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), {"a": 1}),
    ("decimal", pa.array(["0.10"]), Decimal("0.10")),
    ("decimal", pa.array([Decimal("0.1")], pa.decimal128(5, 2)), Decimal("0.10")),
    ("decimal", pa.array([Decimal("-12345678901234567890123.4")], pa.decimal256(50, 1)), None),
    ("decimal", pa.array([Decimal("1.5")], pa.decimal32(5, 1)), Decimal("1.5")),
    ("decimal", pa.array([7], pa.uint64()), Decimal("7")),
    ("varint", pa.array([2**63], pa.uint64()), 2**63),
    ("varint", pa.array(["-123456789012345678901234567890"]), -123456789012345678901234567890),
    ("varint", pa.array([Decimal("12.00")], pa.decimal64(10, 2)), 12),
    ("int", pa.array([5], pa.uint8()), 5),
    ("int", pa.array([Decimal(5)], pa.decimal128(5, 0)), 5),
    ("bigint", pa.array([-5], pa.int16()), -5),
    ("float", pa.array([0.1], pa.float32()), 0.10000000149011612),
    ("float", pa.array([0.5], pa.float64()), 0.5),
    ("double", pa.array([0.1], pa.float32()), 0.10000000149011612),
    ("double", pa.array([3], pa.int32()), 3.0),
    ("boolean", pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())), True),
    ("boolean", pa.array([True]), True),
    ("uuid", pa.array([ID.bytes], pa.binary(16)), ID),
    ("uuid", pa.array([ID.bytes], pa.uuid()), ID),
    ("timeuuid", pa.array([str(ID)]), ID),
    ("inet", pa.array([b"\x0a\0\0\1"]), "10.0.0.1"),
    ("inet", pa.array(["::1"]), "::1"),
    ("blob", pa.array([b"ab"], pa.large_binary()), b"ab"),
    ("blob", pa.array([b"a" * 20], pa.binary_view()), b"a" * 20),
    ("text", pa.array(["é" * 20], pa.string_view()), "é" * 20),
    ("int", pa.array(["5"]).dictionary_encode(), 5),
    ("timestamp", pa.array(["2026-01-31 12:34:56.789Z"], pa.string_view()), MOMENT),
    ("double", pa.RunEndEncodedArray.from_arrays([1], ["0.5"]), 0.5),
    ("text", pa.array(["a"]).dictionary_encode(), "a"),
    ("text", pa.RunEndEncodedArray.from_arrays([1], ["a"]), "a"),
    ("ascii", pa.array(["a"], pa.large_string()), "a"),
    ("list<int>", pa.array([[1, 2]], pa.list_view(pa.int64())), [1, 2]),
    ("list<int>", pa.array([[1, 2]], pa.list_(pa.int16(), 2)), [1, 2]),
    ("frozen<list<timestamp>>", pa.array([[MOMENT]], pa.large_list(pa.timestamp("us"))), [MOMENT]),
    ("set<text>", pa.array([["b", "a"]]), {"a", "b"}),
    ("tuple<int, date>", pa.array([{"x": 1, "y": DAY}]), (1, Date(DAY))),
    ("vector<float, 2>", pa.array([[0.5, 1.5]], pa.list_(pa.float32())), [0.5, 1.5]),
]
NAMES = [f"c{i}" for i in range(len(CASES))]


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Iterator[Session]:
    with cluster.connect() as session:
        create_keyspace(session, "bulk_values")
        session.set_keyspace("bulk_values")
        session.row_factory = tuple_factory
        session.execute("CREATE TYPE address (street text, city text)")
        columns = ", ".join(f"{name} {cql}" for name, (cql, _, _) in zip(NAMES, CASES, strict=True))
        session.execute(f"CREATE TABLE every (k int PRIMARY KEY, {columns})", timeout=60)
        session.execute("CREATE TABLE t (a int, b int, s text STATIC, v text, w text, PRIMARY KEY (a, b))", timeout=60)
        for name in ("counted", "again"):
            session.execute(
                f"CREATE TABLE {name} (a int, b int, s counter STATIC, t counter STATIC, n counter, "
                "PRIMARY KEY (a, b))",
                timeout=60,
            )
        cluster.refresh_schema_metadata()
        yield session
        session.execute("DROP KEYSPACE bulk_values", timeout=60)


@pytest.fixture
def bulk(session: Session, cassandra_node: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bulk:
    monkeypatch.chdir(tmp_path)
    for table in ("every", "t", "counted", "again"):
        session.execute(f"TRUNCATE {table}", timeout=60)
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]

    def run(*arguments: str) -> int:
        return main([*arguments, *where])

    return run


def write(path: str, columns: dict[str, Any]) -> str:
    """An Arrow file."""
    table = pa.table(columns)
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return path


@pytest.mark.parametrize("way", ["ttl", "writetime"])
def test_values_with_times_of_their_own_are_those_of_a_plain_load(bulk: Bulk, session: Session, way: str) -> None:
    plain = {"k": [1], **{name: values for name, (_, values, _) in zip(NAMES, CASES, strict=True)}}
    kept = ", ".join(["k", *NAMES])
    assert bulk("load", "bulk_values.every", write("plain.arrow", plain)) == 0
    (expected,) = session.execute(f"SELECT {kept} FROM every")
    for name, found, (cql, values, value) in zip(NAMES, expected[1:], CASES, strict=True):
        if value is not None:
            assert (tuple(found) if isinstance(value, tuple) else found) == value, (name, cql, values.type)
    session.execute("TRUNCATE every", timeout=60)
    timed = {f"{way}({name})": pa.array([5000 + i]) for i, name in enumerate(NAMES)}
    assert bulk("load", "bulk_values.every", write("timed.arrow", plain | timed)) == 0
    (row,) = session.execute(f"SELECT {kept} FROM every")
    assert list(map(repr, row)) == list(map(repr, expected))


@pytest.mark.parametrize("columns", [{"v": pa.array([0.1])}, {"v": pa.array([2**40])}])
def test_values_that_a_plain_load_refuses_are_refused(bulk: Bulk, columns: dict[str, Any]) -> None:
    assert bulk("load", "bulk_values.t", write("t.arrow", {"a": [1], "b": [1]} | columns)) != 0
    times = {"writetime(v)": pa.array([1])}
    assert bulk("load", "bulk_values.t", write("t.arrow", {"a": [1], "b": [1]} | columns | times)) != 0


@pytest.mark.parametrize(("time", "value"), [("ttl", 2**31), ("ttl", -1), ("ttl", 10**9), ("writetime", 2**63)])
def test_times_out_of_range_are_refused(bulk: Bulk, session: Session, time: str, value: int) -> None:
    rows = {
        "a": [1, 2],
        "b": [1, 1],
        "v": ["x", "y"],
        f"{time}(v)": pa.array([value, 100], pa.uint64() if value > 0 else None),
    }
    assert bulk("load", "bulk_values.t", write("t.arrow", rows)) == 1
    assert [row[0] for row in session.execute("SELECT a FROM t")] == [2]


def test_options_hold_for_cells_without_times_of_their_own(bulk: Bulk, session: Session) -> None:
    session.execute("INSERT INTO t (a, b, v, w) VALUES (1, 1, 'old', 'old') USING TIMESTAMP 100")
    rows = {"a": [1, 2], "b": [1, 1], "v": ["x", "y"], "w": [None, "z"], "writetime(v)": [5000, None]}
    path = write("t.arrow", rows)
    assert bulk("load", "bulk_values.t", path, "--ttl", "9000", "--timestamp", "700", "--nulls", "null") == 0
    found = session.execute("SELECT a, v, writetime(v), ttl(v), w, writetime(w), ttl(w) FROM t").all()
    assert [row[:3] + row[4:6] for row in found] == [(1, "x", 5000, None, None), (2, "y", 701, "z", 701)]
    assert all(8000 < ttl <= 9000 for row in found for ttl in (row[3], row[6]) if ttl is not None)
    assert found[0][3] is not None
    assert found[1][6] is not None


@pytest.mark.parametrize(
    "option", [["--ttl", "-5"], ["--ttl", "630720001"], ["--timestamp", str(2**63)], ["--timestamp", str(-(2**63))]]
)
@pytest.mark.parametrize("times", [{}, {"writetime(w)": [5]}])
def test_options_out_of_range(bulk: Bulk, option: list[str], times: dict[str, list[int]]) -> None:
    path = write("t.arrow", {"a": [1], "b": [1], "v": ["x"], "w": ["y"]} | times)
    assert bulk("load", "bulk_values.t", path, *option) == 2


def test_a_cell_that_is_null_stays_as_it_is(bulk: Bulk, session: Session) -> None:
    session.execute("INSERT INTO t (a, b, v, w) VALUES (1, 1, 'old', 'old') USING TIMESTAMP 100")
    path = write(
        "t.arrow", {"a": [1], "b": [1], "v": ["x"], "w": pa.array([None], pa.string()), "writetime(v)": [5000]}
    )
    assert bulk("load", "bulk_values.t", path) == 0
    assert session.execute("SELECT v, w FROM t").all() == [("x", "old")]


@pytest.mark.parametrize("row", [{"a": [None], "b": [1]}, {"a": [1], "b": [None]}])
def test_rows_without_their_key_are_refused(bulk: Bulk, session: Session, row: dict[str, Any]) -> None:
    columns = {name: pa.array(values, pa.int32()) for name, values in row.items()}
    assert bulk("load", "bulk_values.t", write("t.arrow", columns | {"v": ["x"], "ttl(v)": [100]})) == 1
    assert session.execute("SELECT a FROM t").all() == []


@pytest.mark.parametrize("column", ["ttl(a)", "ttl(w)"])
def test_ttls_of_key_columns_and_of_absent_columns_are_refused(bulk: Bulk, column: str) -> None:
    assert bulk("load", "bulk_values.t", write("t.arrow", {"a": [1], "b": [1], "v": ["x"], column: [100]})) == 2


def test_a_column_that_is_named_like_a_time(bulk: Bulk, session: Session) -> None:
    session.execute('CREATE TABLE named (a int PRIMARY KEY, v int, "ttl(v)" int, "line\nbreak" text)', timeout=60)
    session.cluster.refresh_schema_metadata()
    assert (
        bulk("load", "bulk_values.named", write("t.arrow", {"a": [1], "v": [2], "ttl(v)": [7], "line\nbreak": ["x"]}))
        == 0
    )
    Path("t.csv").write_text('a,v,ttl(v),"line\nbreak"\n2,3,8,y\n')
    assert bulk("load", "bulk_values.named", "t.csv", "--header") == 0
    assert sorted(session.execute('SELECT a, v, "ttl(v)", "line\nbreak", ttl(v) FROM named')) == [
        (1, 2, 7, "x", None),
        (2, 3, 8, "y", None),
    ]
    session.execute("DROP TABLE named", timeout=60)


# -- counters


def counters(session: Session, table: str) -> list[Any]:
    return sorted(session.execute(f"SELECT a, b, s, t, n FROM {table}"))


def test_static_counters_are_copied_once(bulk: Bulk, session: Session) -> None:
    for a in range(3):
        session.execute("UPDATE counted SET s = s + %s WHERE a = %s", (5 + a, a))
        for b in range(100 * a):
            session.execute("UPDATE counted SET n = n + %s WHERE a = %s AND b = %s", (b, a, b))
    assert bulk("copy", "bulk_values.counted", "bulk_values.again", "--counters") == 0
    assert counters(session, "again") == counters(session, "counted")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_static_counters_are_loaded_once(bulk: Bulk, session: Session, kind: str) -> None:
    rows: list[tuple[Any, ...]] = [(a, b, 5 + a, None if a else 7, b) for b in range(40) for a in range(3)]
    rows += [(4, None, 9, None, None)]
    names = ["a", "b", "s", "t", "n"]
    table = pa.table([pa.array(list(column), pa.int32()) for column in zip(*rows, strict=True)], names=names)
    parts = [table.slice(0, 50), table.slice(50)]  # partitions are in both
    for number, part in enumerate(parts):
        if kind == "parquet":
            pq.write_table(part, f"{number}.parquet", row_group_size=7)
        else:
            lines = [
                ",".join("" if value is None else str(value) for value in row.values()) for row in part.to_pylist()
            ]
            Path(f"{number}.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    options = ["--header"] if kind == "csv" else []
    assert bulk("load", "bulk_values.counted", f"0.{kind}", f"1.{kind}", "--counters", *options) == 0
    assert [row for row in counters(session, "counted") if row[1] is not None] == sorted(
        row for row in rows if row[0] < 4
    )
    assert list(session.execute("SELECT s FROM counted WHERE a = 4")) == [(9,)]


def test_a_static_counter_with_two_values_is_refused(bulk: Bulk, session: Session) -> None:
    path = write("t.arrow", {"a": [1, 1, 1], "b": [1, 2, 3], "s": [5, 5, 6], "n": [1, 1, 1]})
    assert bulk("load", "bulk_values.counted", path, "--counters") == 1
    assert counters(session, "counted") == [(1, 1, 5, None, 1), (1, 2, 5, None, 1)]
    assert "5 was added to this one, not 6" in Path("load-bulk_values.counted.err").read_text()


@pytest.mark.parametrize("option", [["--ttl", "5"], ["--timestamp", "5"], ["--nulls", "null"]])
def test_options_that_counters_do_not_have(bulk: Bulk, option: list[str]) -> None:
    path = write("t.arrow", {"a": [1], "b": [1], "n": [1]})
    assert bulk("load", "bulk_values.counted", path, "--counters", *option) == 2


def test_counters_out_of_range_are_refused(bulk: Bulk, session: Session) -> None:
    path = write("t.arrow", {"a": [1, 2], "b": [1, 1], "n": pa.array([2**63, 5], pa.uint64())})
    assert bulk("load", "bulk_values.counted", path, "--counters") == 1
    assert counters(session, "counted") == [(2, 1, None, None, 5)]


def test_addresses_are_addresses(bulk: Bulk, session: Session) -> None:
    column = NAMES[[cql for cql, _, _ in CASES].index("inet")]
    given = ["10.0.0.1", "10.0.0.1 hello", "12345", "192.168.001.010", "::1", "127.1", "0x7f.0.0.1"]
    path = write("t.arrow", {"k": list(range(len(given))), column: given})
    assert bulk("load", "bulk_values.every", path) == 1
    assert sorted(session.execute(f"SELECT k, {column} FROM every")) == [(0, "10.0.0.1"), (4, "::1")]
