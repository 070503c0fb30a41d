"""Tables of query sets and explanations of the mapper for ``repr`` and ``_repr_html_`` (L6).

A query set is shown by its statement, and by the rows that it has read already; showing it reads none. For the thread
that uses the query set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from cassandra._base.display import MOST_ROWS, Table, bracketed

CHARACTERS = 1000  # of a statement


def query_set_text(query_set: Any) -> str:
    return bracketed(_title(query_set))


def query_set_table(query_set: Any) -> Table:
    rows = query_set._result_cache
    if rows is None:
        return Table(_title(query_set), (), (), ("not executed yet",))
    shown = list(islice(rows, MOST_ROWS))
    names: list[str] = []
    for row in shown:
        names += [name for name in _names(row) if name not in names]
    notes = [f"{len(rows) - len(shown):,} more rows were read"] if len(rows) > len(shown) else []
    pages = query_set._pages
    if pages is not None and pages.has_more:
        notes.append("there are more pages")
    return Table(_title(query_set), [(name, "") for name in names], [_cells(row, names) for row in shown], notes)


def _title(query_set: Any) -> str:
    return f"{type(query_set).__name__}: {query_set}"


def _names(row: Any) -> Sequence[str]:
    if isinstance(row, Mapping):
        return list(row)
    if isinstance(row, (tuple, list)):
        return [str(at) for at in range(len(row))]
    columns = getattr(type(row), "_columns", None)
    return ["value"] if columns is None else list(columns)


def _cells(row: Any, names: Sequence[str]) -> Sequence[Any]:
    if isinstance(row, Mapping):
        return [row.get(name) for name in names]
    if isinstance(row, (tuple, list)):
        return row
    return [getattr(row, name) for name in names] if hasattr(type(row), "_columns") else [row]


def explanation_tables(explanation: Any) -> list[Table]:
    token = "to any node" if explanation.token is None else f"to the replicas of token {explanation.token}"
    lines = [
        ("statement", explanation.cql),
        ("parameters", explanation.parameters),
        ("prepared", "yes" if explanation.prepared else f"no: {explanation.reason}"),
        ("routed", token),
        ("replicas", ", ".join(str(host.endpoint) for host in explanation.replicas)),
    ]
    return [Table("Explanation", (("", ""), ("", "")), lines, (), CHARACTERS)]
