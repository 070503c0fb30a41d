"""Results as columns against their rows: random schemas and values of every CQL type in a real table.

Values are written as literals of CQL and read back as rows. Each columnar way (Arrow batches, tables and streams, data
frames of pandas and Polars, NumPy) is compared with the rows by conversions that are written here, not by the driver's.
"""

from __future__ import annotations

import datetime
import ipaddress
import math
import uuid
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.policies import FallthroughRetryPolicy
from cassandra.protocol import NumpyProtocolHandler
from cassandra.query import SimpleStatement, tuple_factory
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail

from .conftest import Rounds

pytestmark = pytest.mark.server

EPOCH = datetime.datetime(1970, 1, 1)
FIRST_DAY = datetime.date(1970, 1, 1)
EXACT = Context(prec=10_000)
TEXTS = ["", "a", "grüße", "x" * 40, "'quoted'", "\n", "\U0001f600", "0"]


class Kind(NamedTuple):
    """A CQL type, and how a value of it is made as a literal."""

    cql: str
    literal: Callable[[Random], str]
    nested: tuple[Kind, ...] = ()
    names: tuple[str, ...] = ()  # of the fields of a user type


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def integer(bits: int) -> Callable[[Random], str]:
    edges = [0, 1, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))]
    return lambda random: str(random.choice([*edges, random.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))]))


def real(random: Random) -> str:
    return random.choice(["0.0", "-0.0", "NaN", "Infinity", "-Infinity", "1.5", "-2.25", "1e30", "0.1"])


def decimal(random: Random) -> str:
    digits = random.randrange(10 ** random.choice([1, 3, 18, 30, 60]))
    scale = random.choice([0, 0, 1, 2, 2, 9, 30, 45])
    text = format(Decimal(random.choice([1, -1]) * digits).scaleb(-scale), "f")
    return random.choice([text, text, text, f"{digits % 1000}E{random.choice([3, 40, -60])}"])


def varint(random: Random) -> str:
    return str(random.choice([0, 1, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, random.getrandbits(200), 10**50]))


def date(random: Random) -> str:
    return random.choice(["'1970-01-01'", "'1969-12-31'", "'0001-01-01'", "'9999-12-31'", str(2**31 + 20000), "0"])


def time(random: Random) -> str:
    return random.choice(["0", "1", "86399999999999", "1000", str(random.randrange(86400 * 10**9))])


def timestamp(random: Random) -> str:
    return str(random.choice([0, -1, 1, 1709209801005, -62135596800000, 253402300799999, random.randrange(2**41)]))


def duration(random: Random) -> str:
    return random.choice(["1mo2d3ns", "0ns", "-1y2mo3d4ns", "2562047h", "89d", "-5ns"])


def inet(random: Random) -> str:
    return random.choice(["'10.0.0.1'", "'::1'", "'255.255.255.255'", "'2001:db8::8:800:200c:417a'"])


def unique(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128)))


def timed(random: Random) -> str:
    return str(uuid.UUID(int=(random.getrandbits(128) & ~(0xF << 76) & ~(3 << 62)) | 1 << 76 | 2 << 62))


SCALARS = [
    Kind("ascii", lambda random: quoted(random.choice(["", "plain", "x" * 30]))),
    Kind("bigint", integer(64)),
    Kind("blob", lambda random: "0x" + random.randbytes(random.choice([0, 1, 5, 50])).hex()),
    Kind("boolean", lambda random: random.choice(["true", "false"])),
    Kind("date", date),
    Kind("decimal", decimal),
    Kind("double", real),
    Kind("duration", duration),
    Kind("float", lambda random: random.choice(["0.0", "-0.0", "NaN", "Infinity", "1.5", "-2.25"])),
    Kind("inet", inet),
    Kind("int", integer(32)),
    Kind("smallint", integer(16)),
    Kind("text", lambda random: quoted(random.choice(TEXTS))),
    Kind("time", time),
    Kind("timestamp", timestamp),
    Kind("timeuuid", timed),
    Kind("tinyint", integer(8)),
    Kind("uuid", unique),
    Kind("varint", varint),
]
KEYS = [kind for kind in SCALARS if kind.cql not in ("duration", "float", "double")]


