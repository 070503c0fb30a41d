"""Worker threads for control-plane work: what may block, what is delayed, and what must run one at a time.

L5. A :class:`Scheduler` belongs to one cluster. Its workers are daemon threads started when first needed, so that a
cluster that is never connected has none. Neither the I/O thread nor an asyncio thread ever waits for it.

Owners: ``_ready``, ``_timers``, ``_threads`` and ``_idle`` are guarded by ``_wake``, a strand's queue by its lock;
both locks are re-entrant, because garbage collection may run a user's ``__del__`` that shuts the cluster down
anywhere, and neither is held while a task runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeout
from heapq import heapify, heappop, heappush
from itertools import count
from time import monotonic
from typing import Any, TypeVar
from weakref import WeakSet

from cassandra._base.locks import enter_driver_thread
from cassandra._base.logs import get_logger
from cassandra._base.process import Bell, catch_up, renew
from cassandra._base.real import Future, threading

log = get_logger("cassandra.cluster")

T = TypeVar("T")


class Task:
    """A call to come; what :meth:`Scheduler.schedule` returns. Its outcome goes to *future*, or to the log without
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
        """Do not run it any more. What has started goes on."""
        self.cancelled = True
        self.fn = self.kwargs = None  # frees what the call refers to before its time comes
        self.args = ()
        if self.future is not None:
            self.future.cancel()

    def run(self) -> None:
        """Call it, once."""
        fn, args, kwargs, future = self.fn, self.args, self.kwargs or {}, self.future
        if self.cancelled or fn is None or (future is not None and not future.set_running_or_notify_cancel()):
            return
        try:
            result = fn(*args, **kwargs)
        except BaseException as error:
            if future is not None:
                future.set_exception(error)
            else:  # SystemExit too: the thread is not the task's to end
                log.exception("A background task of the cluster failed: %r", fn)
        else:
            if future is not None:
                future.set_result(result)


