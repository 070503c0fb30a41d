"""Typed contract of the transport extension: reactor, channels, frames and operations.

Threads. A :class:`Reactor` owns one I/O thread. It takes the GIL only to run Python callbacks
(``Operation._on_outcome``, channel handler methods, timers), once per wake-up batch, and never for a plaintext RESULT
without an observer. Every method here may be called from any thread unless stated otherwise.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextvars import ContextVar
from ssl import MemoryBIO, SSLError, SSLObject
from typing import Any, Final, Literal, Protocol, overload

from typing_extensions import Buffer, Self

from cassandra._core.memory import MemoryPool
from cassandra._core.routing import HostState

# Why an attempt ended without a response (Failure.kind).
TIMED_OUT: Final[int]
CLOSED: Final[int]
PROTOCOL: Final[int]
CANCELLED: Final[int]

# Operation._priority.
NORMAL: Final[int]
FIRST: Final[int]
DRIVER: Final[int]

class Frame:
    """One response envelope. The buffer protocol exposes the body, read-only, without a copy; it pins its slab."""

    version: Final[int]  # without the direction bit
    flags: Final[int]
    stream: Final[int]
    opcode: Final[int]
    skipped: Final[int]  # size of a body that was skipped for its length or lack of memory; 0: the body is there
    def __init__(self, version: int, flags: int, stream: int, opcode: int, body: bytes) -> None:
        """For tests and custom handlers: make a frame around *body*."""
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    _block: Final[Any]  # capsule of the ``FrameBlock`` that contains the body, or None; valid while the frame exists

class Failure:
    """An attempt ended without a response. ``sent`` is False only when no byte of it reached the socket."""

    kind: Final[int]
    message: Final[str]
    sent: Final[bool]
    elapsed: Final[float]  # seconds since submit
    cause: Final[BaseException | None]  # exception that closed the channel, if there was one
    def __init__(
        self, kind: int, message: str, sent: bool = False, elapsed: float = 0.0, cause: BaseException | None = None
    ) -> None:
        """For ``Operation._inject`` and tests."""

class Operation:
    """Native half of one request over all its attempts; ResponseFuture derives from it.

    An *outcome* is a pair ``(attempt, Frame | Failure)``. Each outcome is taken exactly once, by the first thread that
    calls :meth:`_take`; that thread processes it. Delivery:

    * a thread blocked in :meth:`_wait` is woken for every outcome;
    * otherwise a *hot* outcome (RESULT, no tracing/payload/warning flag, kind VOID or ROWS) stays until a thread takes
      it, unless ``_eager`` was set;
    * every other outcome is *cold*: ``_on_outcome`` is called by the I/O thread (batched, one GIL acquisition), or, if
      a :class:`CompletionQueue` is attached, by that queue's ``drain`` on the asyncio thread (all outcomes then go
      there).

    A waiter that leaves without taking (timeout, Ctrl-C) returns a pending cold outcome to the I/O thread.
    ``_on_outcome`` of one operation is never called by two threads at a time. Outcomes after ``_finish`` are discarded.
    """

    _priority: int
    """NORMAL; FIRST: the first in an admission queue; DRIVER: subject to no limit but the protocol's."""
    def __init__(self) -> None: ...
    def _set_prompt(self, watched: bool = True) -> None:
        """Have outcomes processed when they arrive: plain ones by a waiter or event loop, if there is one. Before the
        first submit. *watched*: the I/O thread polls for them; False if the caller is about to wait."""
    def _take(self) -> tuple[int, Frame | Failure] | None: ...
    def _take_all(self) -> list[tuple[int, Frame | Failure]]:
        """Take all outcomes, oldest first. For an operation with many requests, which are identified by their attempt
        numbers. Each outcome is taken exactly once, as by :meth:`_take`."""
    def _wait(self, timeout: float | None = None) -> bool:
        """Block without the GIL until an outcome is ready or ``_finish`` was called; False when *timeout* (seconds)
        passed. Signal handlers run; KeyboardInterrupt is raised here at once."""
    def _ask(self) -> None: ...  # this thread takes outcomes repeatedly, and may poll for them itself
    _answered: Final[bool]  # there is an outcome that was not taken
    def _finish(self) -> None: ...  # end the request: wakes all waiters, present and future
    _finished: Final[bool]
    def _rearm(self) -> None: ...  # from finished to pending, for the next page; only without waiters
    def _set_eager(self) -> None:
        """From now on call ``_on_outcome`` for hot outcomes too; for one that is ready already, on this thread."""
    def _attach(self, queue: CompletionQueue | None) -> None:
        """From now on deliver through *queue*; an outcome that is ready already is queued."""
    def _wake_up(self) -> None: ...  # end a wait. Any thread
    def _inject(self, attempt: int, outcome: Frame | Failure) -> None:
        """Deliver an outcome as a channel does. Where the I/O thread would call ``_on_outcome``, this thread does,
        before this method returns; within ``_on_outcome``, after that returned."""
    def _on_forked(self) -> None:
        """In a forked child, once, when the outcome of a request of the parent is requested; only the parent gets it.
        Raises ConnectionShutdown unless overridden."""
    def _on_outcome(self) -> None: ...  # override. Takes and processes outcomes; must not block and must not raise
    def _on_silent(self, attempt: int) -> None: ...  # override; its peer is silent; on the I/O thread

class ConnectionBase:
    """Fields and methods of a connection that native code uses. Subclasses set the fields and override the methods."""

    dialect: Any  # determines the encoding of an EXECUTE
    results: Any  # a ResultDecoder
    reactor: Any
    shard: int | None  #: Shard of the server that handles the connection; None for a server without shards.
    channel: Channel | None  #: Sends and receives frames, in native code; None before it is open.
    direct: Channel | None
    """The channel, if it takes frames unmodified; None: :meth:`submit` transforms them."""
    orphaned_threshold: int
    """Number of orphaned streams from which on another connection is preferred."""
    recorder: HostRecorder | None  #: Counts the requests to its host; None without metrics.
    def orphan(self, stream: int, operation: Operation, attempt: int = 0) -> bool:
        """Give up the request of *stream*. Return False if it is completed already."""

