"""Typed contract of the transport extension: reactor, channels, frames and operations.

Threads. A :class:`Reactor` owns one I/O thread. It takes the GIL only to run Python callbacks
(``Operation._on_outcome``, channel handler methods, timers), once per wake-up batch, and never for a plaintext RESULT
that nobody called for. Every method here may be called from any thread unless it says otherwise.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from ssl import MemoryBIO, SSLError, SSLObject
from typing import Any, Final, Protocol

from typing_extensions import Self

from cassandra._core.memory import MemoryPool

# Why an attempt ended without an answer (Failure.kind).
TIMED_OUT: Final[int]
CLOSED: Final[int]
PROTOCOL: Final[int]
CANCELLED: Final[int]

# Operation._right.
ORDINARY: Final[int]
IN_LINE: Final[int]
DRIVER: Final[int]

class Frame:
    """One response envelope. The buffer protocol exposes the body, read-only, without a copy; it pins its slab."""

    version: Final[int]  # without the direction bit
    flags: Final[int]
    stream: Final[int]
    opcode: Final[int]
    skipped: Final[int]  # bytes of a body that was not kept, for its length or for want of memory; 0: the body is there
    def __init__(self, version: int, flags: int, stream: int, opcode: int, body: bytes) -> None:
        """For tests and custom handlers: a frame around *body*."""
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    _block: Final[Any]  # capsule of the ``FrameBlock`` that the body lies in, or None; valid while the frame is there

class Failure:
    """An attempt ended without an answer. ``sent`` is False only when no byte of it reached the socket."""

    kind: Final[int]
    message: Final[str]
    sent: Final[bool]
    elapsed: Final[float]  # seconds since submit
    cause: Final[BaseException | None]  # what closed the channel, if it was an exception
    def __init__(
        self, kind: int, message: str, sent: bool = False, elapsed: float = 0.0, cause: BaseException | None = None
    ) -> None:
        """For ``Operation._inject`` and tests."""

class Operation:
    """Native half of one request over all its attempts; ResponseFuture derives from it.

    An *outcome* is a pair ``(attempt, Frame | Failure)``. Each outcome is taken exactly once, by whichever thread
    calls :meth:`_take` first; that thread processes it. Delivery:

    * a thread blocked in :meth:`_wait` is woken for every outcome;
    * otherwise a *hot* outcome (RESULT, no tracing/payload/warning flag, kind VOID or ROWS) stays until somebody takes
      it, unless ``_eager`` was set;
    * every other outcome is *cold*: ``_on_outcome`` is called by the I/O thread (batched, one GIL acquisition), or, if
      a :class:`LoopQueue` is attached, by that queue's ``drain`` on the asyncio thread (all outcomes then go there).

    A waiter that leaves without taking (timeout, Ctrl-C) hands a pending cold outcome back to the I/O thread.
    ``_on_outcome`` of one operation is never called by two threads at a time. Outcomes after ``_finish`` are discarded.
    """

    _right: int
    """ORDINARY; IN_LINE, the first of those who wait for room; DRIVER, which no limit but the protocol's applies to."""
    def __init__(self) -> None: ...
    def _take(self) -> tuple[int, Frame | Failure] | None: ...
    def _take_all(self) -> list[tuple[int, Frame | Failure]]:
        """Every outcome that is there, oldest first: for an operation with many requests, told apart by the attempt
        they were submitted with. Each was taken exactly once, as by :meth:`_take`."""
    def _take_into(self, found: deque[tuple[int, Frame | Failure]]) -> bool:
        """Append all outcomes to *found*, in one native section. Whether there were any but those for NOTHING_ELSE."""
    def _wait(self, timeout: float | None = None) -> bool:
        """Block without the GIL until an outcome is ready or ``_finish`` was called; False when *timeout* (seconds)
        passed. Signal handlers run; KeyboardInterrupt comes out of here at once."""
    def _ask(self) -> None: ...  # this thread takes outcomes again and again, and would poll for them itself
    _answered: Final[bool]  # there is an outcome that nobody took yet
    def _finish(self) -> None:
        """The request is over: wakes every waiter, now and later."""
    _finished: Final[bool]
    def _rearm(self) -> None: ...  # from finished to pending, for the next page; only when nobody waits
    def _set_eager(self) -> None:
        """From now on call ``_on_outcome`` for hot outcomes too; one that is ready already is called on this thread."""
    def _attach(self, queue: LoopQueue | None) -> None:
        """From now on deliver through *queue*; an outcome that is ready already is queued."""
    def _inject(self, attempt: int, outcome: Frame | Failure) -> None:
        """Deliver an outcome as if from a channel. Where the I/O thread would call ``_on_outcome``, this thread does,
        before this returns; from inside ``_on_outcome`` itself, after that returned."""
    def _on_forked(self) -> None:
        """In a forked child, once: somebody asks for the outcome of a request that the parent made, and that only the
        parent will get. Raises ConnectionShutdown unless overridden."""
    def _on_outcome(self) -> None:
        """Override. Takes and processes outcomes; must not block and must not raise."""
    def _on_silent(self, attempt: int) -> None: ...  # override; the peer of it gives no sign of life; on the I/O thread

