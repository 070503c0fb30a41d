"""Background work of a cluster: blocking calls, delayed calls, serial queues, and the drain before a shutdown.

L5. A :class:`Scheduler` belongs to one cluster. It runs calls on the threads of ``_base/threads.py``, which are started
when needed, so that a cluster that is never connected has none. Neither the I/O thread nor an asyncio thread ever waits
for it.

* Submitted calls, which are those of the program, run on at most ``workers`` threads at a time.
* Strands, on which the driver's own work and listeners run, get a thread at once. So a call of the program that waits
  for the driver (a listener or a submitted function that changes the schema) cannot deadlock with it.
* Delayed calls are kept by the *clock*, a thread that exists while there are any. They run on threads separate from
  those of submitted calls, a few at a time: the driver's delayed calls do not block.

*Without a thread*, as in a process at its limit of threads, the call of a driver thread starts later: the I/O thread
tries to start a thread every ``AGAIN`` seconds (:meth:`Scheduler.retry_on`), and so does the clock. Thus no
reconnection is lost. Callers get the RuntimeError, and driver threads too while the interpreter exits.

Any thread may submit, also in a signal handler or a ``__del__`` that garbage collection runs anywhere: a caller thread
does one atomic append, then starts a thread (``threads.start``), in this order. Driver threads do everything else.
``_CallQueue.ready`` and ``_new_timers`` are appended to by any thread; ``_CallQueue.running`` and ``_has_ended`` are
guarded by the scheduler's lock, owner and queue of a strand by its lock, both driver locks, which are not held while a
call runs; ``_timers`` belongs to the thread that has the token of the clock.

Commands of sessions and clusters are those of ``_base/threads.py``; :func:`run_async` awaits one in a task of an
asyncio loop.

A draining session rejects new work (requests, pages, statements to prepare) and continues work in progress: responses,
retries and their pauses, requests in the admission queue, statements that are re-prepared, agreement on the schema
after a change. None of these is counted while it runs, which would cost every request something: :func:`busy` inspects
the places where they are. Between two attempts a request is in none of these places for a moment, on its way through
the thread that handles the response to the first one; so only a session that has been idle for ``QUIET`` seconds counts
as finished. A command waits for it (:func:`drain`), never the I/O thread. The wait ends when all is idle, when the time
is up, or when the session or the cluster is shut down without draining.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as FutureTimeout
from functools import partial
from heapq import heappop, heappush
from itertools import count
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from cassandra._base import threads
from cassandra._base.locks import CALLER, WORKER, driver_lock, thread_kind
from cassandra._base.logs import get_logger
from cassandra._base.process import AutoResetEvent, catch_up, renew
from cassandra._base.real import Future, threading
from cassandra._base.threads import Command, command, run, submit

from . import aio

if TYPE_CHECKING:
    from .session import Session

__all__ = [
    "Command", "Scheduler", "Strand", "Task", "busy", "command", "drain", "end_idle_threads", "run", "run_async",
    "submit",
]  # fmt: skip

log = get_logger("cassandra.cluster")

T = TypeVar("T")

DELAYED_AT_A_TIME = 8  # threads of delayed calls
AGAIN = 0.5  # seconds between two attempts to start a thread
QUIET = 0.05  # seconds without work until a draining session counts as finished
LOOK = 0.01  # seconds between two checks


class Task:
    """A pending call; the result of :meth:`Scheduler.schedule`. Its outcome goes to *future*, or to the log without
    one."""

    __slots__ = ("args", "cancelled", "fn", "future", "kwargs")

    def __init__(
        self,
        fn: Callable[..., object],
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        future: Future[Any] | None = None,
    ) -> None:
        self.fn: Callable[..., object] | None = fn
        self.args = args
        self.kwargs = kwargs
        self.future = future
        self.cancelled = False

    def cancel(self) -> None:
        """Prevent the call from running. A call that has started continues."""
        self.cancelled = True
        self.fn = self.kwargs = None  # frees the objects that the call refers to before it is due
        self.args = ()
        if self.future is not None:
            self.future.cancel()

    def run(self) -> None:
        """Run the call, once."""
        fn, args, kwargs, future = self.fn, self.args, self.kwargs or {}, self.future
        if self.cancelled or fn is None or (future is not None and not future.set_running_or_notify_cancel()):
            return
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:
            if future is not None:
                future.set_exception(error)
            else:  # SystemExit too: a task must not end its thread
                log.exception("A background task of the cluster failed: %r", fn)
        else:
            if future is not None:
                future.set_result(result)


class _CallQueue:
    """Calls that run at most *limit* at a time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.ready: deque[Task] = deque()
        self.running = 0  # threads that run ready calls


