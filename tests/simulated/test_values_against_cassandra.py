"""The simulation takes and refuses the values that Cassandra takes and refuses, and gives the same bytes back."""

from __future__ import annotations

import random
import socket
import struct
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cassandra.testing import SimulatedCluster
from tests.servers import ServerCluster

pytestmark = pytest.mark.long

KEYSPACE = "same_values"
REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
SERVER_ERROR = 0x0000
INVALID = 0x2200
Outcome = tuple[str, Any]


class Client:
    """A connection with protocol 4 that sends and receives values as bytes: no code of the driver encodes them."""

    def __init__(self, address: str, port: int) -> None:
        self.socket = socket.create_connection((address, port), 60)
        assert self._call(0x01, _short(1) + _string("CQL_VERSION") + _string("3.0.0"))[0] == 0x02

    def close(self) -> None:
        self.socket.close()

    def _call(self, operation: int, body: bytes) -> tuple[int, bytes]:
        self.socket.sendall(bytes([4, 0, 0, 0, operation]) + _int(len(body)) + body)
        head = self._exactly(9)
        return head[4], self._exactly(int.from_bytes(head[5:], "big"))

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            got = self.socket.recv(count - len(data))
            assert got, "the server has closed the connection"
            data += got
        return data

    def query(self, text: str, *values: bytes | None) -> Outcome:
        """``("rows", lists of bytes)``, ``("done", None)``, or ``("error", its code)`` and its text."""
        body = _int(len(text.encode())) + text.encode() + _short(1) + bytes([0x02 | bool(values)])
        if values:
            body += _short(len(values)) + elements(*values)
        operation, answer = self._call(0x07, body)
        if operation == 0x00:
            code = int.from_bytes(answer[:4], "big")
            self.message = answer[6 : 6 + int.from_bytes(answer[4:6], "big")].decode()
            return "error", code
        if answer[:4] != _int(2):
            return "done", None
        assert answer[7] & 0b110 == 0b100, "neither metadata nor another page"
        columns, count, data = int.from_bytes(answer[8:12], "big"), int.from_bytes(answer[12:16], "big"), answer[16:]
        found = []
        for _ in range(columns * count):
            size = int.from_bytes(data[:4], "big", signed=True)
            found.append(None if size < 0 else data[4 : 4 + size])
            data = data[4 + max(size, 0) :]
        return "rows", [found[at : at + columns] for at in range(0, len(found), columns)]


def _short(value: int) -> bytes:
    return value.to_bytes(2, "big")


