"""Parser of a SELECT, as far as a scan needs it, and of the condition that a caller passes.

L5, pure. It recognizes only clauses, names and markers; the server reports all other errors when the statement is
prepared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from cassandra._base.names import maybe_escape_name

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
_COUNTED = re.compile(r"\d+")


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

    def says(self, *keywords: str) -> bool:
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
        end = next((at for at, word in enumerate(words) if word.says(*_CLAUSES)), len(words))
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
            if word.says("IN"):
                raise ValueError(
                    "IN is not supported by scans: servers neither order such a query by tokens nor page it; use "
                    "execute_concurrent() for single partitions"
                )
            if word.says("OR"):
                raise ValueError("CQL has no OR")
            if word.says("TOKEN") and at + 1 < len(words) and words[at + 1].text == "(":
                self.token_markers = True
        if self.token_markers:
            self._check_tokens(words)

    def _check_tokens(self, words: list[Word]) -> None:
        """Raise ValueError unless the tokens are ``token(key) > ? AND token(key) <= ?``."""
        bounds = []
        for at, word in enumerate(words):
            if not (word.says("TOKEN") and at + 1 < len(words) and words[at + 1].text == "("):
                continue
            close = next((end for end in range(at + 2, len(words)) if not words[end].depth), len(words))
            behind = words[close + 1 : close + 3]
            bounds.append(behind[0].text if len(behind) == 2 and behind[1].kind == "marker" else "")
        if bounds != [">", "<="]:
            raise ValueError(
                "the tokens of a scan must be bound as token(key) > ? AND token(key) <= ?, in this order, or omitted: "
                "then the scan adds them; use token_range= for a part of the ring"
            )


_CLAUSES = ("PER", "LIMIT", "ORDER", "GROUP", "ALLOW", "BYPASS", "USING")
_REFUSED = {
    "LIMIT": "LIMIT is not supported by scans: each range would have its own; stop reading after enough rows",
    "ORDER": 'ORDER BY is not supported by scans: rows are in the order of tokens (order="token"), or of their ranges',
    "GROUP": "GROUP BY is not supported by scans: use scan.fold with a reducer",
    "USING": "USING is not supported by scans: use timeout=",
}


class Select:
    """A SELECT that can be scanned. ValueError with the reason for other statements."""

    def __init__(self, cql: str) -> None:
        words = words_of(cql)
        if not words or not words[0].says("SELECT"):
            raise ValueError(f"a scan needs a SELECT, got {cql!r}")
        at_from = next((at for at, word in enumerate(words) if word.says("FROM")), None)
        if at_from is None or at_from + 1 >= len(words):
            raise ValueError(f"the SELECT has no table: {cql!r}")
        selected = words[1:at_from]
        if selected and selected[0].says("JSON") and len(selected) > 1 and selected[1].text != ",":
            raise ValueError("SELECT JSON is not supported by scans: select the columns")
        self.distinct = (
            bool(selected) and selected[0].says("DISTINCT") and len(selected) > 1 and (selected[1].text != ",")
        )
        if self.distinct:
            selected = selected[1:]
        refuse_aggregates(selected)
        self.selected = cql[selected[0].start : selected[-1].stop] if selected else ""
        self.names = [word.name for word in selected if word.name is not None]
        self.table, rest = self._table(words[at_from + 1 :])
        if rest and rest[0].says("WHERE"):
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
    if words and words[0].says("WHERE"):
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