def kind_of(random: Random, depth: int = 0, keys: bool = False) -> Kind:
    choice = random.random()
    if keys or depth > 1 or choice < 0.6:
        return random.choice(KEYS if keys else SCALARS)
    if choice < 0.7:
        return sequence("list", "[", "]", kind_of(random, depth + 1))
    if choice < 0.77:
        return sequence("set", "{", "}", kind_of(random, depth + 1, keys=True))
    if choice < 0.84:
        return mapping(kind_of(random, depth + 1, keys=True), kind_of(random, depth + 1))
    if choice < 0.92:
        return row_of(tuple(kind_of(random, depth + 1) for _ in range(random.randint(1, 3))))
    return vector(random.choice(SCALARS), random.randint(1, 3))


def frozen(kind: Kind) -> str:
    return f"frozen<{kind.cql}>" if kind.nested and not kind.cql.startswith("vector") else kind.cql


def sequence(name: str, opening: str, closing: str, item: Kind) -> Kind:
    def literal(random: Random) -> str:
        return opening + ", ".join({item.literal(random): None for _ in range(random.randint(1, 3))}) + closing

    return Kind(f"{name}<{frozen(item)}>", literal, (item,))


def mapping(key: Kind, value: Kind) -> Kind:
    def literal(random: Random) -> str:
        entries = {key.literal(random): value.literal(random) for _ in range(random.randint(1, 3))}
        return "{" + ", ".join(f"{name}: {item}" for name, item in entries.items()) + "}"

    return Kind(f"map<{frozen(key)}, {frozen(value)}>", literal, (key, value))


def row_of(fields: tuple[Kind, ...]) -> Kind:
    def literal(random: Random) -> str:
        return "(" + ", ".join("null" if random.random() < 0.2 else one.literal(random) for one in fields) + ")"

    return Kind(f"tuple<{', '.join(frozen(one) for one in fields)}>", literal, fields)


def user_type(name: str, fields: tuple[Kind, ...]) -> Kind:
    names = tuple(f"f{i}" for i in range(len(fields)))

    def literal(random: Random) -> str:
        given = ((field, one) for field, one in zip(names, fields, strict=True) if random.random() < 0.8)
        parts = [f"{field}: {one.literal(random)}" for field, one in given]
        return "{" + ", ".join(parts or [f"f0: {fields[0].literal(random)}"]) + "}"

    return Kind(name, literal, fields, names)


def vector(item: Kind, size: int) -> Kind:
    return Kind(
        f"vector<{item.cql}, {size}>",
        lambda random: "[" + ", ".join(item.literal(random) for _ in range(size)) + "]",
        (item,),
    )


# ---- one form of a value for all of them: what is compared


def base(kind: Kind) -> str:
    return "udt" if kind.names else kind.cql.split("<")[0]


def number(value: float, single: bool = False) -> str:
    return "nan" if math.isnan(value) else repr(float(value))


def days(value: Any) -> int:
    return (value - FIRST_DAY).days if isinstance(value, datetime.date) else int(value.days_from_epoch)


def milliseconds(value: Any) -> int:
    if isinstance(value, int):
        return value
    if isinstance(value, pd.Timestamp):
        return int(value.as_unit("ms")._value)
    if value.tzinfo is not None:
        assert value.utcoffset() == datetime.timedelta(0)
        value = value.replace(tzinfo=None)
    return (value - EPOCH) // datetime.timedelta(milliseconds=1)


def nanoseconds(value: Any) -> int:
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return (seconds * 10**6 + value.microsecond) * 1000
    return int(value.nanosecond_time)


def span(value: Any) -> tuple[int, int, int]:
    if isinstance(value, dict):
        return value["months"], value["days"], value["nanoseconds"]
    if isinstance(value, pd.DateOffset):
        parts = value.kwds
        return parts.get("months", 0), parts.get("days", 0), parts.get("nanoseconds", 0)
    return value.months, value.days, value.nanoseconds