class RequestHooks:
    """The slow path of a request. Methods are called on the I/O thread unless stated otherwise."""

    def send(self, request: Any, page: int) -> None: ...  # send to the next host of the plan. Also on a caller's thread
    def send_to(self, request: Any, target: Any, page: int) -> bool:
        """Send to *target*. Return False if nothing was sent. Also on a caller's thread."""
    def look(self, request: Any) -> None: ...  # handle that all peers of its attempts are silent
    def read_plain(self, request: Any, attempt: Attempt, frame: Frame) -> tuple[Any, Any] | None:
        """Return the rows and extras of a plain result, else None. Changes nothing; also on a caller's thread."""
    def process(self, request: Any, attempt: Attempt, answer: Frame | Failure) -> None:
        """Process an outcome that is not a plain result."""
    def speculate(self, request: Any, page: int) -> None: ...  # send to another host too, if the policy permits it
    def is_repeatable(self) -> bool: ...  # return True if the statement is idempotent
    def gave_up(self, request: Any, attempt: Attempt) -> None: ...  # the response to *attempt* is not needed any more
    def may_be_executed(self, request: Any) -> bool:
        """Return True if a server may have executed the statement. Any thread."""
    def is_as_compiled(self) -> bool:
        """Return True if neither the message nor the order of the hosts was changed. On a caller's thread."""

SERIES_PER_HOST: Final[int]
COUNTERS_PER_SERIES: Final[int]

def bucket_bounds() -> tuple[float, ...]:
    """Return the upper bounds of the buckets of histograms, in seconds, ascending."""

class HostRecorder:
    """Series of counters and a histogram of latencies each, for the requests to one host. Series have numbers below
    ``SERIES_PER_HOST``, and counters below ``COUNTERS_PER_SERIES``; IndexError for others. Any thread."""

    def record(self, number: int, seconds: float) -> None: ...  # add a time to the histogram of the series *number*
    def count(self, number: int, counter: int, more: int = 1) -> None: ...
    def counted(self, number: int, counter: int) -> int: ...
    def latencies(self, number: int, recent: bool = False) -> tuple[tuple[tuple[int, int], ...], int, int, int] | None:
        """Return (index and count of each bucket that is not empty), and sum, minimum and maximum in nanoseconds, of
        the times in the histogram; None if the series has counted nothing. *recent*: of about the last minute; the
        minimum and maximum are those of all times."""
    def _in_child(self) -> None: ...  # in a forked child

def count_requests() -> None:
    """Have the results counted that no thread takes, in this process."""

class RequestRecorder:
    """Counts the requests of one series. Native code counts results, by the recorder of the connection."""

    number: Final[int]
    def __init__(self, number: int) -> None: ...
    def _recorder_of(self, host: Any) -> HostRecorder:
        """Override. Return the recorder of a host; None: of requests that no host has responded to."""
    def _page_failed(self, host: Any, error: BaseException) -> None:
        """Override. Count a page that has ended with *error*."""
    def page_ended(self, request: Any, error: BaseException | None, elapsed: float) -> None:
        """Count a page of *request* that ended *elapsed* seconds after it began. On the I/O thread."""
    def attempt_sent(self, host: Any) -> None:
        """Override, as the following. An attempt was sent to *host* by the slow path. On the thread that sends; the
        following on the I/O thread."""
    def attempt_failed(self, host: Any, error: BaseException, decision: Any) -> None:
        """An attempt failed; *decision* of the retry policy, None if it was not called."""
    def speculative_attempt(self, host: Any) -> None:
        """Another attempt is made, as *host* (None if not known) has not responded yet."""
    def timed_out(self, host: Any) -> None: ...  # the request has exceeded its timeout
    def unprepared(self, host: Any) -> None: ...  # *host* does not have the prepared statement

class SpanGate:
    """Selects requests by the span in the OpenTelemetry context of the calling thread or task: those under a sampled
    span; those without a span if *roots* is true; those under a span that is not sampled if *unsampled* is."""

    def __init__(
        self,
        variable: ContextVar[Any] | None,
        current: Callable[[], Any],
        key: object,
        suppressing: tuple[object, ...],
        roots: bool,
        unsampled: bool,
        kind: type[tuple[Any, ...]] | None,
        flags_at: int,
        valid_at: int,
    ) -> None:
        """*variable* has the current context, or else *current* returns it; *key* is that of the span in it. A context
        in which one of the keys *suppressing* is true selects nothing. *kind*: the type of the contexts of spans, if
        trace flags and validity can be read as its items at *flags_at* and *valid_at*."""
    def __call__(self) -> bool: ...

class Tracked:
    def __init__(self, tracker: Any) -> None: ...

class RequestObserver:
    """See ``observers.pxi``. Pages are reported if they are tracked or slow."""

    threshold: Final[float]  # seconds
    gate: Final[Any]
    def __init__(
        self, threshold: float, gate: Any, tracker: Any, kind: type[Any], attempt_kind: type[Any], cancelled: type[Any]
    ) -> None: ...  # fmt: skip
    def will_wait(self) -> None: ...  # the calling thread waits for the request that it makes next
    def selects(self) -> bool: ...  # true if the request that the calling thread is about to make is to be tracked
    def observe(self, request: Any) -> None:
        """Observe the current page of *request*. On a caller's thread, before it is sent."""
    def sending(self, request: Any, attempt: Attempt, speculative: bool = False) -> None:
        """*attempt* of *request* is about to be sent. Any thread."""
    def ended(self, request: Any, attempt: Attempt, error: BaseException | None) -> None:
        """*attempt* of *request* has an outcome, or could not be sent. Any thread."""
    def failed(self, tracker: Any, name: str) -> None:
        """Override. The method *name* of *tracker* has raised the current exception."""
    def _begin_bulk(self, request: Any) -> Tracked | None: ...
    def _send_bulk(self, request: Any, tracked: Tracked, host: Any, shard: int | None) -> None: ...
    def _end_bulk(self, request: Any, tracked: Tracked, error: BaseException | None, elapsed: float) -> None: ...
    def slow_ended(self, request: Any, error: BaseException | None, elapsed: float) -> None:
        """Override. A slow page has ended. On the I/O thread."""

class Attempt:
    """One send of a request: host, connection and stream, needed to give it up, and how to read its response."""

    host: Final[Any]
    pool: Final[Any]
    connection: Final[Any]  # a ConnectionBase
    page: Final[int]  # of its request
    reprepares: Final[Any]  # the PreparedStatement that this attempt prepares again, instead of sending the request
    plan: Any  # of the rows, if the server was requested to omit their metadata; as of the time of sending
    number: int  # unique in its request
    stream: int
    started: float  # seconds, time.monotonic(); 0 before
    answered: bool  # and the response was processed; not maintained for plain rows
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
    def abandon(self, request: Operation) -> None: ...  # give up the response, which *request* does not need any more

