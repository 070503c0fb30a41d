"""Random Python values bound to columns of every type: what is read equals what was given, or binding raises.

Values go by prepared statements, by simple ones, and through models, to a real server and to the simulation. What is
expected says a table of rules of this file: no code of the driver is asked.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import itertools
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID, uuid1, uuid4

import pytest

from cassandra import DriverException
from cassandra.cluster import Cluster, Session
from cassandra.cqlengine import ValidationError, columns, connection
from cassandra.cqlengine.models import Model
from cassandra.testing import SimulatedCluster
from cassandra.util import Date, Duration, Time
from tests.fuzz.conftest import REPLICATION, Rounds

KEYSPACE = "fuzz_values"
UTC = dt.timezone.utc
EPOCH = dt.datetime(1970, 1, 1)
REFUSED = (TypeError, ValueError, OverflowError)  # before anything is sent; of models it is a ValidationError
STEPS = 40
_numbers = itertools.count()


class Unfit(Exception):
    """The value is none of the type."""


@dataclass(frozen=True)
class Kind:
    """A type, what is read where a value was given, and random values. *nested*: it fits into sets and keys."""

    cql: str
    read: Callable[[Any], Any]
    value: Callable[[Random], Any]
    column: Callable[[], Any] | None = None
    nested: bool = True


def whole(bits: int) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if not isinstance(value, int) or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise Unfit
        return int(value)

    return read


def edges(bits: int) -> Callable[[Random], int]:
    def value(random: Random) -> int:
        near = random.choice([0, 1 << bits - 1, -(1 << bits - 1)])
        return random.choice([near + random.randint(-2, 2), random.getrandbits(bits - 1), True, False])

    return value


def decimal(value: Any) -> Any:
    if not isinstance(value, Decimal) or not value.is_finite():
        raise Unfit
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if not -(2**31 - 1) <= exponent <= 2**31 - 1:
        raise Unfit
    return value


def decimals(random: Random) -> Decimal:
    if random.random() < 0.2:
        return Decimal(random.choice(["NaN", "Infinity", "-Infinity", "-0", "0E+5", "1E-2147483647"]))
    digits = tuple(random.choices(range(10), k=random.randint(1, 40)))
    return Decimal((random.randrange(2), digits, random.randint(-400, 200)))


def single(value: Any) -> Any:
    """The nearest 32-bit number."""
    if not isinstance(value, float):
        raise Unfit
    if not math.isfinite(value):
        return value
    try:
        return struct.unpack(">f", struct.pack(">f", value))[0]
    except OverflowError:
        raise Unfit from None


def floats(random: Random) -> float:
    return random.choice(
        [
            *(
                0.0,
                -0.0,
                math.inf,
                -math.inf,
                math.nan,
                1e39,
                -1e39,
                3.4028235677973366e38,
                3.4028234e38,
                1e-46,
                5e-324,
            ),
            *(random.uniform(-1e6, 1e6), random.random() * 10.0 ** random.randint(-300, 300)),
        ]
    )


def text(value: Any) -> Any:
    try:
        value.encode()
    except (AttributeError, UnicodeEncodeError):
        raise Unfit from None
    return value


def ascii_text(value: Any) -> Any:
    if not isinstance(value, str) or not value.isascii():
        raise Unfit
    return value


def texts(random: Random) -> str:
    letters = ["a", "'", "''", "\0", "\n", "é", "\U0001f600", "\ud800", "$$", "%s", "{}", "?", "--", ";"]
    return "".join(random.choices(letters, weights=[9] * 7 + [1] + [3] * 6, k=random.randrange(6)))


def timestamp(value: Any) -> Any:
    """Naive, in UTC, in whole milliseconds, rounded down."""
    if not isinstance(value, dt.datetime):
        raise Unfit
    offset = value.utcoffset() or dt.timedelta()
    micros = (value.replace(tzinfo=None) - EPOCH - offset) // dt.timedelta(microseconds=1)
    millis = micros // 1000
    try:
        return EPOCH + dt.timedelta(milliseconds=millis)
    except OverflowError:
        return millis  # outside of Python's calendar


def datetimes(random: Random) -> dt.datetime:
    value = random.choice([dt.datetime.min, dt.datetime.max, EPOCH, EPOCH - dt.timedelta(microseconds=1)])
    if random.random() < 0.7:
        value = EPOCH + dt.timedelta(microseconds=random.randint(-(10**16), 10**16))
    if random.random() < 0.3:
        value = value.replace(tzinfo=dt.timezone(dt.timedelta(minutes=random.randint(-1000, 1000))))
    return value


def durations(random: Random) -> Duration:
    sizes = [
        random.choice([0, 1, 2**31 - 1, 2**31]),
        random.choice([0, 2, 2**31 - 1]),
        random.choice([0, 3, 2**63 - 1]),
    ]
    signs = [random.choice([1, -1])] * 3 if random.random() < 0.7 else random.choices([1, -1], k=3)
    return Duration(*(size * sign for size, sign in zip(sizes, signs, strict=True)))


def duration(value: Any) -> Any:
    parts = (value.months, value.days, value.nanoseconds)
    if min(parts) < 0 < max(parts):
        raise Unfit
    if any(not -(1 << bits) <= part < 1 << bits for part, bits in zip(parts, (31, 31, 63), strict=True)):
        raise Unfit
    return value


def timeuuid(value: Any) -> Any:
    if value.version != 1:
        raise Unfit
    return value


def inet(value: Any) -> Any:
    return ipaddress.ip_address(value).compressed


def times(random: Random) -> Time:
    return Time(random.choice([0, 86_400 * 10**9 - 1, random.randrange(10**13)]))


SCALARS = [
    *(Kind(name, whole(bits), edges(bits), column) for name, bits, column in (
        ("tinyint", 8, columns.TinyInt), ("smallint", 16, columns.SmallInt),
        ("int", 32, columns.Integer), ("bigint", 64, columns.BigInt),
    )),
    Kind("varint", lambda value: int(value), lambda random: random.getrandbits(random.choice([7, 8, 31, 64, 300]))
         * random.choice([1, -1]), columns.VarInt),
    Kind("decimal", decimal, decimals, columns.Decimal),
    Kind("double", lambda value: value, floats, columns.Double, nested=False),
    Kind("float", single, floats, columns.Float, nested=False),
    Kind("boolean", lambda value: value, lambda random: random.random() < 0.5, columns.Boolean),
    Kind("text", text, texts, columns.Text),
    Kind("ascii", ascii_text, texts, columns.Ascii),
    Kind("blob", bytes, lambda random: random.randbytes(random.randrange(9)), columns.Blob),
    Kind("timestamp", timestamp, datetimes, columns.DateTime, nested=False),  # ints beyond the calendar do not sort
    Kind("date", Date, lambda random: dt.date.fromordinal(random.randint(1, dt.date.max.toordinal())), columns.Date),
    Kind("time", lambda value: value, times, columns.Time),
    Kind("duration", duration, durations, columns.Duration, nested=False),
    Kind("uuid", lambda value: value, lambda random: random.choice([uuid4(), UUID(int=random.getrandbits(128))]),
         columns.UUID),
    Kind("timeuuid", timeuuid, lambda random: random.choice([uuid1(), uuid4()]), columns.TimeUUID),
    Kind("inet", inet, lambda random: str(random.choice([
        ipaddress.IPv4Address(random.getrandbits(32)), ipaddress.IPv6Address(random.getrandbits(128)),
    ])), columns.Inet),
]  # fmt: skip


def nested(random: Random, depth: int = 0) -> Kind:
    """A type, of which some are collections of others."""
    if depth > 1 or random.random() < 0.6:
        return random.choice(SCALARS)
    shape = random.choice(["list", "set", "map", "tuple"])
    if shape in ("set", "map"):
        key = random.choice([kind for kind in SCALARS if kind.nested])
    if shape == "list":
        item = nested(random, depth + 1)
        return Kind(
            f"frozen<list<{item.cql}>>",
            lambda value: [item.read(one) for one in value],
            lambda rng: [item.value(rng) for _ in range(rng.randrange(4))],
        )
    if shape == "set":
        return Kind(
            f"frozen<set<{key.cql}>>",
            lambda value: sorted({key.read(one) for one in value}),
            lambda rng: {key.value(rng) for _ in range(rng.randrange(4))},
        )
    if shape == "map":
        item = nested(random, depth + 1)
        return Kind(
            f"frozen<map<{key.cql}, {item.cql}>>",
            lambda value: {key.read(name): item.read(one) for name, one in value.items()},
            lambda rng: {key.value(rng): item.value(rng) for _ in range(rng.randrange(3))},
        )
    items = [nested(random, depth + 1) for _ in range(random.randint(1, 3))]
    return Kind(
        f"frozen<tuple<{', '.join(item.cql for item in items)}>>",
        lambda value: tuple([None if one is None else item.read(one) for item, one in zip(items, value, strict=True)]),
        lambda rng: tuple([None if rng.random() < 0.2 else item.value(rng) for item in items]),
    )


def same(a: Any, b: Any) -> bool:
    """Equal at any depth, of NaN and signs of zeros, too."""
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, Decimal) and isinstance(b, Decimal):
        return a == b and a.as_tuple().exponent == b.as_tuple().exponent
    if isinstance(b, list | tuple) and not isinstance(a, str | bytes):
        items = list(a)
        return len(items) == len(b) and all(map(same, items, b))
    if isinstance(b, dict):
        return len(a) == len(b) and all(name in a and same(a[name], value) for name, value in b.items())
    return bool(a == b)


def expected(kind: Kind, value: Any) -> Any:
    """Unfit where it is to be refused."""
    found = kind.read(value)
    if kind.cql.startswith("frozen<tuple") and all(one is None for one in found):
        return found
    return found


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(1, 2) as server:
        yield server


@pytest.fixture(scope="module")
def sessions(simulated: SimulatedCluster, cassandra_node: Any) -> Iterator[list[Session]]:
    found: list[Session] = []
    for server in (simulated, cassandra_node):
        session = Cluster(server.contact_points, port=server.port).connect()
        session.default_timeout = 60
        session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
        session.execute(f"CREATE KEYSPACE {KEYSPACE} WITH replication = {REPLICATION}")
        session.set_keyspace(KEYSPACE)
        found.append(session)
        connection.register_connection(f"values{len(found) - 1}", session=session)
    for session in found:
        for kind in SCALARS:
            session.execute(f"CREATE TABLE {kind.cql}_values (id int PRIMARY KEY, value {kind.cql})")
    yield found
    for number, session in enumerate(found):
        session.execute(f"DROP KEYSPACE {KEYSPACE}")
        connection.unregister_connection(f"values{number}")
        session.cluster.shutdown()


def check(kind: Kind, value: Any, write: Callable[[Any], None], read: Callable[[], Any], what: str) -> None:
    what = f"{kind.cql} {value!r} {what}"
    try:
        wanted = expected(kind, value)
    except Unfit:
        with pytest.raises((*REFUSED, ValidationError, DriverException)) as refused:
            write(value)
        # a server knows versions of UUIDs; all else is refused before it is sent
        if isinstance(refused.value, DriverException):
            assert "timeuuid" in kind.cql or what.endswith(("simple", "model")), f"{what}: {refused.value}"
        return
    write(value)
    found = read()
    assert same(found, wanted), f"{what}: {found!r} instead of {wanted!r}"


def test_scalars(rounds: Rounds, sessions: list[Session]) -> None:
    """By prepared and simple statements and by models."""
    models: dict[tuple[str, int], type[Model]] = {}
    for random in rounds:
        number = 1 if random.random() < 0.3 else 0
        session = sessions[number]
        for kind in random.sample(SCALARS, 5):
            table = f"{kind.cql}_values"
            insert = session.prepare(f"INSERT INTO {table} (id, value) VALUES (1, ?)")
            select = session.prepare(f"SELECT value FROM {table} WHERE id = 1")

            def read(session: Session = session, select: Any = select) -> Any:
                return session.execute(select).one()["value"]

            model: Any = models.get((kind.cql, number))
            if model is None and kind.column is not None:
                attrs: dict[str, Any] = {
                    "__keyspace__": KEYSPACE,
                    "__table_name__": table,
                    "__connection__": f"values{number}",
                }
                attrs.update(id=columns.Integer(primary_key=True), value=kind.column())
                model = models[kind.cql, number] = type(f"Value{next(_numbers)}", (Model,), attrs)
            for _ in range(5):
                value = kind.value(random)
                check(kind, value, executed(session, insert), read, "prepared")
                if not isinstance(value, float) or kind.cql != "float":  # a literal is rounded by the server
                    simple = f"INSERT INTO {table} (id, value) VALUES (1, %s)"
                    if _has_literal(kind, value):
                        check(kind, value, executed(session, simple), read, "simple")
                if _is_modelled(kind, value):
                    check(kind, value, created(model), read, "model")


def executed(session: Session, insert: Any) -> Callable[[Any], None]:
    def write(value: Any) -> None:
        session.execute(insert, (value,))

    return write


def created(model: Any) -> Callable[[Any], None]:
    def write(value: Any) -> None:
        model.create(id=1, value=value)

    return write


def _has_literal(kind: Kind, value: Any) -> bool:
    """Whether the literal of a value is of the type of its column only: numbers and texts are of several."""
    if kind.cql in ("tinyint", "smallint", "int", "bigint", "varint"):
        return not isinstance(value, bool)
    if kind.cql == "decimal":
        return bool(value.is_finite()) and value.adjusted() < 308 and not (value == 0 and value.is_signed())
    if kind.cql == "duration":  # the parts of a literal have no least value
        return abs(value.months) < 2**31 and abs(value.nanoseconds) < 2**63
    return kind.cql != "inet"


def _is_modelled(kind: Kind, value: Any) -> bool:
    """Whether a column of the mapper takes the value as it is."""
    if isinstance(value, bool) and kind.cql != "boolean":
        return False
    if kind.cql == "timestamp":
        return not isinstance(timestamp(value), int)
    return kind.cql != "text" or "\ud800" not in value


def test_nested(rounds: Rounds, sessions: list[Session]) -> None:
    """Echoed by real servers, which check and encode them again."""
    session = sessions[1]
    for random in rounds:
        kind = nested(random)
        echo = session.prepare(f"SELECT ({kind.cql}) ? AS v FROM system.local")
        answer = Answer(session, echo)
        for _ in range(STEPS):
            check(kind, kind.value(random), answer.write, answer.read, "nested")


class Answer:
    """What a statement gives back of a value."""

    def __init__(self, session: Session, echo: Any) -> None:
        self.session = session
        self.echo = echo
        self.value: Any = None

    def write(self, value: Any) -> None:
        self.value = self.session.execute(self.echo, (value,)).one()["v"]

    def read(self) -> Any:
        return self.value
