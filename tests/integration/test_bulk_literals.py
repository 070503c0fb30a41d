"""What ``load`` and ``session.ingest`` read of texts is what the server reads of the same ones, or they refuse them."""

from __future__ import annotations

import csv
import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from cassandra import InvalidRequest
from cassandra.bulk import main
from cassandra.cluster import Cluster, Session
from cassandra.protocol import SyntaxException
from cassandra.query import SimpleStatement, tuple_factory
from cassandra.util import Date, Time
from tests.integration.conftest import create_keyspace

pytestmark = pytest.mark.server

V1, V4 = "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
V7, SHORT = "6ba7b810-9dad-71d1-80b4-00c04fd430c8", "6ba7b8109dad11d180b400c04fd430c8"
WHOLE = [
    "12",
    "-12",
    "+12",
    " 12",
    "12 ",
    "1_2",
    "\uff11\uff12",
    "0x0c",
    "012",
    "1e1",
    "1.0",
    "12L",
    "--1",
    "-",
    "1,2",
    "127",
    "128",
    "-129",
]
WHOLE += ["32768", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "-9223372036854775809"]
REAL = [
    "1.5",
    "-1.5",
    "+1.5",
    " 1.5 ",
    "1_0.5",
    "\uff11.\uff15",
    "1e3",
    "1E-3",
    ".5",
    "5.",
    "1e",
    "1e400",
    "-1e400",
    "1e39",
    "1e-400",
]
REAL += [
    "NaN",
    "nan",
    "Infinity",
    "-Infinity",
    "inf",
    "-inf",
    "0x1p3",
    "1.5f",
    "1.5d",
    "3.4028235e38",
    "3.4028236e38",
    "-0.0",
    "1e1_0",
]
TEXTS: dict[str, list[str]] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "varint"), WHOLE),
    "float": REAL,
    "double": REAL,
    "decimal": [*REAL, "1e2147483647", "1e2147483649", "0.10", "1e+5"],
    "boolean": ["true", "false", "True", "TRUE", "1", "0", "yes", "t", "", " true ", "truE", "tru", "\uff54rue"],
    "inet": [
        "10.0.0.1",
        "10.0.0.1 hello",
        "12345",
        "192.168.001.010",
        "127.1",
        "1.2.3",
        "0x7f.0.0.1",
        "256.0.0.1",
        "1.2.3.4.5",
        "::1",
        "::",
        "1::2::3",
        "fe80::1%lo",
        "::1%1",
        "[::1]",
        "10.0.0.1.",
        "\uff11\uff10.0.0.1",
        " 10.0.0.1",
        "10.0.0.1 ",
        "::1 ",
        "-1.0.0.1",
        "1.2.3.4/8",
        "::1.2.3.4",
        "2001:DB8::1",
        "0:0:0:0:0:0:0:1",
        "0.0.0.0",
        "010.0.0.1",
        "1.2.3.08",
        "00000::1",
        "4294967295",
    ],
    "uuid": [
        V1,
        V4,
        V1.upper(),
        SHORT,
        f"{{{V1}}}",
        f"urn:uuid:{V1}",
        V1[:-1],
        V1 + "0",
        f" {V1}",
        f"{V1} ",
        V1.replace("6", "\uff16"),
        V1.replace("-", "_"),
        V1.replace("6", "g"),
        V1[1:] + "-",
        "-" + V1[1:],
        "2026-01-31",
    ],
    "timeuuid": [V1, V4, V7, V1.upper(), SHORT, f"{{{V1}}}", "2026-01-31", "2026-01-31 12:34:56"],
    "date": [
        "2026-01-31",
        "2026-1-31",
        "2026-01-1",
        "26-01-31",
        "2026-02-29",
        "2024-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-01-31 12:00",
        "20260131",
        "2026/01/31",
        "\uff12\uff10\uff12\uff16-01-31",
        " 2026-01-31",
        "2026-01-31 ",
        "+2026-01-31",
        "-2026-01-31",
        "0001-01-01",
        "9999-12-31",
        "0000-01-01",
        "10000-01-01",
        "+10000-01-01",
        "1969-12-31",
        "2026-01-31T",
        "2026-01-31Z",
        "31.01.2026",
    ],
    "time": [
        "12:34:56",
        "12:34:56.7",
        "12:34:56.123456789",
        "12:34:56.1234567890",
        "12:34",
        "12",
        "1:2:3",
        "01:2:3",
        "24:00:00",
        "23:59:60",
        "23:60:00",
        "-1:00:00",
        "12:34:56.",
        "12:34:56,5",
        " 12:34:56",
        "12:34:56 ",
        "\uff11\uff12:34:56",
        "12:34:56Z",
        "12:34:56+01:00",
        "123456",
        "12:34:56pm",
        "00:00:00",
        "23:59:59.999999999",
        "T12:34:56",
        "1234",
        "1e3",
    ],
    "timestamp": [
        "2026-01-31 12:34:56.789+0000",
        "2026-01-31 12:34:56.7+0000",
        "2026-01-31 12:34:56.78Z",
        "2026-01-31T12:34:56Z",
        "2026-01-31 12:34Z",
        "2026-01-31 12:34:56.789123+0000",
        "2026-01-31 12:34:56.789000+0000",
        "2026-01-31+0000",
        "2026-01-31 12+0000",
        "2026-01-31T12Z",
        "2026-01-31 12:34:56+01:00",
        "2026-01-31 12:34:56 +0100",
        "2026-01-31 12:34:56+01",
        "2026-01-31 12:34:56-0130",
        "2026-01-31 12:34:56+9999",
        "2026-01-31 12:34:56 UTC",
        "2026-01-31 12:34:56 CET",
        "2026-01-31 24:00:00Z",
        "2026-01-31 12:60:00Z",
        "2026-02-30 00:00:00Z",
        "2026-13-01 00:00:00Z",
        "1700000000000",
        "-1",
        "+5",
        "1_0",
        "\uff11\uff17",
        "1.5",
        "9223372036854775807",
        "9223372036854775808",
        "20260131",
        "2026-1-31 1:2:3Z",
        "2026-01-31 1:02:03Z",
        "1969-12-31 23:59:59.999Z",
        "0001-01-01 00:00:00Z",
        "10000-01-01 00:00:00Z",
        "2026-01-31 12:34:56.Z",
        "2026-01-31  12:34:56Z",
        "\uff12\uff10\uff12\uff16-01-31 12:34:56Z",
        "2026-01-31t12:34:56z",
        "2026-01-31 12:34:56z",
        "2026-01-31_12:34:56Z",
        "2026-01-31 12:34:56.789+00:00:01",
        "2026-01-31 12:34:56+00:60",
        "2026-01-31 12:34:60Z",
    ],
    "duration": [
        "1y2mo3w4d5h6m7s8ms9us10ns",
        "-1d",
        "1d",
        "+1d",
        "1D",
        "1Y2MO",
        "1.5h",
        "1h1h",
        "1h1d",
        "1d1y",
        "P1Y2M3DT4H5M6S",
        "-P1D",
        "P1W",
        "P1DT",
        "P",
        "P0001-02-03T04:05:06",
        "1 d",
        " 1d",
        "1d ",
        "",
        "-",
        "1",
        "d",
        "1µs",
        "1us",
        "\uff11d",
        "1_0d",
        "2147483648mo",
        "2147483647mo",
        "2147483648d",
        "178956971y",
        "9223372036854775807ns",
        "9223372036854775808ns",
        "2562048h",
        "0s",
        "--1d",
        "1d-1h",
        "1m1mo",
        "1mo1m",
    ],
    "blob": [
        "0x",
        "0xff",
        "0XFF",
        "0xf",
        "ff",
        "0x12 34",
        "0xzz",
        " 0xff",
        "0xff ",
        "0xF F",
        "\uff10xff",
        "0x\uff112",
        "",
    ],
    "ascii": ["a", "é", " a ", "\x7f"],
    "text": ["a", "é", " a ", "\x00b", "😀"],
    "list<int>": [
        "[1, 2]",
        "[]",
        "[1,2",
        "[1 2]",
        "[1,,2]",
        "[1,]",
        "(1,2)",
        "{1,2}",
        "1",
        "[[1]]",
        "[1]x",
        "[1_0]",
        "[2147483648]",
    ],
    "set<text>": ["{'a', 'b'}", "{a}", "{}", "['a']", "{'a' 'b'}", "{'a','a'}", "{'it''s'}", "{'a': 1}"],
    "map<text, int>": ["{'a': 1}", "{}", "{'a' 1}", "{'a': 1, 'a': 2}", "{'a': 1,}", "{'a'}", "['a']", "{'a': 1.5}"],
    "tuple<int, text>": ["(1, 'a')", "(1)", "()", "(1, 'a', 2)", "[1, 'a']", "(1 'a')", "{1, 'a'}"],
    "vector<float, 2>": [
        "[1.0, 2]",
        "[1]",
        "[1, 2, 3]",
        "[1, null]",
        "(1, 2)",
        "{1, 2}",
        "[1e39, 0]",
        "[NaN, Infinity]",
    ],
    "frozen<list<time>>": ["['12:34:56']", "['12:34']", "[12:34:56]"],
    "frozen<set<inet>>": ["{'10.0.0.1'}", "{'12345'}", "{'010.0.0.1'}"],
}

