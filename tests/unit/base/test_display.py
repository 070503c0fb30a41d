"""cassandra._base.display: bounded tables as text and HTML, of values of any kind."""

from __future__ import annotations

import datetime
from collections import namedtuple
from collections.abc import Iterator, Mapping
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._base.display import (
    MOST_CHARACTERS,
    MOST_COLUMNS,
    MOST_ROWS,
    MOST_TITLE,
    Table,
    html,
    rich_display,
    text,
    value_text,
)
from cassandra.util import Date, Duration, OrderedMap, SortedSet, Time

Address = namedtuple("Address", "street zip")


class BrokenRepr:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class BrokenMapping(Mapping[str, Any]):
    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("no items")

    def __len__(self) -> int:
        return 3


HOSTILE = (
    "<script>alert(1)</script>",
    "</td></tr></table><img src=x onerror=alert(1)>",
    "\"'&<>",
    "\u202eevil\u202c\u2066\u200b",
    "\x00\x1b[31m\r\n\t\x85\u2028",
    "\ud800",
    "x" * 100_000,
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.text(),
    st.sampled_from(HOSTILE),
    st.binary(),
    st.uuids(),
    st.datetimes(),
    st.dates(),
    st.times(),
    st.sampled_from((b"\0" * 100_000, [None] * 100_000, Date(2**31), Time(1), Duration(1, 2, 3))),
    st.builds(lambda: 10**5000),
    st.builds(BrokenRepr),
    st.builds(BrokenMapping),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.dictionaries(st.text(), inner),
        st.tuples(inner, inner),
        st.builds(Address, inner, inner),
        st.builds(lambda pairs: OrderedMap([(str(at), item) for at, item in enumerate(pairs)]), st.lists(inner)),
    ),
    max_leaves=20,
)


class Parsed(HTMLParser):
    """The tags, attributes and cells of a document."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@given(VALUES)
def test_a_value_is_one_line_of_limited_length(value: Any) -> None:
    shown = value_text(value)
    assert shown.isprintable() and len(shown) <= MOST_CHARACTERS


@given(
    st.lists(st.lists(VALUES, max_size=4), max_size=4),
    st.lists(st.tuples(st.one_of(st.text(), st.sampled_from(HOSTILE)), st.text()), max_size=4),
    st.one_of(st.text(), st.sampled_from(HOSTILE)),
)
def test_tables_are_escaped(rows: list[list[Any]], columns: list[tuple[str, str]], title: str) -> None:
    table = Table(title, columns, rows, [title])
    lines = text(table).split("\n")
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) < MOST_TITLE + (MOST_CHARACTERS + 3) * 5
    parsed = Parsed(html(table))
    assert parsed.open == []
    allowed = {"table", "caption", "strong", "thead", "tbody", "tfoot", "tr", "th", "td", "br", "small", "em"}
    assert set(parsed.tags) <= allowed
    assert parsed.attributes <= {"style", "scope", "colspan"}
    assert all(part.isprintable() for part in parsed.texts)


def test_rows_and_columns_are_limited() -> None:
    columns = [(f"c{at}", "int") for at in range(100)]
    rows = [list(range(100))] * 1000
    table = Table("wide", columns, rows)
    lines = text(table).splitlines()
    assert len(lines) == 4 + MOST_ROWS + 2
    assert lines[1].split(" | ")[-1] == f"c{MOST_COLUMNS - 1}"
    assert lines[-2:] == ["(990 more rows)", "(80 more columns)"]
    parsed = Parsed(html(table))
    assert parsed.tags.count("td") == MOST_ROWS * MOST_COLUMNS + 1 and parsed.tags.count("th") == MOST_COLUMNS


def test_work_is_limited() -> None:
    """Of a large value only the shown part is formatted."""
    seen = 0

    class Counting(list[int]):
        def __iter__(self) -> Iterator[int]:
            nonlocal seen
            for item in super().__iter__():
                seen += 1
                yield item

    assert value_text(Counting(range(10**6))).startswith("[0, 1, 2, ")
    assert seen < 2 * MOST_CHARACTERS
    endless: list[Any] = []
    endless.append(endless)
    assert value_text(endless) == "[" * 6 + "\u2026" + "]" * 6


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        ("plain text", "plain text"),
        (["a", 1, None, True], "['a', 1, null, True]"),
        ({"a": (1, 2)}, "{'a': (1, 2)}"),
        (SortedSet([2, 1]), "{1, 2}"),
        (Address("Main St", 5), "(street='Main St', zip=5)"),
        (b"\x00\xff", "0x00ff"),
        (memoryview(b"\x01\x02").cast("B"), "[1, 2]"),
        (Decimal("1.50"), "1.50"),
        (UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (datetime.datetime(2030, 1, 2, 3, 4), "2030-01-02 03:04:00"),
        ([10**5000], "[<integer of 16610 bits>]"),
        (BrokenRepr(), "<BrokenRepr: RuntimeError>"),
        (BrokenMapping(), "<BrokenMapping: RuntimeError>"),
    ],
)
def test_values(value: Any, expected: str) -> None:
    assert value_text(value) == expected


def test_text_is_aligned() -> None:
    table = Table("T", [("n", "int"), ("name", "text")], [(1, "a"), (None, "日本"), (1000, None)], ["more"])
    assert text(table).splitlines() == [
        "<T>",
        "    n | name",
        "  int | text",
        "------+------",
        "    1 | a",
        " null | 日本",
        " 1000 | null",
        "(more)",
    ]


def test_null_and_its_text_differ_in_html() -> None:
    document = html(Table("T", [("a", "text")], [(None,), ("null",)]))
    assert document.count("<em") == 1 and document.count("null") == 2


def test_no_colours() -> None:
    """Notebooks are light or dark."""
    document = html(Table("T", [("a", "text")], [(None,)], ["note"]))
    assert "color" not in document and "background" not in document


def test_rows_with_heads() -> None:
    parsed = Parsed(html(Table("T", [("", ""), ("", "")], [("name", 1)])))
    assert "thead" not in parsed.tags and parsed.tags.count("th") == 1


def test_a_repr_never_raises() -> None:
    def broken(self: Any) -> Any:
        raise RecursionError("<b>")

    @rich_display(broken, broken)
    class Broken:
        pass

    @rich_display(broken)
    class Own:
        def __repr__(self) -> str:
            return "own"

    assert repr(Broken()) == "<Broken, which cannot be shown: RecursionError>"
    assert Own()._repr_html_() == "&lt;Own, which cannot be shown: RecursionError&gt;"  # type: ignore[attr-defined]
    assert repr(Own()) == "own"