def address(value: Any) -> str:
    return str(ipaddress.ip_address(value))


def identity(value: Any) -> bytes:
    return value.bytes if isinstance(value, uuid.UUID) else bytes(value)


SAME: dict[str, Callable[[Any], Any]] = {
    "decimal": Decimal,
    "varint": lambda value: int(Decimal(value)),
    "double": number,
    "float": number,
    "date": days,
    "time": nanoseconds,
    "timestamp": milliseconds,
    "duration": span,
    "inet": address,
    "uuid": identity,
    "timeuuid": identity,
    "boolean": bool,
    "blob": bytes,
}


def is_null(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT


def plain(kind: Kind, value: Any) -> Any:
    if is_null(value):
        return None
    name = base(kind)
    if name in ("list", "vector"):
        return [plain(kind.nested[0], item) for item in value]
    if name == "set":
        return sorted((plain(kind.nested[0], item) for item in value), key=_place)
    if name == "map":
        pairs = value.items() if hasattr(value, "items") else [_pair(entry) for entry in value]
        return sorted(([plain(kind.nested[0], k), plain(kind.nested[1], v)] for k, v in pairs), key=_place)
    if name in ("tuple", "udt"):
        items = list(value.values()) if isinstance(value, dict) else list(value)
        items += [None] * (len(kind.nested) - len(items))
        return [plain(one, item) for one, item in zip(kind.nested, items, strict=True)]
    made = SAME.get(name)
    if made is not None:
        return made(value)
    if isinstance(value, str):
        return value
    assert not isinstance(value, float), f"{name} {value!r}"
    return int(value)


def _place(value: Any) -> str:
    """Equal values have the same one: a decimal may come with another scale."""
    if isinstance(value, Decimal):
        return repr(EXACT.plus(EXACT.normalize(value)))
    return str([_place(item) for item in value]) if isinstance(value, list) else repr(value)


def _pair(entry: Any) -> tuple[Any, Any]:
    return (entry["key"], entry["value"]) if isinstance(entry, dict) else entry


# ---- the ways


def of_arrow(kind: Kind, column: Any) -> list[Any]:
    """Values of an Arrow column; those that Python's types do not hold as numbers."""
    return [value for chunk in column.chunks for value in _arrow(kind, chunk)]


def _arrow(kind: Kind, array: Any) -> list[Any]:
    name = base(kind)
    valid = array.is_valid().to_pylist()
    if name in ("list", "set"):
        ends = array.offsets.to_pylist()
        items = _arrow(kind.nested[0], array.values)
        found: list[Any] = [items[a:b] for a, b in pairwise(ends)]
    elif name == "vector":
        size = array.type.list_size
        items = _arrow(kind.nested[0], array.values)
        found = [items[(array.offset + i) * size : (array.offset + i + 1) * size] for i in range(len(array))]
    elif name == "map":
        ends = array.offsets.to_pylist()
        pairs = list(zip(_arrow(kind.nested[0], array.keys), _arrow(kind.nested[1], array.items), strict=True))
        found = [pairs[a:b] for a, b in pairwise(ends)]
    elif name in ("tuple", "udt"):
        fields = [_arrow(one, array.field(i)) for i, one in enumerate(kind.nested)]
        found = [tuple(row) for row in zip(*fields, strict=True)]
    elif name in ("timestamp", "date", "time"):
        units = array.view(pa.int32() if name == "date" else pa.int64()).to_pylist()
        make = {"timestamp": int, "date": _Days, "time": _Nanos}[name]
        found = [None if unit is None else make(unit) for unit in units]
    else:
        found = (array.storage if isinstance(array, pa.ExtensionArray) else array).to_pylist()
    return [value if there else None for value, there in zip(found, valid, strict=True)]


class _Days(NamedTuple):
    days_from_epoch: int


class _Nanos(NamedTuple):
    nanosecond_time: int


def of_polars(kind: Kind, series: Any) -> list[Any]:
    """By way of Arrow again, as Polars makes no Python value of a far date or of nanoseconds."""
    if series.dtype == pl.Object:
        return list(series.to_list())
    array = series.to_arrow()
    return of_arrow(kind, array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]))