#: Texts that are read although the server refuses them or reads them otherwise, and what they are then.
OTHERWISE: dict[tuple[str, str], Any] = {
    ("boolean", ""): None,  # nothing is null
    ("blob", ""): None,
    ("duration", ""): None,
    ("float", "inf"): float("inf"),  # as Python spells it
    ("float", "-inf"): float("-inf"),
    ("double", "inf"): float("inf"),
    ("double", "-inf"): float("-inf"),
    ("uuid", SHORT): UUID(SHORT),
    ("timeuuid", SHORT): UUID(SHORT),
    ("date", "2026-1-31"): Date("2026-01-31"),
    ("date", "2026-01-1"): Date("2026-01-01"),
    ("date", " 2026-01-31"): Date("2026-01-31"),
    ("date", "2026-01-31 "): Date("2026-01-31"),
    ("timestamp", "+5"): datetime.datetime(1970, 1, 1, 0, 0, 0, 5000),
    ("set<text>", "{a}"): {"a"},  # as COPY TO writes it
    ("tuple<int, text>", "()"): (None, None),
    ("frozen<list<time>>", "[12:34:56]"): [Time("12:34:56")],
}
#: Numbers that the server makes infinite.
REFUSED = {("float", "1e39"), ("float", "1e400"), ("float", "-1e400"), ("double", "1e400"), ("double", "-1e400")}
REFUSED |= {("float", "3.4028236e38"), ("vector<float, 2>", "[1e39, 0]")}
READ_BY_INGEST = ("inet", "uuid", "timeuuid", "decimal", "varint", "ascii", "text")
KEYSPACE = "bulk_literals"


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Iterator[Session]:
    with cluster.connect() as session:
        create_keyspace(session, KEYSPACE)
        session.set_keyspace(KEYSPACE)
        session.row_factory = tuple_factory
        columns = ", ".join(f"v{i} {kind}" for i, kind in enumerate(TEXTS))
        for table in ("loaded", "served"):
            session.execute(f"CREATE TABLE {table} (k int PRIMARY KEY, {columns})", timeout=60)
        cluster.refresh_schema_metadata()
        yield session
        session.execute(f"DROP KEYSPACE {KEYSPACE}", timeout=60)


