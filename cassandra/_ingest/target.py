"""Target of an ingest: the table, the statement that writes one row, and the encoding of its requests.

L6. Pure except for preparing, which the caller of :class:`IngestTarget` does. A target is created once per ingest, from
the first schema, and does not change; data that does not fit raises before anything is written.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.names import maybe_escape_name
from cassandra._core.codec import encode_batch
from cassandra._core.columns import IngestPlan
from cassandra._session.request.plans import ExecutePlan

if TYPE_CHECKING:
    from cassandra._core.columns import Rows
    from cassandra._core.transport import Writes
    from cassandra._routing.schema import TableMetadata
    from cassandra._session.profiles import ResolvedProfile
    from cassandra._session.session import Session
    from cassandra._session.statements.prepared import PreparedStatement

    from .batches import Batch, Place
    from .values import Rounding

Nulls = Literal["unset", "null"]

_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|(\w+))\s*')
UNLOGGED = 1
MOST_PLACES = 64  # batches whose rows are described by their place in the source: those being encoded
#: Servers warn of batches above 5 KiB, and count more than the bytes of values: timestamp, flags and the like.
WARNED_OF = 5 * 1024
PER_ROW, PER_VALUE = 32, 20
MAX_TTL = 20 * 365 * 86400
MOST_BATCH_ROWS = 65535  # maximum of the count in a BATCH


class TableName:
    """``table`` or ``keyspace.table`` as in CQL: names without quotes are converted to lower case."""

    def __init__(self, text: str, keyspace: str | None) -> None:
        if not isinstance(text, str):
            raise TypeError(f"expected a str as table, got {text!r}")
        names: list[str] = []
        at = 0
        while at <= len(text):
            match = _NAME.match(text, at)
            if match is None or len(names) > 1:
                raise ValueError(f"invalid table name: {text!r}: expected table or keyspace.table")
            quoted, plain = match.groups()
            names.append(quoted.replace('""', '"') if quoted is not None else plain.lower())
            at = match.end()
            if at < len(text) and text[at] != ".":
                raise ValueError(f"invalid table name: {text!r}: expected table or keyspace.table")
            at += 1
        self.table = names[-1]
        found = names[0] if len(names) == 2 else keyspace
        if found is None:
            raise ValueError(f"no keyspace for table {text!r}: use keyspace.table, or set the keyspace of the session")
        self.keyspace = found

    def __str__(self) -> str:
        return f"{maybe_escape_name(self.keyspace)}.{maybe_escape_name(self.table)}"

    def metadata(self, session: Session) -> TableMetadata | None:
        """Return the metadata of the table; None if schema metadata are disabled, or the table is not in them yet."""
        keyspace = session.cluster.metadata.keyspaces.get(self.keyspace)
        return None if keyspace is None else keyspace.tables.get(self.table)


class TargetOptions:
    """Options of an ingest, checked; independent of the data."""

    def __init__(
        self,
        name: TableName,
        columns: Iterable[str] | None,
        ttl: int | None,
        timestamp: int | None,
        nulls: Nulls,
        batch_rows: int,
        already_encrypted: Iterable[str] = (),
        round: Rounding = "error",
    ) -> None:
        if isinstance(columns, str):
            raise TypeError(f"columns must be a list of names, got {columns!r}")
        self.name = name
        self.columns = None if columns is None else list(columns)
        if self.columns is not None and (not self.columns or len(set(self.columns)) < len(self.columns)):
            raise ValueError(f"columns must be distinct names, at least one, got {self.columns!r}")
        self.ttl = _checked_int("ttl", ttl, 0, MAX_TTL)
        self.timestamp = _checked_int("timestamp", timestamp, -(1 << 63) + 1, (1 << 62))
        if nulls not in ("unset", "null"):
            raise ValueError(f'nulls must be "unset" or "null", got {nulls!r}')
        self.nulls: Nulls = nulls
        if round not in ("error", "floor", "nearest"):
            raise ValueError(f'round must be "error", "floor" or "nearest", got {round!r}')
        self.round: Rounding = round
        found = _checked_int("batch_rows", batch_rows, 1, MOST_BATCH_ROWS)
        assert found is not None
        self.batch_rows = found
        if isinstance(already_encrypted, str):
            raise TypeError(f"already_encrypted must be a list of names, got {already_encrypted!r}")
        self.already_encrypted = frozenset(already_encrypted)


def _checked_int(name: str, value: Any, least: int, most: int) -> int | None:
    if value is None:
        return None
    if type(value) is not int:
        raise TypeError(f"{name} must be an int, got {value!r}")
    if not least <= value <= most:
        raise ValueError(f"{name} must be {least} to {most}, got {value}")
    return value


def statement_text(target_options: TargetOptions, table: TableMetadata | None, names: Sequence[str]) -> str:
    """Return the INSERT for data with columns of these *names*. ValueError if there is none; other errors are raised
    later, together, see :meth:`IngestTarget.rows`."""
    name = target_options.name
    wanted = list(names) if target_options.columns is None else target_options.columns
    missing = [column for column in wanted if column not in names]
    if missing:
        raise ValueError(f"the data has no columns {', '.join(missing)}; it has {', '.join(names) or 'none'}")
    if table is not None:
        counters = [column.name for column in table.columns.values() if column.cql_type == "counter"]
        if counters:
            raise ValueError(
                f"{name}: {', '.join(counters)} {'is a counter' if len(counters) == 1 else 'are counters'}; "
                "counters cannot be ingested, as a retried increment counts twice"
            )
        known = [column for column in wanted if column in table.columns]
        if not known:
            raise ValueError(
                f"the data has no column of {name}: it has {', '.join(names) or 'none'}, "
                f"the table {', '.join(table.columns)}"
            )
        if target_options.columns is not None and len(known) < len(wanted):
            unknown = [column for column in wanted if column not in table.columns]
            raise ValueError(f"{name} has no columns {', '.join(unknown)}; it has {', '.join(table.columns)}")
        key = [column.name for column in table.partition_key]
        if target_options.columns is None or not _is_of_partitions(table, known):
            key += [column.name for column in table.clustering_key]
        wanted = known + [column for column in key if column not in known]
    if not wanted:
        raise ValueError(f"the data has no columns to write to {name}")
    columns = ", ".join(maybe_escape_name(column) for column in wanted)
    using = "" if target_options.ttl is None else " USING TTL ?"
    return f"INSERT INTO {name} ({columns}) VALUES ({', '.join('?' * len(wanted))}){using}"


def _is_of_partitions(table: TableMetadata, names: Sequence[str]) -> bool:
    """True if these columns, except the partition key, are static ones: the values belong to whole partitions."""
    statics = {column.name for column in table.columns.values() if column.is_static}
    return bool(statics.intersection(names)) and statics.issuperset(
        {*names} - {column.name for column in table.partition_key}
    )


class IngestTarget:
    """*prepared*, the statement of :func:`statement_text`, and the conversion of data to its requests."""

    def __init__(
        self,
        session: Session,
        target_options: TargetOptions,
        table: TableMetadata | None,
        prepared: PreparedStatement,
        profile: ResolvedProfile,
        names: Sequence[str],
    ) -> None:
        self.name = target_options.name
        self.prepared = prepared
        self._options = target_options
        self._names = set(names)
        specs = prepared._bind_plan.specs
        if target_options.ttl is not None:
            specs = specs[:-1]
        encrypted = {name for _, _, name, codec in specs if codec.stored is not None}
        if not target_options.already_encrypted <= encrypted:
            names_ = ", ".join(sorted(target_options.already_encrypted - encrypted))
            raise ValueError(f"already_encrypted: no encrypted columns that are written: {names_}")
        self._markers = [
            (name, (name in target_options.already_encrypted and codec.stored) or codec) for _, _, name, codec in specs
        ]
        key = [specs[index][2] for index in prepared._bind_plan.pk_indexes or ()]
        marked = {name for name, _ in self._markers}
        self._clustering = [column.name for column in table.clustering_key if column.name in marked] if table else []
        ring = session.cluster.metadata.state.topology.ring
        self._plan = IngestPlan(
            self._markers,
            partition_key=key or ([column.name for column in table.partition_key] if table is not None else []),
            clustering=self._clustering,
            nulls=target_options.nulls,
            round=target_options.round,
            tokens=bool(key) and (ring is None or ring.murmur3),
        )
        self.plan = ExecutePlan(session, session._settings_epoch, prepared, profile, with_timestamp=True)
        self._version: int = session.cluster.protocol_version
        self._codecs = dict(self._markers)
        self._places: deque[tuple[int, int, Place]] = deque(maxlen=MOST_PLACES)
        self._most_rows = 1 if self._are_alone(table) else target_options.batch_rows

    def _are_alone(self, table: TableMetadata | None) -> bool:
        """True if rows cannot share a batch: all rows of a batch have the same timestamp. Without a clustering key
        there is one row per partition, and a static column has one value for all rows of the partition."""
        if table is None or not self._clustering:
            return True
        return any(table.columns[name].is_static for name, _ in self._markers)

    def rows(self, batch: Batch, first: int) -> Rows:
        """Return the rows of *batch*, the first of which has number *first*. ValueError lists all mismatches."""
        names = batch.names
        self.prepared._last_use.note(monotonic())
        if set(names) != self._names:
            raise ValueError(
                f"the batch of row {first} has other columns than those before: {', '.join(names)}, not "
                f"{', '.join(sorted(self._names))}"
            )
        target_options = self._options
        schema, array, encoded, refused = batch.arrow(self._codecs, target_options.round, target_options.nulls, first)
        others: Literal["error", "ignore"] = "error" if target_options.columns is None else "ignore"
        try:
            reader = self._plan.reader(schema, others=others, encoded=encoded)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        rows = reader.rows(array, first=first, refused=refused)
        if batch.place is not None:
            self._places.append((first, len(rows), batch.place))
        return rows

    def place_of(self, row: int) -> str | None:
        """Return the place of *row* in the source, if that has places and the row was read recently."""
        for first, count, place in reversed(self._places):
            if first <= row < first + count:
                return place(row - first)
        return None

    def compile(self, writes: Writes) -> None:
        """Set the request format of *writes*."""
        target_options, template = self._options, self.plan.template
        ttl = b"" if target_options.ttl is None else b"\0\0\0\4" + target_options.ttl.to_bytes(4, "big")
        count = (len(self._markers) + (target_options.ttl is not None)).to_bytes(2, "big")
        head, tail = template.around()
        consistency, serial = self.plan.levels
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
