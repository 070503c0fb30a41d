"""Parser of a SELECT, as far as scans need it: its clauses, and the order of its rows.

L6, pure. It recognizes only clauses, names and markers, in a statement or in the condition that a caller passes; the
server reports all other errors when the statement is prepared.

:func:`row_order` determines the order in which a prepared SELECT returns the rows of one partition, and compares it
with the requested order. A column is *fixed* if it has the same value in all rows of a source: partition key columns,
and clustering columns compared by ``=``. The others are ordered as in the clustering key, each in the direction that
the table declares, or all reversed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cassandra._base.names import maybe_escape_name

if TYPE_CHECKING:
    from cassandra._routing.schema import TableMetadata

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)"
    r"|(?P<text>'(?:[^']|'')*'|\$\$.*?\$\$)"
    r'|(?P<quoted>"(?:[^"]|"")*")'
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<marker>\?|:\s*(?:\w+|\"(?:[^\"]|\"\")+\"))"
    r"|(?P<other><=|>=|!=|[0-9][\w.]*|.)",
    re.DOTALL,
)
_AGGREGATES = frozenset(("count", "sum", "min", "max", "avg"))

#: First keywords of the clauses after WHERE.
_CLAUSES = ("PER", "LIMIT", "ORDER", "GROUP", "ALLOW", "BYPASS", "USING")
_REFUSED = {
    "LIMIT": "LIMIT is not supported by scans: each range would have its own; stop reading after enough rows",
    "ORDER": 'ORDER BY is not supported by scans: rows are in the order of tokens (order="token"), or of their ranges',
    "GROUP": "GROUP BY is not supported by scans: use scan.fold with a reducer",
    "USING": "USING is not supported by scans: use timeout=",
}


class Word:
    """A part of CQL: *kind* is ``text``, ``quoted``, ``word``, ``marker`` or ``other``; *depth* of parentheses."""

    __slots__ = ("depth", "kind", "start", "stop", "text")

    def __init__(self, kind: str, text: str, depth: int, start: int, stop: int) -> None:
        self.kind = kind
        self.text = text
        self.depth = depth
        self.start = start
        self.stop = stop

    @property
    def name(self) -> str | None:
        """The identifier; None if the word is not one."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text.lower() if self.kind == "word" else None

    def starts_with(self, *keywords: str) -> bool:
        """True if it is one of these keywords, outside of parentheses."""
        return self.kind == "word" and not self.depth and self.text.upper() in keywords


def words_of(cql: str) -> list[Word]:
    """Return the words of *cql*, without white space and comments."""
    found, depth, at = [], 0, 0
    while at < len(cql):
        match = _TOKEN.match(cql, at)
        assert match is not None and match.lastgroup is not None
        at = match.end()
        if match.lastgroup == "space":
            continue
        text = match[0]
        depth -= text in (")", "]", "}")
        found.append(Word(match.lastgroup, text, depth, match.start(), at))
        depth += text in ("(", "[", "{")
    return found


