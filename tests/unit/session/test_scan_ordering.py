"""In which order statements give the rows of a partition, and which statements are refused with which reason."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._scan.select import PartitionSelect, row_order


def table(*clustering: str) -> Any:
    """Columns such as ``"at DESC"``; the partition key is (k, d)."""
    parts = [one.split() for one in clustering]
    columns = [SimpleNamespace(name=name, is_reversed=bool(way)) for name, *way in parts]
    return SimpleNamespace(partition_key=[SimpleNamespace(name="k"), SimpleNamespace(name="d")], clustering_key=columns)


ONE = "SELECT * FROM ks.t WHERE k = ? AND d = ?"
UP, DOWN, MIXED = table("a", "b"), table("a DESC", "b DESC"), table("a", "b DESC")

ALLOWED: list[tuple[str, Any, Any, Any, str, bool]] = [
    (ONE, UP, "a", False, "a ASC", False),
    (ONE, UP, ["a", "b"], False, "a ASC, b ASC", True),
    (ONE, UP, None, False, "a ASC, b ASC", True),
    (f"{ONE} ORDER BY a DESC", UP, "a", True, "a DESC", False),
    (f"{ONE} ORDER BY a ASC;", UP, "a", False, "a ASC", False),
    (ONE, DOWN, "a", True, "a DESC", False),
    (f"{ONE} ORDER BY a ASC, b ASC LIMIT 3", DOWN, None, False, "a ASC, b ASC", True),
    (ONE, MIXED, None, [False, True], "a ASC, b DESC", True),
    (f"{ONE} ORDER BY a DESC", MIXED, None, [True, False], "a DESC, b ASC", True),
    (f"{ONE} AND a = ?", UP, "b", False, "b ASC", True),
    (f"{ONE} AND a = ?", UP, None, False, "b ASC", True),
    (f"{ONE} AND (a) = (?)", UP, ["b", "a"], [False, True], "b ASC, a DESC", True),
    (f"{ONE} AND a > ? AND b = ? ALLOW FILTERING", UP, ["k", "a"], False, "k ASC, a ASC", True),
    (f"{ONE} AND a IN (?, ?)", UP, "a", False, "a ASC", False),
    ('select "A", a from t where "k" = ? and d = ? and m[\'x\'] = ? order by a desc', UP, "a", True, "a DESC", False),
    (f"{ONE} /* ORDER BY a DESC */ -- ORDER BY a DESC", UP, "a", False, "a ASC", False),
    ("SELECT * FROM ks.t WHERE k = ?", None, "whatever", True, "whatever DESC", False),
]


@pytest.mark.parametrize(("cql", "known", "order_by", "descending", "expected", "is_exact"), ALLOWED)
def test_row_orders_that_can_be_merged(
    cql: str, known: Any, order_by: Any, descending: Any, expected: str, is_exact: bool
) -> None:
    order = row_order(cql, "ks.t", known, order_by, descending)
    assert (str(order), order.is_exact) == (expected, is_exact)


REFUSED: list[tuple[str, Any, Any, Any, str]] = [
    ("INSERT INTO t (k) VALUES (?)", UP, "a", False, "expected a SELECT"),
    ("", UP, "a", False, "expected a SELECT"),
    ("SELECT * FROM t WHERE token(k, d) > ?", UP, "a", False, r"session.scan\(\)"),
    ("SELECT * FROM t WHERE k = ?", UP, "a", False, "does not read one partition of ks.t: d = . is missing"),
    ("SELECT * FROM t WHERE k = ? AND d IN (?, ?)", UP, "a", False, "several partitions, by IN on d"),
    (ONE, UP, "b", False, "ordered by a, b, not by b, unless a is fixed by ="),
    (f"{ONE} AND a > ?", UP, "b", False, "unless a is fixed"),
    (ONE, UP, ["a", "v"], False, "v is not a clustering column of ks.t, which has a, b"),
    (ONE, UP, [], False, "clustering columns, at least one, got"),
    (ONE, UP, ["a", "a"], False, "distinct clustering columns"),
    (ONE, UP, "a", True, r"returns a ASC, but DESC is requested .* is a ASC, and the statement has no ORDER BY"),
    (ONE, DOWN, "a", False, r"returns a DESC, but ASC is requested .* is a DESC, and the statement has no ORDER BY"),
    (f"{ONE} ORDER BY a DESC", UP, "a", False, "is a ASC, and ORDER BY of the statement reverses it"),
    (ONE, MIXED, None, False, "returns b DESC, but ASC is requested"),
    (ONE, UP, ["a", "b"], [True], "one for each of a, b"),
    (ONE, UP, "a", 1, "one bool"),
    (f"{ONE} ORDER BY v ANN OF ?", UP, "a", False, "ANN OF"),
    (ONE, None, None, False, "no metadata of the table"),
    ("SELECT * FROM t WHERE k = ? AND d = ?", table(), "a", False, "which has none"),
]


@pytest.mark.parametrize(("cql", "known", "order_by", "descending", "reason"), REFUSED)
def test_row_orders_that_cannot_be_merged_are_refused(
    cql: str, known: Any, order_by: Any, descending: Any, reason: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=reason):
        row_order(cql, "ks.t", known, order_by, descending)


def test_columns_fixed_by_equality_and_listed_by_in() -> None:
    select = PartitionSelect(
        "SELECT a FROM t WHERE (a, b) = (?, ?) AND (c, d) IN ((?, ?)) AND e >= 1 AND f = 'AND g = '"
    )
    assert select.fixed == {"a", "b", "f"} and select.listed == {"c", "d"}
