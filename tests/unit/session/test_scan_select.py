"""The CQL of a scan: the statements it takes, and the reasons why it refuses others."""

from __future__ import annotations

import pytest

from cassandra._scan.select import Select, condition_of, select_text, words_of


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT id FROM t LIMIT 3", "LIMIT"),
        ("SELECT id FROM t PER PARTITION LIMIT ?", "a number"),
        ("SELECT count(*) FROM t", r"count\(\)"),
        ("select id, MAX(v) from t", "use a reducer of scan.fold"),
        ("SELECT id FROM t WHERE id IN (1, 2)", "IN is not supported"),
        ("SELECT id FROM t WHERE a = 1 and (b, c) in ((1, 2))", "IN is not supported"),
        ("SELECT JSON id FROM t", "JSON"),
        ("SELECT json * FROM t", "JSON"),
        ("SELECT id FROM t WHERE token(id) >= ? AND token(id) <= ?", "in this order"),
        ("SELECT id FROM t WHERE token(id) <= ? AND token(id) > ?", "in this order"),
        ("SELECT id FROM t WHERE token(id) > 3", "in this order"),
        ("SELECT id FROM t WHERE token(id) > ?", "in this order"),
        ("SELECT a FROM t WHERE a = 3 ORDER BY b DESC", "ORDER BY"),
        ("SELECT a FROM t GROUP BY a", "GROUP BY"),
        ("SELECT id FROM t USING TIMEOUT 3s", "USING"),
        ("INSERT INTO t (id) VALUES (1)", "needs a SELECT"),
        ("", "needs a SELECT"),
        ("SELECT id", "no table"),
        ("SELECT id FROM", "no table"),
        ("SELECT id FROM 'text'", "invalid table: "),
        ("SELECT id FROM t ALLOW EVERYTHING", "does not support 'ALLOW'"),
    ],
)
def test_unsupported_statements_are_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Select(text)


def test_a_select_is_parsed_into_its_parts() -> None:
    found = Select(
        '/* LIMIT 3 */ SELECT a, "B ""c""", ttl(count) AS json -- IN (3)\n'
        "FROM \"Ks\".t WHERE \"in\" = 'it''s; LIMIT ?' AND x = {'?': $$ ORDER BY $$} AND y = :\"a b\" AND z = ? "
        "PER PARTITION LIMIT 2 ALLOW FILTERING BYPASS CACHE;"
    )
    assert found.table == ("Ks", "t") and not found.distinct
    assert found.selected == 'a, "B ""c""", ttl(count) AS json'
    condition = found.condition
    assert (condition.markers, condition.token_markers, condition.per_partition) == (2, False, "2")
    assert condition.filtering and condition.bypass
    assert condition.relations.startswith('"in" =') and condition.relations.endswith("z = ?")


def test_columns_may_be_named_as_keywords() -> None:
    assert Select("SELECT json, distinct FROM t").selected == "json, distinct"
    assert Select("SELECT json FROM t").selected == "json"
    assert Select("SELECT DISTINCT json FROM t").distinct


def test_bounds_of_tokens_are_found() -> None:
    assert Select("SELECT a FROM t WHERE TOKEN(a, b) > ? AND token ( a, b ) <= ?").condition.token_markers
    assert Select("SELECT a FROM t WHERE b = ? AND token(a) > :x AND token(a) <= :y").condition.markers == 3


def test_the_statement_of_a_range() -> None:
    condition = condition_of("WHERE a = ? PER PARTITION LIMIT 3 ALLOW FILTERING")
    made = [
        select_text("ks.t", "a", ["k", "L"], condition, distinct=False, bypass=bypass, lower=lower)
        for bypass, lower in ((False, True), (True, False))
    ]
    assert made == [
        'SELECT a FROM ks.t WHERE a = ? AND token(k, "L") > ? AND token(k, "L") <= ? PER PARTITION LIMIT 3 '
        "ALLOW FILTERING",
        'SELECT a FROM ks.t WHERE a = ? AND token(k, "L") <= ? PER PARTITION LIMIT 3 ALLOW FILTERING BYPASS CACHE',
    ]
    with pytest.raises(ValueError, match="token_range="):
        condition_of("token(a) > ? AND token(a) <= ?")


@pytest.mark.parametrize("text", ["'", '"', "$$", "/*", "a ' b", "\x00", "(((", ")))", "é 漢"])
def test_any_text_is_words(text: str) -> None:
    words_of(text)
