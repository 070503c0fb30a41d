"""Page template of a prepared statement, page request, page response, and the state of a range (L5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.errors import InvalidRequest, OperationTimedOut, ReadTimeout, ResponseTooLarge
from cassandra._base.server_errors import ProtocolException
from cassandra._wire.messages.requests import ExecuteMessage

from ..request.retry import RepeatDecision, decide_repeatable, is_repeated_few_times
from ..request.tablet_routing import version_block_of
from ..statements.prepared import BoundStatement
from ..statements.statements import Statement

if TYPE_CHECKING:
    from cassandra._core.codec import Bound, ResultPlan, RowsPage
    from cassandra._core.columns import ColumnBuilder, ColumnPlan
    from cassandra._net.connection import Connection
    from cassandra._routing.host import Host
    from cassandra._routing.token_ranges import TokenRange

    from ..cluster.profiles import ResolvedProfile
    from ..session import Session
    from ..statements.prepared import PreparedStatement
    from .page_size import PageSize


class Question:
    """Page template: the parts that all pages of one prepared statement in a reading share."""

    def __init__(
        self, session: Session, prepared: PreparedStatement, profile: ResolvedProfile, page_size: PageSize
    ) -> None:
        self.prepared = prepared
        self.profile = profile
        self.page_size = page_size
        self.keyspace, self.table, *_ = prepared._bind_plan.specs[0]
        self._block = version_block_of(session.cluster.metadata._tablets, self.keyspace, self.table)

    def message(self, bound: Bound, paging_state: bytes | None) -> tuple[ExecuteMessage, ResultPlan | None]:
        """Return the request of a page, and the plan that decodes a response without metadata."""
        plan, metadata_id = self.prepared._snapshot
        profile = self.profile
        message = ExecuteMessage(
            self.prepared.query_id,
            bound,
            profile.consistency_level,
            None,
            self.page_size.rows,
            paging_state,
            None,
            skip_meta=plan is not None and metadata_id is not None,
            result_metadata_id=metadata_id,
        )
        return message, plan

    def frame(
        self, connection: Connection, bound: Bound, paging_state: bytes | None, token: int | None
    ) -> tuple[bytes, ResultPlan | None]:
        """As :meth:`message`, with the request as bytes for *connection*."""
        message, plan = self.message(bound, paging_state)
        version, features = connection.protocol_version, connection.features
        if version < 5 and not features.use_metadata_id:
            message.skip_meta = False  # without ids the server cannot signal that the columns have changed
        if features.tablets_routing_v2:
            message.tablet_version_block = self._block(token)
        return message.encode(version, features=features), plan


PATIENCE = 60.0  # seconds after which a page that could not be read has failed
TOO_LARGE = (OperationTimedOut, ReadTimeout, ResponseTooLarge)  # a smaller range or page may succeed
REFUSED = (InvalidRequest, ProtocolException)  # the server may not accept the paging state or the page size


class Asked:
    """Page request and its attempts. *bound*: the values of its range; *token*: routing token."""

    __slots__ = (
        "attempts",
        "bound",
        "connection",
        "failed_since",
        "failures",
        "few_times",
        "host",
        "owner",
        "page_size",
        "paging_state",
        "plan",
        "pool",
        "question",
        "sent",
        "shard",
        "slot",
        "stream",
        "token",
        "tried",
    )

    def __init__(
        self, owner: Any, question: Question, bound: Bound, token: int | None, paging_state: bytes | None
    ) -> None:
        self.owner = owner
        self.question = question
        self.bound = bound
        self.token = token
        self.paging_state = paging_state
        self.page_size: int | None = None  # of the last attempt
        self.attempts = 0
        self.failures = 0
        self.few_times = 0  # those of them by errors that are repeated few times only
        self.failed_since: float | None = None
        self.tried: set[Host] = set()  # hosts that have failed for it
        self.host: Host | None = None
        self.pool: Any = None
        self.connection: Any = None
        self.shard: int | None = None
        self.stream = -1
        self.slot = -1
        self.sent = 0.0
        self.plan: ResultPlan | None = None

    def failed(self, outcome: Any) -> RepeatDecision:
        """Count a failure by *outcome*, and return the decision about it."""
        self.failures += 1
        self.few_times += is_repeated_few_times(outcome)
        return decide_repeatable(outcome, self.few_times)


class Came:
    """Page response: its rows, and the paging state of the next page (None: it is the last page)."""

    __slots__ = ("page", "paging_state")

    def __init__(self, page: RowsPage, paging_state: bytes | None) -> None:
        self.page = page
        self.paging_state = paging_state


class Range:
    """A range of a plan, while it is read."""

    __slots__ = (
        "asked",
        "builder",
        "described",
        "emitted",
        "here",
        "home",
        "number",
        "page",
        "restarts",
        "schema",
        "token_range",
    )

    def __init__(self, number: int, token_range: TokenRange) -> None:
        self.number = number
        self.token_range = token_range
        self.home: object = None  # the shard whose turn it was when the range was opened
        self.restarts = 0
        self.begin()

    def begin(self) -> None:
        """Reset to the beginning of the range."""
        self.asked: Asked | None = None
        self.here: Came | None = None
        self.builder: ColumnBuilder | None = None
        self.described: ResultPlan | None = None
        self.schema: ColumnPlan | None = None
        self.page = 0  # number of the requested or current page
        self.emitted = False


def statement_of(question: Question, token: int | None) -> Statement:
    """Return a statement for users' policies, and for ``learn_tablet``."""
    statement = Statement(keyspace=question.keyspace, table=question.table, is_idempotent=True)
    statement.routing_token = token
    return statement


def bound_statement(question: Question, bound: Bound) -> Any:
    made = BoundStatement(question.prepared)
    made._bound = bound
    made.is_idempotent = True
    return made
