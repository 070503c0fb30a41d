"""Statements made by chance, over few keys and values, so that they meet: what one of them wrote the next reads."""

from __future__ import annotations

import random
from collections.abc import Callable

SCHEMA = (
    "CREATE TABLE t (p int, q text, c int, d text, s int static, v int, w text, l list<int>, e set<int>,"
    " m map<text, int>, PRIMARY KEY ((p, q), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC)",
    "CREATE TABLE n (p int, c int, n counter, PRIMARY KEY (p, c))",
    "CREATE TABLE f (p int, c frozen<list<int>>, v frozen<map<int, text>>, z tuple<int, text>, PRIMARY KEY (p, c))",
)
TABLES = ("t", "n", "f")


class Maker:
    """Makes statements; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._kinds: tuple[tuple[int, Callable[[], str]], ...] = (
            (5, self.insert),
            (4, self.update),
            (3, self.delete),
            (10, self.select),
            (1, self.batch),
            (2, self.counter),
            (2, self.aggregate),
            (2, self.frozen),
        )

    def statement(self) -> str:
        weights = [weight for weight, _ in self._kinds]
        return self._rng.choices([make for _, make in self._kinds], weights)[0]()

    # -- values

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _int(self) -> str:
        return "null" if self._chance(0.05) else str(self._rng.randint(-1, 3))

    def _number(self) -> str:
        return str(self._rng.randint(-1, 3))

    def _text(self) -> str:
        return self._rng.choice(["'a'", "'b'", "''", "'Z'", "'é'"])

    def _value(self, column: str) -> str:
        if column in ("p", "c", "v", "s"):
            return self._int()
        if column in ("q", "d", "w"):
            return self._text()
        count = self._rng.randint(0, 3)
        if column == "m":
            return "{" + ", ".join(f"{self._text()}: {self._rng.randint(0, 3)}" for _ in range(count)) + "}"
        items = ", ".join(str(self._rng.randint(0, 3)) for _ in range(count))
        return f"[{items}]" if column == "l" else f"{{{items}}}"

    def _using(self, deletes: bool = False) -> str:
        parts = []
        if self._chance(0.3):
            parts.append(f"TIMESTAMP {self._rng.choice([10, 20, 30])}")
        if not deletes and self._chance(0.1):
            parts.append("TTL 100000")
        return " USING " + " AND ".join(parts) if parts else ""

    # -- conditions

    def _partition(self) -> str:
        return f"p = {self._rng.randint(0, 1)} AND q = '{self._rng.randint(1, 2)}'"

    def _row(self) -> str:
        return f"{self._partition()} AND c = {self._rng.randint(0, 2)} AND d = {self._text()}"

    def _slice(self) -> str:
        """A part of a partition by its clustering columns."""
        operator = self._rng.choice(["<", "<=", ">", ">="])
        return self._rng.choice(
            [
                "",
                f" AND c = {self._int()}",
                f" AND c {operator} {self._number()}",
                f" AND c >= 0 AND c < {self._number()}",
                f" AND c = 1 AND d {operator} {self._text()}",
                f" AND (c, d) {operator} (1, {self._text()})",
                f" AND c IN ({self._int()}, {self._rng.randint(0, 2)})",
                f" AND (c, d) IN ((1, {self._text()}), (0, 'a'))",
                f" AND (c, d) > (0, 'a') AND (c) {self._rng.choice(['<', '<='])} ({self._rng.randint(0, 2)})",
                f" AND c = {self._rng.randint(0, 2)} AND d IN ({self._text()}, {self._text()})",
            ]
        )

    def _condition(self) -> str:
        if self._chance(0.8):
            return ""
        return self._rng.choice(
            [
                " IF EXISTS",
                f" IF v = {self._int()}",
                f" IF v != {self._int()}",
                f" IF s > {self._int()}",
                f" IF v IN (1, {self._int()})",
                f" IF m['a'] = {self._int()}",
                f" IF w < {self._text()}",
                f" IF e = {self._value('e')}",
            ]
        )

    # -- statements

    def insert(self) -> str:
        columns = [name for name in ("v", "w", "l", "e", "m", "s") if self._chance(0.4)]
        names = ["p", "q", "c", "d", *columns]
        if self._chance(0.1):
            names = ["p", "q", "s"]
        keys = {
            "p": str(self._rng.randint(0, 1)),
            "q": self._rng.choice(["'1'", "'2'"]),
            "c": str(self._rng.randint(0, 2)),
        }
        values = [keys.get(name) or self._value(name) for name in names]
        tail = " IF NOT EXISTS" if self._chance(0.1) else self._using()
        return f"INSERT INTO t ({', '.join(names)}) VALUES ({', '.join(values)}){tail}"

    def update(self) -> str:
        changes = self._rng.sample(
            [
                f"v = {self._int()}",
                f"w = {self._text()}",
                f"l = l + {self._value('l')}",
                f"l = {self._value('l')} + l",
                f"e = e + {self._value('e')}",
                f"e = e - {self._value('e')}",
                f"m = m + {self._value('m')}",
                f"m['a'] = {self._int()}",
                f"l = l - {self._value('l')}",
                f"m = m - {{{self._text()}}}",
                f"l[0] = {self._int()}",
                f"m = {self._value('m')}",
                f"e = {self._value('e')}",
                f"s = {self._int()}",
            ],
            self._rng.randint(1, 2),
        )
        condition = self._condition()
        using = "" if condition else self._using()
        return f"UPDATE t{using} SET {', '.join(changes)} WHERE {self._row()}{condition}"

    def delete(self) -> str:
        using = self._using(deletes=True)
        what = self._rng.choice(["v", "w", "s", "m['a']", "l", "e", "m", "v, w", "l[0]"])
        return self._rng.choice(
            [
                f"DELETE FROM t{using} WHERE {self._row()}",
                f"DELETE {what} FROM t{using} WHERE {self._row()}",
                f"DELETE FROM t{using} WHERE {self._partition()}{self._slice()}",
                f"DELETE FROM t WHERE {self._row()}{self._condition()}",
                f"DELETE s FROM t{using} WHERE {self._partition()}",
            ]
        )

    def select(self) -> str:
        columns = self._rng.choice(["*", "p, q, c, d, v", "c, d, w, s", "c, l, e, m", "s, v"])
        where = self._rng.choice(
            [
                "",
                f" WHERE {self._partition()}",
                f" WHERE {self._partition()}{self._slice()}",
                f" WHERE {self._row()}",
                f" WHERE p IN (0, {self._int()}) AND q = '1'{self._slice()}",
                f" WHERE token(p, q) > {self._token()}",
                f" WHERE token(p, q) <= {self._token()} AND token(p, q) > {self._token()}",
                f" WHERE v = {self._int()}",
                f" WHERE {self._partition()} AND v > {self._int()}",
                f" WHERE m CONTAINS {self._int()}",
                f" WHERE s = {self._int()}",
                f" WHERE {self._partition()} AND e CONTAINS {self._int()}",
                f" WHERE c = {self._int()}",
                f" WHERE {self._partition()} AND d = {self._text()}",
            ]
        )
        order = self._rng.choice(
            ["", "", "", " ORDER BY c", " ORDER BY c DESC", " ORDER BY c ASC, d DESC", " ORDER BY d"]
        )
        limits = self._rng.choice(["", "", "", " LIMIT 2", " PER PARTITION LIMIT 1", " PER PARTITION LIMIT 2 LIMIT 3"])
        filtering = " ALLOW FILTERING" if self._chance(0.5) else ""
        return f"SELECT {columns} FROM t{where}{order}{limits}{filtering}"

    def _token(self) -> str:
        return self._rng.choice(
            ["-9223372036854775808", "0", "9223372036854775807", f"token(1, '{self._rng.randint(1, 2)}')"]
        )

    def aggregate(self) -> str:
        what = self._rng.choice(
            ["count(*)", "count(v), sum(v)", "min(v), max(w)", "avg(v)", "p, q, count(*)", "max(c), d"]
        )
        where = self._rng.choice(["", f" WHERE {self._partition()}", f" WHERE {self._partition()}{self._slice()}"])
        group = self._rng.choice(["", "", " GROUP BY p, q", " GROUP BY p, q, c", " GROUP BY p", " GROUP BY c"])
        return f"SELECT {what} FROM t{where}{group}{self._rng.choice(['', '', ' LIMIT 2'])}"

    def batch(self) -> str:
        parts = [self._rng.choice([self.insert, self.update, self.delete])() for _ in range(self._rng.randint(1, 3))]
        return f"BEGIN {self._rng.choice(['', 'UNLOGGED '])}BATCH {'; '.join(parts)}; APPLY BATCH"

    def counter(self) -> str:
        key = f"p = {self._rng.randint(0, 1)} AND c = {self._rng.randint(0, 1)}"
        return self._rng.choice(
            [
                f"UPDATE n SET n = n + {self._rng.randint(0, 5)} WHERE {key}",
                f"UPDATE n SET n = n - 2 WHERE {key}",
                "SELECT * FROM n",
                f"SELECT n FROM n WHERE {key}",
                "SELECT sum(n) FROM n",
                f"UPDATE n SET n = 5 WHERE {key}",
                "INSERT INTO n (p, c, n) VALUES (1, 1, 1)",
                f"UPDATE n USING TTL 5 SET n = n + 1 WHERE {key}",
                f"UPDATE n SET n = n + 1 WHERE {key} IF n = 1",
            ]
        )

    def frozen(self) -> str:
        items = ", ".join(str(self._rng.randint(0, 2)) for _ in range(self._rng.randint(0, 2)))
        operator = self._rng.choice(["=", "<", ">="])
        return self._rng.choice(
            [
                f"INSERT INTO f (p, c, v) VALUES (0, [{items}], {{1: {self._text()}}})",
                f"INSERT INTO f (p, c, z) VALUES (0, [{items}], ({self._int()}, {self._text()}))",
                f"SELECT * FROM f WHERE p = 0 AND c {operator} [{items}]",
                f"UPDATE f SET z = (1, null) WHERE p = 0 AND c = [{items}]",
                f"SELECT c, v[1] FROM f WHERE p = 0 AND c IN ([{items}], [0])",
                f"DELETE v FROM f WHERE p = 0 AND c = [{items}]",
                f"SELECT * FROM f WHERE z = (1, {self._text()}) ALLOW FILTERING",
                "UPDATE f SET v[1] = 'x' WHERE p = 0 AND c = [0]",
            ]
        )