class Scheduler:
    """At most *workers* threads that run submitted and delayed calls."""

    def __init__(self, workers: int = 2, name: str = "fastcql") -> None:
        self._name = name
        self._workers = max(1, workers)
        self._lock = threading.RLock()
        self._wake = threading.Condition(self._lock)
        self._ready: deque[Task] = deque()
        self._timers: list[tuple[float, int, Task]] = []
        self._sequence = count()
        self._threads: list[threading.Thread] = []
        self._idents: set[int] = set()
        self._strands: WeakSet[Strand] = WeakSet()
        self._idle = 0
        self._closed = False
        self._generation = 0  # of the process: a thread that a child was forked on is no worker there

    @property
    def closed(self) -> bool:
        """True once :meth:`shutdown` was called: nothing is started any more."""
        return self._closed

    @property
    def has_threads(self) -> bool:
        """Whether a worker was ever started."""
        return bool(self._threads)

    def in_worker(self) -> bool:
        """Whether this is one of the scheduler's own threads."""
        return threading.get_ident() in self._idents

    # ---- giving it work

    def submit(self, fn: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
        """Run ``fn(*args, **kwargs)`` on a worker; the future has its outcome, and is cancelled by a shutdown."""
        future: Future[T] = Future()
        task = Task(fn, args, kwargs, future)
        if not self._put(task):
            task.cancel()
        return future

    def spawn(self, fn: Callable[..., object], *args: Any) -> bool:
        """Run ``fn(*args)`` on a worker, nobody waits. False, and nothing happens, after a shutdown."""
        return self._put(Task(fn, args))

    def schedule(self, delay: float, fn: Callable[..., object], *args: Any) -> Task:
        """Run ``fn(*args)`` on a worker after *delay* seconds, unless cancelled or shut down before."""
        catch_up()
        task = Task(fn, args)
        with self._wake:
            if self._closed:
                task.cancel()
                return task
            entry = (monotonic() + max(0.0, delay), next(self._sequence), task)
            heappush(self._timers, entry)
            if not self._idle:
                try:
                    self._grow()
                except RuntimeError:
                    self._timers.remove(entry)
                    heapify(self._timers)
                    raise
            elif self._timers[0][2] is task:
                self._wake.notify_all()  # sleepers must work out again how long to sleep
        return task

    def strand(self) -> Strand:
        """A new serial queue on these workers."""
        strand = Strand(self)
        self._strands.add(strand)
        return strand

    def _put(self, task: Task) -> bool:
        catch_up()
        with self._wake:
            if self._closed:
                return False
            self._ready.append(task)
            try:
                self._call_worker()
            except RuntimeError:
                self._ready.remove(task)
                raise
        return True

    # ---- the workers

    def _call_worker(self) -> None:
        """Make sure that somebody looks at the ready queue. Call with ``_wake`` held."""
        if len(self._ready) > self._idle:
            self._grow()
        if self._idle:
            self._wake.notify()

    def _grow(self) -> None:
        """Start one more worker if there may be one. Call with ``_wake`` held. RuntimeError when there is none and none
        can be started, as in Python 3.12 once the interpreter ends: work would wait for ever."""
        if len(self._threads) >= self._workers:
            return
        thread = threading.Thread(target=self._work, name=f"{self._name}-worker-{len(self._threads)}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # no more threads, or the interpreter is going down
            if not self._threads:
                raise
            log.warning("Could not start a worker thread: %s", error)
        else:
            self._threads.append(thread)

    def fill(self) -> None:
        """Start all workers there may be, so that nobody who gives them work has to wait for one to start."""
        with self._wake:
            for _ in range(0 if self._closed else self._workers):
                self._grow()

    def _work(self) -> None:
        enter_driver_thread()
        generation = self._generation
        self._idents.add(threading.get_ident())
        try:
            while (task := self._next(generation)) is not None:
                task.run()
                del task  # or it would live until the next one comes
        finally:
            self._idents.discard(threading.get_ident())

    def _next(self, generation: int) -> Task | None:
        """The next due task; None when the scheduler closed, or in a child of the process the thread is of."""
        with self._wake:
            while not self._closed and generation == self._generation:
                delay = self._promote()
                if self._ready:
                    task = self._ready.popleft()
                    if self._timers and not self._idle:
                        self._grow()  # or nobody would look at the clock while this one runs
                    return task
                self._idle += 1
                try:
                    self._wake.wait(delay)
                finally:
                    self._idle -= 1
            return None

    def _promote(self) -> float | None:
        """Move due timers to the ready queue; seconds until the next one is due, None without any."""
        now = monotonic()
        while self._timers:
            due, _, task = self._timers[0]
            if due > now and not task.cancelled:
                return due - now
            heappop(self._timers)
            if not task.cancelled:
                self._ready.append(task)
                if len(self._ready) > 1:  # one is for the thread that is here
                    self._call_worker()
        return None

    # ---- fork

    def leave_to_parent(self) -> None:
        """In a forked child: threads, and what they were given, stayed in the parent. Workers start when needed."""
        self._generation += 1
        renew(self._lock)
        self._wake = threading.Condition(self._lock)  # without those who wait
        self._ready = deque()
        self._timers = []
        self._threads = []
        self._idents = set()
        self._idle = 0
        for strand in list(self._strands):
            strand.leave_to_parent()

    # ---- the end

    def shutdown(self, timeout: float = 5.0) -> bool:
        """Drop what has not started and join the workers (not the calling one). Idempotent.

        False if a worker was still busy after *timeout* seconds; it ends when its task does.
        """
        with self._wake:
            self._closed = True
            dropped = [*self._ready, *(timer[2] for timer in self._timers)]
            self._ready.clear()
            self._timers.clear()
            self._wake.notify_all()
        for task in dropped:
            task.cancel()
        for strand in list(self._strands):
            strand.abandon()
        return self.join(timeout)

    def join(self, timeout: float) -> bool:
        """Wait until the workers ended, except the calling one. True if they did."""
        deadline = monotonic() + timeout
        current = threading.get_ident()
        others = [thread for thread in self._threads if thread.ident != current]
        for thread in others:
            thread.join(max(0.0, deadline - monotonic()))
        return not any(thread.is_alive() for thread in others)


class Strand:
    """Runs its calls one at a time and in order, on the scheduler's workers.

    State that only calls of one strand touch needs no lock, and user code can be called from there while none is
    held.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._lock = threading.RLock()
        self._queue: deque[Task] = deque()
        self._owner: int | None = None  # ident of the thread that runs the queue now

    def held(self) -> bool:
        """Whether this thread is running the strand."""
        return self._owner == threading.get_ident()

    def post(self, fn: Callable[..., object], *args: Any) -> bool:
        """Run ``fn(*args)`` after what was posted before. Never blocks. False, and nothing happens, after a
        shutdown."""
        return self._put(Task(fn, args))

    def post_here(self, fn: Callable[..., object], *args: Any) -> bool:
        """As :meth:`post`, but a worker that posts also runs it, before this returns, unless another thread runs the
        strand: no other worker has to be started for it. For the end of what a worker does."""
        here = self._scheduler.in_worker()
        posted = self._put(Task(fn, args), here)
        if here:
            self._drain()
        return posted

    def call(self, fn: Callable[..., T], *args: Any, timeout: float | None = None) -> T:
        """Run ``fn(*args)`` in its turn and return its result; at once when called from a call of this strand.

        Raises TimeoutError when its turn did not come within *timeout* seconds (then it never runs), CancelledError
        when the scheduler was shut down before, ConnectionShutdown in a child that is forked meanwhile. Ctrl-C ends the
        wait, not the call.
        """
        if self.held():
            return fn(*args)
        done = Bell()
        future: Future[T] = Future()
        task = Task(fn, args, None, future)
        here = self._scheduler.in_worker()  # it does the work itself: the last one might wait for itself
        if not self._put(task, here):
            task.cancel()
        elif here:
            self._drain(future)
        try:
            return done.result(future, timeout)
        except FutureTimeout as error:
            if not future.cancel():
                return future.result()
            raise TimeoutError(f"Other work of the cluster did not end within {timeout} s") from error

    def leave_to_parent(self) -> None:
        """See :meth:`Scheduler.leave_to_parent`."""
        renew(self._lock)
        self._queue = deque()
        self._owner = None

    def abandon(self) -> None:
        """Cancel everything that has not started (the scheduler shuts down)."""
        with self._lock:
            dropped = list(self._queue)
            self._queue.clear()
        for task in dropped:
            task.cancel()

    def _put(self, task: Task, drained: bool = False) -> bool:
        """*drained*: the caller drains next, so that no worker has to be called."""
        with self._lock:
            if self._scheduler.closed:  # looked at with the lock, which abandon() takes later: it finds what was queued
                return False
            self._queue.append(task)
            start = self._owner is None and len(self._queue) == 1
        return drained or not start or self._scheduler.spawn(self._drain)

    def _drain(self, until: Future[Any] | None = None) -> None:
        """Run the queue unless another thread does, at most until *until* is done; the rest goes to a worker."""
        with self._lock:
            if self._owner is not None:
                return
            self._owner = threading.get_ident()
        while True:
            with self._lock:
                if not self._queue or (until is not None and until.done()):
                    self._owner = None
                    rest = bool(self._queue)
                    break
                task = self._queue.popleft()
            task.run()
            del task
        if rest:
            self._scheduler.spawn(self._drain)
