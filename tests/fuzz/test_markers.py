"""The columns of bind markers, as read from random statements, against those that a real server names.

The oracle: for positional markers a server says itself which column they belong to. Each statement is prepared with
``?`` and, in another spelling, with ``:name`` markers whose names are those of other columns.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest
from cassandra._wire import markers
from cassandra._wire.markers import Analysis, Place, analyse
from cassandra.cluster import Session
from cassandra.column_encryption.policies import AESSIVColumnEncryptionPolicy
from cassandra.policies import ColDesc
from cassandra.protocol import SyntaxException

from .conftest import Rounds

pytestmark = pytest.mark.server

#: Names that are easily taken for something else, and their types.
KEYS = {"k": "int", "K": "blob"}
CLUSTERING = {"c1": "int", 'c 2" ?': "blob"}
SCALARS = {
    "json": "text", "key": "blob", "ttl": "int", "distinct": "int", "IN": "blob", "exists": "int", "contains": "text",
    ":v": "blob", "values": "text", "timestamp": "bigint", "from": "int", "b": "blob", "count": "int", "list": "blob",
    "cast": "int", "--": "text", "like": "int", "filtering": "blob", "null": "int",
}  # fmt: skip
OTHERS = {"m": "map<text, blob>", "l": "list<blob>", "s": "set<int>", "u": "udt", "f": "frozen<list<int>>"}
COLUMNS = {**KEYS, **CLUSTERING, **SCALARS, **OTHERS}
BARE = re.compile(r"[a-z][a-z0-9_]*")
RESERVED = {"from", "null"}
MARKER = "\0"
SPACES = [" ", " ", " ", "\n", "\t ", " /* ? :x ' */ ", ' -- ? " :y\n', " // '\n", "/**/ "]
STRINGS = ["'?'", "''", "'it''s :x'", "$$ ? 'x $$", "'-- '", "'/*'", "'$$'", "'\"'"]


class Writer:
    """Writes one random statement; markers are :data:`MARKER`."""

    def __init__(self, source: random.Random) -> None:
        self.r = source

    def name(self, column: str) -> str:
        quoted = '"' + column.replace('"', '""') + '"'
        if not BARE.fullmatch(column) or column in RESERVED or self.r.random() < 0.2:
            return quoted
        return self.r.choice([column, column, column.upper()])

    def some(self, columns: Any, least: int = 1) -> list[str]:
        return self.r.sample(list(columns), self.r.randint(least, len(columns)))

    def literal(self, kind: str) -> str:
        if kind in ("int", "bigint"):
            return self.r.choice(["1", "-7", "0", "null"])
        if kind == "text":
            return self.r.choice(STRINGS)
        if kind == "blob":
            return self.r.choice(["0x", "0xAbCd", "0X00"])
        return "null"

    def term(self, kind: str) -> str:
        dice = self.r.random()
        if dice < 0.6:
            return MARKER
        if dice < 0.8:
            return self.literal(kind)
        if kind == "blob":
            return self.r.choice([f"textAsBlob({self.term('text')})", f"system.intAsBlob ({self.term('int')})"])
        if kind == "int":
            return self.r.choice([f"(int){MARKER}", f"( int ) {MARKER} + 1", f"blobAsInt({self.term('blob')})", "- 3"])
        if kind == "text":
            return self.r.choice([f"(text) {MARKER}", f"blobAsText({self.term('blob')})"])
        return MARKER

    def terms(self, kinds: Any) -> str:
        return ", ".join(self.term(kind) for kind in kinds)

    def using(self, *allowed: str) -> str:
        chosen = self.some(allowed, 0)
        return " USING " + " AND ".join(f"{one} {self.r.choice([MARKER, '5'])}" for one in chosen) if chosen else ""

    def relation(self, column: str, *operators: str) -> str:
        kind, name = COLUMNS[column], self.name(column)
        operator = self.r.choice(operators)
        if operator == "IN":
            return f"{name} IN " + self.r.choice([MARKER, f"({self.terms([kind] * self.r.randint(1, 3))})"])
        return f"{name}{self.r.choice([' ', ''])}{operator} {self.term(kind)}"

    def where_row(self) -> str:
        parts = [self.relation(column, "=", "=", "IN") for column in KEYS]
        if self.r.random() < 0.3:
            names = ", ".join(self.name(column) for column in CLUSTERING)
            parts.append(f"({names}) = ({self.terms(CLUSTERING.values())})")
        else:
            parts += [self.relation(column, "=", "=", "IN") for column in CLUSTERING]
        self.r.shuffle(parts)
        return " WHERE " + " AND ".join(parts)

    def where_rows(self) -> str:
        if self.r.random() < 0.2:
            names = ", ".join(self.name(column) for column in KEYS)
            end = self.r.choice([MARKER, f"token({self.terms(KEYS.values())})", "3"])
            return f" WHERE token({names}) {self.r.choice(['>', '<=', '='])} {end}"
        parts = [self.relation(column, "=", "IN") for column in KEYS]
        names = ", ".join(self.name(column) for column in CLUSTERING)
        kinds = CLUSTERING.values()
        multiple = f"({self.terms(kinds)})"
        parts.append(
            self.r.choice([
                f"({names}) {self.r.choice(['>', '<=', '='])} {self.r.choice([MARKER, multiple])}",
                f"({names}) IN {self.r.choice([MARKER, f'({MARKER}, {MARKER})', f'({multiple}, {multiple})'])}",
                self.relation("c1", "<", ">=", "=", "IN"),
                f"{self.name('c1')} > {self.term('int')} AND {self.name('c1')} <= {self.term('int')}",
            ])
        )  # fmt: skip
        if self.r.random() < 0.5:
            parts.append(self.filtered())
        return " WHERE " + " AND ".join(parts)

    def filtered(self) -> str:
        return self.r.choice([
            f"m CONTAINS {MARKER}", f"m CONTAINS KEY {self.term('text')}", f"m[{MARKER}] = {self.term('blob')}",
            f"l CONTAINS {MARKER}", f"f = {MARKER}", self.relation(self.r.choice(list(SCALARS)), "=", ">"),
        ])  # fmt: skip

    def conditions(self) -> str:
        dice = self.r.random()
        if dice < 0.6:
            return ""
        if dice < 0.7:
            return " IF EXISTS"
        parts = [self.relation(column, "=", "!=", ">", "IN") for column in self.r.sample(list(SCALARS), 2)]
        parts.append(
            self.r.choice([
                f"m[{self.term('text')}] = {self.term('blob')}", f"u.y = {self.term('blob')}", f"u.x IN ({MARKER}, 1)",
                f"l[{self.term('int')}] = {MARKER}", f"l = {MARKER}", f"m[{MARKER}] IN {MARKER}",
            ])
        )  # fmt: skip
        return " IF " + " AND ".join(parts)

    def insert(self) -> str:
        if self.r.random() < 0.1:
            rest = self.r.choice(["", " DEFAULT UNSET", " DEFAULT NULL", " IF NOT EXISTS"])
            return f"INSERT INTO {self.table()} JSON {MARKER}{rest}{self.using('TTL')}"
        chosen = [*KEYS, *CLUSTERING, *self.some([*SCALARS, *OTHERS], 0)]
        self.r.shuffle(chosen)
        names = ", ".join(self.name(column) for column in chosen)
        rest = self.r.choice(["", "", self.using("TTL", "TIMESTAMP"), " IF NOT EXISTS" + self.using("TTL")])
        return f"INSERT INTO {self.table()} ({names}) VALUES ({self.terms(COLUMNS[c] for c in chosen)}){rest}"

    def update(self) -> str:
        parts = [f"{self.name(column)} = {self.term(SCALARS[column])}" for column in self.some(SCALARS)]
        parts += self.some(
            [
                self.r.choice([f"m[{self.term('text')}] = {self.term('blob')}", f"m = m + {MARKER}", f"m -= {MARKER}"]),
                self.r.choice([f"l = {MARKER} + l", f"l += {MARKER}", f"l[{self.term('int')}] = {self.term('blob')}"]),
                self.r.choice([f"s = s - {MARKER}", f"s = {MARKER}", "s = {1, 2}"]),
                self.r.choice([f"u.y = {self.term('blob')}", f"u = {MARKER}", "u = {x: 1, y: 0x00}"]),
            ],
            0,
        )
        self.r.shuffle(parts)
        return (
            f"UPDATE {self.table()}{self.using('TTL', 'TIMESTAMP')} SET {', '.join(parts)}"
            f"{self.where_row()}{self.conditions()}"
        )

    def delete(self) -> str:
        chosen = [self.name(column) for column in self.some(SCALARS, 0)]
        if self.r.random() < 0.4:
            chosen.append(f"m[{self.term('text')}]")
        return (
            f"DELETE {', '.join(chosen)} FROM {self.table()}{self.using('TIMESTAMP')}{self.where_row()}"
            f"{self.conditions()}"
        )

    def selector(self) -> str:
        column = self.r.choice(list(COLUMNS))
        name = self.name(column)
        item = self.r.choice([
            name, name, name, f"writetime({self.name('b')})", f"blobAsText({self.name('b')})", "u.y", "count(*)",
            f"(int){MARKER}", f"textAsBlob({self.term('text')})", f"m[{MARKER}]", f"cast({self.name('k')} AS text)",
            f"{self.name('k')} + {self.name('c1')} * 2", f"-{self.name('k')}", "(1, 2)", f"max({self.name('ttl')})",
            f"m[{MARKER}..{MARKER}]", f"s[{MARKER}]",
        ])  # fmt: skip
        return item + (f" AS {self.name(self.r.choice(list(COLUMNS)))}" if self.r.random() < 0.3 else "")

    def select(self) -> str:
        what = self.r.choice(["*", ", ".join(self.selector() for _ in range(self.r.randint(1, 5)))])
        head = self.r.choice(["SELECT ", "SELECT ", "SELECT JSON ", "SELECT DISTINCT "])
        where = self.r.choice(["", self.where_rows(), self.where_rows(), self.where_row()])
        tail = self.r.choice(["", f" ORDER BY {self.name('c1')} DESC", f" GROUP BY {self.name('k')}, {self.name('K')}"])
        tail += self.r.choice(["", f" PER PARTITION LIMIT {MARKER}"]) + self.r.choice(["", f" LIMIT {MARKER}"])
        return f"{head}{what} FROM {self.table()}{where}{tail} ALLOW FILTERING"

    def batch(self) -> str:
        inside = [self.r.choice([self.insert, self.update, self.delete])() for _ in range(self.r.randint(1, 4))]
        kind = self.r.choice(["", "UNLOGGED "])
        joint = self.r.choice([" ", "; "])
        return f"BEGIN {kind}BATCH{self.using('TIMESTAMP')} {joint.join(inside)}{joint}APPLY BATCH"

    def table(self) -> str:
        return self.r.choice(["t", "T", '"t"', "fuzz_markers.t", '"fuzz_markers" . t'])

    def statement(self) -> str:
        kind = self.r.choice([self.insert, self.update, self.delete, self.select, self.select, self.batch])
        return kind() + self.r.choice(["", ";"])

    def spaced(self, text: str) -> str:
        """Other white space and comments; texts with literals or names that have spaces keep theirs."""
        if "'" in text or "$" in text or '"' in text:
            return text
        return re.sub(" ", lambda _: self.r.choice(SPACES), text)


def by_question_marks(text: str) -> str:
    return text.replace(MARKER, "?")


def by_names(text: str, source: random.Random) -> tuple[str, list[str | None]]:
    """With markers of the names of columns, some of them twice, and question marks between."""
    names: list[str | None] = []

    def marker(_: Any) -> str:
        column = source.choice([None, *COLUMNS])
        names.append(column)
        if column is None:
            return "?"
        bare = BARE.fullmatch(column) and column not in RESERVED
        return ":" + (source.choice([column, column.upper()]) if bare else '"' + column.replace('"', '""') + '"')

    return re.sub(MARKER, marker, text), names


def agrees(place: Place | None, server: str) -> bool:
    """Whether that is how the server names a marker of that place."""
    if place is None:
        return server not in COLUMNS or server.startswith("arg")
    joined = ",".join(place.columns)
    if place.form == markers.OPTION:
        return server.startswith("[") or server in ("partition key token", "arg0(system.token)")
    if place.form == markers.VALUE:
        several = len(place.columns) > 1
        return (
            server == (f"({joined})" if several else joined)
            or re.fullmatch(r"arg\d\(system\.token\)", server) is not None
        )
    if place.form == markers.EACH:
        return server == f"in({joined})"
    return (  # a part
        server
        in (joined, f"key({joined})", f"value({joined})", f"idx({joined})", f"in({joined})", f"in(value({joined}))")
        or server.startswith((f"{joined}.", f"in({joined}.", f"in(value({joined}", "arg"))
    )


@pytest.fixture(scope="module")
def table(session: Session) -> None:
    session.execute("CREATE TYPE udt (x int, y blob)")
    columns = ", ".join('"' + name.replace('"', '""') + f'" {kind}' for name, kind in COLUMNS.items())
    session.execute(f'CREATE TABLE t ({columns}, PRIMARY KEY ((k, "K"), c1, "c 2"" ?"))')


def accepted(session: Session, text: str) -> Any:
    """The prepared statement; None where the server takes it for none."""
    try:
        return session.prepare(text)
    except (InvalidRequest, SyntaxException):
        return None


def test_markers_have_the_columns_that_the_server_names(rounds: Rounds, session: Session, table: None) -> None:
    understood = 0
    for source in rounds:
        writer = Writer(source)
        text = writer.spaced(writer.statement())
        prepared = accepted(session, by_question_marks(text))
        found = analyse(by_question_marks(text))
        named, names = by_names(text, source)
        also = analyse(named)
        if prepared is None:
            continue
        understood += 1
        described = prepared.column_metadata
        assert found.understood, text
        assert [marker.name for marker in found.markers] == [None] * len(described), text
        for marker, column in zip(found.markers, described, strict=True):
            assert agrees(marker.place, column.name), (text, marker, column.name)
            if marker.place is not None and marker.place.form == markers.VALUE and len(marker.place.columns) == 1:
                kind = COLUMNS[marker.place.columns[0]]
                assert kind in ("udt", column.type.cql_parameterized_type().replace("varchar", "text")) or "<" in kind
        assert [marker.place for marker in also.markers] == [marker.place for marker in found.markers], (text, named)
        assert [marker.name for marker in also.markers] == names, named
        again = accepted(session, named)
        assert again is not None, named
        for name, marker, column, before in zip(names, also.markers, again.column_metadata, described, strict=True):
            assert column.name == (before.name if name is None else name), (named, marker)
            assert column.type.cql_parameterized_type() == before.type.cql_parameterized_type()
        check_selected(found, prepared.result_metadata, text)
    assert understood > 0 or rounds.done < 20, "the server takes none of the statements"


def check_selected(analysis: Analysis, result: Any, text: str) -> None:
    """Columns that are selected without an alias have their names in the result."""
    if len(analysis.statements) != 1 or analysis.statements[0].selected is None or not result:
        return
    selected = analysis.statements[0].selected
    assert len(selected) == len(result), text
    if re.search(r"\bAS\b", text) is None:
        for column, described in zip(selected, result, strict=True):
            if column is not None or described.name in COLUMNS.keys() - {"count"}:  # of count(*)
                assert column == described.name, text


def test_no_value_of_an_encrypted_column_is_sent_as_it_is(
    rounds: Rounds, session: Session, table: None, cassandra_node: Any
) -> None:
    """Of statements that are accepted, every parameter that the server takes for a value of an encrypted column is
    encrypted for that very column."""
    policy = AESSIVColumnEncryptionPolicy()
    assert session.keyspace is not None
    encrypted = ["K", 'c 2" ?', "key", "IN", "b"]
    for name in encrypted:
        policy.add_column(ColDesc(session.keyspace, "t", name), bytes(range(32)), "text", deterministic=True)
    from cassandra.cluster import Cluster

    options = {"port": cassandra_node.port, "column_encryption_policy": policy}
    with Cluster(cassandra_node.contact_points, **options) as cluster:
        other = cluster.connect(session.keyspace)
        for source in rounds:
            text = Writer(source).statement()
            prepared = accepted(session, by_question_marks(text))
            named, _ = by_names(text, source)
            if prepared is None:
                continue
            try:
                sealing = other.prepare(named)
            except DriverException:
                continue  # refused
            values = [value_for(column.name, column.type.cql_parameterized_type(), encrypted, source) for column in
                      prepared.column_metadata]  # fmt: skip
            bound = sealing.bind(values)
            for column, value, data in zip(prepared.column_metadata, values, bound.values, strict=True):
                if is_of(column.name, encrypted) and value is not None:
                    assert b"secret" not in data, (named, column.name)
                    if column.name in encrypted:
                        assert policy.decrypt(ColDesc(session.keyspace, "t", column.name), data) == b"secret"


def is_of(server: str, names: list[str]) -> bool:
    """Whether the server takes it for a value, or values, of one of these columns."""
    return server in names or any(server == f"in({name})" for name in names)


_VALUES: dict[str, Callable[[], Any]] = {
    "int": lambda: 1, "bigint": lambda: 2, "varchar": lambda: "text", "blob": lambda: b"blob",
    "list<int>": lambda: [1], "set<int>": lambda: {1}, "list<blob>": lambda: [b"x"], "set<varchar>": lambda: {"x"},
    "map<varchar, blob>": lambda: {"x": b"y"}, "list<bigint>": lambda: [1], "list<varchar>": lambda: ["x"],
    "frozen<list<int>>": lambda: [1],
}  # fmt: skip


def value_for(server: str, kind: str, encrypted: list[str], source: random.Random) -> Any:
    if server in encrypted:
        return "secret"
    if is_of(server, encrypted):
        return ["secret", "secret"]
    if "," in server and "c 2" in server:  # tuples of both clustering columns
        pair = (1, "secret")
        return [pair] if server.startswith("in(") else pair
    if server in ("arg0(system.token)", "arg1(system.token)"):
        return 1 if server[3] == "0" else "secret"
    made = _VALUES.get(kind)
    return None if made is None else made()


def test_any_text_is_analysed(rounds: Rounds) -> None:
    """Statements with parts cut out, doubled and exchanged: no errors, and never more markers than there are."""
    for source in rounds:
        text = by_names(Writer(source).statement(), source)[0]
        for _ in range(source.randint(1, 4)):
            at, end = sorted(source.choices(range(len(text) + 1), k=2))
            text = (
                text[:at]
                + source.choice(["", text[at:end] * 2, "'", '"', "$$", "/*", "(", "?", ":", "\0"])
                + text[end:]
            )
        found = analyse(text)
        assert len(found.markers) <= text.count("?") + text.count(":")
        assert found.understood or not found.statements