class ConnectionBase:
    """What native code uses of a connection. Subclasses set the fields and override the methods."""

    dialect: Any  # determines the encoding of an EXECUTE
    results: Any  # a ResultDecoder
    reactor: Any
    channel: Channel | None
    direct: Channel | None
    """The channel, if it takes frames as they are; None: :meth:`submit` transforms them."""
    orphaned_threshold: int
    """Number of orphaned streams from which on another connection is preferred."""
    def orphan(self, stream: int, operation: Operation, attempt: int = 0) -> bool:
        """Give up the request of *stream*. False if it is completed already."""

class RequestHooks:
    """The slow path of a request. Methods are called on the I/O thread unless they say otherwise."""

    def send(self, request: Any, page: int) -> None:
        """Send to the next host of the plan. Also on a caller's thread."""
    def send_to(self, request: Any, place: Any, page: int) -> bool:
        """Send to *place*. False if nothing was sent. Also on a caller's thread."""
    def look(self, request: Any) -> None:
        """All peers of its attempts are silent."""
    def read_plain(self, request: Any, attempt: Attempt, frame: Frame) -> tuple[Any, Any] | None:
        """Return the rows and extras of a plain result, else None. Changes nothing; also on a caller's thread."""
    def process(self, request: Any, attempt: Attempt, answer: Frame | Failure) -> None:
        """Process an outcome that is not a plain result."""
    def is_repeatable(self) -> bool:
        """Return True if the statement is idempotent."""
    def gave_up(self, request: Any, attempt: Attempt) -> None:
        """The response to *attempt* is not wanted any more."""
    def may_be_executed(self, request: Any) -> bool:
        """Return True if a server may have executed the statement. Any thread."""

class RequestSource:
    """Makes the slow path of requests that were sent without one."""

    def execution(self, request: Any) -> RequestHooks: ...

class PageObserver:
    def page_ended(self, request: Any, error: BaseException | None, elapsed: float) -> None:
        """A page of *request* ended, *elapsed* seconds after it began. On the I/O thread."""

class Attempt:
    """One send of a request: where it went, so that it can be given up, and how its answer is read."""

    host: Final[Any]
    pool: Final[Any]
    connection: Final[Any]  # a ConnectionBase
    page: Final[int]  # of its request
    reprepares: Final[Any]  # the PreparedStatement this attempt prepares again, instead of the request itself
    plan: Any  # of the rows the server was told not to describe, as it was then
    number: int  # among the attempts of its request
    stream: int
    started: float  # seconds, time.monotonic(); 0 before
    answered: bool  # and the answer was looked at; not kept for plain rows
    def __init__(
        self,
        host: Any,
        pool: Any,
        connection: Any,
        page: int,
        reprepares: Any = None,
        number: int = -1,
        plan: Any = None,
    ) -> None: ...
    def abandon(self, request: Operation) -> None:
        """*request* does not wait for its answer any more."""

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