def _int(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _string(text: str) -> bytes:
    return _short(len(text)) + text.encode()


def elements(*values: bytes | None) -> bytes:
    return b"".join(_int(-1) if value is None else _int(len(value)) + value for value in values)


def collection(*values: bytes | None) -> bytes:
    return _int(len(values)) + elements(*values)


def entries(*values: bytes | None) -> bytes:
    return _int(len(values) // 2) + elements(*values)


def decimal(scale: int, *digits: int) -> bytes:
    return _int(scale) + bytes(digits)


def real(value: float) -> bytes:
    return struct.pack(">f", value)


def hexes(*texts: str) -> list[bytes]:
    return [bytes.fromhex(text) for text in texts]


#: For every type.
BYTES = [
    *hexes("", "00", "01", "02", "ff", "7f", "80", "0000", "ffff", "000000", "00000001", "ffffffff", "7fffffff"),
    *hexes("80000000", "00" * 5, "00" * 7, "00" * 8, "ff" * 8, "7f" + "ff" * 7, "80" + "00" * 7, "00" * 9, "00" * 12),
    *hexes("00" * 15, "00" * 16, "ff" * 16, "00" * 17, "616263", "610062", "c3a9", "c3", "eda080", "f4908080", "c080"),
    *hexes("c081", "c180", "e08080", "f0808080", "f7bfbfbf", "f880808080", "efbbbf", "fffe41", "f09f9880"),
]
TIME_UUIDS = [uuid.uuid1().bytes, uuid.uuid4().bytes, *hexes("00" * 6 + "1000" + "00" * 8, "00" * 6 + "20" + "80" * 9)]
COLLECTIONS = (
    *(collection(*(_int(item) for item in items)) for items in ([], [1], [1, 2], [2, 1], [1, 1])),
    *(collection(item) for item in (None, b"", b"\0")),
    collection(_int(1), None),
    collection(_int(1), b"abc"),
    collection(_int(1)) + b"x",
    *(_int(-1), _int(1), _int(1000000), _int(0) + b"zz", _int(1) + _int(-2), _int(2) + elements(_int(1))),
    _int(1) + _int(5) + b"ab",
)
PARTS = [
    *(elements(_int(1)), elements(_int(1), b"a"), elements(_int(1), b"a", b"b"), elements(None), elements(None, None)),
    *(elements(_int(1), None), elements(b"", b""), elements(_int(1), b"\xff"), _int(-2) + _int(-1)),
    *(elements(_int(1)) + b"\0", elements(_int(1), b"a") + b"\0", b"\0\0\0"),
]
MAPS = [
    entries(_int(1), b"a"),
    entries(_int(1), b"a", _int(1), b"b"),
    entries(_int(2), b"a", _int(1), b"b"),
    *(_int(1) + elements(_int(1)), entries(_int(1), None), entries(None, b"a"), entries(_int(1), b"\xff")),
]
DECIMALS = [
    collection(*(decimal(*item) for item in items))
    for items in ([(0, 1), (1, 10)], [(1, 10), (0, 1)], [(0, 2), (0, 1)], [(1,)])
]
#: Further ones of a type.
OF_TYPES: dict[str, Sequence[bytes]] = {
    **dict.fromkeys(
        ("ascii", "bigint", "blob", "boolean", "int", "timestamp", "text", "date", "smallint", "tinyint"), ()
    ),
    "uuid": TIME_UUIDS,
    "timeuuid": TIME_UUIDS,
    "varint": hexes("000001", "ffff", "01" * 40),
    "decimal": [
        *(decimal(0), decimal(0, 1), decimal(2, 0, 0, 0, 1), decimal(2**31 - 1, 1), decimal(-(2**31), 1)),
        *(decimal(-1, 255), decimal(0, 255, 255, 255), b"\0\0\0"),
    ],
    "double": hexes("7ff8000000000000", "7ff8000000000001", "fff0000000000001", "7ff0000000000000", "80" + "00" * 7),
    "float": hexes("7fc00000", "7fc00001", "ff800001", "7f800000", "80000000"),
    "time": [
        *((86_400 * 10**9 - 1).to_bytes(8, "big"), (86_400 * 10**9).to_bytes(8, "big")),
        (-1).to_bytes(8, "big", signed=True),
    ],
    "duration": hexes(
        *("000000", "020202", "010202", "010101", "020100", "000102", "0000", "00000000", "ff" * 9 + "0000"),
        *("f0ffffffff0000", "f0fffffffe0000", "f1000000000000", "00f10000000000", "0000" + "ff" * 9),
        "0000" + "ff" * 8 + "fe",
    ),
    "inet": hexes("00" * 4, "00" * 10 + "ffff01020304", "00" * 15 + "01", "01" * 6),
    **dict.fromkeys(("frozen<list<int>>", "list<int>", "frozen<set<int>>", "set<int>"), COLLECTIONS),
    **dict.fromkeys(("frozen<list<text>>", "frozen<list<frozen<list<int>>>>", "frozen<set<timeuuid>>"), COLLECTIONS),
    **dict.fromkeys(("frozen<map<int, text>>", "map<int, text>"), (*COLLECTIONS, *MAPS)),
    **dict.fromkeys(("frozen<tuple<int, text>>", "frozen<pair>", "pair"), (*COLLECTIONS, *PARTS)),
    **dict.fromkeys(("frozen<set<decimal>>", "set<decimal>"), (*COLLECTIONS, *DECIMALS)),
    "map<decimal, int>": [*COLLECTIONS, entries(decimal(0, 1), _int(1), decimal(1, 10), _int(2))],
    "frozen<set<float>>": [
        collection(real(0.0), real(-0.0)),
        collection(real(-0.0), real(0.0)),
        collection(*hexes("7fc00000", "7fc00001")),
        collection(*hexes("7fc00001", "7fc00000", "00000000")),
    ],
    "vector<float, 2>": [real(1) * 2, real(1), real(1) * 3, real(float("nan")) * 2, b"\0" * 7],
    "vector<int, 2>": [_int(1) * 2, _int(1) * 3],
    "vector<text, 2>": [b"\1a\1b", b"\1a", b"\1a\1b\0", b"\0\0", b"\1\xff\0", b"\5a"],
    "vector<smallint, 2>": [b"\2\0\1\2\0\2", b"\0\1\0\2", b"\1\0\1\0"],
}
TYPES = list(OF_TYPES)

INTEGERS = [
    *("0", "1", "-1", "-0", "127", "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648", "-2147483648"),
    *("-2147483649", "4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808"),
    *("-9223372036854775809", "86399999999999", "86400000000000", "123456789012345678901234567890"),
]
LITERALS = [
    *INTEGERS,
    *(
        "1.0",
        "1.5",
        "-0.0",
        "0.1",
        "1e5",
        "1E+2",
        "1e308",
        "1e309",
        "-1e309",
        "1e400",
        "1e39",
        "1e-400",
        "1e2147483647",
    ),
    *("1e2147483648", "1e-2147483648", "NaN", "nan", "-NaN", "Infinity", "-Infinity", "true", "false", "TRUE", "null"),
    *("''", "'abc'", "'é'", "'a''b'", "' '", "'a\0b'", "$$abc$$", "$$é$$", "'true'", "'1'", "'-1'", "'NaN'", "(1)"),
    *("0x", "0xFF", "0xf", "0xCAFE", "0XcaFE"),
    *("550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-11d4-a716-446655440000"),
    *("550E8400-E29B-11D4-A716-446655440000", "550e8400-e29b-11d4-0716-446655440000"),
    "'550e8400-e29b-11d4-a716-446655440000'",
]
DATES = [
    *("2020-01-01", "1969-12-31", "2020-02-30", "2020-04-31", "2020-04-32", "2020-13-01", "2020-1-1", "2020-1-01"),
    *("20-01-01", "0000-01-01", "-0000-01-01", "-0001-01-01", "-1-01-01", "-2020-01-01", "+2020-01-01", "9999-12-31"),
    *("10000-01-01", "+10000-01-01", "+20200-01-01", "-20200-01-01", "-5877641-06-23", "-5877641-06-22", "20000-01-01"),
    *("5881580-07-11", "5881580-07-12", "+5881580-07-11", "+5881580-07-12", "4294967295", "4294967296"),
]
MOMENTS = [
    *("2020-01-01 00:00:00", "2020-01-01T00:00:00Z", "2020-01-01 00:00", "2020-01-01 00:00+0100", "2020-01-01Z"),
    *("2020-01-01T00:00:00.123456", "2020-01-01 00:00:00.123Z", "2020-01-01T00:00:00.1", "2020-01-01+0100"),
    *("2020-01-01T00:00:00.12+01:00", "2020-01-01T00:00:00.123456789Z", "2020-01-01T25:00:00", "2020-01-01 00:60"),
    *("2020-01-01 24:00:00Z", "2020-01-01 24:00", "2020-01-01 24:01", "2020-01-01 00:00:61", "2020-02-30 00:00Z"),
    *("2020-01-01 00:00:00 UTC", "2020-01-01 00:00:00 GMT", "2020-01-01 00:00:00+14:00", "2020-13-01 00:00Z"),
    *("2020-01-01 00:00:00+18:00", "2020-01-01 00:00:00+18:01", "2020-01-01 00:00:00+01:60", "2020-1-1 1:1:1Z"),
    *("2020-01-01 00:00:00-1800", "2020-01-01 00:00:00+19", "2020-01-01 00:00:00+99:99", "20-01-01 01:01"),
    *("-2020-01-01 00:00:00Z", "2020-1-01 01:01", "2020-01-01 1:01"),
]
TIMES = [
    *("00:00:00", "23:59:59", "23:59:59.999999999", "24:00:00", "00:00", "1:2:3", "0:0:0", "023:05:09", "12:34:60"),
    *("12:34:56.1234567890", "12:34:56.", "12:34:56.1", "1:2:3.4", "-01:00:00", "86399999999999", "86400000000000"),
]
ADDRESSES = [
    *("127.0.0.1", "127.0.0", "127.0.0.01", "1.2", "1.256", "1.2.65535", "1.2.65536", "256.1.1.1", "1.2.3.4.5", "1..2"),
    *("0x1.2.3.4", "12345", "4294967295", "4294967296", "1.2.3.4 x", " 1.2.3.4", "1.2.3.4/8", "::1", "[::1]", "[::1"),
    *("::ffff:1.2.3.4", "::ffff:102:304", "fe80::1%1"),
]
DURATIONS = [
    *("1y", "1mo1d", "1d1mo", "-1mo", "1h", "1M", "1Y2MO", "1us", "1µs", "1ns", "1ms1s", "1s1s", "0s", "1y-1d"),
    *("178956970y", "178956971y", "99999999999y", "2147483647mo", "2147483648mo", "2147483647d", "2147483648d"),
    *("306783378w", "306783379w", "9223372036854775807ns", "9223372036854775808ns", "2562047788015215h"),
    *("2562047788015216h", "P1Y", "P1Y2M", "PT1H", "P1W", "P1Y2M3DT4H5M6S", "-P1Y", "P0001-02-03T04:05:06", "P1.5Y"),
]
WHOLES = [
    *("[]", "{}", "[1]", "[1,2]", "[1.5]", "[null]", "['a']", "{1}", "{1,1}", "{2,1}", "{1:'a'}", "{1:'a',1:'b'}"),
    *("{1:null}", "(1,'a')", "(1,'a',2)", "(null,null)", "(1,null)", "{a:1}", "{a:1,b:'x'}", "{b:'x'}", "{c:1}"),
    *("{a:'x'}", "[1,2,3]", "[1,NaN]", "[NaN,1]", "[1.0,2.0]", "[[1]]", "[[]]", "{NaN}", "{0.0,-0.0}"),
    *("{NaN,NaN}", "[300]", "[32768,1]", "['a','b']", "['é','']", "{550e8400-e29b-41d4-a716-446655440000}"),
]
#: Cassandra binds any bytes and any text to these without a look at them, where other types are refused.
UNCHECKED = {("tinyint", literal) for literal in ("0x", "0xFF", "0xCAFE", "0XcaFE")}


#: Texts that are read by these types; the others see a few of each.
TEXTS = {"date": DATES, "timestamp": [*DATES, *MOMENTS], "time": TIMES, "inet": ADDRESSES}


def literals(kind: str) -> list[str]:
    whole = "<" in kind or "pair" in kind
    if kind == "frozen<tuple<int, text>>":  # takes constants of any type as its bytes or text
        return WHOLES
    texts = [text for of, group in TEXTS.items() for text in (group if of == kind else group[:2])]
    found = [
        *(LITERALS[:: 9 if whole else 1]),
        *(DURATIONS if kind == "duration" else DURATIONS[:2]),
        *(WHOLES if whole else WHOLES[:6]),
        *(f"'{text}'" for text in texts),
    ]
    return [text for text in found if (kind, text) not in UNCHECKED]


@pytest.fixture(scope="module")
def real_client(cassandra_node: ServerCluster) -> Iterator[Client]:
    yield from _client(cassandra_node.contact_points[0], cassandra_node.port)


@pytest.fixture(scope="module")
def simulated_client() -> Iterator[Client]:
    with SimulatedCluster(1, 1) as simulated:
        yield from _client(simulated.contact_points[0], simulated.port)


def _client(address: str, port: int) -> Iterator[Client]:
    client = Client(address, port)
    for text in (
        f"DROP KEYSPACE IF EXISTS {KEYSPACE}",
        f"CREATE KEYSPACE {KEYSPACE} WITH replication = {REPLICATION}",
        f"USE {KEYSPACE}",
        "CREATE TYPE pair (a int, b text)",
    ):
        assert client.query(text)[0] == "done", client.message
    yield client
    client.query(f"DROP KEYSPACE {KEYSPACE}")
    client.close()


@pytest.fixture
def clients(simulated_client: Client, real_client: Client) -> tuple[Client, Client]:
    return simulated_client, real_client


def written(client: Client, text: str, *values: bytes | None) -> Outcome:
    """The bytes that are read after a write, or the code of its error."""
    outcome = client.query(text, *values)
    if outcome[0] != "done":
        return outcome
    return client.query("SELECT v FROM t WHERE p = 1")


def check(
    clients: tuple[Client, Client], kind: str, cases: Sequence[tuple[str, str, tuple[bytes | None, ...]]]
) -> None:
    for client in clients:
        client.query("DROP TABLE IF EXISTS t")
        assert client.query(f"CREATE TABLE t (p int PRIMARY KEY, v {kind})")[0] == "done", client.message
    different = []
    for name, text, values in cases:
        simulated, expected = (written(client, text, *values) for client in clients)  # always the whole value
        if expected == ("error", SERVER_ERROR):
            expected = ("error", INVALID)  # a failure of the server is a refusal of the simulation
        if simulated == ("error", INVALID) and "not supported by the simulation" in clients[0].message:
            continue
        if simulated != expected:
            different.append(f"{name}: simulated {simulated}, real {expected}")
    assert not different, "\n".join(different)


@pytest.mark.parametrize("kind", TYPES)
def test_the_same_values(kind: str, clients: tuple[Client, Client]) -> None:
    values = [*BYTES, *OF_TYPES[kind], None]
    rng = random.Random(kind)
    for data in [*values]:
        if data:
            damaged = bytearray(data)
            damaged[rng.randrange(len(damaged))] = rng.choice([0, 1, 2, 0x7F, 0x80, 0xC3, 0xF0, 0xFF])
            values += [bytes(damaged), data[:-1], data + b"\0"]
    cases: list[tuple[str, str, tuple[bytes | None, ...]]] = [
        (repr(data), "INSERT INTO t (p, v) VALUES (1, ?)", (data,)) for data in values
    ]
    check(clients, kind, [*cases, *((text, f"INSERT INTO t (p, v) VALUES (1, {text})", ()) for text in literals(kind))])


#: Keys that are equal to the server though their bytes differ, or the other way round.
KEYS: dict[str, list[bytes]] = {
    "boolean": hexes("00", "01", "02", ""),
    "decimal": [*(decimal(*parts) for parts in ((0, 1), (1, 10), (2, 100), (0, 2), (0, 0), (5, 0))), b""],
    "double": hexes("00" * 8, "80" + "00" * 7, "7ff8000000000000", "7ff8000000000001"),
    "float": hexes("00000000", "80000000", "7fc00000", "7fc00001", "7f800000", "3f800000"),
    "int": hexes("", "00000000", "ffffffff"),
    "inet": hexes("", "00000000", "00" * 16, "01020304"),
    "text": hexes("", "61", "c080", "00"),
    "timestamp": hexes("", "00" * 8),
    "timeuuid": [*hexes("", "00" * 6 + "1000" + "00" * 8, "00" * 6 + "1000" + "80" + "00" * 7), TIME_UUIDS[0]],
    "uuid": TIME_UUIDS,
    "varint": hexes("01", "0001", "ff", "ffff", ""),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("key, order", [("k", ")"), ("p, k", ")"), ("p, k", ") WITH CLUSTERING ORDER BY (k DESC)")])
def test_the_same_keys(kind: str, key: str, order: str, clients: tuple[Client, Client]) -> None:
    found: list[list[Outcome]] = []
    for client in clients:
        client.query("DROP TABLE IF EXISTS t")
        columns = f"{'' if key == 'k' else 'p int, '}k {kind}, v int"
        assert client.query(f"CREATE TABLE t ({columns}, PRIMARY KEY ({key}){order}")[0] == "done", client.message
        table = "k, v" if key == "k" else "p, k, v"
        value = "" if key == "k" else "1, "
        where = "" if key == "k" else "p = 1 AND "
        outcomes = [
            client.query(f"INSERT INTO t ({table}) VALUES ({value}?, ?)", data, _int(number))
            for number, data in enumerate(KEYS[kind])
        ]
        outcomes.append(client.query("SELECT k, v FROM t"))
        for operator in ("=",) if key == "k" else ("=", ">", "<="):
            outcomes += [client.query(f"SELECT k, v FROM t WHERE {where}k {operator} ?", data) for data in KEYS[kind]]
        found.append(outcomes)
    assert found[0] == found[1]
