"""Parser for bind markers: finds the column of each marker of a CQL text, and values for columns in the text (L2).

Servers describe a marker by its own name: that of the column for ``?``, but the name in the text for ``:name``, and
``in(column)``, ``[json]`` or ``arg0(function)`` elsewhere. So the column is read from the text. :func:`analyse` parses
INSERT, UPDATE, DELETE, SELECT and batches of them. In a text that it cannot parse, markers have no place; the caller
handles that case. Pure; no text is stored, as it may contain secrets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple


@cache
def _token() -> re.Pattern[str]:
    """Return a pattern that matches one token; compiled with the first statement, as most programs parse none."""
    return re.compile(
        r"""
        (?P<space>\s+|--[^\n\r]*|//[^\n\r]*|/\*(?:[^*]|\*(?!/))*\*/)
      | (?P<string>'(?:[^']|'')*'|\$\$(?:[^$]|\$(?!\$))*\$\$)
      | (?P<quoted>"(?:[^"]|"")+")
      | (?P<open>/\*|'|"|\$\$)
      | (?P<uuid>[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})
      | (?P<blob>0[xX][0-9a-fA-F]*)
      | (?P<number>\d+(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?\w*)
      | (?P<duration>[pP](?:\d+-\d+-\d+[tT]\d+:\d+:\d+|(?:\d+[ymwdYMWD])+(?:[tT](?:\d+[hmsHMS])+)?
        |[tT](?:\d+[hmsHMS])+)(?!\w))
      | (?P<word>[a-zA-Z]\w*)
      | (?P<sign>\.\.|<=|>=|!=|\+=|-=|[-+*/%=<>(){}\[\],.;:?])
        """,
        re.VERBOSE | re.ASCII,
    )


#: Forms of a place: a value of the column (of several columns: a tuple of their values), a list of such values, a part
#: of the column's value or an operand that it is computed from, a number that belongs to no column.
VALUE, EACH, PART, OPTION = "value", "each", "part", "option"

#: Kinds of expressions.
MARKER, NULL, BLOB, NAME, CONSTANT, TUPLE, COMPUTED = "marker", "null", "blob", "name", "constant", "tuple", "computed"

#: Words that may follow a term: ``(name)`` before one of them is not a type hint.
_FOLLOWING = frozenset(
    [
        "allow",
        "and",
        "apply",
        "as",
        "asc",
        "between",
        "bypass",
        "contains",
        "default",
        "delete",
        "desc",
        "from",
        "group",
        "if",
        "in",
        "insert",
        "is",
        "like",
        "limit",
        "not",
        "or",
        "order",
        "per",
        "select",
        "set",
        "update",
        "using",
        "where",
    ]
)
_STATEMENTS = frozenset(("insert", "update", "delete", "select", "begin"))
_LITERALS = frozenset(("string", "uuid", "number", "duration"))
_CONSTANTS = frozenset(("true", "false", "nan", "infinity"))
#: A minus behind one of these is that of a number; behind anything else it is an operator.
_BEFORE_SIGN = frozenset("(,=[:{<>+-*/%")
_COMPARISONS = frozenset(("=", "<", ">", "<=", ">=", "!="))


class Place(NamedTuple):
    """The use of a marker: *form* is VALUE, EACH, PART or OPTION, of these *columns*. *is_compared*: the value is
    compared with stored values, not stored."""

    form: str
    columns: tuple[str, ...] = ()
    is_compared: bool = False


class Marker(NamedTuple):
    """A bind marker, in the order of the text. *name*: None for ``?``; *place*: None if unknown; *statement*: a
    position in :attr:`Analysis.statements`."""

    name: str | None
    place: Place | None
    statement: int


class Given(NamedTuple):
    """A value in the text that is assigned to *column* or compared with it; *text* is the literal of kind BLOB."""

    column: str
    kind: str
    text: str


class Parsed(NamedTuple):
    """One statement of a text. *selected*: the column of each item of a SELECT, None for other items; None for ``*``
    and for other statements. *is_json*: INSERT ... JSON."""

    kind: str
    keyspace: str | None
    table: str
    given: tuple[Given, ...]
    selected: tuple[str | None, ...] | None
    is_json: bool


class Analysis(NamedTuple):
    """The analysis of a text. *is_data*: by its first word, it is a statement that reads or writes rows. If it was not
    *understood*, it has no statements, and its markers have no places. *words*: all possible names."""

    is_data: bool
    understood: bool
    statements: tuple[Parsed, ...]
    markers: tuple[Marker, ...]
    words: frozenset[str]


def analyse(text: str) -> Analysis:
    """Return the analysis of *text*. Never raises for a str."""
    tokens = _tokens(text)
    words = frozenset(_parse_name(token) for token in tokens if token.kind in ("word", "quoted"))
    is_data = bool(tokens) and tokens[0].kind == "word" and tokens[0].text.lower() in _STATEMENTS
    parser = _Parser(tokens)
    try:
        if tokens and tokens[-1].kind == "unknown":
            raise _NotUnderstood
        if is_data:
            parser.text()
    except (_NotUnderstood, RecursionError):
        return Analysis(is_data, False, (), tuple(_markers_without_place(tokens)), words)
    return Analysis(is_data, True, tuple(parser.statements), tuple(parser.markers), words)


def sanitized(text: str) -> str:
    """Return *text* with ``?`` for each literal, and without comments. Markers stay: ``?``, ``:name``, ``%s``. A string
    or a comment that is not closed ends with the text."""
    shown: list[str] = []
    at, token = 0, _token()
    while at < len(text):
        match = token.match(text, at)
        kind = None if match is None else match.lastgroup
        piece = text[at] if match is None else match[0]
        at += len(piece)
        if kind == "open":
            shown.append(" " if piece == "/*" else "?")
            break
        if kind == "space" and not piece.isspace():
            piece = " "
        elif kind in _LITERALS or kind == "blob" or piece.lower() in _CONSTANTS:
            if shown and shown[-1] == "-" and _is_before_sign(shown):
                shown.pop()
            piece = "?"
        shown.append(piece)
    return "".join(shown).strip()


def _is_before_sign(shown: list[str]) -> bool:
    """True if the minus that *shown* ends with begins a number."""
    before = next((piece for piece in reversed(shown[:-1]) if not piece.isspace()), None)
    return before is None or before[-1] in _BEFORE_SIGN


class _Token(NamedTuple):
    kind: str
    text: str


class _NotUnderstood(Exception):
    pass


def _tokens(text: str) -> list[_Token]:
    """Return the tokens of *text*. The last one is of kind "unknown" if the rest of the text is not CQL."""
    tokens: list[_Token] = []
    at, end, token = 0, len(text), _token()
    while at < end:
        match = token.match(text, at)
        if match is None or match.lastgroup == "open":  # an unterminated comment, text or name
            tokens.append(_Token("unknown", text[at:]))
            break
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(_Token(kind, match[0]))
        at = match.end()
    return tokens


def _parse_name(token: _Token) -> str:
    """Return the name of a word or of a quoted name."""
    return token.text[1:-1].replace('""', '"') if token.kind == "quoted" else token.text.lower()


def _markers_without_place(tokens: list[_Token]) -> list[Marker]:
    """Return the markers of tokens that cannot be parsed. ``{a:b}`` may count as a marker, which has no effect."""
    found = []
    for token, following in zip(tokens, [*tokens[1:], _Token("end", "")], strict=True):
        if token.text == "?" and token.kind == "sign":
            found.append(Marker(None, None, 0))
        elif token.text == ":" and token.kind == "sign" and following.kind in ("word", "quoted"):
            found.append(Marker(_parse_name(following), None, 0))
    return found


class _Expression(NamedTuple):
    kind: str
    markers: tuple[int, ...] = ()  # all markers in it
    items: tuple[_Expression, ...] = ()  # of a tuple
    text: str = ""  # of a literal; the name
    function: str = ""  # of a call without a keyspace


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = [*tokens, _Token("end", "")]
        self._at = 0
        self._given: list[Given] = []
        self._compares = False  # in WHERE and IF
        self.statements: list[Parsed] = []
        self.markers: list[Marker] = []

    # ---- tokens

    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _next(self) -> _Token:
        token = self._peek()
        if token.kind == "end":
            raise _NotUnderstood
        self._at += 1
        return token

    def _is(self, text: str, ahead: int = 0) -> bool:
        """True if the token is this keyword or sign."""
        token = self._peek(ahead)
        return token.text.lower() == text and token.kind in ("word", "sign")

    def _accept(self, *texts: str) -> bool:
        """Consume these keywords or signs; False, without an effect, if the next tokens are others."""
        if all(self._is(text, ahead) for ahead, text in enumerate(texts)):
            self._at += len(texts)
            return True
        return False

    def _take(self, *texts: str) -> None:
        if not self._accept(*texts):
            raise _NotUnderstood

    def _name(self) -> str:
        token = self._next()
        if token.kind not in ("word", "quoted"):
            raise _NotUnderstood
        return _parse_name(token)

    def _list(self, item: Callable[[], object], end: str) -> list[object]:
        """Parse items separated by commas up to *end*, possibly none."""
        items: list[object] = []
        while not self._accept(end):
            if items:
                self._take(",")
            items.append(item())
        return items

    # ---- statements

    def text(self) -> None:
        if self._accept("begin"):
            while not self._accept("batch"):  # LOGGED, UNLOGGED, COUNTER
                if self._name() not in ("logged", "unlogged", "counter"):
                    raise _NotUnderstood
            self._using()
            options = len(self.markers)
            while not self._accept("apply", "batch"):
                self._statement()
                while self._accept(";"):
                    pass
            if not self.statements and options:
                raise _NotUnderstood
        else:
            self._statement()
        while self._accept(";"):
            pass
        if self._peek().kind != "end":
            raise _NotUnderstood

    def _statement(self) -> None:
        kind = self._name()
        read = {"insert": self._insert, "update": self._update, "delete": self._delete, "select": self._select}
        if kind not in read:
            raise _NotUnderstood
        self._given, self._compares = [], False
        keyspace, table, selected, is_json = read[kind]()
        self.statements.append(Parsed(kind, keyspace, table, tuple(self._given), selected, is_json))

    def _table(self) -> tuple[str | None, str]:
        name = self._name()
        return (name, self._name()) if self._accept(".") else (None, name)

    def _insert(self) -> tuple[str | None, str, None, bool]:
        self._take("into")
        keyspace, table = self._table()
        is_json = self._accept("json")
        if is_json:
            self._term()
            if self._accept("default") and not (self._accept("null") or self._accept("unset")):
                raise _NotUnderstood
        else:
            self._take("(")
            columns = self._list(self._name, ")")
            self._take("values", "(")
            values = self._list(self._term, ")")
            if len(columns) != len(values):
                raise _NotUnderstood
            for column, value in zip(columns, values, strict=True):
                self._assign((column,), value)  # type: ignore[arg-type]
        while self._is("if") or self._is("using"):
            if self._accept("if"):
                self._take("not", "exists")
            self._using()
        return keyspace, table, None, is_json

    def _update(self) -> tuple[str | None, str, None, bool]:
        keyspace, table = self._table()
        self._using()
        self._take("set")
        self._assignment()
        while self._accept(","):
            self._assignment()
        self._take("where")
        self._relations()
        self._conditions()
        return keyspace, table, None, False

    def _assignment(self) -> None:
        column = self._name()
        whole = self._element_of(column)
        if self._accept("="):
            self._assign((column,), self._term(), whole)
        elif self._accept("+=") or self._accept("-="):
            self._assign((column,), self._term(), False)
        else:
            raise _NotUnderstood

    def _delete(self) -> tuple[str | None, str, None, bool]:
        while not self._accept("from"):
            self._element_of(self._name())
            self._accept(",")
        keyspace, table = self._table()
        self._using()
        self._take("where")
        self._relations()
        self._conditions()
        return keyspace, table, None, False

    def _select(self) -> tuple[str | None, str, tuple[str | None, ...] | None, bool]:
        is_json = self._is_keyword_before_items("json") and self._accept("json")
        if self._is_keyword_before_items("distinct"):
            self._take("distinct")
        selected: list[str | None] | None = None
        if not self._accept("*"):
            selected = [self._selector()]
            while self._accept(","):
                selected.append(self._selector())
        self._take("from")
        keyspace, table = self._table()
        if self._accept("where"):
            self._relations()
        while self._peek().kind != "end" and not self._is(";"):
            self._clause()
        return keyspace, table, None if selected is None or is_json else tuple(selected), False

    def _is_keyword_before_items(self, word: str) -> bool:
        """True if *word*, JSON or DISTINCT, is used as a keyword and not as the name of a column."""
        if not self._is(word):
            return False
        token = self._peek(1)
        return token.kind != "end" and not (
            token.text.lower() in ("from", "as", ",", ".", "+", "/", "%") and token.kind != "quoted"
        )

    def _selector(self) -> str | None:
        if self._is("count", 0) and self._is("(", 1) and self._is("*", 2):
            self._at += 3
            self._take(")")
            found = _Expression(COMPUTED)
        else:
            found = self._term()
        if self._accept("as"):
            self._name()
        return found.text if found.kind in (NAME, NULL) else None

    def _clause(self) -> None:
        """Parse a clause after WHERE."""
        if self._accept("limit") or self._accept("per", "partition", "limit"):
            self._option(self._term())
        elif self._accept("group", "by"):
            self._term()
            while self._accept(","):
                self._term()
        elif self._accept("order", "by"):
            self._ordering()
            while self._accept(","):
                self._ordering()
        elif self._is("using"):
            self._using()
        elif not (self._accept("allow", "filtering") or self._accept("bypass", "cache")):
            raise _NotUnderstood

    def _ordering(self) -> None:
        column = self._name()
        whole = self._element_of(column)
        if self._accept("ann", "of"):
            self._assign((column,), self._term(), whole)
        elif not self._accept("asc"):
            self._accept("desc")

    def _using(self) -> None:
        if not self._accept("using"):
            return
        while True:
            if self._name() not in ("ttl", "timestamp", "timeout"):
                raise _NotUnderstood
            self._option(self._term())
            if not self._accept("and"):
                return

    # ---- relations and conditions

    def _conditions(self) -> None:
        if not self._accept("if"):
            return
        if self._is("exists") and self._peek(1).text.lower() not in (*_COMPARISONS, "in", "[", ".", "contains", "not"):
            self._take("exists")
        else:
            self._relations()

    def _relations(self) -> None:
        self._compares = True
        self._relation()
        while self._accept("and"):
            self._relation()

    def _relation(self) -> None:
        if self._is("(") and not (self._is(",", 2) or self._is(")", 2)):
            self._take("(")
            self._relation()
            self._take(")")
        elif self._accept("("):
            columns = tuple(str(name) for name in self._list(self._name, ")"))
            self._parse_comparison(columns, is_tuple=True)
        elif self._is("token") and self._is("(", 1):
            self._at += 2
            self._token_of(tuple(str(name) for name in self._list(self._name, ")")))
        elif self._is("expr") and self._is("(", 1):
            self._at += 2
            self._name()
            self._take(",")
            self._term()
            self._take(")")
        else:
            column = self._name()
            if self._element_of(column):
                self._parse_comparison((column,), is_tuple=False)
            else:
                self._parse_part_comparison(column)

    def _parse_comparison(self, columns: tuple[str, ...], is_tuple: bool) -> None:
        give = self._assign_tuple if is_tuple else self._assign
        if self._accept("is", "not", "null") or self._accept("is", "null"):
            return
        if self._comparison():
            give(columns, self._term())
        elif self._accept("between"):
            give(columns, self._term())
            self._take("and")
            give(columns, self._term())
        elif self._accept("in") or self._accept("not", "in"):
            if self._accept("("):
                for item in self._list(self._term, ")"):
                    give(columns, item)  # type: ignore[arg-type]
            else:
                self._assign_each(columns, self._term(), is_tuple)
        elif not is_tuple:
            self._parse_part_comparison(columns[0])
        else:
            raise _NotUnderstood

    def _parse_part_comparison(self, column: str) -> None:
        """Parse a comparison of an element of *column*, or CONTAINS."""
        if self._accept("in") or self._accept("not", "in"):
            if self._accept("("):
                for item in self._list(self._term, ")"):
                    self._assign((column,), item, False)  # type: ignore[arg-type]
                return
        elif self._accept("not", "contains") or self._accept("contains"):
            self._accept("key")
        elif not (self._comparison() or self._accept("like")):
            raise _NotUnderstood
        self._assign((column,), self._term(), False)

    def _comparison(self) -> bool:
        if self._peek().kind == "sign" and self._peek().text in _COMPARISONS:
            self._at += 1
            return True
        return False

    def _token_of(self, columns: tuple[str, ...]) -> None:
        """Parse a comparison of the token of *columns* with the token of other values, or with a number."""
        ends = 2 if self._accept("between") else 1
        if ends == 1 and not self._comparison():
            raise _NotUnderstood
        for end in range(ends):
            if end:
                self._take("and")
            value = self._term()
            if value.function == "token" and len(value.items) == len(columns):
                self._assign_tuple(columns, value._replace(kind=TUPLE))
            elif value.kind == MARKER:
                self._option(value)
            elif value.markers:
                raise _NotUnderstood

    # ---- values of columns

    def _assign(self, columns: tuple[str, ...], value: _Expression, whole: bool = True) -> None:
        """Record *value* as that of a column, or, if it is not *whole*, as used for a part of the column's value."""
        (column,) = columns
        if value.kind == MARKER:
            self._place(value, Place(VALUE if whole else PART, columns, self._compares))
            return
        self._given.append(Given(column, value.kind if whole else COMPUTED, value.text))
        self._place(value, Place(PART, columns, self._compares))

    def _assign_tuple(self, columns: tuple[str, ...], value: _Expression) -> None:
        if value.kind == TUPLE and len(value.items) == len(columns):
            for column, item in zip(columns, value.items, strict=True):
                self._assign((column,), item)
        elif value.kind == MARKER:
            self._tuple_marker(value, VALUE, columns)
        else:
            raise _NotUnderstood

    def _assign_each(self, columns: tuple[str, ...], value: _Expression, is_tuple: bool) -> None:
        if value.kind != MARKER:
            raise _NotUnderstood
        if is_tuple:
            self._tuple_marker(value, EACH, columns)
        else:
            self._place(value, Place(EACH, columns, True))

    def _tuple_marker(self, value: _Expression, form: str, columns: tuple[str, ...]) -> None:
        if len(columns) == 1:
            raise _NotUnderstood  # a tuple of one value: places with one column are values without a tuple
        self._place(value, Place(form, columns, True))

    def _option(self, value: _Expression) -> None:
        self._place(value, Place(OPTION))

    def _place(self, value: _Expression, place: Place) -> None:
        for index in value.markers:
            self.markers[index] = self.markers[index]._replace(place=place)

    def _element_of(self, column: str) -> bool:
        """Parse ``[key]`` and ``.field``. True if there are none: the expression is the whole column."""
        whole = True
        while True:
            if self._accept("["):
                self._assign((column,), self._term(), False)
                if self._accept(".."):
                    self._assign((column,), self._term(), False)
                self._take("]")
            elif self._accept("."):
                self._name()
            else:
                return whole
            whole = False

    # ---- terms

    def _term(self) -> _Expression:
        first = self._unary()
        markers = list(first.markers)
        alone = True
        while self._peek().kind == "sign" and self._peek().text in "+-*/%":
            self._at += 1
            markers += self._unary().markers
            alone = False
        return first if alone else _Expression(COMPUTED, tuple(markers))

    def _unary(self) -> _Expression:
        if self._accept("-"):
            found = self._unary()
            return _Expression(CONSTANT if found.kind == CONSTANT else COMPUTED, found.markers)
        return self._postfix(self._simple())

    def _postfix(self, found: _Expression) -> _Expression:
        """Parse elements, slices and fields, as in SELECT."""
        while self._is("[") or self._is("."):
            markers = list(found.markers)
            if self._accept("."):
                self._name()
            else:
                self._take("[")
                while not self._accept("]"):
                    if not self._accept(".."):
                        markers += self._term().markers
            found = _Expression(COMPUTED, tuple(markers))
        return found

    def _simple(self) -> _Expression:
        token = self._next()
        if token.kind in _LITERALS:
            return _Expression(CONSTANT)
        if token.kind == "blob":
            return _Expression(BLOB, text=token.text)
        if token.kind in ("word", "quoted"):
            return self._parse_name(token)
        if token.text == "?":
            return self._marker(None)
        if token.text == ":":
            return self._marker(self._name())
        if token.text == "(":
            return self._parse_parentheses()
        if token.text == "[":
            return _join_expressions(self._list(self._term, "]"))
        if token.text == "{":
            return self._braces()
        raise _NotUnderstood

    def _marker(self, name: str | None) -> _Expression:
        self.markers.append(Marker(name, None, len(self.statements)))
        return _Expression(MARKER, (len(self.markers) - 1,))

    def _parse_name(self, token: _Token) -> _Expression:
        """Parse a function, a constant or a column that begins with *token*."""
        is_word = token.kind == "word"
        name = _parse_name(token)
        if is_word and name == "cast" and self._accept("("):
            value = self._term()
            self._take("as")
            self._type()
            self._take(")")
            return _join_expressions([value])
        function = name
        if self._is(".") and self._is("(", 2):  # keyspace.function(
            self._at += 1
            self._name()
            function = ""
        if self._accept("("):
            if self._accept("*"):
                self._take(")")
                return _Expression(COMPUTED)
            found = _join_expressions(self._list(self._term, ")"))
            return found._replace(function=function)
        return _Expression(NULL if is_word and name == "null" else NAME, text=name)

    def _parse_parentheses(self) -> _Expression:
        before = self._at
        if self._peek().kind in ("word", "quoted", "string"):
            try:
                self._type()
                is_hint = self._accept(")") and self._begins_term()
            except _NotUnderstood:
                is_hint = False
            if is_hint:
                return _join_expressions([self._unary()])
            self._at = before
        items = tuple(self._list(self._term, ")"))
        return _join_expressions(items)._replace(kind=TUPLE)

    def _begins_term(self) -> bool:
        token = self._peek()
        if token.kind == "word":
            return token.text.lower() not in _FOLLOWING
        return token.kind in (*_LITERALS, "blob", "quoted") or (token.kind == "sign" and token.text in "?:([{")

    def _type(self) -> None:
        if self._peek().kind in ("string", "number"):  # a class of the server; the dimensions of a vector
            self._at += 1
            return
        self._name()
        if self._accept("."):
            self._name()
        if self._accept("<"):
            self._type()
            while self._accept(","):
                self._type()
            self._take(">")

    def _braces(self) -> _Expression:
        """Parse a set, a map or a user type."""
        parts: list[_Expression] = []
        while not self._accept("}"):
            if parts:
                self._take(",")
            parts.append(self._term())
            if self._accept(":"):
                parts.append(self._term())
        return _join_expressions(parts)


def _join_expressions(parts: object) -> _Expression:
    items: tuple[_Expression, ...] = tuple(parts)  # type: ignore[arg-type]
    return _Expression(COMPUTED, tuple(index for item in items for index in item.markers), items)
