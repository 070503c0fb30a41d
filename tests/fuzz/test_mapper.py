"""Random models and random work with their instances, against what a plain model of CQL says is stored.

The oracle keeps rows as dictionaries and knows for each instance what was loaded or written last; what is stored is
read by a session of its own. Instances of one round are of a model that the native path writes, of one with methods of
its own, or go by text, so that all of them are held to the same oracle.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

import pytest

from cassandra.cluster import Cluster, Session
from cassandra.cqlengine import columns, connection
from cassandra.cqlengine.management import drop_table, sync_table
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, LWTException
from cassandra.query import dict_factory
from cassandra.testing import SimulatedCluster
from tests.fuzz.conftest import REPLICATION, Rounds

KEYSPACE = "fuzz_models"
REAL = 0.05  # the share of rounds on a real server, where tables take time
STEPS = 40
Key = tuple[Any, ...]
_numbers = itertools.count()


# ---- values


@dataclass(frozen=True)
class Kind:
    """A kind of columns, and its values."""

    make: Any
    values: tuple[Any, ...]
    shape: str = "scalar"  # or set, list, map: of which parts change
    whole: bool = True

    def value(self, random: Random) -> Any:
        if self.shape == "set":
            return set(random.sample(self.values, random.randrange(4)))
        if self.shape == "list":
            return random.choices(self.values, k=random.randrange(4))
        if self.shape == "map":
            return {key: random.randrange(3) for key in random.sample(self.values, random.randrange(4))}
        return random.choice(self.values)

    def empty(self) -> Any:
        return {"set": set(), "list": [], "map": {}}.get(self.shape)

    def normal(self, value: Any) -> Any:
        """Equal for what is stored alike: an empty container is a null."""
        if self.shape == "scalar":
            return None if value == () else value
        return copy.deepcopy({"set": set, "list": list, "map": dict}[self.shape](value or ()))


TEXTS, INTS = ("", "a", "é", "x'y"), (0, 1, -1, 2**31 - 1)
KEYS = [
    Kind(columns.Integer, (0, 1, 2)),
    Kind(columns.Text, ("a", "b", "'")),
    Kind(columns.UUID, (UUID(int=1), UUID(int=2))),
]
SCALARS = [
    Kind(columns.Integer, INTS),
    Kind(columns.Text, TEXTS),
    Kind(columns.Boolean, (True, False)),
    Kind(columns.Double, (0.5, -1.0)),
    Kind(columns.Decimal, (Decimal("1.50"), Decimal("-3"))),
    Kind(columns.UUID, (UUID(int=5), UUID(int=6))),
    Kind(lambda **how: columns.Tuple(columns.Integer, columns.Text, **how), ((1, "a"), (2, None))),
]
CONTAINERS = [
    (lambda frozen: lambda **how: columns.Set(columns.Integer, frozen=frozen, **how), (1, 2, 3), "set"),
    (lambda frozen: lambda **how: columns.List(columns.Text, frozen=frozen, **how), ("a", "b", "c"), "list"),
    (
        lambda frozen: lambda **how: columns.Map(columns.Text, columns.Integer, frozen=frozen, **how),
        ("a", "b", "c"),
        "map",
    ),
]


@dataclass
class Field:
    name: str
    db_name: str
    kind: Kind
    role: str  # partition, clustering, static, regular
    default: Any = None


@dataclass
class Table:
    fields: dict[str, Field]
    model: Any = None

    def of(self, *roles: str) -> list[Field]:
        return [one for one in self.fields.values() if one.role in roles]

    @property
    def keys(self) -> list[Field]:
        return self.of("partition", "clustering")


def random_table(random: Random, keyspace: str, connection_name: str) -> Table:
    fields: dict[str, Field] = {}
    attrs: dict[str, Any] = {"__keyspace__": keyspace, "__connection__": connection_name}
    roles = ["partition"] * random.randint(1, 2) + ["clustering"] * random.randint(0, 2)
    roles += ["regular"] * random.randint(1, 5)
    if "clustering" in roles:
        roles += ["static"] * random.randint(0, 2)
    containers = random.random() < 0.7
    for number, role in enumerate(roles):
        name = f"f{number}"
        how: dict[str, Any] = {"db_field": f"Field {number}"} if random.random() < 0.3 else {}
        if role in ("partition", "clustering"):
            kind = random.choice(KEYS)
            how["partition_key" if role == "partition" else "primary_key"] = True
            if role == "clustering":
                how["clustering_order"] = random.choice(["asc", "desc"])
        elif containers and random.random() < 0.5:
            make, values, shape = random.choice(CONTAINERS)
            frozen = random.random() < 0.3
            kind = Kind(make(frozen), values, shape, frozen)
            how["index"] = frozen and role == "regular" and random.random() < 0.2
        else:
            kind = random.choice(SCALARS)
        if role == "static":
            how["static"] = True
        default = None
        if role in ("regular", "static") and random.random() < 0.3:
            default = how["default"] = kind.value(random)
            if kind.shape != "scalar":
                how["default"] = functools.partial(copy.deepcopy, default)
        attrs[name] = kind.make(**how)
        fields[name] = Field(name, how.get("db_field", name), kind, role, default)
    if random.random() < 0.4:

        def __init__(self: Any, **values: Any) -> None:  # so that instances are not made natively
            Model.__init__(self, **values)

        attrs["__init__"] = __init__
    return Table(fields, type(f"Fuzzed{next(_numbers)}", (Model,), attrs))


# ---- what is stored


@dataclass
class Stored:
    """The oracle of a table."""

    table: Table
    statics: dict[Key, dict[str, Any]] = field(default_factory=dict)
    rows: dict[Key, dict[str, Any]] = field(default_factory=dict)
    inserted: set[Key] = field(default_factory=set)  # rows that are there without any value, too

    def exists(self, key: Key) -> bool:
        return key in self.inserted or any(map(self._is_value, self.rows.get(key, {}).values()))

    @staticmethod
    def _is_value(value: Any) -> bool:
        return value is not None and value not in (set(), [], {})

    def partition(self, key: Key) -> Key:
        return key[: len(self.table.of("partition"))]

    def cells(self, key: Key, one: Field) -> dict[str, Any]:
        if one.role == "static":
            return self.statics.setdefault(self.partition(key), {})
        return self.rows.setdefault(key, {})

    def get(self, key: Key, one: Field) -> Any:
        return one.kind.normal(self.cells(key, one).get(one.name))

    def put(self, key: Key, one: Field, value: Any) -> None:
        self.cells(key, one)[one.name] = one.kind.normal(value)

    def delete(self, key: Key) -> None:
        self.rows.pop(key, None)
        self.inserted.discard(key)
        if not self.table.of("clustering"):
            self.statics.pop(self.partition(key), None)

    def change(self, key: Key, one: Field, before: Any, value: Any) -> None:
        """A container is written as what it differs by from *before*."""
        kind, stored = one.kind, self.get(key, one)
        value, before = kind.normal(value), kind.normal(before)
        if kind.whole or not self._is_value(value):
            self.put(key, one, value)
        elif kind.shape == "set":
            self.put(key, one, (stored | (value - before)) - (before - value))
        elif kind.shape == "map":
            changed = {name: item for name, item in value.items() if name not in before or before[name] != item}
            kept = {name: item for name, item in stored.items() if name in value or name not in before}
            self.put(key, one, {**kept, **changed})
        else:
            size = len(before)
            starts = [at for at in range(len(value) - size + 1) if value[at : at + size] == before] if size else []
            if starts:
                self.put(key, one, [*value[: starts[0]], *stored, *value[starts[0] + size :]])
            else:
                self.put(key, one, value)

    def shown(self) -> list[dict[str, Any]]:
        """Rows as they are read."""
        found = []
        for key in [key for key in self.rows.keys() | self.inserted if self.exists(key)]:
            row = dict(zip([one.name for one in self.table.keys], key, strict=True))
            row.update({one.name: self.get(key, one) for one in self.table.of("static", "regular")})
            found.append(row)
        return sorted(found, key=repr)


class Shadow:
    """An instance, and what the oracle knows of it."""

    def __init__(self, table: Table, values: dict[str, Any]) -> None:
        self.table = table
        self.key: Key | None = None  # of the row that it was loaded from, or written to
        self.known: dict[str, Any] = {}  # values in that row, if they were loaded or written
        self.given = set(values)
        self.now: dict[str, Any] = {}
        for one in table.fields.values():
            start = one.default if one.default is not None else one.kind.empty()
            value = values.get(one.name, start)
            if value is None and one.kind.shape != "scalar":  # a constructor makes it an empty container
                value = one.kind.empty()
            self.now[one.name] = copy.deepcopy(value)
        self.instance: Any = None

    def key_now(self) -> Key:
        return tuple(self.now[one.name] for one in self.table.keys)

    def loaded(self, key: Key, known: dict[str, Any]) -> None:
        self.key, self.given = key, set()
        self.known = known
        self.now.update(copy.deepcopy(known))

    def is_null(self, one: Field) -> bool:
        return not Stored._is_value(one.kind.normal(self.now[one.name]))

    def write(self, stored: Stored, insert: bool) -> None:
        """``save()`` (*insert*) or ``update()``."""
        key = self.key_now()
        new, moved = self.key is None, self.key is not None and self.key != key
        if insert and (new or moved):
            stored.inserted.add(key)
        for one in self.table.of("static", "regular"):
            name, value = one.name, self.now[one.name]
            elsewhere = moved and (one.role != "static" or stored.partition(key) != stored.partition(self.key or ()))
            if elsewhere or (insert and moved and not self.is_null(one)):
                stored.put(key, one, value)
            elif new and insert:
                if not self.is_null(one) or name in self.given:
                    stored.put(key, one, value)
            elif new:
                self._update_blindly(stored, key, one)
            elif name not in self.known:
                self._change_unknown(stored, key, one)
            elif name in self.given and self.is_null(one):
                stored.put(key, one, None)  # a null that a program sets is written
            elif one.kind.normal(self.known[name]) != one.kind.normal(value):
                stored.change(key, one, self.known[name], value)
            if not new and not elsewhere and not (insert and moved) and self._stays_unknown(one):
                continue
            self.known[name] = copy.deepcopy(value)
        for one in self.table.keys:
            self.known[one.name] = self.now[one.name]
        self.key, self.given = key, set()

    def _update_blindly(self, stored: Stored, key: Key, one: Field) -> None:
        """Of an instance that was never written or loaded."""
        value = self.now[one.name]
        if one.name in self.given:
            if one.kind.shape == "map" and not one.kind.whole and not self.is_null(one):
                stored.put(key, one, {**stored.get(key, one), **value})
            else:
                stored.put(key, one, value)
        elif one.kind.shape != "scalar" and value != (one.default or one.kind.empty()):
            raise AssertionError("the test changes no container of such an instance in place")

    def _change_unknown(self, stored: Stored, key: Key, one: Field) -> None:
        value = self.now[one.name]
        if one.name in self.given:
            stored.put(key, one, value)
        elif one.kind.shape != "scalar" and value != (one.default or one.kind.empty()):
            stored.change(key, one, one.default or one.kind.empty(), value)

    def _stays_unknown(self, one: Field) -> bool:
        if one.name in self.known or one.name in self.given:
            return False
        return one.kind.shape == "scalar" or self.now[one.name] == (one.default or one.kind.empty())

    def deleted(self) -> None:
        """It is a new one with the same values."""
        fields = self.table.fields.values()
        self.key, self.known = None, {}
        self.given = {
            one.name for one in fields if not self.is_null(one) or one.kind.shape != "scalar" or one.default is not None
        }


# ---- the work


class Work:
    """Steps of one round."""

    def __init__(self, random: Random, table: Table, raw: Session) -> None:
        self.random = random
        self.table = table
        self.raw = raw
        self.model = table.model
        self.stored = Stored(table)
        self.shadows: list[Shadow] = []
        self.log: list[str] = []

    def values(self, roles: tuple[str, ...] = ("static", "regular")) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for one in self.table.of(*roles):
            if self.random.random() < 0.5:
                given[one.name] = None if self.random.random() < 0.2 else one.kind.value(self.random)
        return given

    def key(self) -> dict[str, Any]:
        return {one.name: one.kind.value(self.random) for one in self.table.keys}

    def step(self) -> None:
        steps = [self.new, self.create, self.get]
        if self.shadows:
            steps += [self.assign] * 3 + [self.mutate] * 2 + [self.move, self.save, self.save, self.update]
            steps += [self.delete, self.batch, self.copy, self.insert_if_absent]
        steps.append(self.update_rows)
        self.random.choice(steps)()
        self.check()

    def pick(self) -> Shadow:
        return self.random.choice(self.shadows)

    def add(self, shadow: Shadow) -> None:
        self.shadows.append(shadow)
        del self.shadows[:-3]

    def new(self) -> None:
        given = {**self.key(), **self.values()}
        self.log.append(f"new {given}")
        shadow = Shadow(self.table, given)
        shadow.instance = self.model(**copy.deepcopy(given))
        self.add(shadow)

    def create(self) -> None:
        given = {**self.key(), **self.values()}
        self.log.append(f"create {given}")
        shadow = Shadow(self.table, given)
        sent = copy.deepcopy(given)
        if self.random.random() < 0.3:
            shadow.instance = asyncio.run(self.model.acreate(**sent))
        else:
            shadow.instance = self.model.create(**sent)
        shadow.write(self.stored, insert=True)
        self.add(shadow)

    def get(self) -> None:
        keys = [key for key in self.stored.rows.keys() | self.stored.inserted if self.stored.exists(key)]
        if not keys:
            return
        key = self.random.choice(sorted(keys, key=repr))
        given = dict(zip([one.name for one in self.table.keys], key, strict=True))
        rest = self.table.of("static", "regular")
        left = [one.name for one in rest if self.random.random() < 0.4] if self.random.random() < 0.4 else []
        self.log.append(f"get {given} without {left}")
        queryset = self.model.objects.defer(left) if left else self.model.objects
        shadow = Shadow(self.table, given)
        shadow.instance = asyncio.run(queryset.aget(**given)) if self.random.random() < 0.3 else queryset.get(**given)
        known = {one.name: self.stored.get(key, one) for one in rest if one.name not in left}
        shadow.loaded(key, {**given, **known})
        self.add(shadow)

    def assign(self) -> None:
        shadow = self.pick()
        for name, value in self.values().items():
            self.log.append(f"{self.shadows.index(shadow)}.{name} = {value!r}")
            shadow.now[name] = copy.deepcopy(value)
            shadow.given.add(name)
            setattr(shadow.instance, name, value)

    def mutate(self) -> None:
        """A container in place."""
        shadow = self.pick()
        for one in self.table.of("static", "regular"):
            if one.kind.shape == "scalar" or shadow.now[one.name] is None or shadow.key is None:
                continue
            if self.random.random() < 0.5:
                continue
            item, other = self.random.choice(one.kind.values), self.random.choice(one.kind.values)
            self.log.append(f"{self.shadows.index(shadow)}.{one.name} with {item!r}, without {other!r}")
            for container in (shadow.now[one.name], getattr(shadow.instance, one.name)):
                if one.kind.shape == "set":
                    container.add(item)
                    container.discard(other)
                elif one.kind.shape == "map":
                    container[item] = 7
                    container.pop(other, None)
                elif other == item:
                    container.insert(0, item)
                else:
                    container.append(item)

    def move(self) -> None:
        shadow = self.pick()
        one = self.random.choice(self.table.keys)
        value = one.kind.value(self.random)
        self.log.append(f"{self.shadows.index(shadow)}.{one.name} = {value!r} (key)")
        shadow.now[one.name] = value
        setattr(shadow.instance, one.name, value)

    def save(self) -> None:
        shadow = self.pick()
        self.log.append(f"{self.shadows.index(shadow)}.save()")
        if self.random.random() < 0.3:
            asyncio.run(shadow.instance.asave())
        else:
            shadow.instance.save()
        shadow.write(self.stored, insert=True)

    def insert_if_absent(self) -> None:
        shadow = self.pick()
        if shadow.key == shadow.key_now():
            return
        self.log.append(f"{self.shadows.index(shadow)}.if_not_exists().save()")
        shadow.instance.if_not_exists()
        if self.stored.exists(shadow.key_now()):
            with pytest.raises(LWTException):
                shadow.instance.save()
        else:
            shadow.instance.save()
            shadow.write(self.stored, insert=True)
        shadow.instance.if_not_exists(False)

    def update(self) -> None:
        shadow = self.pick()
        values = self.values()
        self.log.append(f"{self.shadows.index(shadow)}.update({values})")
        if self.random.random() < 0.3:
            asyncio.run(shadow.instance.aupdate(**copy.deepcopy(values)))
        else:
            shadow.instance.update(**copy.deepcopy(values))
        shadow.now.update(copy.deepcopy(values))
        shadow.given.update(values)
        shadow.write(self.stored, insert=False)

    def delete(self) -> None:
        shadow = self.pick()
        self.log.append(f"{self.shadows.index(shadow)}.delete()")
        if self.random.random() < 0.3:
            asyncio.run(shadow.instance.adelete())
        else:
            shadow.instance.delete()
        self.stored.delete(shadow.key_now())
        shadow.deleted()

    def batch(self) -> None:
        """Of different partitions: within one batch the order does not count."""
        with BatchQuery(connection=self.model.__connection__) as batch:
            seen: set[Key] = set()
            for shadow in self.shadows:
                partition = self.stored.partition(shadow.key_now())
                if partition in seen or self.random.random() < 0.3:
                    continue
                seen.add(partition)
                self.log.append(f"{self.shadows.index(shadow)}.batch().save()")
                shadow.instance.batch(batch)
                if self.random.random() < 0.2:
                    shadow.instance.delete()
                    self.log[-1] = self.log[-1].replace("save", "delete")
                    self.stored.delete(shadow.key_now())
                    shadow.deleted()
                else:
                    shadow.instance.save()
                    shadow.write(self.stored, insert=True)
                shadow.instance.batch(None)

    def copy(self) -> None:
        shadow = self.pick()
        self.log.append(f"{self.shadows.index(shadow)} = deepcopy")
        shadow.instance = copy.deepcopy(shadow.instance)

    def update_rows(self) -> None:
        """By a query set, which knows nothing of what is stored."""
        one = self.random.choice(self.table.of("regular", "static"))
        given = self.key()
        key = tuple(given.values())
        value = None if self.random.random() < 0.2 else one.kind.value(self.random)
        if one.kind.whole and not Stored._is_value(value):
            value = None  # a frozen container that is empty is a value
        operation = ""
        if one.kind.shape != "scalar" and not one.kind.whole and value and self.random.random() < 0.7:
            operation = self.random.choice(
                {"set": ["add", "remove"], "list": ["append", "prepend"], "map": ["update", "remove"]}[one.kind.shape]
            )
        stored = self.stored.get(key, one)
        if operation == "add":
            after = stored | value
        elif operation == "append":
            after = [*stored, *value]
        elif operation == "prepend":
            after = [*value, *stored]
        elif operation == "update" or (one.kind.shape == "map" and not one.kind.whole and not operation and value):
            after = {**stored, **value}  # as it always was: keys are put
        elif operation == "remove" and one.kind.shape == "set":
            after = stored - value
        elif operation == "remove":
            value = set(value)
            after = {name: item for name, item in stored.items() if name not in value}
        else:
            after = value
        where = {name: item for name, item in given.items() if self.table.fields[name].role == "partition"}
        where = given if one.role == "regular" else where
        argument = f"{one.name}__{operation}" if operation else one.name
        self.log.append(f"objects({where}).update({argument}={value!r})")
        self.model.objects(**where).update(**{argument: value})
        self.stored.put(key, one, after)

    # ---- checks

    def check(self) -> None:
        for shadow in self.shadows:
            said = {one.name: one.kind.normal(getattr(shadow.instance, one.name)) for one in self.table.fields.values()}
            expected = {one.name: one.kind.normal(shadow.now[one.name]) for one in self.table.fields.values()}
            assert said == expected, self.explained("an instance says something else")
        found, wanted = self.read(), self.stored.shown()
        different = [f"stored: {one}" for one in found if one not in wanted]
        different += [f"wanted: {one}" for one in wanted if one not in found]
        assert not different, self.explained("\n".join(different))

    def read(self) -> list[dict[str, Any]]:
        fields = self.table.fields.values()
        clustering = self.table.of("clustering")
        found = [
            {one.name: one.kind.normal(row[one.db_name]) for one in fields}
            for row in self.raw.execute(f"SELECT * FROM {self.model.column_family_name()}")
            if not clustering or row[clustering[0].db_name] is not None  # else only static values are there
        ]
        for row in self.raw.execute(f"SELECT * FROM {self.model.column_family_name()}"):
            key = tuple(row[one.db_name] for one in self.table.keys)
            for one in self.table.of("static"):
                expected = self.stored.get(key, one)
                assert one.kind.normal(row[one.db_name]) == expected, self.explained(f"static {one.name} of {key}")
        return sorted(found, key=repr)

    def explained(self, what: str) -> str:
        fields = "\n".join(f"  {one}" for one in self.table.fields.values())
        return f"{what}\n{fields}\n" + "\n".join(self.log)


# ---- servers


@pytest.fixture(scope="module")
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(1, 2) as server:
        yield server


@pytest.fixture(scope="module")
def raw_sessions(simulated: SimulatedCluster, cassandra_node: Any) -> Iterator[dict[str, Session]]:
    """Sessions by the name of their server; connections of the mapper are registered for each."""
    found: dict[str, Session] = {}
    clusters = []
    for name, server in (("simulated", simulated), ("real", cassandra_node)):
        cluster = Cluster(server.contact_points, port=server.port)
        clusters.append(cluster)
        raw = found[name] = cluster.connect()
        raw.row_factory = dict_factory
        raw.default_timeout = 60
        raw.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
        raw.execute(f"CREATE KEYSPACE {KEYSPACE} WITH replication = {REPLICATION}")
        prepared, by_text = cluster.connect(), cluster.connect()
        prepared.default_timeout = by_text.default_timeout = 60
        by_text.execute = functools.partial(by_text.execute)  # type: ignore[method-assign]  # a program looks at it
        connection.register_connection(f"{name}_prepared", session=prepared)
        connection.register_connection(f"{name}_text", session=by_text)
    yield found
    for name, cluster in zip(found, clusters, strict=True):
        found[name].execute(f"DROP KEYSPACE {KEYSPACE}")
        connection.unregister_connection(f"{name}_prepared")
        connection.unregister_connection(f"{name}_text")
        cluster.shutdown()


def test_models(rounds: Rounds, raw_sessions: dict[str, Session], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    for random in rounds:
        server = "real" if random.random() < REAL else "simulated"
        way = "text" if random.random() < 0.2 else "prepared"
        table = random_table(random, KEYSPACE, f"{server}_{way}")
        sync_table(table.model)
        sync_table(table.model)  # finds all of it
        work = Work(random, table, raw_sessions[server])
        for _ in range(STEPS):
            work.step()
        drop_table(table.model)


def test_counters(rounds: Rounds, raw_sessions: dict[str, Session], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    for random in rounds:
        server = "real" if random.random() < REAL else "simulated"
        raw = raw_sessions[server]

        class Counted(Model):
            __keyspace__ = KEYSPACE
            __table_name__ = f"counted_{next(_numbers)}"
            __connection__ = f"{server}_{random.choice(['prepared', 'text'])}"
            part = columns.Integer(primary_key=True)
            row = columns.Integer(primary_key=True)
            first = columns.Counter()
            second = columns.Counter(db_field="Second")

        sync_table(Counted)
        stored: dict[Key, list[int]] = {}
        instances: list[tuple[Any, Key | None, list[int]]] = []
        log: list[Any] = []
        for _ in range(STEPS):
            if not instances or random.random() < 0.2:
                key = (random.randrange(2), random.randrange(2))
                if key in stored and random.random() < 0.6:
                    instances.append((Counted.get(part=key[0], row=key[1]), key, [*stored[key]]))
                else:
                    instances.append((Counted(part=key[0], row=key[1]), None, [0, 0]))
                del instances[:-3]
                log.append(("instance", key, instances[-1][1]))
            at = random.randrange(len(instances))
            one, known_key, known = instances[at]
            if random.random() < 0.5:
                one.first += random.randrange(-3, 4)
                one.second = random.randrange(9)
            if random.random() < 0.2:
                one.row = random.randrange(2)
            if random.random() < 0.1:
                one.part = random.randrange(2)
            key, said = (one.part, one.row), [one.first, one.second]
            before = known if known_key == key else [0, 0]
            log.append((at, key, known_key, known, said))
            one.save() if random.random() < 0.5 else one.update()
            stored[key] = [a + b - c for a, b, c in zip(stored.get(key, [0, 0]), said, before, strict=True)]
            instances[at] = (one, key, said)
            found = {
                (row["part"], row["row"]): [row["first"], row["Second"]]
                for row in raw.execute(f"SELECT * FROM {Counted.column_family_name()}")
            }
            assert found == stored, log
        drop_table(Counted)