def of_server(session: Session, column: str, text: str) -> list[str]:
    """What the server stores of it as a text in quotes, as a constant as it is, and as a text of JSON."""
    quoted = text.replace("'", "''")
    document = json.dumps({"k": 1, column: text}).replace("'", "''")
    found = []
    for statement in (
        f"INSERT INTO served (k, {column}) VALUES (1, '{quoted}')",
        f"INSERT INTO served (k, {column}) VALUES (1, {text})",
        f"INSERT INTO served JSON '{document}'",
    ):
        try:
            session.execute("DELETE FROM served WHERE k = 1")
            session.execute(SimpleStatement(statement), timeout=60)
        except (InvalidRequest, SyntaxException):
            continue
        found.append(repr(session.execute(f"SELECT {column} FROM served WHERE k = 1").one()[0]))
    return found


@pytest.mark.parametrize("kind", TEXTS)
def test_load_reads_texts_as_the_server_does(
    session: Session, cassandra_node: Any, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts, column = TEXTS[kind], f"v{list(TEXTS).index(kind)}"
    with Path("t.csv").open("w", encoding="utf8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows(enumerate(texts))
    session.execute("TRUNCATE loaded", timeout=60)
    where = ["--host", cassandra_node.contact_points[0], "--port", str(cassandra_node.port), "--cqlshrc", "none"]
    main(["load", f"{KEYSPACE}.loaded", "t.csv", "--columns", f"k,{column}", "--escape", '"', *where])
    check(session, kind, column)


@pytest.mark.parametrize("kind", READ_BY_INGEST)
def test_ingest_reads_texts_as_the_server_does(session: Session, kind: str) -> None:
    texts, column = TEXTS[kind], f"v{list(TEXTS).index(kind)}"
    session.execute("TRUNCATE loaded", timeout=60)
    data = pa.table({"k": pa.array(range(len(texts)), pa.int32()), column: texts})
    session.ingest("loaded", data, on_error="collect")
    check(session, kind, column)


def check(session: Session, kind: str, column: str) -> None:
    """What is in the table of the texts that were loaded is what the server would have stored."""
    found = dict(session.execute(f"SELECT k, {column} FROM loaded"))
    for number, text in enumerate(TEXTS[kind]):
        if (kind, text) in REFUSED:
            assert number not in found, (kind, text, found[number])
        elif number in found and (kind, text) in OTHERWISE:
            wanted = OTHERWISE[kind, text]
            assert found[number] == wanted or tuple(found[number]) == wanted, (kind, text, found[number])
        elif number in found:
            stored = of_server(session, column, text)
            assert repr(found[number]) in stored, (kind, text, found[number], stored)
    assert len(found) >= 1, "all texts were refused"
