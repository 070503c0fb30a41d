"""BatchStatement (cassandra.query): several writes in one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._core.codec import Bound

from .prepared import BoundStatement, PreparedStatement
from .statement import BatchType, SimpleStatement, Statement, bind_params, new_encoder

if TYPE_CHECKING:
    from cassandra._routing.policies import RetryPolicy

MAX_STATEMENTS = 0xFFFF  # the count is a [short] in BATCH, protocol section 4.1.7

Parameters = Sequence[Any] | Mapping[str, Any] | None
#: (prepared?, query text or prepared id, bound values)
Entry = tuple[bool, str | bytes, Bound | tuple[()]]


class BatchStatement(Statement):
    """A batch of INSERT, UPDATE and DELETE statements; a plain container, safe to execute more than once.

    :param batch_type: :class:`BatchType`.
    :param session: its ``encoder`` encodes parameters of simple statements (registered types); otherwise a plain one.

    Example::

        batch = BatchStatement(consistency_level=ConsistencyLevel.QUORUM)
        batch.add(insert, (1, "one"))
        session.execute(batch)
    """

    __module__ = "cassandra.query"

    _keyspace: str | None = None  # for routing
    _explicit_keyspace: str | None = None
    #: Keyspaces of its texts (None: not given), each with the first such text.
    _wanted: dict[str | None, str]

    def __init__(
        self,
        batch_type: BatchType = BatchType.LOGGED,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | None = None,
        serial_consistency_level: int | None = None,
        session: Any = None,
        custom_payload: Mapping[str, bytes | None] | None = None,
    ) -> None:
        self.batch_type = batch_type  #: Kind of the batch, a :class:`BatchType`.
        self._statements_and_parameters: list[Entry] = []
        self._prepared: dict[bytes, PreparedStatement] = {}
        self._wanted = {}
        self._session = session
        self._bound_token: int | None = None
        self._is_lwt = False
        Statement.__init__(
            self,
            retry_policy=retry_policy,
            consistency_level=consistency_level,
            serial_consistency_level=serial_consistency_level,
            custom_payload=custom_payload,
        )

    @property
    def keyspace(self) -> str | None:
        """The keyspace it is routed by: of the first statement that could be routed, unless one was set.

        A keyspace that is set also applies to text without a keyspace of its own; otherwise that is the keyspace of the
        session. Bound statements keep the keyspace they were prepared in.
        """
        return self._keyspace

    @keyspace.setter
    def keyspace(self, keyspace: str | None) -> None:
        self._keyspace = self._explicit_keyspace = keyspace

    def clear(self) -> None:
        """Remove all statements, with the keyspace, routing key and payload they brought."""
        self._statements_and_parameters.clear()
        self._prepared.clear()
        self._wanted.clear()
        self.keyspace = None
        self.routing_key = None
        self._bound_token = None
        self._is_lwt = False
        self.custom_payload = None

    def add(self, statement: str | Statement | PreparedStatement, parameters: Parameters = None) -> BatchStatement:
        """Append *statement* with its *parameters* and return self. A bound statement takes no parameters
        (ValueError)."""
        if isinstance(statement, str):
            text = self._interpolate(statement, parameters) if parameters else statement
            self._append(False, text, ())
            if None not in self._wanted:
                self._wanted[None] = text
        elif isinstance(statement, PreparedStatement):
            self._add_bound(statement.bind(() if parameters is None else parameters))
        elif isinstance(statement, BoundStatement):
            if parameters:
                raise ValueError("Parameters cannot be passed with a BoundStatement to BatchStatement.add()")
            statement._check_keyspace()
            self._add_bound(statement)
        elif isinstance(statement, SimpleStatement):
            self._inherit(statement)
            text = self._interpolate(statement.query_string, parameters)
            self._append(False, text, ())
            self._wanted.setdefault(statement.keyspace, text)
        else:
            raise TypeError(f"a batch takes CQL text or statements, not {type(statement).__name__}")
        return self

    def add_all(
        self,
        statements: Iterable[str | Statement | PreparedStatement],
        parameters: Iterable[Parameters],
    ) -> None:
        """Call ``add`` for each statement with the parameters at the same position."""
        for statement, values in zip(statements, parameters, strict=False):
            self.add(statement, values)

    def is_lwt(self) -> bool:
        """True if one of its statements is known to be a lightweight transaction."""
        return self._is_lwt

    def __len__(self) -> int:
        return len(self._statements_and_parameters)

    def __str__(self) -> str:
        return (
            f"<BatchStatement type={self.batch_type}, statements={len(self)}, consistency={self._consistency_name()}>"
        )

    __repr__ = __str__

    def _interpolate(self, query: str, parameters: Parameters) -> str:
        if not parameters:
            return query
        return bind_params(query, parameters, new_encoder() if self._session is None else self._session.encoder)

    def _add_bound(self, statement: BoundStatement) -> None:
        prepared = statement.prepared_statement
        self._inherit(statement)
        bound = statement._bound
        if bound is None:
            bound = prepared._bind_plan.bind((), prepared.protocol_version)
        self._append(True, prepared.query_id, bound)
        self._prepared.setdefault(prepared.query_id, prepared)  # the first one represents all: it is outdated if any is

    def _append(self, prepared: bool, query: str | bytes, values: Bound | tuple[()]) -> None:
        if len(self._statements_and_parameters) >= MAX_STATEMENTS:
            raise ValueError(f"Batch statement cannot contain more than {MAX_STATEMENTS} statements.")
        self._statements_and_parameters.append((prepared, query, values))

    def _inherit(self, statement: Statement) -> None:
        """Merge attributes of *statement* into the batch: the first routable statement routes it; payloads are merged;
        one LWT makes it an LWT."""
        if statement.is_lwt():
            self._is_lwt = True
        if statement.custom_payload:
            self.custom_payload = {**(self.custom_payload or {}), **statement.custom_payload}
        if self._routing_key is None and statement.keyspace and statement.routing_key is not None:
            self._keyspace = statement.keyspace
            self.table = statement.table
            self.routing_key = statement.routing_key
            bound = statement._bound if isinstance(statement, BoundStatement) else None
            self._bound_token = bound.token if bound is not None else None