Call = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]

class Request(Operation):
    """See the head of ``request.pxi``. Methods that take a page number do nothing, and return False, if that page is
    over."""

    session: Any
    timeout: Any  #: Timeout of the request in seconds; None for no limit.
    _start_time: float  # seconds, time.monotonic()
    _metrics: Any
    _page: Final[int]
    _outcome: Any
    _attempts: Final[tuple[Attempt, ...]]  # in flight
    _timers: Final[tuple[Any, ...] | None]
    _callbacks: Any
    _waiters: Final[tuple[Any, ...]]
    _blocked: Final[bool]  # a thread has waited, or waits, for it
    _execute_plan: Any  # None: it is built from a message
    _frame: bytes | None  # its envelope in that case
    _token: Final[int | None]
    _values: Any
    _execution: Any  # the slow path; made by ``_execute_plan.execution(self)`` when it is needed
    _is_on_fast_path: Final[bool]  # the slow path was not needed so far
    row_factory: Callable[..., Any] | None  #: Called with column names and rows; returns the rows of the result.
    _prefetch: int  # pages that are requested while the one before is consumed
    attempted_hosts: list[Any]  #: Hosts that the request was sent to, in this order.
    coordinator_host: Any  #: The host that has responded; None before.
    _picked: Any
    _tracking: Any
    _tracked: Final[Tracked | None]
    _latency_recorder: Callable[[Any, float, bool], None] | None
    def _track_latency(self, tracker: SpeculationTracker) -> None:
        """Have *tracker* record the latency of the current page, and count it in the budget, unless that was done."""
    def _set_latency_recorder(self, latency_recorder: Callable[[Any, float, bool], None]) -> None: ...
    _ending: Callable[..., bool] | None  # called instead of ``_end``, which it calls
    def _begin(
        self, session: Any, metrics: RequestRecorder | None, timeout: Any, start: float, factory: Any, plan: Any,
        token: int | None,
    ) -> None: ...  # fmt: skip
    def _handle(self, attempt: Attempt, answer: Frame | Failure) -> None: ...
    def _hand_over(self, attempt: Attempt, answer: Frame | Failure) -> None:
        """Have the I/O thread go on with *attempt*, which another operation sent, and its outcome."""
    def _register(self, attempt: Attempt) -> bool: ...
    def _drop_attempt(self, number: int) -> bool: ...
    def _give_up(self, attempt: Attempt) -> None: ...
    def _remaining(self) -> float | None: ...
    def _add_timer(self, page: int, timer: Any) -> None: ...
    def _set_timer(self, page: int, timer: Any) -> tuple[Any, ...] | None: ...
    def _remove_timer(self, page: int, timer: Any) -> None: ...
    def _is_over(self, page: int) -> bool: ...
    def _fail(self, page: int, error: BaseException) -> bool: ...
    def _conclude(self, page: int, result: Any, error: BaseException | None = None, page_info: Any = ...) -> bool: ...
    def _end(self, page: int, result: Any, error: BaseException | None, page_info: Any) -> bool: ...
    def _fetch(self, paging_state: bytes | None, asker: Any = None) -> int | None: ...
    def _send_page(self, page: int, paging_state: bytes | None, before: Any) -> None: ...
    def _add(self, callback: Call | None, errback: Call | None) -> None: ...
    def clear_callbacks(self) -> None:
        """Remove all callbacks and errbacks."""
    def _wait_for_outcome(self) -> Any: ...
    def _result(self) -> Any: ...
    def _await_outcome(self) -> Generator[Any, None, Any]: ...
    def __await__(self) -> Generator[Any, None, Any]: ...
    def _join(self, loop: Any, waiter: Any) -> Any: ...
    def _leave(self, waiter: Any) -> None: ...
    def _mark_retrieved(self) -> None: ...
    def cancel(self) -> bool: ...