class Scheduler:
    """Runs submitted calls, at most *workers* at a time, delayed calls, and strands."""

    def __init__(self, workers: int = 2) -> None:
        self._submitted = _CallQueue(max(1, workers))
        self._delayed = _CallQueue(DELAYED_AT_A_TIME)
        self._lock = driver_lock("Scheduler")
        self._has_ended = threading.Condition(self._lock)
        self._active: dict[object, int] = {}  # running calls: the idents of their threads
        self._new_timers: deque[tuple[float, int, Task]] = deque()  # timers that the clock has not seen yet
        self._timers: list[tuple[float, int, Task]] = []
        self._sequence = count()
        self._clock_token = deque([1])
        self._clock_gate: threads.Signal | None = None  # of the thread that is the clock
        self._strands: WeakSet[Strand] = WeakSet()
        self._closed = False
        self._call_later: Callable[[float, Callable[[], object]], object] | None = None
        self._lacks_threads = False  # this was logged

    def retry_on(self, call_later: Callable[[float, Callable[[], object]], object]) -> None:
        """Start calls of driver threads for which there is no thread later, on the I/O thread, by its *call_later*."""
        self._call_later = call_later

    @property
    def closed(self) -> bool:
        """True once :meth:`shutdown` was called: no call is started any more."""
        return self._closed

    def in_worker(self) -> bool:
        """True if the calling thread runs a call of the scheduler."""
        return threading.get_ident() in list(self._active.values())

    # ---- submitting work

    def submit(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` when less than *workers* others run; the future has its outcome, and is cancelled
        by a shutdown."""
        catch_up()
        future: Future[T] = Future()
        task = Task(fn, args, kwargs, future)
        try:
            self._join(self._submitted, task)
        except RuntimeError:
            task.cancel()
            raise
        return future

    def run_here(self, fn: Callable[..., object], future: Future[Any]) -> None:
        """Run ``fn()`` on this driver thread; *future* has its outcome."""
        self._run(Task(fn, (), None, future))

    def spawn(self, fn: Callable[..., object], *args: Any) -> bool:
        """Run ``fn(*args)`` on a thread at once, independently of other calls. Return False without effect after a
        shutdown."""
        return self._begin(self._run, Task(fn, args))

    def schedule(self, delay: float, fn: Callable[..., object], *args: Any) -> Task:
        """Run ``fn(*args)`` on a thread after *delay* seconds, unless it is cancelled or the scheduler is shut down
        before."""
        catch_up()
        task = Task(fn, args)
        entry = (monotonic() + max(0.0, delay), next(self._sequence), task)
        self._new_timers.append(entry)
        gate = self._clock_gate
        if gate is not None and not self._closed:
            gate.give()
            return task
        try:
            if not self._begin(self._keep_time):
                task.cancel()
        except RuntimeError:
            task.cancel()
            raise
        return task

    def strand(self) -> Strand:
        """Return a new serial queue on these threads."""
        strand = Strand(self)
        self._strands.add(strand)
        return strand

    def _join(self, queue: _CallQueue, task: Task) -> None:
        """Queue *task*; cancel it after a shutdown. Raise RuntimeError, without effect, as :meth:`_begin` does."""
        queue.ready.append(task)
        try:
            begun = self._begin(self._work, queue)
        except RuntimeError:
            try:
                queue.ready.remove(task)
            except ValueError:  # another thread has taken it
                return
            raise
        if not begun:  # the shutdown may have cancelled it already
            with contextlib.suppress(ValueError):
                queue.ready.remove(task)
            task.cancel()

    def _begin(self, call: Callable[..., object], *args: Any) -> bool:
        """Run *call* on a thread; a call of a driver thread later, if there is none now. Return False after a shutdown;
        raise RuntimeError if no thread can be started, as in Python 3.12 once the interpreter ends."""
        catch_up()
        if self._closed:
            return False
        run = partial(call, *args)
        try:
            threads.start(run)
        except RuntimeError as error:
            call_later = self._call_later
            if call_later is None or thread_kind() == CALLER or threads.is_exit(error):
                raise
            self._log_lack_of_threads(error)
            call_later(AGAIN, partial(self._begin_later, run))
        return True

    def _begin_later(self, run: Callable[[], object]) -> None:
        """Try again to run *run* on a thread. On the I/O thread."""
        try:
            self._begin(run)
        except RuntimeError as error:
            log.error("A background task of the cluster was not run: %s", error)

    def _log_lack_of_threads(self, error: RuntimeError) -> None:
        if not self._lacks_threads:
            self._lacks_threads = True
            log.warning("No thread can be started for work in the background, which is delayed: %s", error)

    # ---- on driver threads

    def _work(self, queue: _CallQueue) -> None:
        """Run ready calls, unless enough threads do."""
        with self._lock:
            if queue.running >= queue.limit:
                return  # they check again before they end
            queue.running += 1
        while True:
            with self._lock:
                task = queue.ready.popleft() if queue.ready and not self._closed else None
                if task is None:
                    queue.running -= 1
                    return
            self._run(task)
            del task

    def _run(self, task: Task) -> None:
        self._active[task] = threading.get_ident()
        try:
            if not self._closed or task.future is None:
                task.run()
            else:
                task.cancel()
        finally:
            self._active.pop(task, None)
            if self._closed:
                with self._lock:
                    self._has_ended.notify_all()

    def _keep_time(self) -> None:
        """Act as the clock until no timer is left, unless another thread does."""
        while True:
            try:
                token = self._clock_token.pop()
            except IndexError:
                return  # that thread reads new timers, at the latest when it ends
            gate = threads.Signal()
            self._active[gate] = threading.get_ident()
            self._clock_gate = gate
            try:
                while not self._closed and (delay := self._promote()) is not None:
                    gate.wait(delay)
            finally:
                if self._clock_gate is gate:  # false in a forked child
                    self._clock_gate = None
                self._active.pop(gate, None)
                self._clock_token.append(token)
            if self._closed:
                with self._lock:
                    self._has_ended.notify_all()
                return
            if not self._new_timers:
                return

    def _promote(self) -> float | None:
        """Start due timers; return seconds until the next timer is due, None without any."""
        timers, now = self._timers, monotonic()
        while self._new_timers:
            heappush(timers, self._new_timers.popleft())
        while timers:
            due, _, task = timers[0]
            if due > now and not task.cancelled:
                return due - now
            if not task.cancelled:
                try:
                    self._join(self._delayed, task)
                except RuntimeError as error:
                    self._log_lack_of_threads(error)
                    return AGAIN
            heappop(timers)
        return None

    # ---- fork

    def leave_to_parent(self) -> None:
        """Drop threads and queued calls in a forked child: they stayed in the parent."""
        renew(self._lock)
        self._has_ended = threading.Condition(self._lock)  # without waiters
        self._submitted = _CallQueue(self._submitted.limit)
        self._delayed = _CallQueue(self._delayed.limit)
        self._new_timers = deque()
        self._timers = []
        self._active = {}
        self._clock_token = deque([1])
        self._clock_gate = None
        self._call_later = None  # the parent's
        for strand in list(self._strands):
            strand.leave_to_parent()

    # ---- the end

    def shutdown(self, timeout: float = 5.0) -> bool:
        """Drop calls that have not started and wait for running ones (not for the calling thread). Idempotent.

        Return False if a call still ran after *timeout* seconds; its thread ends when it does.
        """
        ended = run(self._shut_down, timeout)
        end_idle_threads()
        return ended

    def _shut_down(self, timeout: float) -> bool:
        self._closed = True
        self._call_later = None  # a reference to the cluster must not keep a reactor alive
        gate = self._clock_gate
        if gate is not None:
            gate.give()
        for queue in (self._submitted, self._delayed):
            _cancel_all(queue.ready)
        with contextlib.suppress(IndexError):
            while True:
                self._new_timers.popleft()[2].cancel()
        for timer in list(self._timers):
            timer[2].cancel()
        for strand in list(self._strands):
            strand.abandon()
        return self._wait(timeout)

    def join(self, timeout: float) -> bool:
        """Wait until all calls have ended, except those of the calling thread. Return True if they did."""
        ended = run(self._wait, timeout)
        end_idle_threads()
        return ended

    def _wait(self, timeout: float) -> bool:
        deadline = monotonic() + timeout
        current = threading.get_ident()
        with self._lock:
            while any(ident != current for ident in list(self._active.values())):
                if not self._has_ended.wait(max(0.0, deadline - monotonic())) and monotonic() >= deadline:
                    return not any(ident != current for ident in list(self._active.values()))
        return True


def _cancel_all(tasks: deque[Task]) -> None:
    try:
        while True:
            tasks.popleft().cancel()
    except IndexError:  # empty, also because another thread takes tasks
        pass


def end_idle_threads() -> None:
    """End idle threads after a shutdown. For callers; driver threads do not wait for each other."""
    if thread_kind() == CALLER:
        for thread in threads.end_idle():
            thread.join(1.0)


class Strand:
    """Runs its calls one at a time and in order, on the scheduler's threads.

    State that only calls of one strand use needs no lock, and user code can be called from there without holding one.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = driver_lock("Strand")
        self._queue: deque[Task] = deque()
        self._owner: int | None = None  # ident of the thread that runs the queue now
        self._called = False  # a thread that will run it was started

    def is_held(self) -> bool:
        """True if the calling thread is running the strand."""
        return self._owner == threading.get_ident()

    def post(self, fn: Callable[..., object], *args: Any) -> bool:
        """Run ``fn(*args)`` after the calls posted before. Never blocks. Return False without effect after a
        shutdown."""
        return self._put(Task(fn, args))

    def post_here(self, fn: Callable[..., object], *args: Any) -> bool:
        """Do as :meth:`post`, but a worker that posts also runs the call, before this returns, unless another thread
        runs the strand: no other worker has to be started for it. For the last step of a worker's call."""
        return self._put(Task(fn, args), thread_kind() == WORKER)

    def call(self, fn: Callable[..., T], *args: Any, timeout: float | None = None) -> T:
        """Run ``fn(*args)`` in its turn and return its result; at once when called from a call of this strand.

        Raises TimeoutError when its turn did not come within *timeout* seconds (then it never runs), CancelledError
        when the scheduler was shut down before, ConnectionShutdown in a child that is forked meanwhile. Ctrl-C ends the
        wait, not the call.
        """
        if self.is_held():
            return fn(*args)
        result: T = run(self._call, fn, args, timeout)
        return result

    def _call(self, fn: Callable[..., T], args: tuple[Any, ...], timeout: float | None) -> T:
        done = AutoResetEvent()
        future: Future[T] = Future()
        task = Task(fn, args, None, future)
        self._put(task, thread_kind() == WORKER)  # a worker runs the call itself
        try:
            return done.result(future, timeout)
        except FutureTimeout as error:
            if not future.cancel():
                return future.result()
            raise TimeoutError(f"Other work of the cluster did not finish within {timeout} s") from error

    def leave_to_parent(self) -> None:
        """See :meth:`Scheduler.leave_to_parent`."""
        renew(self._lock)
        self._queue = deque()
        self._owner = None
        self._called = False

    def abandon(self) -> None:
        """Cancel all calls that have not started (the scheduler shuts down)."""
        _cancel_all(self._queue)

    def _put(self, task: Task, here: bool = False) -> bool:
        """Queue *task*. *here*: this thread drains next, if the strand is idle: no other thread has to be started."""
        catch_up()
        scheduler = self._scheduler
        if scheduler.closed:
            task.cancel()
            return False
        if thread_kind() == CALLER:  # a caller may be interrupted after either step
            self._queue.append(task)
            begin = True
        else:
            with self._lock:
                self._queue.append(task)
                begin = self._owner is None and not self._called
                here = here and begin and len(self._queue) == 1
                self._called |= begin
        is_late: bool = self._scheduler.closed
        if is_late:  # abandon() may have run before
            self.abandon()
        elif here:
            self._drain(task.future)
        elif begin:
            try:
                return scheduler.spawn(self._drain)
            except RuntimeError:
                self._called = False  # another call begins
                with contextlib.suppress(ValueError):
                    self._queue.remove(task)
                raise
        return True

    def _drain(self, until: Future[Any] | None = None) -> None:
        """Run the queue unless another thread does, at most until *until* is done; another thread runs the rest."""
        with self._lock:
            self._called = False
            if self._owner is not None:
                return
            self._owner = threading.get_ident()
        while True:
            with self._lock:
                if not self._queue or (until is not None and until.done()):
                    self._owner = None
                    rest = self._called = bool(self._queue)
                    break
                task = self._queue.popleft()
            task.run()
            del task
        if rest:
            try:
                self._scheduler.spawn(self._drain)
            except RuntimeError:  # no more threads: this one runs the rest
                self._drain()


# ---- commands of asyncio tasks


async def run_async(fn: Callable[..., T], *args: Any, undo: Callable[[T], object] | None = None) -> T:
    """Do as :func:`run`, for a task of an asyncio loop. If the task is cancelled the command continues."""
    catch_up()
    waiter = aio.new_awaiting(aio.running_loop())
    command = Command(fn, args, lambda: aio.resolve(waiter, None), undo)
    try:
        command.start()
        await waiter
        return command.outcome()
    except BaseException as error:
        if error is not command.error:
            command.leave()
        raise


# ---- draining before a shutdown


def busy(sessions: Iterable[Session]) -> int:
    """Return how many requests of *sessions* are not completed."""
    return sum(_in_flight(session) for session in sessions)


def _in_flight(session: Session) -> int:
    delayed = session._ending.delayed()
    paused = sum(request._outcome is None and not request._wait(0.0) for request in delayed)  # without a response
    return sum(pool.waiting for pool in session._pool_set.pools.values()) + paused + len(session._pool_set.admission)


def drain(seconds: float, count: Callable[[], int], is_over: Callable[[], bool]) -> None:
    """Wait until *count* is zero and stays so, at most *seconds*, or until *is_over*."""
    now = monotonic()
    deadline, idle_since = now + seconds, now
    while not is_over():
        sleep(LOOK)
        now, left = monotonic(), count()
        if left:
            idle_since = now
            if now >= deadline:
                log.warning("%d requests have not finished within the %s s of the shutdown, and fail", left, seconds)
                return
        elif now - idle_since >= QUIET:
            return