class Table(NamedTuple):
    session: Session
    kinds: list[Kind]
    query: str
    rows: list[list[Any]]

    def result(self, fetch_size: int) -> Any:
        return self.session.execute(SimpleStatement(self.query, fetch_size=fetch_size))

    def check(self, way: str, columns: list[list[Any]], nan_is_null: bool = False) -> None:
        assert len(columns) == len(self.kinds)
        for at, (kind, values) in enumerate(zip(self.kinds, columns, strict=True)):
            found = [plain(kind, value) for value in values]
            wanted = [row[at] for row in self.rows]
            if nan_is_null and base(kind) in ("float", "double"):
                found, wanted = (["nan" if value is None else value for value in one] for one in (found, wanted))
            assert found == wanted, f"{way}: {kind.cql}"


COUNTER = iter(range(10**9))


def tables(rounds: Rounds, session: Session) -> Iterator[tuple[Random, Table]]:
    session.row_factory = tuple_factory
    for random in rounds:
        at = next(COUNTER)
        kinds = [kind_of(random) for _ in range(random.randint(1, 8))]
        fields = tuple(kind_of(random, 1) for _ in range(random.randint(1, 3)))
        session.execute(f"CREATE TYPE u{at} ({', '.join(f'f{i} {frozen(one)}' for i, one in enumerate(fields))})")
        kinds.append(user_type(f"u{at}", fields))
        kinds[-1] = kinds[-1]._replace(cql=f"u{at}")
        columns = [f"c{i}" for i in range(len(kinds))]
        described = ", ".join(f"{name} {kind.cql}" for name, kind in zip(columns, kinds, strict=True))
        session.execute(f"CREATE TABLE t{at} (k int, c int, {described}, PRIMARY KEY (k, c))", timeout=60)
        for row in range(random.choice([0, 1, 3, 20, 60])):
            values = ["null" if random.random() < 0.2 else kind.literal(random) for kind in kinds]
            session.execute(f"INSERT INTO t{at} (k, c, {', '.join(columns)}) VALUES (0, {row}, {', '.join(values)})")
        query = f"SELECT {', '.join(columns)} FROM t{at} WHERE k = 0"
        rows = [[plain(kind, value) for kind, value in zip(kinds, row, strict=True)] for row in session.execute(query)]
        yield random, Table(session, kinds, query, rows)
        session.execute(f"DROP TABLE t{at}", timeout=60)
        session.execute(f"DROP TYPE u{at}", timeout=60)


def test_frames(rounds: Rounds, session: Session) -> None:
    for random, table in tables(rounds, session):
        fetch_size = random.choice([1, 2, 7, 5000])
        target = random.choice([1, 2, 10, 65536, 10**8, 2**62, 10**30])
        strings = random.choice(["utf8", "view", "dictionary"])
        arrow = table.result(fetch_size).to_arrow()
        arrow.validate(full=True)
        table.check(
            "to_arrow", [of_arrow(kind, column) for kind, column in zip(table.kinds, arrow.columns, strict=True)]
        )
        batches = [pa.record_batch(batch) for batch in table.result(fetch_size).arrow(target, strings=strings)]
        if batches:
            whole = pa.Table.from_batches(batches)
            whole.validate(full=True)
            assert whole.num_rows == len(table.rows)
            table.check("arrow", [of_arrow(kind, one) for kind, one in zip(table.kinds, whole.columns, strict=True)])
        read = pa.table(table.result(fetch_size))
        assert read.schema.equals(arrow.schema, check_metadata=True)
        table.check("pyarrow.table", [of_arrow(kind, one) for kind, one in zip(table.kinds, read.columns, strict=True)])

        frame = table.result(fetch_size).to_pandas(strings="utf8" if strings == "view" else strings)
        table.check(
            "to_pandas", [_of_pandas(kind, frame[name]) for kind, name in zip(table.kinds, frame, strict=True)], True
        )
        numbers_are_numbers(table, frame)

        polars = table.result(fetch_size).to_polars()
        table.check(
            "to_polars", [of_polars(kind, polars[name]) for kind, name in zip(table.kinds, polars.columns, strict=True)]
        )


