"""Where rows go: the table, the statement that writes one of them, and how its requests look.

L5. Pure but for preparing, which is done by who makes a :class:`Target`. It is made once per ingest, of the first
schema, and does not change; whatever does not fit is told before anything is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.names import maybe_escape_name
from cassandra._core.codec import encode_batch
from cassandra._core.columns import IngestPlan, column_names

from ..request.compiled import CompiledExecute

if TYPE_CHECKING:
    from cassandra._core.columns import RowReader, Rows
    from cassandra._core.transport import Writes
    from cassandra._routing.schema import TableMetadata

    from ..cluster.profiles import ResolvedProfile
    from ..session import Session
    from ..statements.prepared import PreparedStatement

Nulls = Literal["unset", "null"]

_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|(\w+))\s*')
UNLOGGED = 1
#: Servers warn of batches above 5 KiB, and count more than the bytes of values: timestamp, flags and the like.
WARNED_OF = 5 * 1024
PER_ROW, PER_VALUE = 32, 20
MAX_TTL = 20 * 365 * 86400
MOST_BATCH_ROWS = 65535  # what the count of a BATCH can say


class TableName:
    """``table`` or ``keyspace.table`` as CQL has it: names without quotes are in lower case."""

    def __init__(self, text: str, keyspace: str | None) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a table is named by a text, not {text!r}")
        names: list[str] = []
        at = 0
        while at <= len(text):
            match = _NAME.match(text, at)
            if match is None or len(names) > 1:
                raise ValueError(f"{text!r} does not name a table: table or keyspace.table is wanted")
            quoted, plain = match.groups()
            names.append(quoted.replace('""', '"') if quoted is not None else plain.lower())
            at = match.end()
            if at < len(text) and text[at] != ".":
                raise ValueError(f"{text!r} does not name a table: table or keyspace.table is wanted")
            at += 1
        self.table = names[-1]
        found = names[0] if len(names) == 2 else keyspace
        if found is None:
            raise ValueError(f"{text!r} names no keyspace, and the session has none: keyspace.table is wanted")
        self.keyspace = found

    def __str__(self) -> str:
        return f"{maybe_escape_name(self.keyspace)}.{maybe_escape_name(self.table)}"

    def metadata(self, session: Session) -> TableMetadata | None:
        """What is known of it; None where no schema metadata are read, or it is not known yet."""
        keyspace = session.cluster.metadata.keyspaces.get(self.keyspace)
        return None if keyspace is None else keyspace.tables.get(self.table)


class Wish:
    """What the caller said, checked: nothing of it depends on the data."""

    def __init__(
        self,
        name: TableName,
        columns: Iterable[str] | None,
        ttl: int | None,
        timestamp: int | None,
        nulls: Nulls,
        batch_rows: int,
        already_encrypted: Iterable[str] = (),
    ) -> None:
        if isinstance(columns, str):
            raise TypeError(f"columns is a list of names, not {columns!r}")
        self.name = name
        self.columns = None if columns is None else list(columns)
        if self.columns is not None and (not self.columns or len(set(self.columns)) < len(self.columns)):
            raise ValueError(f"columns are names that differ, and there is at least one, not {self.columns!r}")
        self.ttl = _whole("ttl", ttl, 0, MAX_TTL)
        self.timestamp = _whole("timestamp", timestamp, -(1 << 63) + 1, (1 << 62))
        if nulls not in ("unset", "null"):
            raise ValueError(f'nulls is "unset" or "null", not {nulls!r}')
        self.nulls: Nulls = nulls
        found = _whole("batch_rows", batch_rows, 1, MOST_BATCH_ROWS)
        assert found is not None
        self.batch_rows = found
        if isinstance(already_encrypted, str):
            raise TypeError(f"already_encrypted is a list of names, not {already_encrypted!r}")
        self.already_encrypted = frozenset(already_encrypted)


def _whole(name: str, value: Any, least: int, most: int) -> int | None:
    if value is None:
        return None
    if type(value) is not int:
        raise TypeError(f"{name} is a whole number, not {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name} is {least} to {most}, not {value}")
    return value


def statement_text(wish: Wish, table: TableMetadata | None, names: Sequence[str]) -> str:
    """The INSERT for data with columns of these *names*. ValueError where that cannot be; what is wrong beside it will
    be told with it, see :meth:`Target.rows`."""
    name = wish.name
    wanted = list(names) if wish.columns is None else wish.columns
    missing = [column for column in wanted if column not in names]
    if missing:
        raise ValueError(f"the data has no columns {', '.join(missing)}; it has {', '.join(names) or 'none'}")
    if table is not None:
        counters = [column.name for column in table.columns.values() if column.cql_type == "counter"]
        if counters:
            raise ValueError(
                f"{name} counts ({', '.join(counters)} {'is a counter' if len(counters) == 1 else 'are counters'}): "
                "counters cannot be ingested, as an increment that is sent again counts twice"
            )
        known = [column for column in wanted if column in table.columns]
        if not known:
            raise ValueError(
                f"the data has no column of {name}: it has {', '.join(names) or 'none'}, "
                f"the table {', '.join(table.columns)}"
            )
        if wish.columns is not None and len(known) < len(wanted):
            unknown = [column for column in wanted if column not in table.columns]
            raise ValueError(f"{name} has no columns {', '.join(unknown)}; it has {', '.join(table.columns)}")
        key = [column.name for column in table.partition_key]
        if wish.columns is None or not _is_of_partitions(table, known):
            key += [column.name for column in table.clustering_key]
        wanted = known + [column for column in key if column not in known]
    if not wanted:
        raise ValueError(f"the data has no columns to be written to {name}")
    columns = ", ".join(maybe_escape_name(column) for column in wanted)
    using = "" if wish.ttl is None else " USING TTL ?"
    return f"INSERT INTO {name} ({columns}) VALUES ({', '.join('?' * len(wanted))}){using}"


def _is_of_partitions(table: TableMetadata, names: Sequence[str]) -> bool:
    """Whether these columns are values of whole partitions, beside the partition key: static ones, and nothing else."""
    statics = {column.name for column in table.columns.values() if column.is_static}
    return bool(statics.intersection(names)) and statics.issuperset(
        {*names} - {column.name for column in table.partition_key}
    )


class Target:
    """*prepared*, the statement of :func:`statement_text`, and how data becomes its requests."""

    def __init__(
        self,
        session: Session,
        wish: Wish,
        table: TableMetadata | None,
        prepared: PreparedStatement,
        profile: ResolvedProfile,
        names: Sequence[str],
    ) -> None:
        self.name = wish.name
        self.prepared = prepared
        self._wish = wish
        self._names = set(names)
        specs = prepared._bind_plan.specs
        if wish.ttl is not None:
            specs = specs[:-1]
        encrypted = {name for _, _, name, codec in specs if codec.stored is not None}
        if not wish.already_encrypted <= encrypted:
            names_ = ", ".join(sorted(wish.already_encrypted - encrypted))
            raise ValueError(f"already_encrypted: no encrypted columns that are written: {names_}")
        self._markers = [
            (name, (name in wish.already_encrypted and codec.stored) or codec) for _, _, name, codec in specs
        ]
        key = [specs[index][2] for index in prepared._bind_plan.pk_indexes or ()]
        marked = {name for name, _ in self._markers}
        self._clustering = [column.name for column in table.clustering_key if column.name in marked] if table else []
        ring = session.cluster.metadata.state.topology.ring
        self._plan = IngestPlan(
            self._markers,
            partition_key=key or ([column.name for column in table.partition_key] if table is not None else []),
            clustering=self._clustering,
            nulls=wish.nulls,
            tokens=bool(key) and (ring is None or ring.murmur3),
        )
        self.compiled = CompiledExecute(
            session, session._scope, prepared._compiled, prepared, profile, with_timestamp=True
        )
        self._version: int = session.cluster.protocol_version
        self._most_rows = 1 if self._are_alone(table) else wish.batch_rows

    def _are_alone(self, table: TableMetadata | None) -> bool:
        """Whether rows cannot share a batch: all in one have the same timestamp. Without a clustering key there is one
        row per partition, and the value of a static column is that of all rows."""
        if table is None or not self._clustering:
            return True
        return any(table.columns[name].is_static for name, _ in self._markers)

    def rows(self, schema: Any, array: Any, first: int) -> Rows:
        """The batch in these capsules, whose first row has number *first*. ValueError with all that does not fit."""
        names = column_names(schema)
        if set(names) != self._names:
            raise ValueError(
                f"the batch of row {first} has other columns than those before: {', '.join(names)}, not "
                f"{', '.join(sorted(self._names))}"
            )
        return self.reader(schema).rows(array, first=first)

    def reader(self, schema: Any) -> RowReader:
        """What reads batches of a schema. ValueError with all that does not fit."""
        try:
            return self._plan.reader(schema, others="error" if self._wish.columns is None else "ignore")
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def compile(self, writes: Writes) -> None:
        """Tell *writes* how its requests look."""
        wish, template = self._wish, self.compiled.template
        ttl = b"" if wish.ttl is None else b"\0\0\0\4" + wish.ttl.to_bytes(4, "big")
        count = (len(self._markers) + (wish.ttl is not None)).to_bytes(2, "big")
        head, tail = template.around()
        consistency, serial = self.compiled.levels
        batch = encode_batch(self._version, UNLOGGED, (), consistency, serial_consistency=serial, timestamp=0)
        query_id = self.prepared.query_id
        writes._compile(
            head + count,
            ttl,
            tail,
            batch[:10],
            b"\1" + len(query_id).to_bytes(2, "big") + query_id + count,
            batch[12:-8],
            self._most_rows,
            WARNED_OF,
            PER_ROW + PER_VALUE * len(self._markers),
        )
