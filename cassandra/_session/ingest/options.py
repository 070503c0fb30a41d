"""Options of an ingest, checked before any request, and the preparation up to the first row (L5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cassandra._base.constants import ProtocolVersion
from cassandra._base.errors import UnsupportedOperation
from cassandra._routing.policies import FallthroughRetryPolicy

from ..cluster.profiles import EXEC_PROFILE_DEFAULT
from .report import IngestReport, failed
from .target import Nulls, TableName, Target, Wish, statement_text

if TYPE_CHECKING:
    from cassandra._routing.schema import TableMetadata

    from ..session import Session
    from ..statements.prepared import PreparedStatement
    from .progress import Told
    from .writing import Writing

OnError = Literal["raise", "collect"]
UNSET_VALUES = 4  # first protocol version with unset values
MOST_CONCURRENT = 32768


class Options:
    """The arguments of one call, for *session*."""

    def __init__(
        self,
        session: Session,
        table: str,
        columns: Iterable[str] | None,
        ttl: int | None,
        timestamp: int | None,
        nulls: Nulls,
        consistency_level: int | None,
        concurrency: int | Literal["auto"],
        batch_rows: int,
        on_error: OnError,
        progress: Told | bool | None,
        already_encrypted: Iterable[str] = (),
    ) -> None:
        session._check_open()
        self.session = session
        self.wish = Wish(
            TableName(table, session.keyspace), columns, ttl, timestamp, nulls, batch_rows, already_encrypted
        )
        if nulls == "unset" and session.cluster.protocol_version < UNSET_VALUES:
            raise UnsupportedOperation(
                f'nulls="unset" needs protocol version {ProtocolVersion.V4}, the session uses '
                f'{session.cluster.protocol_version}; nulls="null" deletes the existing values instead'
            )
        if on_error not in ("raise", "collect"):
            raise ValueError(f'on_error must be "raise" or "collect", got {on_error!r}')
        if concurrency != "auto" and (type(concurrency) is not int or not 1 <= concurrency <= MOST_CONCURRENT):
            raise ValueError(f'concurrency must be "auto" or 1 to {MOST_CONCURRENT} rows, got {concurrency!r}')
        if progress not in (None, False, True) and not callable(progress):
            raise TypeError(f"progress must be a callable or True, got {progress!r}")
        self.concurrency = None if concurrency == "auto" else concurrency
        self.stops = on_error == "raise"
        self.progress = progress
        own: dict[str, Any] = {"retry_policy": FallthroughRetryPolicy()}  # the ingest itself decides on retries
        if consistency_level is not None:
            own["consistency_level"] = consistency_level
        self._profile = session._resolve_profile(EXEC_PROFILE_DEFAULT).replace(**own)

    @property
    def name(self) -> str:
        return str(self.wish.name)

    def text(self, names: Sequence[str]) -> str:
        """Return the statement to prepare for data with these columns."""
        return statement_text(self.wish, self._table(), names)

    def target(self, prepared: PreparedStatement, names: Sequence[str]) -> Target:
        """Return the target that writes data with these columns by *prepared*."""
        return Target(self.session, self.wish, self._table(), prepared, self._profile, names)

    def _table(self) -> TableMetadata | None:
        return self.wish.name.metadata(self.session)


def outcome_of(writing: Writing, stops: bool) -> IngestReport:
    """Return the report of a finished *writing*, or raise the error that ended it."""
    if writing.broken is not None:
        raise writing.broken
    report = writing.report()
    if writing.closed is not None or (report.failed and stops):
        raise failed(report, writing.closed)
    return report