def _of_pandas(kind: Kind, series: Any) -> list[Any]:
    """Not a number is null where a column has no other; not for numbers with a point."""
    values = series.tolist()
    if base(kind) in ("float", "double"):
        return values
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]


def numbers_are_numbers(table: Table, frame: Any) -> None:
    for kind, name in zip(table.kinds, frame, strict=True):
        there = frame[name].dropna()
        if kind.cql == "decimal":
            assert all(type(value) is Decimal for value in there)
        elif kind.cql in ("varint", "bigint", "int", "smallint", "tinyint"):
            assert sum(int(value) for value in there) == sum(there.tolist())
            assert all(isinstance(value, int) for value in there.tolist())


def test_numpy(rounds: Rounds, session: Session) -> None:
    for random, table in tables(rounds, session):
        found = table.result(random.choice([1, 7, 5000])).to_numpy()
        columns = [found[f"c{i}"] for i in range(len(table.kinds))]
        table.check("to_numpy", [list(column.tolist()) for column in columns])
        session.client_protocol_handler, before = NumpyProtocolHandler, session.client_protocol_handler
        try:
            pages = session.execute(SimpleStatement(table.query, fetch_size=5000))
            found = pages.one() if hasattr(pages, "one") else pages[0]
        finally:
            session.client_protocol_handler = before
        columns = [found[f"c{i}"] for i in range(len(table.kinds))]
        table.check("NumpyProtocolHandler", [list(column.tolist()) for column in columns])


# ---- later pages that fail

ERRORS: list[Callable[[], Any]] = [
    errors.Overloaded,
    errors.ServerError,
    lambda: errors.InvalidRequest("no"),
    lambda: errors.Unauthorized("no"),
    lambda: errors.ReadTimeout(consistency="ONE", received=0, required=1, data_present=False),
    lambda: errors.ReadFailure(consistency="ONE", received=0, required=1, reasons=[(b"\x7f\0\0\1", 1)]),
]
WAYS: list[Callable[[Any], Any]] = [
    lambda found: found.to_arrow(),
    lambda found: found.to_pandas(),
    lambda found: found.to_polars(),
    lambda found: found.to_numpy(),
    lambda found: list(found.arrow()),
    lambda found: found.arrow().read_all(),
]


def raised_by(use: Callable[[], Any]) -> tuple[type[BaseException], str]:
    try:
        use()
    except Exception as error:
        return type(error), str(error)
    raise AssertionError("nothing was raised")


def test_pages_that_fail(rounds: Rounds) -> None:
    with SimulatedCluster(1, 1) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        simulated.execute("CREATE TABLE ks.t (k int, c int, v decimal, t text, PRIMARY KEY (k, c))")
        for row in range(50):
            simulated.execute(f"INSERT INTO ks.t (k, c, v, t) VALUES (0, {row}, {row}.5, 'text {row}')")
        profile = ExecutionProfile(row_factory=tuple_factory, retry_policy=FallthroughRetryPolicy())
        with Cluster(
            simulated.contact_points, port=simulated.port, execution_profiles={EXEC_PROFILE_DEFAULT: profile}
        ) as cluster:
            session = cluster.connect("ks")
            for random in rounds:
                statement = SimpleStatement("SELECT * FROM t WHERE k = 0", fetch_size=random.randint(1, 20))
                fault, use = Fail(random.choice(ERRORS)()), random.choice(WAYS)
                whole = session.execute(statement).all()
                found = []
                for read in (lambda result: result.all(), use):
                    result = session.execute(statement)
                    with simulated.inject(fault, query="FROM t"):
                        found.append(raised_by(lambda read=read, result=result: read(result)))
                assert found[0] == found[1]
                assert session.execute(statement).to_arrow().num_rows == len(whole) == 50
