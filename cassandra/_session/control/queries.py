"""The driver's own queries on one connection: rows as dicts, several at once, all pages.

L5. Used by the control connection (refresh, agreement). :func:`gather` sends everything at once and blocks for the
responses: never call it on the I/O thread. :func:`gather_async` does not block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import OperationTimedOut, repeated_paging_state
from cassandra._base.locks import driver_lock
from cassandra._base.process import AutoResetEvent
from cassandra._base.server_errors import ErrorMessage
from cassandra._core.codec import RawRows, RowsPage
from cassandra._wire.messages.requests import QueryMessage
from cassandra._wire.rows import decode_page, dict_factory
from cassandra._wire.types.base import with_own_functions

if TYPE_CHECKING:
    from cassandra._net.connection import Connection

Row = dict[str, Any]
UNBOUNDED = 60.0  # the limit that a timeout of None means: no wait is endless


def query(text: str, page_size: int | None = None, paging_state: bytes | None = None) -> QueryMessage:
    """Return a message for one of the driver's own queries; consistency ONE, because the coordinator's own copy of a
    system table is the right one."""
    return QueryMessage(text, ConsistencyLevel.ONE, fetch_size=page_size, paging_state=paging_state)


def rows_of(message: Any) -> list[Row]:
    """Return the rows of a RESULT."""
    if message.page is not None:
        return _rows_of_page(message.page)
    names = message.column_names or ()
    return [dict(zip(names, row, strict=True)) for row in message.parsed_rows or ()]


def _rows_of_page(page: RowsPage | RawRows) -> list[Row]:
    page = page.page() if isinstance(page, RawRows) else page
    return list(decode_page(with_own_functions(page), dict_factory))


class Rows(Sequence[Row]):
    """The rows of a query. They stay bytes until they are read: most programs read little of the schema.

    Belongs to :func:`fetch` until that returns. Any thread may read it then; concurrent first readers decode the same
    rows. Reading raises DriverException for rows that do not match the types of their columns.
    """

    def __init__(self) -> None:
        self._content: list[Row] | tuple[RawRows | RowsPage | list[Row], ...] = ()

    def add(self, message: Any) -> None:
        """Add the rows of a further RESULT. Keeps no memory of the pool."""
        assert isinstance(self._content, tuple), "rows were decoded already"
        if isinstance(message, RawRows):
            self._content = (*self._content, message)
        else:
            self._content = (*self._content, rows_of(message) if message.page is None else message.page.detached())

    def _all(self) -> list[Row]:
        held = self._content
        if isinstance(held, list):
            return held
        rows = [row for part in held for row in (part if isinstance(part, list) else _rows_of_page(part))]
        self._content = rows
        return rows

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all())


def outcome_of(answer: Any) -> Any:
    """Return a message as it is, a server error as its public exception."""
    return answer.to_exception() if isinstance(answer, ErrorMessage) else answer


def gather_async(
    connection: Connection,
    messages: Sequence[Any],
    timeout: float,
    on_done: Callable[[list[Any]], None],
    raw: bool = False,
) -> None:
    """Send all *messages*; call ``on_done(answers)`` once all responses arrived, each a message or an exception.
    *on_done* runs on the I/O thread, or on the calling thread when nothing could be sent. *raw*: rows are
    RawRows."""
    answers: list[Any] = [None] * len(messages)
    waiting = len(messages)
    lock = driver_lock("gather")

    def on_response(position: int, answer: Any) -> None:
        nonlocal waiting
        answers[position] = outcome_of(answer)
        with lock:
            waiting -= 1
            last = not waiting
        if last:
            on_done(answers)

    if not messages:
        on_done(answers)
    last = len(messages) - 1
    for position, message in enumerate(messages):
        connection.request_async(message, partial(on_response, position), timeout, position < last, raw)


def gather(connection: Connection, messages: Sequence[Any], timeout: float | None, raw: bool = False) -> list[Any]:
    """Send all *messages* and wait for all responses, each a message or an exception; as :func:`gather_async`."""
    limit = UNBOUNDED if timeout is None else timeout
    done = AutoResetEvent()
    collected: list[Any] = []

    def finish(answers: list[Any]) -> None:
        collected.extend(answers)
        done.set()

    gather_async(connection, messages, limit, finish, raw)
    if not done.wait(limit + 5.0):  # request_async has a timeout of its own; this is a second safeguard
        raise OperationTimedOut({str(connection.endpoint): f"No response within {limit} s"}, connection.endpoint)
    return collected


def fetch(
    connection: Connection, queries: Mapping[str, str], timeout: float | None, page_size: int | None = None
) -> dict[str, Rows | BaseException]:
    """Run named *queries* at once and follow their pages; return each name's rows, or the exception of its query.

    *page_size* None requests everything in one page. *timeout* is per page, in seconds.
    """
    found: dict[str, Rows | BaseException] = {name: Rows() for name in queries}
    pending = {name: query(text, page_size) for name, text in queries.items()}
    while pending:
        answers = gather(connection, list(pending.values()), timeout, raw=True)
        following: dict[str, QueryMessage] = {}
        for name, answer in zip(pending, answers, strict=True):
            if isinstance(answer, BaseException):
                found[name] = answer
                continue
            rows = found[name]
            assert isinstance(rows, Rows)
            rows.add(answer)
            if answer.paging_state and answer.paging_state == pending[name].paging_state:
                found[name] = repeated_paging_state(connection.endpoint)
            elif answer.paging_state:
                following[name] = query(queries[name], page_size, answer.paging_state)
        pending = following
    return found


def rows_or_raise(rows: Sequence[Row] | BaseException) -> Sequence[Row]:
    """Return the rows, or raise the exception."""
    if isinstance(rows, BaseException):
        raise rows
    return rows