class RowsOfPages:
    """The rows of all pages of a ResultSet. After an exception the next call goes on from the same position."""

    def __init__(self, result: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...

def replaced(owner: object, name: str, before: object, after: object) -> bool:
    """Atomically set the attribute *name* of *owner*, a slot, to *after* if it is *before*. Return True if it was."""

def set_default_ending(ending: Callable[..., bool] | None) -> None: ...  # of all new requests
def has_default_ending() -> bool: ...
def set_result_type(
    kind: type[Answer],
    raise_outcome: Callable[[Any], object],
    raise_error: Callable[[BaseException], object],
    note_error: Callable[[Any, BaseException], bool],
) -> None:
    """Set the type of the result of a wait, and the functions that raise the error of a failed request: from its
    outcome in a thread, from its error in a task. *note_error* is called with a request that fails and its error, which
    is logged if no program asks for it and it returns True."""

class LoopAdapter:
    """The adapter of an asyncio loop: delivers responses to it, and flushes requests at the end of its turn."""

    loop: Final[Any]  # a weak reference
    queue: Final[CompletionQueue | None]  # None: the loop watches no descriptors
    to_flush: Final[list[Reactor]]  # with requests to be sent at the end of this turn of the loop
    def __init__(self, loop: Any, queue: CompletionQueue | None) -> None: ...

adapters: Final[dict[int, LoopAdapter]]
"""By the loop's id, which is unique while the entry exists."""

def may_wait(connection: Any) -> bool:
    """Return True if a request that is submitted to *connection* now may be coalesced with the others of this turn of
    the running loop: one system call then sends all of them. That call is scheduled here."""

def send_waiting() -> None:
    """Send at once the requests that are coalesced until the end of the turn; for a caller that is about to block, or
    is notified elsewhere."""

def deliver_to(loop: Any, operation: Operation) -> None:
    """Have the outcomes of *operation* processed on the thread of *loop*. The first call for a loop must be on
    that thread."""

def adapter_for(loop: Any) -> LoopAdapter: ...
def new_awaiting(loop: Any) -> Any:
    """Return an awaitable waiter on *loop* for :func:`resolve`: its task goes on even if a signal handler interrupts
    the code that resolves it."""

def resolve(waiter: Any, value: object) -> None:
    """Complete *waiter*, an asyncio future or similar, from any thread. No effect if its loop was closed meanwhile."""

class SpeculationTracker:
    """Latencies of requests, and the budget of their extra executions. Any thread, no lock."""

    def __init__(self, percentile: float, budget: float) -> None:
        """*percentile*: above 0, below 100; *budget*: what each request adds to the budget, at most 1."""
    @property
    def delay(self) -> float | None:
        """Seconds within which *percentile* percent of the requests of the last minute ended; None if there are too few
        of them. Computed about once per second."""
    def record(self, seconds: float) -> None: ...  # record the latency of a request
    def deposit(self) -> None: ...  # add a request to the budget
    def withdraw(self) -> bool: ...  # take an extra execution from the budget. Return False if it is used up
    def _in_child(self) -> None: ...  # call it in a forked child, before any other use

class SpeculationQueue:
    """Requests of one plan that wait for a speculative execution. Any thread adds; the I/O thread calls it."""

    tracker: Final[SpeculationTracker]
    def __init__(self, tracker: SpeculationTracker) -> None: ...
    def __call__(self) -> None: ...

class ExecutePlanBase:
    """The fast path of the requests of one prepared statement: they are encoded, routed and submitted in one step, as
    long as :meth:`is_valid` returns True. Immutable. Any thread."""

    prepared: Final[Any]
    profile: Final[Any]
    settings_epoch: Final[Any]
    state: Final[Any]
    template: Final[Any]
    clock: Final[Any]
    timestamps: Final[Any]
    dialect: Final[Any]
    result_plan: Final[Any]
    latency_recorder: Final[Callable[[Any, float, bool], None] | None]  # called with the latency of attempts
    observer: Final[RequestObserver | None]
    speculation: Final[SpeculationQueue | None]  # of the requests that may be executed a second time
    direct: Final[bool]  # no step is necessary between making a request and sending it
    metrics: Final[RequestRecorder | None]
    writes: Final[TableWrites | None]  # of the table that it writes or reads, if results of that are cached
    cache: Final[ResultCache | None]  # of the statement
    def __init__(
        self, *, prepared: Any, profile: Any, profiles: dict[Any, Any] | None, default_key: Any, default_profile: Any,
        default_version: int, settings_epoch: Any, metadata: Any, state: Any, metrics: RequestRecorder | None,
        direct: bool, kind: type[Request], template: Any, clock: Any, timestamps: Callable[[], int] | None,
        on_ahead: Callable[[], None] | None, route: Callable[[int | None], Any] | None, dialect: Any,
        timeout: float | None, row_factory: Any, prefetch: int, result_plan: Any,
        not_sent: tuple[type[BaseException], ...], unset: Any, own_options: Callable[[Any, Any], Any],
        latency_recorder: Callable[[Any, float, bool], None] | None, last_use: Any,
        observer: RequestObserver | None, speculation: SpeculationQueue | None = None,
        writes: TableWrites | None = None, cache: ResultCache | None = None,
    ) -> None:  # fmt: skip
        """*profiles*, *default_key*, *default_profile*, *default_version*: the dict, key and version that *profile* was
        resolved from, if it is the default profile; else None and 0. *kind*: class of the requests. *route*: function
        from a token to a target; None if each request needs its own query plan. *not_sent*: raised by pick and submit
        when nothing was sent. *unset*: value of a timeout or row factory that a call omits; *own_options* returns
        attributes of a request for those that it gives. *on_ahead* is called when *clock* is ahead of the system
        time."""
    def execution(self, request: Any) -> RequestHooks: ...  # override. Return a new slow path for *request*
    def is_valid(self, session: Any) -> bool:
        """Return True if it was made for *session* and nothing that it depends on has changed."""
    def send(
        self, session: Any, prepared: Any, values: Any, trace: bool, custom_payload: Any, timeout: Any,
        profile_key: Any, paging_state: bytes | None, host: Any, execute_as: str | None, row_factory: Any,
        prefetch: int | None
    ) -> Any:  # fmt: skip
        """Return a submitted request for the arguments of ``execute_async``. None if the fast path is not available
        now, or not with these arguments."""
    def try_launch(self, request: Request) -> bool: ...  # submit the first attempt; False if nothing was sent

class TableWrites:
    """The times of the writes to one table. Any thread."""

    def note(self, token: int | None) -> None: ...  # a write to the partition of *token* has ended; None: to any

class CacheTotals:
    """The sums of the statistics of several caches, also of those that are gone. Any thread."""

    def statistics(self) -> tuple[int, int, int, int, int, int, int, int]: ...  # the fields of CacheStatistics

class ResultCache:
    """The pages of the results of one statement, and its reads in flight. Any thread."""

    writes: Final[TableWrites]
    single_flight: Final[bool]
    def __init__(
        self, pool: MemoryPool, writes: TableWrites, is_exact: bool, max_bytes: int, ttl: float, single_flight: bool,
        seed: int, totals: CacheTotals, decode: Callable[[Any, Frame, Any, Any], Any], expire: Callable[[Any], object],
        decompress: Callable[[Any, Frame], Frame | None],
    ) -> None:  # fmt: skip
        """*is_exact*: the token of a request is that of the only partition that it reads. *decode* returns rows, None
        and the retained page of ``(decoder, frame, result plan, row factory)``, or None. *expire* limits the time of a
        request that has joined another one. *decompress* returns a frame of a connection with its body decompressed,
        None if that is malformed."""
    def advance(self, seconds: float) -> None: ...  # let time go by, in tests
    def use(self, plan: ExecutePlanBase, key: tuple[object, ...]) -> None:
        """Have the requests of *plan* use the pages that requests with the same *key* and result plan have read."""
    def invalidate(self) -> None: ...
    def statistics(self) -> tuple[int, int, int, int, int, int, int, int]: ...  # the fields of CacheStatistics
    def future_of(self, request: InFlightRequest) -> Any: ...

class CachedRequest(Request): ...
class WriteRequest(Request): ...

class WriteEnding:
    """``_ending`` of a request that writes to tables of which results are cached; *ending*: the one before."""

    def __init__(self, writes: tuple[tuple[TableWrites, int | None], ...], ending: Any) -> None: ...
    def __call__(self, request: Request, page: int, result: Any, error: Any, page_info: Any) -> bool: ...

class CachedStatementBase:
    _cache: Final[ResultCache]
    def __init__(self, session: Any, statement: Any, cache: ResultCache, default_key: object) -> None: ...

def execute_cached(
    plan: ExecutePlanBase, session: Any, prepared: Any, parameters: Any, timeout: Any, profile_key: Any, own: Any
) -> Any:
    """Return a request, which has ended, has joined another one, or is sent; None if *plan* is not valid for it. *own*:
    attributes of the request, or None."""

def cached_request(
    plan: ExecutePlanBase, session: Any, frame: bytes, values: bytes, token: int | None, parameters: Any, timeout: Any
) -> Any: ...  # a request with nothing sent, for the *values* that *frame* has
def launch_cached(plan: ExecutePlanBase, request: CachedRequest) -> None: ...
def set_errors_of_flights(is_own: Callable[[BaseException], bool], copy: Callable[[BaseException], Any]) -> None:
    """*is_own* returns True for errors that concern only the request that has got them; *copy* copies others for those
    that have joined it."""

NO_ATTEMPT: Final[int]
"""The attempt number of an outcome of RequestBatch that only reports that a request has ended elsewhere."""

def pair_of(item: Any, index: int) -> tuple[Any, Any]:
    """Return *item*, number *index* of a source of (statement, values) pairs. TypeError for a statement alone."""

class InFlightRequest:
    """A request in a slot: all data needed to continue it as a request of its own."""

    index: int
    session: Final[Any]
    plan: Final[Any]  # an ExecutePlan
    frame: Final[bytes]
    token: int | None  # read only
    values: Final[Any]
    host: Final[Any]
    pool: Final[Any]
    connection: Final[Any]
    stream: Final[int]
    started: Final[float]

class HostWindow:
    """The number of requests that one client has in flight to one host: additive increase, multiplicative decrease.

    One thread at a time. *first*: size until a result or an overload changes it; *most*: the limit of the size."""

    size: Final[int]
    in_flight: Final[int]
    has_room: Final[bool]
    def __init__(self, first: int, most: int) -> None: ...
    def sent(self) -> None: ...  # count a request that was sent
    def answered(self) -> None:
        """A request ended with a result. Grow by one after a round of results, if the window is used."""
    def gone(self) -> None: ...  # A request ended otherwise
    def congested(self, sent: float) -> None:
        """Halve the size: the host reported overload for a request sent at *sent* (seconds of ``time.monotonic``). Once
        for requests that were in flight together."""

class ManyRequestsBase(Operation):
    """Many requests under one operation, each in a numbered slot. One thread submits and takes outcomes."""

    session: Any  # read only
    @property
    def in_flight(self) -> int: ...
    answered: Final[bool]  # there is an outcome to take, or an entry of ``ended`` or ``silent``
    ended: deque[Any]  # read only
    """Outcomes to be processed in Python: (request, outcome, seconds of its arrival), unless a subclass has others."""
    silent: Final[deque[int]]
    """Slots of requests whose peers are silent; of any thread."""
    _has_outcomes: Final[bool]  # there are outcomes that were taken and not processed
    def _begin_in(self, session: Any, pool_set: Any) -> None: ...  # set the session
    def _limit_hosts(self, first: int, most: int) -> None:
        """Limit the requests in flight to a host by a :class:`HostWindow` of these sizes."""
    def window(self, host: Any) -> HostWindow: ...  # the window of *host*
    def window_sizes(self) -> dict[Any, int] | None:
        """Return the limit of requests in flight of each host; None if there is none."""
    def _submit(
        self, request: InFlightRequest, host: Any, pool: Any, connection: Any, frame: bytes, timeout: float | None,
        later: bool,
    ) -> None:  # fmt: skip
        """Submit *frame* under the slot of *request*, its index; an exception leaves *request* unchanged."""
    def flush(self) -> None: ...  # send the queued requests
    def take_outcomes(self, most: int = 0) -> None:
        """Take all outcomes, or *most*. Never waits. An outcome whose processing was interrupted is begun again by the
        next call."""
    def _request(
        self, slot: int
    ) -> Any: ...  # the InFlightRequest in *slot*; None if its outcome was taken; any thread
    def _requests(self) -> list[Any]: ...  # all of them
    def _forget(self, slot: int | None = None) -> None:
        """Forget the request in *slot*, or all of them: their outcomes are ignored."""
    def _orphan(self, request: InFlightRequest) -> bool:
        """Give up *request*, and forget it. Return False if its outcome is on its way."""

class RequestBatch(ManyRequestsBase):
    """Compiled requests. :attr:`ended`: requests that ended elsewhere: (index, success, value); *success* is None where
    *value* is (future, outcome)."""

    results: Final[Results]
    failed: Callable[[int, BaseException], object] | None
    """Called with the index and the error of a request that failed; None: errors are results."""
    def _begin(self, result_type: type[Answer], entry_type: type[tuple[Any, ...]]) -> None:
        """The results are ``(True, result)`` or ``(False, error)`` as *entry_type*."""
    def _continue(self, request: InFlightRequest) -> tuple[Request, Attempt]:
        """Override: return the request that takes over *request* with an outcome that is not plain, and its attempt."""
    def launch(self, plan: ExecutePlanBase, index: int, values: Any) -> bool:
        """Queue request *index*. Return False if no connection accepts it. Raise the exceptions of encoding the
        values."""
    def submit_from(
        self, pairs: Iterator[Any], count: int, index: int, statement: Any, plan: ExecutePlanBase | None
    ) -> tuple[int, tuple[()] | tuple[Any, Any, Exception | None] | None]:
        """Queue requests with the values of *pairs*, numbered from *index*, until there are *count*, as long as the
        pairs are of *statement* and can be queued. Return their number; and None, or () if *pairs* has ended, or the
        statement and values that came next and were not queued, with the exception of encoding them. Exceptions of
        *pairs* are raised."""
    observers: Final[dict[int, Any]]
    """Requests that a :class:`FutureObserver` observes and whose outcomes are not processed, by index."""
    def _take_ended(self) -> None: ...  # as take_outcomes, for :attr:`ended`

class FutureObserver:
    """Notifies *batch* of the outcome of *future*, its request *index*, on *loop*; in place of an asyncio future."""

    loop: Final[Any]
    future: Final[Any]
    index: Final[int]
    def __init__(self, batch: RequestBatch, loop: Any, index: int, future: Any) -> None: ...
    def get_loop(self) -> Any: ...
    def done(self) -> bool: ...
    def set_result(self, outcome: Any) -> None: ...

class Results:
    """``(success, result)`` of requests by their numbers. The garbage collector tracks them from the handover on."""

    def __len__(self) -> int: ...
    def __contains__(self, index: int) -> bool: ...
    def __setitem__(self, index: int, entry: tuple[bool, Any]) -> None: ...
    def all(self, count: int) -> list[Any]: ...  # hands over the first *count*; ValueError: some are missing
    def take(self, index: int) -> Any: ...  # hands it over, after those before it; KeyError: it is missing

class Answer:
    """The result of a page. ResultSet derives from it."""

    _request: InFlightRequest | None
    _current_rows: Any  # decoded at the first access, which may raise DriverException
    _undecoded_rows: Any  # the rows, or their LazyRows
    _kept: Any  # retained form, for retained_page(), or None
    _plan: Any
    _paging_state: bytes | None
    _extras: Any
    response_future: Any
    """Made by :meth:`_future_of` at the first access, for a request without a future."""
    @classmethod
    def _of(cls, future: Any, outcome: tuple[Any, ...]) -> Self: ...  # return the page that *future* has received
    _page_iter: Any  # iterator over the rows; None until they are iterated
    _fetching: int | None  # the number of the next page while it is requested
    _ahead: float | None  # time of that request if no thread waits for it
    _turned: bool  # the result is at a later page
    def _future_of(self, request: InFlightRequest) -> Any: ...  # override: return the future of a request without one
    def _go_ahead(self) -> None: ...  # override: request the next page, if there is one
    def _turn_page(self, page: Any) -> bool:
        """Override: go to the page after that of the iterator *page*, unless another thread has done so; False if there
        is none."""
    def _turn_to_rows(self, result: Any) -> None: ...  # override: set the rows to the *result* of a row factory
    def _turn(self, number: int, before: Any, rows: Any, page_info: tuple[Any, ...], page_iter: Any) -> None:
        """Go to the requested page *number*, in one native section: *rows*, their extras *page_info*, and an iterator
        over the rows. Nothing is done if another thread has turned the page, or if *before* is given and ``_page_iter``
        is another one by now."""
    def _begin_page(self) -> None: ...  # begin to iterate over the current page
    def _end_page(self, page_iter: Any) -> None:
        """Drop the rows of the last page, unless *page_iter* is not its iterator any more."""
    def _not_requested(self, number: int) -> None: ...  # forget the request of page *number*

# Return values of Writes.launch and again: as many writes were sent as requested; there are no more rows; so many are
# in flight that one has to end before the next is sent; a write could not be sent, or its rows not encoded: see
# ``ended``.
LAUNCHED: Final[int]
AT_END: Final[int]
FULL: Final[int]
HELD: Final[int]

class WriteSender:
    """A connection that writes were sent by."""

    host: Final[Any]
    pool: Final[Any]
    connection: Final[Any]
    in_flight: Final[int]

class Writes(ManyRequestsBase):
    """Rows of Arrow batches as requests, many under one operation; a *write* is one of them, and has a number. One
    thread at a time, except :meth:`wake-up`.

    Every write that ends otherwise than by a void result is in :attr:`ended`, and is held until it is sent again or
    closed: ``(number, outcome, sender)``. The outcome is a Frame or Failure, the exception of submitting it, None where
    there was no connection for it, or the text that explains why its row cannot be encoded."""

    open: Final[int]  # writes that are not closed
    reached: Final[int]  # rows that were taken: also the number of the next one
    done: Final[int]  # rows that were written
    encoded: Final[int]  # bytes of all writes, without repeated sends
    at_end: Final[bool]  # new rows are needed
    ended: deque[tuple[int, Frame | Failure | Exception | str | None, WriteSender | None]]
    def _begin(
        self, not_sent: tuple[type[BaseException], ...], most: int, adaptive: bool, timestamp: int | None
    ) -> None:
        """At most *most* writes are open at a time. *adaptive* finds the limit of each host from its responses.
        *timestamp*: of the first row, each later row has one more; None uses the clock."""
    def _compile(
        self, head: bytes, values: bytes, tail: bytes, batch_head: bytes, entry: bytes, batch_tail: bytes,
        max_rows: int, max_bytes: int, overhead: int,
    ) -> None:  # fmt: skip
        """Set the parts of requests other than the rows' values: an EXECUTE's *head*, up to the number of values, the
        *values* that follow a row's own, and its *tail* up to the timestamp; the same for a BATCH, and the bytes that
        precede each row in it. A batch has at most *max_rows* rows and *max_bytes* bytes of values, each row counted
        with *overhead* more."""
    def _direct(
        self,
        route: Callable[[int | None], Any],
        dialect: Any,
        block: Callable[[int | None], int] | None,
        timeout: float | None,
        timestamps: Callable[[], int],
        clock: Any,
        on_ahead: Callable[[], None] | None,
        max_per_host: int,
    ) -> None:
        """Set how writes are sent from now on: *route* returns the place for a token, *block* a byte at the end of
        EXECUTE; only connections of *dialect* are used. *on_ahead* is called when *clock* is ahead of the system
        time."""
    def add(self, rows: Any) -> None: ...  # set the Rows that come next. All earlier rows have to be launched
    def launch(self, count: int) -> int:
        """Queue the next *count* writes, or fewer if there are not enough rows or not enough room."""
    def resend(self, number: int) -> int:
        """Queue a held write again, unmodified, to the host that the router selects."""
    def resend_by(self, number: int, host: Any, pool: Any, connection: Any) -> bool:
        """Queue a held write again by this connection. Return False if its dialect is another one."""
    def frame(self, number: int, index: int) -> tuple[bytes, int | None]:
        """Return row *index* of a held write as an EXECUTE of its own, and its token."""
    def _observe(self, observer: RequestObserver | None) -> None:
        """Append the writes that *observer* finds slow to :attr:`slow` when they have ended."""
    slow: Final[deque[tuple[int, Any, BaseException | None, float]]]
    """Slow writes: attempts, last host, error, seconds."""
    def close(self, number: int, written: int, error: BaseException | None = None) -> None:
        """Close a held write, *written* rows of which were written; *error*: of the others."""
    def about(self, number: int) -> tuple[int, int, int, int | None, float] | None:
        """Return first row, number of rows, attempts, token and age in seconds of a write; None if it is closed."""
    def orphan(self, number: int) -> bool:
        """Give up the attempt of a write in flight, which is held then. Return False if its outcome is on its way."""
    def congested(self, number: int) -> None:
        """Reduce the window of the host of a held write, which has reported overload."""
    def doubt(self, number: int) -> None:
        """Note that an attempt of a held write may have been executed; done natively for one without a response."""
    def is_in_doubt(self, number: int) -> bool: ...  # return True if an attempt of a held write may have been executed
    def unfinished(self) -> list[int]:
        """Return the numbers of the rows that were taken and whose writes are not closed."""
    def abandon(self) -> None: ...  # end it without a waiter: outcomes that are still to come are dropped

class Limit:
    """At most *maximum* requests in flight over all channels that have this limit, and within the limits of *parent*.
    Requests that were given up count until their late response arrives or their channel closes."""

    def __init__(self, maximum: int, waiter: Operation, parent: Limit | None = None) -> None:
        """*waiter* gets an outcome (``_on_outcome`` on the I/O thread) after :meth:`wait`, when the state changes."""
    maximum: Final[int]
    in_flight: Final[int]
    parent: Final[Limit | None]
    def wait(self) -> bool:
        """Have the waiter notified, once, when there may be room here or, if a limit above is full, in that one. From
        then on NORMAL requests are refused here, until ``end_queue``, which has to follow. Return False if there is
        room, for queued requests."""
    def end_queue(self) -> None: ...  # the admission queue is empty (a waiter that is set is still notified)

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
    """Counts requests that wait for room, and keeps the changes that the I/O thread has not read. Any thread; each
    method is one native section, which no signal handler interrupts."""

    held_up: Final[int]
    """Requests that wait for a place in the queue."""
    def __init__(self, on_change: Callable[[], object]) -> None:
        """*on_change* is called on the I/O thread after a change."""
    def __len__(self) -> int: ...  # number of requests that are QUEUED
    def enter(self, entry: AdmissionEntry, most: int, may_be_held_up: bool, reactor: Reactor) -> bool:
        """Append at the end of the queue: QUEUED if fewer than *most* are and none is held up, else HELD_UP or REFUSED.
        Return False, without a change, if it has entered before, or if the reactor was stopped."""
    def leave(self, entry: AdmissionEntry) -> bool: ...  # end QUEUED or HELD_UP. Return False if the entry was neither
    def admit(self, entry: AdmissionEntry, most: int) -> bool:
        """Change HELD_UP to QUEUED if fewer than *most* are QUEUED; else return False."""
    def close(self) -> None: ...  # drop the reference to the reactor
    def take_changes(self) -> list[AdmissionEntry]:
        """Return the entries that have entered or left since the last call, oldest first. On the I/O thread."""

class CompletionQueue:
    """Completions for one asyncio loop: one descriptor, readable while operations wait in it."""

    def fileno(self) -> int: ...
    def drain(self) -> None:
        """On the loop thread: call ``_on_outcome`` of every queued operation, or of as many as 10 ms suffice for; then
        the descriptor stays readable."""
    def close(self) -> None: ...  # process the queued operations; later outcomes are delivered as without a queue

class ChannelGroup:
    """The channels that the requests of one session go to. Any thread, each method in one native section."""

    def add(self, channel: Channel) -> None: ...
    def discard(self, channel: Channel) -> None: ...

class Hold:
    """Has the channels of *group* refuse requests, except DRIVER ones, with ConnectionBusy. Channels that are added
    meanwhile are held too. Holds nest."""

    def __init__(self, group: ChannelGroup) -> None: ...
    def begin(self, reactor: Reactor | None = None, callback: Callable[[], object] | None = None) -> bool:
        """Hold them and have *reactor* call *callback*, in one native section. Return False, with nothing held, if it
        was stopped."""
    def cancel(self) -> None: ...  # end the hold

class ChannelHandler(Protocol):
    """Called on the I/O thread with the GIL held; must not block. An exception closes the channel with it."""

    def on_connected(self, channel: Channel) -> None: ...
    def on_event(self, channel: Channel, frame: Frame) -> None: ...  # A response with stream -1 (EVENT)
    def on_closed(self, channel: Channel, error: BaseException | None) -> None:
        """Exactly once per channel, also when it never connected. *error* is None after ``close()`` by the driver."""

class Decompressor:
    """A function that decompresses a block of a known length. *in_place*: it gets (block, memory, length), writes at
    most *length* bytes into the memory and returns their number; otherwise it gets (block, length) and returns bytes.
    Block and memory are valid during the call. It is a function in C, which runs no signal handlers."""

    @overload
    def __init__(self, function: Callable[[Any, int], bytes], in_place: Literal[False] = False) -> None: ...
    @overload
    def __init__(self, function: Callable[[Any, Any, int], int], in_place: Literal[True]) -> None: ...
    def __call__(self, data: Buffer, length: int) -> bytes:
        """Return the decompressed block, which may be shorter than *length* bytes."""

class ByteFilter(Protocol):
    """A transformation of the raw byte stream (TLS). Called under one lock per channel, with the GIL."""

    def start(self) -> bytes: ...  # return the bytes to send first
    def receive(self, data: bytes) -> tuple[bytes, bytes, BaseException | None]:
        """Return (plaintext, bytes to send back, the error that ends the connection after that or None)."""
    def send(self, plaintext: bytes) -> bytes: ...
    def eof(self) -> None: ...  # the peer closed its side; raise if that was not orderly
    def shutdown(self) -> bytes:
        """Return the last bytes to send, if it was started. The last call, for every kind of close. Must not raise."""
    @property
    def established(self) -> bool: ...  # ``on_connected`` is called once this is true

class TlsRecords:
    """A ByteFilter over an ``ssl.SSLObject``, without handshake and end; see tls.pxi."""

    established: bool
    ended: bool  # read-only: the peer reported the end of its data
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
        response to *operation*. Return the stream id. After *timeout* seconds the outcome is a TIMED_OUT failure and
        the stream is orphaned: not reused until its late response arrives. Raise ConnectionShutdown (closed) or
        ConnectionBusy (no free stream below max_requests); then nothing was sent.

        *later*: it may wait about a millisecond for others, so that many are sent by one system call. A caller that has
        submitted all of its requests calls ``Reactor.flush`` to send them at once."""
    def orphan(self, stream: int, operation: Operation, attempt: int = 0) -> bool:
        """Give up on a request without an outcome (cancellation). Return False if it was answered already: the stream
        may belong to another request then, so the operation and attempt it was submitted with are compared."""
    def enable_segments(
        self, compress: Callable[[memoryview], Buffer] | None = None, decompress: Decompressor | None = None
    ) -> None:
        """Protocol v5: from here on both directions are segments (CRC24 header, CRC32 payload). Call it for the
        response that ended the legacy part of the handshake, on the I/O thread. The memory that *compress* gets is
        valid during the call."""
    def set_protocol(self, version: int, max_frame: int = 0x7FFFFFFF, compression: str | None = None) -> None:
        """Responses must carry *version*; bodies longer than *max_frame* bytes are skipped. *compression* ("lz4" or
        "snappy", v3/v4 bodies) allows hot outcomes in compressed responses; without it those are all cold. Only on the
        I/O thread."""
    def close(self, error: BaseException | None = None) -> None:
        """Close the connection. Idempotent. Pending operations get CLOSED failures with cause *error*."""
    def drain(self) -> None:
        """Reject requests from now on, except those of the driver itself: ``submit`` raises ConnectionShutdown. After
        the call no further request is in flight than before it. Idempotent; any thread."""
    def leave_to_parent(self) -> None:
        """In a forked child, while it has one thread: close this process's copy of the socket. The connection stays
        open in the parent. No effect in the process that made it."""
    closed: Final[bool]
    reactor: Final[Reactor]
    in_flight: Final[int]  # requests without a response, orphaned ones included
    orphaned: Final[int]
    max_requests: int  # 32768 at most
    limit: Final[Limit | None]
    def set_load(self, host: HostState, shard: int | None) -> None:
        """Count requests from now on in the load of *host*, for *shard* (None: without shards). Works once."""
    def responds_again(self) -> None: ...  # after a silence, whose latencies do not count in the load any more
    def set_limit(self, limit: Limit) -> None:
        """Count requests from now on in *limit* too; ConnectionBusy is raised when it is full."""
    def wait_for_room(self, waiter: Operation) -> bool:
        """As ``Limit.wait``, for a free stream here, or else a place in the limit: *waiter* is notified when there may
        be one, or when the channel closes. Return False if there is room, or the channel is closed."""
    def end_queue(self) -> None: ...  # as ``Limit.end_queue``
    def follow_overload(self) -> None: ...  # after set_load(): send fewer requests while the server is overloaded
    window: Final[float]  # how many requests may be in flight to an overloaded server; below 1, with pauses; else inf
    is_full: Final[bool]  # no request is taken now
    def watch_quiet(self, patience: float, on_quiet: Callable[[], object]) -> None:
        """From now on call *on_quiet*, on the I/O thread, when a request that was sent has waited *patience* seconds
        without input; for the same requests only after that time again. Not while paused."""
    def keep_alive(self, version: int, interval: float, timeout: float) -> None:
        """Send OPTIONS after *interval* seconds without input; close if nothing comes for *timeout* seconds then."""
    uploaded: Final[int]  # bytes that the peer has accepted so far, while a large amount is being sent; else 0
    def waiting(self) -> list[tuple[Operation, int]]:
        """Return the requests that were sent and not answered, each with the number of its attempt."""
    idle_seconds: Final[float]  # since the last byte was received
    bytes_sent: Final[int]
    submitted: Final[int]  # requests so far, without those of the driver
    bytes_received: Final[int]
    def getsockname(self) -> Any: ...
    def getpeername(self) -> Any: ...

class ConnectionSelector:
    """The present connections of one node: *sole*, or those that *picker* (a ``ShardPicker``) selects from. Immutable;
    any thread, no lock."""

    def __init__(self, sole: ConnectionBase | None, picker: Any) -> None: ...
    def at(self, token: int | None = None, shard: int | None = None) -> Any:
        """Return the connection of *shard*, or of the shard that owns *token*, or the next in turn; None if that is
        missing."""
    def pick(self, token: int | None = None, shard: int | None = None) -> Any:
        """As :meth:`at`, if that one is open, has room, and has not lost too many streams to requests that were given
        up; else None."""

class Timer:
    def cancel(self) -> None: ...

class Reactor:
    """One I/O thread, its poller (``epoll``, ``kqueue`` or ``poll``), timers and arena of a memory pool."""

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

        A *pool* that is strict (ValueError below ``MIN_STRICT_BYTES``) is never exceeded by more than the bytes that
        have arrived already: at its limit channels are paused, which means not read from, until memory was released. A
        body that can never fit is skipped (``Frame.skipped``). A warning about channels that are paused for
        *starvation_warning* seconds is logged to ``cassandra.memory``."""
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
        """Start a non-blocking connect to a numeric (host, port) or an AF_UNIX path (str or bytes). The result goes to
        *handler*, which may be called before this returns; *timeout* covers TCP connect and the filter's handshake.
        ``on_closed`` gets: OSError (of its subclass for the errno), TimeoutError, ConnectionShutdown (closed by the
        server; reactor stopped), ProtocolError or CrcException (malformed input), the argument of ``close``, or the
        exception of a handler or filter. ValueError for an address that is not numeric; ConnectionShutdown after
        stop."""
    def call_soon(self, callback: Callable[[], object]) -> None: ...  # run *callback* on the I/O thread
    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer: ...
    def flush(self) -> None:
        """Send, in one system call per channel, the requests submitted with *later*. Any thread; releases the GIL."""
    def in_reactor(self) -> bool: ...  # true on the I/O thread (where nothing may block)
    def stop(self, timeout: float | None = None) -> bool:
        """Close every channel, run the last callbacks, join the thread (not when called on it). Idempotent. False if
        the thread was still busy after *timeout*."""
    def drop_released(self) -> None:
        """Count the results that have arrived and that no thread waits for, and free requests without another
        reference."""
    def stats(self) -> dict[str, int]:
        """Return channels, timers, wakeups, leads (how often a thread polled for its own response), runtime_entries,
        slabs_in_use, bytes_in_use (blocks received into), paused (channels)."""

DEFAULT_POOL_BYTES: Final[int]  # size of the default pool of a reactor
MIN_STRICT_BYTES: Final[int]

def default_pool(name: str) -> MemoryPool: ...
def debug_counters() -> dict[str, int]:
    """Return the numbers of live native objects: reactors, channels, timers, completion_queues; with CQL_DEBUG
    operations, frames, requests."""
