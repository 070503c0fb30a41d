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
from cassandra._routing.schema.rows import UndecodedRows
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
    return list(decode_page(_own(page), dict_factory))


def _own(page: RowsPage | RawRows) -> RowsPage:
    """Return a page that the driver's functions decode."""
    return with_own_functions(page.page() if isinstance(page, RawRows) else page)


class Rows(UndecodedRows):
    """The rows of a query. They stay bytes until they are read: most programs read little of the schema.

    Belongs to :func:`fetch` until that returns. Any thread may read it then; concurrent first readers decode the same
    rows. Reading raises DriverException for rows that do not match the types of their columns.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self._parts: list[RawRows | RowsPage | list[Row]] = []
        self._rows: list[Row] | None = None

    def add(self, message: Any) -> None:
        """Add the rows of a further RESULT. Keeps no memory of the pool."""
        if isinstance(message, RawRows):
            self.nbytes += message.nbytes
            self._parts.append(message)
        elif message.page is not None:
            self.nbytes += message.page.nbytes
            self._parts.append(message.page.detached())
        else:
            self._parts.append(rows_of(message))

    def pages(self) -> list[RowsPage] | None:
        """Return the undecoded pages that have rows; None if rows were not received as pages."""
        if any(isinstance(part, list) for part in self._parts):
            return None
        return [_own(part) for part in self._parts if not isinstance(part, list) and len(part)]

    def _all(self) -> list[Row]:
        rows = self._rows
        if rows is None:
            rows = self._rows = [
                row
                for part in self._parts
                if len(part)
                for row in (part if isinstance(part, list) else _rows_of_page(part))
            ]
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
    return _Fetch(connection, queries, UNBOUNDED if timeout is None else timeout, page_size).run()


class _Fetch:
    """One call of :func:`fetch`. Each page is requested when the previous one of its query arrives, on the I/O thread:
    a large schema has hundreds of pages, and the waiting thread is woken once. ``_waiting`` is guarded by ``_lock``;
    the rows of a query belong to the thread that has its last response, until the event hands all to the waiting
    thread."""

    def __init__(
        self, connection: Connection, queries: Mapping[str, str], timeout: float, page_size: int | None
    ) -> None:
        self._connection = connection
        self._queries = queries
        self._timeout = timeout
        self._page_size = page_size
        self._found: dict[str, Rows | BaseException] = {name: Rows() for name in queries}
        self._lock = driver_lock("fetch")
        self._waiting = len(queries)
        self._pages = 0
        self._done = AutoResetEvent()

    def run(self) -> dict[str, Rows | BaseException]:
        last = len(self._queries) - 1
        for position, name in enumerate(self._queries):
            self._request(name, None, position < last)
        pages = -1
        while self._waiting and pages != self._pages:  # each request has a timeout of its own: a second safeguard
            pages = self._pages
            self._done.wait(self._timeout + 5.0)
        if self._waiting:
            endpoint = self._connection.endpoint
            raise OperationTimedOut({str(endpoint): f"No response within {self._timeout} s"}, endpoint)
        return self._found

    def _request(self, name: str, paging_state: bytes | None, later: bool = False) -> None:
        message = query(self._queries[name], self._page_size, paging_state)
        on_response = partial(self._on_response, name, paging_state)
        self._connection.request_async(message, on_response, self._timeout, later, raw=True)

    def _on_response(self, name: str, paging_state: bytes | None, answer: Any) -> None:
        self._pages += 1
        following = self._take(name, paging_state, outcome_of(answer))
        if following:
            self._request(name, following)
            return
        with self._lock:
            self._waiting -= 1
            last = not self._waiting
        if last:
            self._done.set()

    def _take(self, name: str, paging_state: bytes | None, answer: Any) -> bytes | None:
        """Add a page; return the paging state of the next one, if any."""
        if isinstance(answer, BaseException):
            self._found[name] = answer
            return None
        try:
            rows = self._found[name]
            assert isinstance(rows, Rows)
            rows.add(answer)
            following: bytes | None = answer.paging_state
        except Exception as error:  # rows that do not fit their columns
            self._found[name] = error
            return None
        if following and following == paging_state:
            self._found[name] = repeated_paging_state(self._connection.endpoint)
            return None
        return following


def rows_or_raise(rows: Rows | BaseException) -> Rows:
    """Return the rows, or raise the exception."""
    if isinstance(rows, BaseException):
        raise rows
    return rows