class Request(Operation):
    """See the head of ``request.pxi``. What gets a page does nothing, and returns False, when that is over."""

    session: Any
    timeout: Any
    _start_time: float  # seconds, time.monotonic()
    _metrics: Any
    _page: Final[int]
    _outcome: Any
    _attempts: Final[dict[int, Attempt]]
    _timers: Final[tuple[Any, ...] | None]
    _callbacks: Any
    _waiters: Final[tuple[Any, ...]]
    _blocked: Final[bool]  # somebody waited, or waits, for it in a thread
    _compiled: Any  # how it was made, if it is a compiled one
    _frame: bytes | None  # its envelope then
    _token: Final[int | None]
    _values: Any
    _execution: Any  # what is out of the ordinary about it; made by ``_compiled.execution(self)`` when it is needed
    _is_ordinary: Final[bool]  # it was not needed so far
    row_factory: Callable[..., Any] | None
    _prefetch: int  # pages that are asked for while the one before is consumed
    attempted_hosts: list[Any]
    coordinator_host: Any
    _picked: Any
    _tracking: Any
    _meter: Callable[[Any, float, bool], None] | None
    def _measured_by(self, meter: Callable[[Any, float, bool], None]) -> None: ...
    _ending: Callable[..., bool] | None  # is asked in the place of ``_end`` what comes of a page, and calls that
    def _begin(
        self, session: Any, metrics: PageObserver | None, timeout: Any, start: float, factory: Any, plan: Any,
        token: int | None,
    ) -> None: ...  # fmt: skip
    def _handle(self, attempt: Attempt, answer: Frame | Failure) -> None: ...
    def _hand_over(self, attempt: Attempt, answer: Frame | Failure) -> None:
        """The I/O thread goes on with *attempt*, which another operation sent, and its outcome."""
    def _register(self, number: int, attempt: Attempt) -> bool: ...
    def _give_up(self, attempt: Attempt) -> None: ...
    def _remaining(self) -> float | None: ...
    def _add_timer(self, page: int, timer: Any) -> None: ...
    def _set_timer(self, page: int, timer: Any) -> tuple[Any, ...] | None: ...
    def _remove_timer(self, page: int, timer: Any) -> None: ...
    def _is_over(self, page: int) -> bool: ...
    def _fail(self, page: int, error: BaseException) -> bool: ...
    def _conclude(self, page: int, result: Any, error: BaseException | None = None, came: Any = ...) -> bool: ...
    def _end(self, page: int, result: Any, error: BaseException | None, came: Any) -> bool: ...
    def _fetch(self, paging_state: bytes | None, asker: Any = None) -> int: ...
    def _send_page(self, page: int, paging_state: bytes | None, before: Any) -> None: ...
    def _add(self, callback: Call | None, errback: Call | None) -> None: ...
    def clear_callbacks(self) -> None: ...
    def _settle(self) -> Any: ...
    def _result(self) -> Any: ...
    def _settle_async(self) -> Generator[Any, None, Any]: ...
    def __await__(self) -> Generator[Any, None, Any]: ...
    def _join(self, loop: Any, waiter: Any) -> Any: ...
    def _leave(self, waiter: Any) -> None: ...
    def cancel(self) -> bool: ...