class Condition:
    """The part of a statement after WHERE: relations, then PER PARTITION LIMIT and ALLOW FILTERING. ValueError for
    clauses that a scan does not support. *token_markers*: the relations have markers for both bounds of the token."""

    def __init__(self, cql: str, words: Sequence[Word]) -> None:
        self.relations = ""
        self.per_partition = ""
        self.filtering = self.bypass = False
        self.markers = sum(word.kind == "marker" for word in words)
        self.token_markers = False
        words = list(words)
        while words and words[-1].text == ";":
            words.pop()
        end = next((at for at, word in enumerate(words) if word.starts_with(*_CLAUSES)), len(words))
        if end:
            self.relations = cql[words[0].start : words[end - 1].stop]
            self._check(words[:end])
        self._read_clauses(cql, words[end:])

    def _read_clauses(self, cql: str, words: list[Word]) -> None:
        at = 0
        while at < len(words):
            said = [word.text.upper() for word in words[at : at + 4]]
            if said[:3] == ["PER", "PARTITION", "LIMIT"] and len(said) == 4:
                self.per_partition = words[at + 3].text
                if words[at + 3].kind == "marker":
                    raise ValueError("PER PARTITION LIMIT of a scan must be a number, not a marker")
                at += 4
            elif said[:2] == ["ALLOW", "FILTERING"]:
                self.filtering = True
                at += 2
            elif said[:2] == ["BYPASS", "CACHE"]:
                self.bypass = True
                at += 2
            else:
                raise ValueError(_REFUSED.get(said[0], f"a scan does not support {words[at].text!r}"))

    def _check(self, words: list[Word]) -> None:
        for at, word in enumerate(words):
            if word.starts_with("IN"):
                raise ValueError(
                    "IN is not supported by scans: servers neither order such a query by tokens nor page it; use "
                    "execute_concurrent() for single partitions"
                )
            if word.starts_with("OR"):
                raise ValueError("CQL has no OR")
            if word.starts_with("TOKEN") and at + 1 < len(words) and words[at + 1].text == "(":
                self.token_markers = True
        if self.token_markers:
            self._check_tokens(words)

    def _check_tokens(self, words: list[Word]) -> None:
        """Raise ValueError unless the tokens are ``token(key) > ? AND token(key) <= ?``."""
        bounds = []
        for at, word in enumerate(words):
            if not (word.starts_with("TOKEN") and at + 1 < len(words) and words[at + 1].text == "("):
                continue
            close = next((end for end in range(at + 2, len(words)) if not words[end].depth), len(words))
            behind = words[close + 1 : close + 3]
            bounds.append(behind[0].text if len(behind) == 2 and behind[1].kind == "marker" else "")
        if bounds != [">", "<="]:
            raise ValueError(
                "the tokens of a scan must be bound as token(key) > ? AND token(key) <= ?, in this order, or omitted: "
                "then the scan adds them; use token_range= for a part of the ring"
            )


class Select:
    """A SELECT that can be scanned. ValueError with the reason for other statements."""

    def __init__(self, cql: str) -> None:
        words = words_of(cql)
        if not words or not words[0].starts_with("SELECT"):
            raise ValueError(f"a scan needs a SELECT, got {cql!r}")
        at_from = next((at for at, word in enumerate(words) if word.starts_with("FROM")), None)
        if at_from is None or at_from + 1 >= len(words):
            raise ValueError(f"the SELECT has no table: {cql!r}")
        selected = words[1:at_from]
        if selected and selected[0].starts_with("JSON") and len(selected) > 1 and selected[1].text != ",":
            raise ValueError("SELECT JSON is not supported by scans: select the columns")
        self.distinct = (
            bool(selected) and selected[0].starts_with("DISTINCT") and len(selected) > 1 and (selected[1].text != ",")
        )
        if self.distinct:
            selected = selected[1:]
        refuse_aggregates(selected)
        self.selected = cql[selected[0].start : selected[-1].stop] if selected else ""
        self.names = [word.name for word in selected if word.name is not None]
        self.table, rest = self._table(words[at_from + 1 :])
        if rest and rest[0].starts_with("WHERE"):
            rest = rest[1:]
        self.condition = Condition(cql, rest)

    @staticmethod
    def _table(words: list[Word]) -> tuple[tuple[str | None, str], list[Word]]:
        first = words[0].name
        if first is None:
            raise ValueError(f"invalid table: {words[0].text!r}")
        if len(words) > 2 and words[1].text == "." and words[2].name is not None:
            return (first, words[2].name), words[3:]
        return (None, first), words[1:]


def refuse_aggregates(words: Sequence[Word]) -> None:
    for word, behind in pairwise(words):
        if word.kind == "word" and behind.text == "(" and word.text.lower() in _AGGREGATES:
            raise ValueError(
                f"{word.text}() is not supported by scans: each range would have its own; use a reducer of scan.fold"
            )


