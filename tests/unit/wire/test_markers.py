"""The columns of bind markers, as read from the text of statements that servers do not name so, or not all alike."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import DriverException
from cassandra._core.codec import BindPlan, ResultPlan, list_codec, scalar, tuple_codec
from cassandra._wire.encryption import ColumnResolver, Origin, bind_plan_by, resolver, result_plan_by
from cassandra._wire.markers import analyse
from cassandra.cqltypes import UTF8Type
from cassandra.policies import ColDesc, ColumnEncryptionPolicy
from tests.packages import module

AES256ColumnEncryptionPolicy = module("cassandra.column_encryption.policies").AES256ColumnEncryptionPolicy

BLOB, INT, TEXT = scalar(0x03), scalar(0x09), scalar(0x0D)


def policy() -> AES256ColumnEncryptionPolicy:
    made = AES256ColumnEncryptionPolicy(iv=bytes(16))
    for name in ("doc", "key"):
        made.add_column(ColDesc("ks", "t", name), bytes(32), "text")
    return made


def encrypted(text: str, *specs: tuple[str, Any], policy_: Any = None, keyspace: str | None = "ks") -> list[Any]:
    """Of each parameter the column that it is encrypted for, or None."""
    plan = BindPlan([("ks", "t", *spec) for spec in specs])
    made = bind_plan_by(resolver(policy_ or policy()), plan, Origin(text, keyspace))
    return [None if codec.cipher is None else codec.cipher.made_by[1].col for _, _, _, codec in made.specs]


def places(text: str) -> list[Any]:
    return [marker.place and (marker.place.form, *marker.place.columns) for marker in analyse(text).markers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # ScyllaDB, and versions of Cassandra other than those of the fuzzer
        ("SELECT * FROM t WHERE a BETWEEN ? AND :b AND c = ?", [("value", "a"), ("value", "a"), ("value", "c")]),
        ("SELECT * FROM t WHERE a NOT IN (?, :b) AND c NOT IN ?", [("value", "a"), ("value", "a"), ("each", "c")]),
        ("SELECT * FROM t WHERE (a = ?) AND ((b IN ?))", [("value", "a"), ("each", "b")]),
        ("SELECT a FROM t WHERE a LIKE ? LIMIT :a BYPASS CACHE USING TIMEOUT :t", [("part", "a"), *[("option",)] * 2]),
        ("SELECT a FROM t ORDER BY v ANN OF ? LIMIT ?", [("value", "v"), ("option",)]),
        ("SELECT a FROM t WHERE expr(i, ?) AND token(a) > :b", [None, ("option",)]),
        ("SELECT a FROM t WHERE l NOT CONTAINS ? AND m NOT CONTAINS KEY ?", [("part", "l"), ("part", "m")]),
        ("INSERT INTO t (a, b) VALUES ([?, 1], {?: :x, 'y': z(?)}) USING TIMEOUT 1s AND TTL ?",
         [("part", "a"), ("part", "b"), ("part", "b"), ("part", "b"), ("option",)]),
        ("INSERT INTO t (a) VALUES ({f: :f, g: {:a, :b}})", [("part", "a")] * 3),
        ("DELETE a[?], b.c FROM t WHERE d = ? IF EXISTS", [("part", "a"), ("value", "d")]),
        ("DELETE FROM t WHERE d = ? IF exists = ?", [("value", "d"), ("value", "exists")]),
        ("UPDATE t SET a.b = ?, c[?] = ?, d += ? WHERE e = ?",
         [("part", "a"), ("part", "c"), ("part", "c"), ("part", "d"), ("value", "e")]),
        ("BEGIN COUNTER BATCH UPDATE t SET a = a + ? WHERE b = ?; APPLY BATCH;", [("part", "a"), ("value", "b")]),
        # not understood
        ("BEGIN TRANSACTION SELECT a FROM t WHERE b = ?; COMMIT TRANSACTION", [None]),
        ("SELECT a FROM t WHERE b ~ ?", []),
        ("PRUNE MATERIALIZED VIEW v WHERE token(a) > ?", []),
    ],
)  # fmt: skip
def test_places(text: str, expected: list[Any]) -> None:
    if text.startswith("PRUNE"):
        assert not analyse(text).is_data
    else:
        assert places(text) == expected


def test_no_text_takes_long() -> None:
    """Time is in proportion to the length of a text."""
    for text in (
        "(" * 100_000,
        "SELECT " + "[" * 50_000,
        "/*" * 50_000,
        "'" * 99_999,
        "SELECT a " + "-" * 50_000,
    ):
        assert not analyse(text).understood or not analyse(text).statements


@pytest.mark.parametrize(
    ("text", "specs", "expected"),
    [
        ("INSERT INTO t (id, doc) VALUES (:id, :content)", [("id", INT), ("content", BLOB)], [None, "doc"]),
        ("INSERT INTO ks.t (id, doc) VALUES (:doc, :id)", [("doc", INT), ("id", BLOB)], [None, "doc"]),
        ("UPDATE t SET other = :doc WHERE key = :k", [("doc", BLOB), ("k", BLOB)], [None, "key"]),
        ("SELECT a FROM t WHERE doc = ?", [("doc", BLOB)], ["doc"]),
        ("SELECT a FROM t WHERE doc IN (?)", [("value(in(doc))", BLOB)], ["doc"]),
        ("SELECT a FROM t WHERE other = ? LIMIT ?", [("other", BLOB), ("[limit]", INT)], [None, None]),
        # one parameter for several markers of one name, as with ScyllaDB
        ("UPDATE t SET doc = :x WHERE id = :id IF doc = :x", [("x", BLOB), ("id", INT)], ["doc", None]),
    ],
)
def test_parameters(text: str, specs: Any, expected: Any) -> None:
    assert encrypted(text, *specs) == expected


def test_lists_and_tuples() -> None:
    one = policy()
    for text, codec, value in (
        ("SELECT a FROM t WHERE doc IN :x", list_codec(BLOB), ["v"]),
        ("SELECT a FROM t WHERE (a, doc) = :x", tuple_codec([INT, BLOB]), (1, "v")),
        ("SELECT a FROM t WHERE (a, doc) IN :x", list_codec(tuple_codec([INT, BLOB])), [(1, "v"), (2, "v")]),
    ):
        plan = BindPlan([("ks", "t", "x", codec)])
        made = bind_plan_by(resolver(one), plan, Origin(text, "ks"))
        data = made.bind([value], 4).data
        sealed = one.encode_and_encrypt(ColDesc("ks", "t", "doc"), "v")
        assert data.count(sealed) == len(value if isinstance(value, list) else [value])
        assert bind_plan_by(resolver(one), made, Origin(text, "ks")) is made
        assert bind_plan_by(None, made).specs[0][3].cql() == codec.cql()


@pytest.mark.parametrize(
    ("text", "specs", "reason"),
    [
        ("INSERT INTO t JSON :x", [("x", TEXT)], "INSERT JSON"),
        ("UPDATE t SET doc = :x WHERE key = :x", [("x", BLOB)], "several columns"),
        ("UPDATE t SET doc = :x WHERE id = :y", [("y", BLOB), ("x", INT)], "cannot be assigned to a column"),
        ("UPDATE t SET doc = ? WHERE other = ?", [("other", BLOB), ("doc", BLOB)], "cannot be assigned to a column"),
        ("SELECT a FROM t WHERE f(a) = ? ?", [("doc", BLOB)], "cannot be assigned to a column"),
        ("SELECT textAsBlob(?), ? FROM t", [("arg0(x)", TEXT), ("?", BLOB)], "cannot be assigned to a column"),
        ("SELECT a, ? FROM t", [("?", list_codec(BLOB))], "cannot be assigned to a column"),
        ("UPDATE t SET doc = doc + ? WHERE id = 1", [("doc", BLOB)], "an expression"),
        ("UPDATE t SET doc += ? WHERE id = 1", [("doc", BLOB)], "an expression"),
        ("SELECT a FROM t WHERE doc LIKE ?", [("doc", BLOB)], "an expression"),
        ("SELECT a FROM t WHERE doc = ?", [("doc", INT)], "must be blob, not int"),
        ("SELECT a FROM t WHERE doc IN ?", [("in(doc)", INT)], "another type"),
        ("SELECT a FROM t WHERE (doc, a) IN ?", [("x", list_codec(BLOB))], "another type"),
        ("UPDATE t SET doc = 'x' WHERE id = 1", [], "a value"),
        ("UPDATE t SET doc = bar(0x00) WHERE id = 1", [], "an expression"),
        ("UPDATE t SET doc = other WHERE id = 1", [], "an expression"),
        ("BEGIN TRANSACTION UPDATE t SET doc = 0x00 WHERE id = 1; COMMIT TRANSACTION", [], "cannot parse the text"),
    ],
)
def test_refused(text: str, specs: Any, reason: str) -> None:
    with pytest.raises(DriverException, match=reason) as refused:
        encrypted(text, *specs)
    assert "Nothing is sent" in str(refused.value)


def test_refused_without_a_list_of_columns() -> None:
    """A policy that cannot list its columns is asked by the names in the text."""

    class Asked(ColumnEncryptionPolicy):
        def contains_column(self, coldesc: ColDesc) -> bool:
            return coldesc == ColDesc("ks", "t", "doc")

    with pytest.raises(DriverException, match="cannot be assigned to a column"):
        encrypted("SELECT doc, ? FROM t", ("?", BLOB), policy_=Asked())
    with pytest.raises(DriverException, match="cannot parse the text"):
        encrypted("SELECT doc FROM t WHERE ??", policy_=Asked())

    class All(AES256ColumnEncryptionPolicy):  # whose list of columns is not all
        def contains_column(self, coldesc: ColDesc) -> bool:
            return coldesc == ColDesc("ks", "t", "doc") or super().contains_column(coldesc)

        def column_type(self, coldesc: ColDesc) -> Any:
            return UTF8Type

    one = All(iv=bytes(16))
    one.add_column(ColDesc("ks", "other", "x"), bytes(32), "text")
    with pytest.raises(DriverException, match="a value"):
        ColumnResolver(one).check_text("UPDATE t SET doc = 'x' WHERE id = 1", "ks")
    assert encrypted("SELECT other, ? FROM t", ("?", BLOB), policy_=Asked()) == [None]


def test_columns_of_results() -> None:
    one = policy()
    plan = ResultPlan([("ks", "t", name, BLOB) for name in ("d", "doc", "x", "key")])
    text = "SELECT doc AS d, other AS doc, min(doc) AS x, key FROM t"
    made = result_plan_by(resolver(one), plan, Origin(text, "ks"))
    found = [None if codec.cipher is None else codec.cipher.name for codec in made.codecs]
    assert found == ["doc", None, None, "key"]
    assert result_plan_by(resolver(one), made).codecs[0].cipher is not None, "it stays what it was found to be"


def test_views_are_of_their_table() -> None:
    class Known:
        def base_table(self, keyspace: str, table: str) -> str | None:
            return "t" if (keyspace, table) == ("ks", "v") else None

        def columns(self, keyspace: str, table: str) -> list[str]:
            return ["doc", "id"]

        def key_columns(self, keyspace: str, table: str) -> list[str]:
            return ["doc", "id"]

    resolve = resolver(policy(), Known())
    plan = BindPlan([("ks", "v", "x", BLOB)])
    made = bind_plan_by(resolve, plan, Origin("SELECT id FROM v WHERE doc = :x", "ks"))
    assert made.specs[0][3].cipher.made_by[1] == ColDesc("ks", "t", "doc")
    rows = result_plan_by(resolve, ResultPlan([("ks", "v", "doc", BLOB)]))
    assert rows.codecs[0].cipher is not None
    with pytest.raises(DriverException, match="a value"):
        bind_plan_by(resolve, BindPlan([]), Origin("SELECT id FROM v WHERE doc = 0x00", "ks"))