class RowsOfPages:
    """The rows of page after page of a ResultSet. After an exception it goes on where it was."""

    def __init__(self, result: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

def replaced(owner: object, name: str, before: object, after: object) -> bool:
    """Atomically: give the attribute *name* of *owner*, a slot, the value *after* if it has *before*."""

def set_default_ending(ending: Callable[..., bool] | None) -> None: ...  # of all requests from now on
def has_default_ending() -> bool: ...
def set_result_type(
    kind: type[Answer], raise_outcome: Callable[[Any], object], raise_error: Callable[[BaseException], object]
) -> None:
    """What waiting for a request gives, and who raises what it failed with: the outcome to a thread, the error of it to
    a task."""

class Bridge:
    """How answers get to an asyncio loop, and what that sends at the end of its turn."""

    loop: Final[Any]  # a weak reference
    queue: Final[LoopQueue | None]  # None: the loop watches no descriptors
    unsent: Final[list[Reactor]]  # with requests that go out at the end of this turn of the loop
    def __init__(self, loop: Any, queue: LoopQueue | None) -> None: ...

bridges: Final[dict[int, Bridge]]
"""By the loop's id, which is nobody else's while the entry exists."""

def may_wait(connection: Any) -> bool:
    """Whether a request that is submitted to *connection* just now may wait for the others of this turn of the running
    loop: one system call then sends them all. That it is made is seen to."""

def send_waiting() -> None:
    """Send at once what waits for the end of the turn, for one who is about to block, or hears of it elsewhere."""

def deliver_to(loop: Any, operation: Operation) -> None:
    """Have the outcomes of *operation* processed on the thread of *loop*. For the first time on that thread itself."""

def bridge_to(loop: Any) -> Bridge: ...
def new_awaiting(loop: Any) -> Any:
    """A waiter on *loop* for :func:`resolve`, which is awaited: its task goes on even if the handler of a signal
    interrupts what resolves it."""

def resolve(waiter: Any, value: object) -> None:
    """Complete *waiter*, an asyncio future or its like, from any thread; nothing if its loop was closed meanwhile."""

class Lane:
    """How the requests of one compiled statement get to their connections: encoded, routed and submitted in one step,
    for as long as :meth:`holds` says so. Any thread."""

    compiled: Final[Any]
    meter: Final[Callable[[Any, float, bool], None] | None]  # is told how long attempts take
    direct: Final[bool]  # nothing has to happen between making a request and sending it
    def __init__(
        self, *, compiled: RequestSource, prepared: Any, profile: Any, profiles: dict[Any, Any] | None,
        default_key: Any, default_profile: Any, default_version: int, scope: Any, metadata: Any, state: Any,
        metrics: PageObserver | None, direct: bool, kind: type[Request], template: Any, clock: Any,
        timestamps: Callable[[], int] | None, on_ahead: Callable[[], None] | None,
        route: Callable[[int | None], Any], dialect: Any, timeout: float | None, row_factory: Any, prefetch: int,
        result_plan: Any, not_sent: tuple[type[BaseException], ...], unset: Any,
        own_options: Callable[[Any, Any], Any], meter: Callable[[Any, float, bool], None] | None,
    ) -> None:  # fmt: skip
        """*profiles*, *default_key*, *default_profile*, *default_version*: the dict, key and version that *profile* was
        resolved from, if it is the default profile; else None and 0. *kind*: class of the requests. *not_sent*: raised
        by pick and submit when nothing was sent. *unset*: value of a timeout or row factory that a call omits;
        *own_options* returns attributes of a request for those that it gives. *on_ahead* is called when *clock* is
        ahead of the time."""
    def holds(self, session: Any) -> bool:
        """Whether nothing of what it was made of has changed, and it was made for *session*."""
    def send(
        self, session: Any, prepared: Any, values: Any, trace: bool, custom_payload: Any, timeout: Any,
        profile_key: Any, paging_state: bytes | None, host: Any, execute_as: str | None, row_factory: Any,
        prefetch: int | None
    ) -> Any:  # fmt: skip
        """A new request on its way, of the arguments of ``execute_async``. None if just now none goes by this lane, or
        not with these arguments."""
    def try_launch(self, request: Request) -> bool: ...  # its first attempt; False if nothing was sent

NOTHING_ELSE: Final[int]
"""The attempt number of an outcome of Flights that only says that something has ended elsewhere."""

class Flight:
    """A request of :class:`Flights`: all that is needed to go on with it by a request of its own."""

    index: Final[int]
    session: Final[Any]
    compiled: Final[Any]
    frame: Final[bytes]
    token: Final[int | None]
    values: Final[Any]
    host: Final[Any]
    pool: Final[Any]
    connection: Final[Any]
    stream: Final[int]
    started: Final[float]

class Flights(Operation):
    """Many requests under one operation. One thread launches and harvests."""

    session: Final[Any]
    in_flight: Final[int]
    def _begin(self, session: Any, result_type: type[Answer], entry_type: type[tuple[Any, ...]]) -> None: ...
    def launch(self, lane: Lane, index: int, values: Any) -> bool:
        """Queue request *index*. False if nothing can take it. Raises what encoding the values raises."""
    def launch_from(
        self, pairs: Iterator[tuple[Any, Any]], count: int, index: int, statement: Any, lane: Lane | None
    ) -> tuple[int, tuple[()] | tuple[Any, Any, Exception | None] | None]:
        """Queue requests with the values of *pairs*, numbered from *index*, until there are *count*, as long as the
        pairs are of *statement* and nothing is in the way. Returns how many; and None, or () if *pairs* has ended, or
        the statement and values that came next and were not queued, with what encoding them raised. What *pairs* raises
        comes out of here."""
    def send(self) -> None: ...  # what was queued
    _holds: Final[bool]  # outcomes that were taken and not harvested yet
    ended: Final[deque[Any]]
    """What ended elsewhere: (index, success, value); *success* is None where *value* is (future, outcome)."""
    singles: Final[dict[int, Any]]
    """Requests that a :class:`Single` tells of and that are not harvested, by index."""
    def _harvest(
        self,
        results: Results,
        failed: Callable[[int, BaseException], object] | None,
        go_on: Callable[[Flight], tuple[Request, Attempt]],
        most: int = 0,
    ) -> None:
        """Take all outcomes that are there, or *most*: ``(True, result)`` as *entry_type* for plain ones,
        ``failed(index, error)``, or ``(False, error)`` without *failed*, if rows could not be made; others are handed
        over to the request that *go_on* returns. Never waits. One that was interrupted is begun again by the next
        call."""
    def _harvest_ended(
        self,
        results: Results,
        failed: Callable[[int, BaseException], object] | None,
        made: Callable[[Any, Any], Any],
    ) -> None:
        """The same of :attr:`ended`; ``made(future, outcome)`` is the result of a request."""
    def _flight(self, slot: int) -> Flight | None: ...  # the one in *slot*, if it is still in flight; any thread
    def _forget(self, slot: int | None = None) -> None:
        """The flight in *slot*, or all of them: their outcomes do not count any more."""

class Single:
    """Has *flights* hear of the outcome of *future*, its request *index*, on *loop*; in place of an asyncio future."""

    loop: Final[Any]
    future: Final[Any]
    index: Final[int]
    def __init__(self, flights: Flights, loop: Any, index: int, future: Any) -> None: ...
    def get_loop(self) -> Any: ...
    def done(self) -> bool: ...
    def set_result(self, outcome: Any) -> None: ...

class Results:
    """``(success, result)`` of requests by their numbers; known to the garbage collector when they are handed over."""

    def __len__(self) -> int: ...
    def __contains__(self, index: int) -> bool: ...
    def __setitem__(self, index: int, entry: tuple[bool, Any]) -> None: ...
    def all(self, count: int) -> list[Any]: ...  # hands over the first *count*; ValueError: some are missing
    def take(self, index: int) -> Any: ...  # hands it over, after those before it; KeyError: it is missing

class Answer:
    """What a page came to. ResultSet derives from it."""

    _flight: Flight | None
    _current_rows: Any  # made when they are read first, which may raise DriverException
    _unopened: Any  # the same, or their UnmadeRows
    _kept: Any  # for kept_page(), or None
    _plan: Any
    _paging_state: bytes | None
    _beside: Any
    response_future: Any
    """Made by :meth:`_future_of` when a request that had none is asked for it."""
    @classmethod
    def _of(cls, future: Any, outcome: tuple[Any, ...]) -> Self:
        """The page that *future* has come to."""
    _page_iter: Any  # iterator over the rows; None until they are iterated
    _fetching: int | None  # the number of the next page while it is requested
    _ahead: float | None  # time of that request if no thread waits for it
    _turned: bool  # the result is at a later page
    def _future_of(self, flight: Flight) -> Any:
        """Override: return the future of a request that had none."""
    def _go_ahead(self) -> None:
        """Override: request the next page, if there is one."""
    def _turn_page(self) -> bool:
        """Override: go to the next page; False if there is none."""
    def _turn_to_rows(self, result: Any) -> None:
        """Override: set the rows to the *result* of a row factory."""
    def _turn(self, rows: Any, came: tuple[Any, ...], page_iter: Any) -> None:
        """To another page, in one native section: *rows*, what came with them, and an iterator over them."""

# What Writes.launch and again return: as many were sent as asked for; there are no more rows; so many are in flight
# that none is sent before one of them has ended; a write could not be sent, or its rows not written: see ``ended``.
LAUNCHED: Final[int]
AT_END: Final[int]
FULL: Final[int]
HELD: Final[int]

class Way:
    """A connection that writes went to."""

    host: Final[Any]
    pool: Final[Any]
    connection: Final[Any]
    in_flight: Final[int]

class HostWindow:
    """The number of requests that one client has in flight to one host: additive increase, multiplicative decrease.

    One thread at a time. *first*: size until a result or an overload changes it; *most*: the limit of the size."""

    size: Final[int]
    in_flight: Final[int]
    has_room: Final[bool]
    def __init__(self, first: int, most: int) -> None: ...
    def sent(self) -> None:
        """Count a request that was sent."""
    def answered(self) -> None:
        """A request ended with a result. Grow by one after a round of results, if the window is used."""
    def gone(self) -> None:
        """A request ended otherwise."""
    def congested(self, sent: float) -> None:
        """Halve the size: the host reported overload for a request sent at *sent* (seconds of ``time.monotonic``). Once
        for requests that were in flight together."""

class Writes(Operation):
    """Rows of Arrow batches as requests, many under one operation; a *write* is one of them, and has a number. One
    thread at a time, but for :meth:`nudge`.

    All that ends otherwise than by "done" is in :attr:`ended`, and its write is held until it is sent again or closed:
    ``(number, outcome, way)``, the outcome a Frame or Failure, what submitting raised, None where there was no
    connection for it, or the text that says why its row cannot be written."""

    in_flight: Final[int]
    open: Final[int]  # writes that are not over
    reached: Final[int]  # rows that were taken: the number of the next one
    done: Final[int]  # rows that were written
    encoded: Final[int]  # bytes of all writes, without what was sent again
    at_end: Final[bool]  # new rows are needed
    answered: Final[bool]  # there is something to harvest, or has ended
    ended: Final[deque[tuple[int, Frame | Failure | Exception | str | None, Way | None]]]
    def _begin(
        self, session: Any, not_sent: tuple[type[BaseException], ...], most: int, adaptive: bool, timestamp: int | None
    ) -> None:
        """At most *most* writes are open at a time; *adaptive* finds out how many each host takes, by what it answers.
        *timestamp*: of the first row, each that follows has one more; None asks the clock."""
    def _compile(
        self,
        head: bytes,
        values: bytes,
        tail: bytes,
        batch_head: bytes,
        entry: bytes,
        batch_tail: bytes,
        most_rows: int,
        most_bytes: int,
        overhead: int,
    ) -> None:
        """What requests consist of, beside the rows' values: an EXECUTE's *head*, up to the number of values, the
        *values* that follow a row's own, and its *tail* up to the timestamp; the same for a BATCH, and what precedes
        each row in it. A batch has at most *most_rows*, and *most_bytes* of values, each row counting *overhead*
        more."""
    def _direct(
        self,
        route: Callable[[int | None], Any],
        dialect: Any,
        block: Callable[[int | None], int] | None,
        timeout: float | None,
        timestamps: Callable[[], int],
        clock: Any,
        on_ahead: Callable[[], None] | None,
        most_of_host: int,
    ) -> None:
        """Set how writes are sent from now on: *route* returns the place for a token, *block* a byte at the end of
        EXECUTE; only connections of *dialect* are used. *on_ahead* is called when *clock* is ahead of the time."""
    def add(self, rows: Any) -> None:
        """The Rows that come next, when there are no others."""
    def launch(self, count: int) -> int:
        """Queue the next *count* writes, or as many as there are rows and room for."""
    def again(self, number: int) -> int:
        """Queue a held write once more, as it was, where the router says."""
    def again_by(self, number: int, host: Any, pool: Any, connection: Any) -> bool:
        """The same by this connection. False if its requests look otherwise."""
    def frame(self, number: int, index: int) -> tuple[bytes, int | None]:
        """Row *index* of a held write as an EXECUTE of its own, and its token."""
    def send(self) -> None:
        """Send what was queued."""
    def harvest(self) -> None:
        """Take all outcomes that are there. Never waits."""
    def close(self, number: int, written: int) -> None:
        """A held write is over; so many of its rows were written."""
    def about(self, number: int) -> tuple[int, int, int, int | None, float] | None:
        """First row, number of rows, attempts, token and age in seconds of a write; None if it is over."""
    def orphan(self, number: int) -> bool:
        """Give up the attempt of a write in flight, which is held then. False if its outcome is on its way."""
    def congested(self, number: int) -> None:
        """The host of a held write has more load than it can take."""
    def doubt(self, number: int) -> None:
        """Note that an attempt of a held write may have been executed; done natively for one without a response."""
    def is_in_doubt(self, number: int) -> bool:
        """Return True if an attempt of a held write may have been executed."""
    def unfinished(self) -> list[int]:
        """The numbers of the rows that were taken and are not over."""
    def window_sizes(self) -> dict[Any, int] | None:
        """How many writes each host takes at a time; None where that is fixed."""
    def nudge(self) -> None:
        """End a wait. Any thread."""
    def abandon(self) -> None:
        """Nobody waits any more: outcomes that are still to come are dropped."""

class Limit:
    """At most *maximum* requests in flight over all channels that have it, and within the limits of *parent*. Requests
    that were given up count until their late answer came or their channel closed."""

    def __init__(self, maximum: int, waiter: Operation, parent: Limit | None = None) -> None:
        """*waiter* gets an outcome (``_on_outcome`` on the I/O thread) when somebody waits and something changed."""
    maximum: Final[int]
    in_flight: Final[int]
    parent: Final[Limit | None]
    def wait(self) -> bool:
        """Have the waiter told, once, when there may be room here or, where that is what is full, in a limit above.
        From then on ORDINARY requests are refused here, until ``end_line``, which has to follow. False: there is room,
        for those in line."""
    def end_line(self) -> None:
        """Nobody waits here any more (unless the waiter has still to be told)."""

NEW: int
QUEUED: int
HELD_UP: int
REFUSED: int
LEFT: int

class AdmissionEntry:
    """State of a request in an :class:`AdmissionQueue`, whose methods change it."""

    state: Final[int]
    """NEW, QUEUED, HELD_UP, REFUSED (the I/O thread fails its request) or LEFT."""
    number: Final[int]
    """The lower the older."""

class AdmissionQueue:
    """Counts requests that wait for room, and keeps the changes that the I/O thread has not seen. Any thread; each
    method is one native section, which no handler of a signal interrupts."""

    held_up: Final[int]
    """Requests that wait for a place in the queue."""
    def __init__(self, on_change: Callable[[], object]) -> None:
        """*on_change* is called on the I/O thread after a change."""
    def __len__(self) -> int:
        """Requests that are QUEUED."""
    def enter(self, entry: AdmissionEntry, most: int, may_be_held_up: bool, reactor: Reactor) -> bool:
        """At the end of the queue: QUEUED if fewer than *most* are and none is held up, else HELD_UP or REFUSED.
        False, and nothing changes, if it has entered before, or if the reactor was stopped."""
    def leave(self, entry: AdmissionEntry) -> bool:
        """Not QUEUED or HELD_UP any more. False if it was neither."""
    def admit(self, entry: AdmissionEntry, most: int) -> bool:
        """QUEUED, if it is HELD_UP and fewer than *most* are QUEUED; else False."""
    def close(self) -> None:
        """Keep no reactor alive."""
    def take_changes(self) -> list[AdmissionEntry]:
        """Entries that have entered or left since the last call, oldest first. On the I/O thread."""

class LoopQueue:
    """Completions for one asyncio loop: one descriptor, readable while operations wait in it."""

    def fileno(self) -> int: ...
    def drain(self) -> None:
        """On the loop thread: calls ``_on_outcome`` of every queued operation, or of as many as 10 ms suffice for; then
        the descriptor stays readable."""
    def close(self) -> None:
        """Operations waiting in it are processed by this call; later outcomes go where they would without a queue."""

class ChannelGroup:
    """The channels that the requests of one session go to. Any thread, each method in one native section."""

    def add(self, channel: Channel) -> None: ...
    def discard(self, channel: Channel) -> None: ...

class Hold:
    """Keeps the channels of *group* from taking requests, but DRIVER ones: they raise ConnectionBusy. Channels that are
    added meanwhile are held too. Holds nest."""

    def __init__(self, group: ChannelGroup) -> None: ...
    def begin(self, reactor: Reactor | None = None, callback: Callable[[], object] | None = None) -> bool:
        """Hold them and have *reactor* call *callback*, in one native section. False, with nothing held, if it was
        stopped."""
    def cancel(self) -> None: ...  # let them go

class ChannelHandler(Protocol):
    """Called on the I/O thread with the GIL held; must not block. An exception closes the channel with it."""

    def on_connected(self, channel: Channel) -> None: ...
    def on_event(self, channel: Channel, frame: Frame) -> None:
        """An answer with stream -1 (EVENT)."""
    def on_closed(self, channel: Channel, error: BaseException | None) -> None:
        """Exactly once per channel, also when it never connected. *error* is None after ``close()`` by us."""

class ByteFilter(Protocol):
    """A transformation of the raw byte stream (TLS). Called under one lock per channel, with the GIL."""

    def start(self) -> bytes:
        """Bytes to send first."""
    def receive(self, data: bytes) -> tuple[bytes, bytes, BaseException | None]:
        """(plaintext, bytes to send back, what ends the connection after that or None)."""
    def send(self, plaintext: bytes) -> bytes: ...
    def eof(self) -> None:
        """Peer closed its side; raise if that was not orderly."""
    def shutdown(self) -> bytes:
        """The last bytes to send, if it was started: the last call, however it closes. Must not raise."""
    @property
    def established(self) -> bool:
        """``on_connected`` is called once this is true."""

class TlsRecords:
    """A ByteFilter over an ``ssl.SSLObject``, but for handshake and end; see tls.pxi."""

    established: bool
    ended: bool  # read-only: the peer said that nothing follows
    def __init__(self, tls: SSLObject, incoming: MemoryBIO, outgoing: MemoryBIO) -> None: ...
    def receive(self, data: bytes) -> tuple[bytes, bytes, BaseException | None]: ...
    def send(self, plaintext: bytes) -> bytes: ...
    def _handshake(self) -> None: ...
    def _on_first_data(self) -> None: ...
    def _translated(self, error: SSLError) -> BaseException: ...

class Channel:
    """One connection: non-blocking socket, frame splitter, stream ids, coalesced writes. Made by Reactor.connect."""

    def submit(
        self, frame: bytes, operation: Operation, attempt: int = 0, timeout: float | None = None, later: bool = False
    ) -> int:
        """Send *frame* (9-byte header + body; its stream field is overwritten in the copy that is sent) and route the
        answer to *operation*. Returns the stream id. After *timeout* seconds the outcome is a TIMED_OUT failure and the
        stream is orphaned: not reused until its late answer came. Raises ConnectionShutdown (closed) or ConnectionBusy
        (no free stream below max_requests); then nothing was sent.

        *later*: it may wait about a millisecond for others, so that many go out in one system call; who submits many
        and is through calls ``Reactor.send_unsent`` and they are on their way."""
    def orphan(self, stream: int, operation: Operation, attempt: int = 0) -> bool:
        """Give up on a request without an outcome (cancellation). False if it was answered already: the stream may
        belong to another request then, so the operation and attempt it was submitted with are compared."""
    def enable_segments(
        self, compress: Callable[[bytes], bytes] | None = None, decompress: Callable[[bytes, int], bytes] | None = None
    ) -> None:
        """Protocol v5: from here on both directions are segments (CRC24 header, CRC32 payload). Call from the answer
        that ended the legacy part of the handshake, on the I/O thread. *decompress* gets (payload, length)."""
    def set_protocol(self, version: int, max_frame: int = 0x7FFFFFFF, compression: str | None = None) -> None:
        """Answers must carry *version*; bodies longer than *max_frame* bytes are skipped. *compression* ("lz4" or
        "snappy", v3/v4 bodies) lets hot outcomes be told in compressed answers; without it those are all cold. Only on
        the I/O thread."""
    def close(self, error: BaseException | None = None) -> None:
        """Idempotent. Pending operations get CLOSED failures with cause *error*."""
    def leave_to_parent(self) -> None:
        """In a forked child, while it has one thread: close this process's copy of the socket. The connection goes on
        in the parent. Without effect in the process that made it."""
    closed: Final[bool]
    reactor: Final[Reactor]
    in_flight: Final[int]  # requests without an answer, orphaned ones included
    orphaned: Final[int]
    max_requests: int  # 32768 at most
    limit: Final[Limit | None]
    def set_limit(self, limit: Limit) -> None:
        """Count requests from now on in *limit* too; ConnectionBusy is raised when it has no place."""
    def wait_for_room(self, waiter: Operation) -> bool:
        """As ``Limit.wait``, for a free stream here, or else a place in the limit: *waiter* is told when there may be
        one, or the channel closed. False: there is room, or it is closed."""
    def end_line(self) -> None:
        """As ``Limit.end_line``."""
    def watch_quiet(self, patience: float, on_quiet: Callable[[], object]) -> None:
        """From now on *on_quiet* is called, on the I/O thread, when nothing was received for *patience* seconds though
        a request that was sent waits as long; of the same ones only after seconds again. Not while we are paused."""
    uploaded: Final[int]  # bytes that the peer has taken so far, while many are on their way to it; else 0
    def waiting(self) -> list[tuple[Operation, int]]:
        """The requests that were sent and not answered, each with the number of its attempt."""
    idle_seconds: Final[float]  # since the last byte was received
    bytes_sent: Final[int]
    bytes_received: Final[int]
    def getsockname(self) -> Any: ...
    def getpeername(self) -> Any: ...

class Picks:
    """The present connections of one node: *sole*, or those that *picker* (a ``ShardPicker``) picks from. Immutable; any
    thread, no lock."""

    def __init__(self, sole: ConnectionBase | None, picker: Any) -> None: ...
    def at(self, token: int | None = None, shard: int | None = None) -> Any:
        """The connection of *shard*, or of the shard that owns *token*, or the next in turn; None if that is
        missing."""
    def pick(self, token: int | None = None, shard: int | None = None) -> Any:
        """The same one, if it is open, has room, and has not lost too many streams to requests that were given up; else
        None."""

class Timer:
    def cancel(self) -> None: ...

class Reactor:
    """One I/O thread, its poller (``epoll`` or ``poll``), timers and arena of a memory pool."""

    def __init__(
        self,
        backend: str = "auto",
        name: str = "fastcql-io",
        pool: MemoryPool | None = None,
        *,
        starvation_warning: float = 5.0,
    ) -> None:
        """Frames are received into *pool*, which several reactors may share; by default into one of its own, of
        ``DEFAULT_POOL_BYTES``. The pool's memory lives until the last frame is gone.

        A *pool* that is strict (ValueError below ``MIN_STRICT_BYTES``) is never exceeded by more than what has arrived
        already: at its limit channels are paused, which means not read from, until memory was released. A body that
        can never fit is skipped (``Frame.skipped``). Channels that are paused for *starvation_warning*
        seconds are warned of in the log ``cassandra.memory``."""
    backend: Final[str]
    pool: Final[MemoryPool]
    def connect(
        self,
        family: int,
        address: Any,
        handler: ChannelHandler,
        *,
        timeout: float,
        sockopts: Sequence[tuple[int, int, int | bytes]] = (),
        local_address: tuple[str, int] | None = None,
        byte_filter: ByteFilter | None = None,
    ) -> Channel:
        """Start a non-blocking connect to a numeric (host, port) or an AF_UNIX path (str or bytes). The outcome goes to
        *handler*, which may be called before this returns; *timeout* covers TCP connect and the filter's handshake.
        ``on_closed`` gets: OSError (of its subclass for the errno), TimeoutError, ConnectionShutdown (closed by the
        server; reactor stopped), ProtocolError or CrcException (malformed input), or what ``close`` was given or a
        handler or filter raised. ValueError for an address that is not numeric; ConnectionShutdown after stop."""
    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run *callback* on the I/O thread."""
    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer: ...
    def send_unsent(self) -> None:
        """Send, in one system call per channel, what was submitted with *later*. Any thread; releases the GIL."""
    def in_reactor(self) -> bool:
        """True on the I/O thread (where nothing may block)."""
    def stop(self, timeout: float | None = None) -> bool:
        """Close every channel, run the last callbacks, join the thread (not when called on it). Idempotent. False if
        the thread was still busy after *timeout*."""
    def stats(self) -> dict[str, int]:
        """channels, timers, wakeups, leads (how often a thread polled for its own answer), runtime_entries,
        slabs_in_use, bytes_in_use (blocks received into), paused (channels)."""

DEFAULT_POOL_BYTES: Final[int]  # of a pool that nobody gave
MIN_STRICT_BYTES: Final[int]

def default_pool(name: str) -> MemoryPool: ...
def debug_counters() -> dict[str, int]:
    """Live native objects: reactors, channels, timers, loop_queues; with CQL_DEBUG operations, frames, requests."""