def condition_of(where: str) -> Condition:
    """Return the condition of a caller, which must not have tokens."""
    words = words_of(where)
    if words and words[0].starts_with("WHERE"):
        words = words[1:]
    found = Condition(where, words)
    if found.token_markers:
        raise ValueError("where= must not contain token(): use token_range= for a part of the ring")
    return found


def select_text(
    name: str, selected: str, key: Sequence[str], condition: Condition, *, distinct: bool, bypass: bool, lower: bool
) -> str:
    """Return the SELECT of a range; for the first range without its lower bound."""
    token = f"token({', '.join(map(maybe_escape_name, key))})"
    relations = [condition.relations] if condition.relations else []
    relations += [f"{token} > ?"] if lower else []
    relations.append(f"{token} <= ?")
    parts = ["SELECT DISTINCT" if distinct else "SELECT", selected, "FROM", name, "WHERE", " AND ".join(relations)]
    if condition.per_partition:
        parts.append(f"PER PARTITION LIMIT {condition.per_partition}")
    if condition.filtering:
        parts.append("ALLOW FILTERING")
    if bypass or condition.bypass:
        parts.append("BYPASS CACHE")
    return " ".join(parts)


# ---- order of the rows of a partition


class PartitionSelect:
    """The parts of *cql*, a SELECT, that determine the order of its rows. ValueError if it is not a SELECT."""

    def __init__(self, cql: str) -> None:
        words = [word for word in words_of(cql) if word.text != ";"]
        if not words or not words[0].starts_with("SELECT"):
            raise ValueError(f"expected a SELECT to read partitions, got {cql!r}")
        where = _behind(words, "WHERE")
        end = next((at for at, word in enumerate(where) if word.starts_with(*_CLAUSES)), len(where))
        self.fixed: set[str] = set()
        self.listed: set[str] = set()  # compared by IN
        self.tokens = False
        for relation in _split(where[:end], lambda word: word.starts_with("AND")):
            self._read_relation(relation)
        self.order = [self._read_order(one) for one in _split(_order_of(words), lambda word: word.text == ",")]

    def _read_relation(self, words: list[Word]) -> None:
        names = [words[0].name]
        if words[0].text == "(":
            close = next((at for at, word in enumerate(words) if at and not word.depth), len(words) - 1)
            names = [word.name for word in words[1:close] if word.text != ","]
            words = words[close:]
        elif words[0].starts_with("TOKEN") and len(words) > 1 and words[1].text == "(":
            self.tokens = True
            return
        found = {name for name in names if name is not None}
        if len(words) > 1 and words[1].text == "=":
            self.fixed |= found
        elif len(words) > 1 and words[1].starts_with("IN"):
            self.listed |= found

    @staticmethod
    def _read_order(words: list[Word]) -> tuple[str, bool]:
        """Return a column, and True if it is descending."""
        if any(word.starts_with("ANN") for word in words):
            raise ValueError("rows ordered by ANN OF cannot be merged")
        name = words[0].name
        assert name is not None
        return name, len(words) > 1 and words[1].starts_with("DESC")


def _behind(words: list[Word], keyword: str) -> list[Word]:
    at = next((at for at, word in enumerate(words) if word.starts_with(keyword)), len(words))
    return words[at + 1 :]


def _order_of(words: list[Word]) -> list[Word]:
    """Return the words after ORDER BY, up to the next clause."""
    found = _behind(words, "ORDER")[1:]
    end = next((at for at, word in enumerate(found) if word.starts_with(*_CLAUSES)), len(found))
    return found[:end]


def _split(words: list[Word], is_between: Any) -> list[list[Word]]:
    parts: list[list[Word]] = [[]]
    for word in words:
        if not word.depth and is_between(word):
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


