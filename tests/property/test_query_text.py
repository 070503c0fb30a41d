"""Sanitized texts: no literal of a text survives, and everything else does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._session.telemetry import describe
from cassandra._wire.markers import sanitized

MARK = "qzx"  # in all secrets, and in nothing else

#: Letters that mean something to a lexer.
ODD = st.text(alphabet="'\"$-/*\\?;:%{}[]() \n\tab1é—", max_size=12)
HEX = st.text(alphabet="0123456789abcdefABCDEF", min_size=4, max_size=30)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def is_dollar_text(text: str) -> bool:
    return "$$" not in text and not text.endswith("$")


SECRETS = st.tuples(ODD, ODD).map(lambda parts: parts[0] + MARK + parts[1])
TEXTS = SECRETS.map(quoted) | SECRETS.filter(is_dollar_text).map(lambda text: f"$${text}$$")
NUMBERS = st.integers(1000, 10**30).map(str) | st.floats(1000, 1e30).map(repr) | st.floats(1e-30, 1e-10).map(repr)
OTHERS = (
    HEX.map(lambda digits: "0x" + digits)
    | st.uuids().map(str)
    | st.uuids().map(lambda value: str(value).upper())
    | st.tuples(st.integers(1000, 9999), st.sampled_from(["y", "mo", "w", "d", "h", "m", "s", "ms", "us", "ns"])).map(
        lambda parts: f"{parts[0]}{parts[1]}12s"
    )
    | st.sampled_from(["P1234Y5M", "PT4321H", "P2001-03-02T12:10:05", "true", "FALSE", "NaN", "Infinity"])
)
SIGNED = st.tuples(st.sampled_from(["", "-"]), NUMBERS | OTHERS).map("".join)
COMMENTS = (
    SECRETS.filter(lambda text: "\n" not in text).map(lambda text: f"--{text}\n")
    | SECRETS.filter(lambda text: "\n" not in text).map(lambda text: f"//{text}\n")
    | SECRETS.filter(lambda text: "*/" not in text + "*").map(lambda text: f"/*{text}*/")
)
#: Where a literal may stand.
AROUND = st.sampled_from(
    [
        ("SELECT v FROM t WHERE k = ", ""),
        ("SELECT v FROM t WHERE k =", " AND c > 'x'"),
        ("SELECT v FROM t WHERE k IN (1,", ", 5)"),
        ("INSERT INTO ks.t (k, v) VALUES (", ", [1, 2])"),
        ('UPDATE "T 1" SET m = {', ": 'x'} WHERE k = ?"),
        ("UPDATE t SET v = v+", " WHERE k = :k"),
        ("UPDATE t SET v[", "] = %s WHERE k = %(k)s"),
        ("ALTER TABLE t WITH comment=", ";"),
        ("BEGIN BATCH INSERT INTO t (k) VALUES(", "); APPLY BATCH"),
    ]
)


@given(AROUND, TEXTS)
def test_no_text_survives(around: tuple[str, str], literal: str) -> None:
    found = sanitized(around[0] + literal + around[1])
    assert MARK not in found
    assert found == sanitized(around[0] + "'x'" + around[1])


@given(AROUND, SIGNED)
def test_no_number_survives(around: tuple[str, str], literal: str) -> None:
    found = sanitized(around[0] + literal + around[1])
    assert not re.search(r"[0-9]{2}", found) and not re.search(r"true|false|nan|infinity", found, re.IGNORECASE)
    wanted = sanitized(around[0] + "7" + around[1])
    assert found in (wanted, wanted.replace("v+?", "v+-?"))


@given(AROUND, COMMENTS)
def test_no_comment_survives(around: tuple[str, str], comment: str) -> None:
    found = sanitized(f"{around[0]} {comment} 7{around[1]}")
    assert MARK not in found
    assert found.split() == sanitized(f"{around[0]} 7{around[1]}").split()


@given(st.lists(TEXTS | SIGNED | COMMENTS | SECRETS | st.sampled_from(["A", "(", ",", '"', "'", "$$", "/*", "--"])))
def test_any_text(parts: list[str]) -> None:
    """Also one that no server would accept."""
    text = " ".join(parts)
    found = sanitized(text)
    assert not re.search(r"(?<!\w)\d", re.sub(r'"[^"]*"', "", found))
    describe(found)


@given(st.text(alphabet="'\"$-/*a1\n ", max_size=60))
def test_sanitizing_again_changes_nothing(text: str) -> None:
    once = sanitized(text)
    assert sanitized(once).split() == once.split()


@pytest.mark.parametrize("text", ["'" * 40_000, '"' * 40_000, "$" * 40_000, "/*" * 20_000, "-" * 40_000, "1-" * 20_000])
def test_long_texts_are_not_slow(text: str) -> None:
    sanitized("SELECT " + text)  # the test run has a time limit


@pytest.mark.parametrize(
    "text, operation, summary, table, keyspace",
    [
        ("SELECT a, b FROM t WHERE k = ?", "SELECT", "SELECT t", "t", None),
        ('select "from" , b\n FROM ks . "My T"', "select", 'select ks."My T"', "My T", "ks"),
        ("INSERT INTO ks.t (k) VALUES (?)", "INSERT", "INSERT ks.t", "t", "ks"),
        ("UPDATE t USING TTL ? SET v = ?", "UPDATE", "UPDATE t", "t", None),
        ("DELETE v FROM t WHERE k = ?", "DELETE", "DELETE t", "t", None),
        ("TRUNCATE TABLE ks.t", "TRUNCATE", "TRUNCATE ks.t", "t", "ks"),
        ("CREATE TABLE IF NOT EXISTS ks.t (k int PRIMARY KEY)", "CREATE TABLE", "CREATE TABLE ks.t", "t", "ks"),
        ("DROP  MATERIALIZED VIEW t", "DROP MATERIALIZED VIEW", "DROP MATERIALIZED VIEW t", "t", None),
        ("CREATE KEYSPACE ks WITH x = ?", "CREATE KEYSPACE", "CREATE KEYSPACE ks", None, "ks"),
        ("CREATE INDEX ON t (v)", "CREATE INDEX", "CREATE INDEX", None, None),
        ("ALTER ROLE bob WITH PASSWORD = ?", "ALTER ROLE", "ALTER ROLE", None, None),
        ("USE ks", "USE", "USE ks", None, "ks"),
        ("BEGIN UNLOGGED BATCH INSERT INTO t (k) VALUES (?); APPLY BATCH", "BATCH", "BATCH", None, None),
        ("LIST ROLES", "LIST", "LIST", None, None),
        ("?", None, None, None, None),
        ("", None, None, None, None),
    ],
)
def test_descriptions(
    text: str, operation: str | None, summary: str | None, table: str | None, keyspace: str | None
) -> None:
    assert describe(text) == (operation, summary, table, keyspace)
