"""Order of the rows of one partition as returned by a prepared SELECT, and its comparison with the requested order.

L5, pure. A column is *fixed* if it has the same value in all rows of a source: partition key columns, and clustering
columns compared by ``=``. The others are ordered as in the clustering key, each in the direction that the table
declares, or all reversed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .select import Word, words_of

if TYPE_CHECKING:
    from cassandra._routing.schema import TableMetadata

_BEHIND_WHERE = ("ORDER", "GROUP", "PER", "LIMIT", "ALLOW", "BYPASS", "USING")


class PartitionSelect:
    """The parts of *cql*, a SELECT, that determine the order of its rows. ValueError if it is not a SELECT."""

    def __init__(self, cql: str) -> None:
        words = [word for word in words_of(cql) if word.text != ";"]
        if not words or not words[0].says("SELECT"):
            raise ValueError(f"expected a SELECT to read partitions, got {cql!r}")
        where = _behind(words, "WHERE")
        end = next((at for at, word in enumerate(where) if word.says(*_BEHIND_WHERE)), len(where))
        self.fixed: set[str] = set()
        self.listed: set[str] = set()  # compared by IN
        self.tokens = False
        for relation in _split(where[:end], lambda word: word.says("AND")):
            self._read_relation(relation)
        self.order = [self._read_order(one) for one in _split(_order_of(words), lambda word: word.text == ",")]

    def _read_relation(self, words: list[Word]) -> None:
        names = [words[0].name]
        if words[0].text == "(":
            close = next((at for at, word in enumerate(words) if at and not word.depth), len(words) - 1)
            names = [word.name for word in words[1:close] if word.text != ","]
            words = words[close:]
        elif words[0].says("TOKEN") and len(words) > 1 and words[1].text == "(":
            self.tokens = True
            return
        found = {name for name in names if name is not None}
        if len(words) > 1 and words[1].text == "=":
            self.fixed |= found
        elif len(words) > 1 and words[1].says("IN"):
            self.listed |= found

    @staticmethod
    def _read_order(words: list[Word]) -> tuple[str, bool]:
        """Return a column, and True if it is descending."""
        if any(word.says("ANN") for word in words):
            raise ValueError("rows ordered by ANN OF cannot be merged")
        name = words[0].name
        assert name is not None
        return name, len(words) > 1 and words[1].says("DESC")


def _behind(words: list[Word], keyword: str) -> list[Word]:
    at = next((at for at, word in enumerate(words) if word.says(keyword)), len(words))
    return words[at + 1 :]


def _order_of(words: list[Word]) -> list[Word]:
    """Return the words after ORDER BY, up to the next clause."""
    found = _behind(words, "ORDER")[1:]
    end = next((at for at, word in enumerate(found) if word.says(*_BEHIND_WHERE)), len(found))
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
    wanted = _wanted(order_by, table, select)
    given = [descending] if not isinstance(descending, Sequence) else list(descending)
    downs = given * len(wanted) if isinstance(descending, bool) else given
    if len(downs) != len(wanted) or not all(type(down) is bool for down in downs):
        raise ValueError(f"descending must be one bool, or one for each of {', '.join(wanted)}, got {descending!r}")
    if table is None:
        return RowOrder(wanted, downs, False)
    _check_partition(name, table, select)
    return _checked(name, table, select, wanted, downs)


def _wanted(order_by: str | Iterable[str] | None, table: TableMetadata | None, select: PartitionSelect) -> list[str]:
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


def _checked(
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