class RowOrder:
    """The columns that sources are merged by: *names*, and *descends* for each. *is_exact*: no two rows of a source are
    equal by them."""

    __slots__ = ("descends", "is_exact", "names")

    def __init__(self, names: Sequence[str], descends: Sequence[bool], is_exact: bool) -> None:
        self.names = tuple(names)
        self.descends = tuple(descends)
        self.is_exact = is_exact

    def __str__(self) -> str:
        pairs = zip(self.names, self.descends, strict=True)
        return ", ".join(f"{name} {'DESC' if down else 'ASC'}" for name, down in pairs)


def row_order(
    cql: str,
    name: str,
    table: TableMetadata | None,
    order_by: str | Iterable[str] | None,
    descending: bool | Sequence[bool],
) -> RowOrder:
    """Return the requested order of *cql*, which reads the table *name*. ValueError with the reason if its rows have
    another order. Without metadata of the table the order is unknown: it is verified while rows are read."""
    select = PartitionSelect(cql)
    if select.tokens:
        raise ValueError("the statement must read one partition, without token(): use session.scan() for a table")
    wanted = _order_columns(order_by, table, select)
    given = [descending] if not isinstance(descending, Sequence) else list(descending)
    downs = given * len(wanted) if isinstance(descending, bool) else given
    if len(downs) != len(wanted) or not all(type(down) is bool for down in downs):
        raise ValueError(f"descending must be one bool, or one for each of {', '.join(wanted)}, got {descending!r}")
    if table is None:
        return RowOrder(wanted, downs, False)
    _check_partition(name, table, select)
    return _make_order(name, table, select, wanted, downs)


def _order_columns(
    order_by: str | Iterable[str] | None, table: TableMetadata | None, select: PartitionSelect
) -> list[str]:
    if isinstance(order_by, str):
        return [order_by]
    if order_by is not None:
        found = list(order_by)
    elif table is None:
        raise ValueError("order_by is required, as there is no metadata of the table")
    else:
        found = [column.name for column in table.clustering_key if column.name not in select.fixed]
    if not found or len(set(found)) < len(found):
        raise ValueError(f"order_by must be distinct clustering columns, at least one, got {found!r}")
    return found


def _check_partition(name: str, table: TableMetadata, select: PartitionSelect) -> None:
    for column in table.partition_key:
        if column.name in select.listed:
            raise ValueError(
                f"the statement reads several partitions, by IN on {column.name}: it must read one of {name}; "
                "pass each partition as a key"
            )
        if column.name not in select.fixed:
            raise ValueError(f"the statement does not read one partition of {name}: {column.name} = ? is missing")


def _make_order(
    name: str, table: TableMetadata, select: PartitionSelect, wanted: Sequence[str], downs: Sequence[bool]
) -> RowOrder:
    own = {column.name: bool(column.is_reversed) for column in table.clustering_key}
    fixed = select.fixed & (own.keys() | {column.name for column in table.partition_key})
    turned = next((down is not own[column] for column, down in select.order if column in own), False)
    left = [column for column in own if column not in fixed]
    for column, down in zip(wanted, downs, strict=True):
        if column in fixed:
            continue
        if column not in own:
            raise ValueError(f"{column} is not a clustering column of {name}, which has {', '.join(own) or 'none'}")
        if left[0] != column:
            raise ValueError(
                f"within a partition of {name} rows are ordered by {', '.join(left)}, not by {column}, unless "
                f"{left[0]} is fixed by ="
            )
        if (own[column] is not turned) is not down:
            raise ValueError(_wrong_way(name, column, down, turned, own[column]))
        del left[0]
    return RowOrder(wanted, downs, not left)


def _wrong_way(name: str, column: str, down: bool, turned: bool, own: bool) -> str:
    way, other = ("DESC", "ASC") if down else ("ASC", "DESC")
    clustering = "DESC" if own else "ASC"
    said = "ORDER BY of the statement reverses it" if turned else "the statement has no ORDER BY that reverses it"
    return (
        f"the statement returns {column} {other}, but {way} is requested (descending={down}): the clustering order of "
        f"{name} is {column} {clustering}, and {said}"
    )
