"""Crew: the worker pool of a fold, made of driver threads.

L5. Work is submitted to *per-range queues* (:class:`Chain`): the jobs of one queue run in order, one at a time; jobs of
different queues run concurrently, on up to *threads* driver threads.

Threads and owners: the *consumer*, one caller's thread or task, submits jobs, and leaves no more waiting than *room*
permits. It appends to a queue, and the queue to ``_told`` (``deque.append`` is atomic), and starts a driver thread
unless one is certain to read ``_told`` later; it acquires no lock, so a signal handler that interrupts it anywhere
leaves no lock held. ``_given`` belongs to it. Everything else changes on driver threads, under the lock, which is held
briefly and not while a job runs. A consumer that is interrupted between the steps closes the pool, as its fold has
failed.

No job is lost: the consumer appends first and then reads ``_looking`` and ``_running``. A thread that was started to
look clears ``_looking`` first and then reads ``_told``; one that ends subtracts itself from ``_running`` first and then
reads ``_told`` again.

``error`` is the first exception of a job: no job starts after it, and :meth:`check` raises it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cassandra._base import process, threads
from cassandra._base.locks import driver_lock
from cassandra._base.real import threading

Job = Callable[[], object]


class Chain:
    """Queue of jobs that run in order."""

    __slots__ = ("is_busy", "jobs")

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.is_busy = False  # a thread runs its jobs, or it is in the ready queue


class Crew:
    """Up to *threads* concurrent threads, until :meth:`close`. *room* is the limit of unfinished jobs."""

    def __init__(self, threads: int, room: int) -> None:
        self.error: BaseException | None = None
        self.on_change: Callable[[], object] | None = None  # called on a pool thread after each job
        self._size = threads
        self._room = room
        self._lock = driver_lock("Crew")
        self._ended = threading.Condition(self._lock)  # for close()
        self._told: deque[Chain] = deque()  # queues that got a job
        self._ready: deque[Chain] = deque()  # queues with jobs that no thread has taken
        self._looking = False  # a thread was started that has not read _told yet
        self._running = 0  # number of threads that run jobs
        self._given = 0
        self._done = 0
        self._closed = False
        self._bell = process.Bell()  # for the consumer
        self._process = process.here()

    def give(self, chain: Chain, job: Job) -> None:
        """Submit *job*, to run after the other jobs of *chain*."""
        process.stay(self._process)  # a forked child has none of the threads
        self._given += 1
        chain.jobs.append(job)
        self._told.append(chain)
        if not self._looking and self._running < self._size:
            self._looking = True
            threads.start(self._look)

    @property
    def has_room(self) -> bool:
        """True if another job may be submitted; also after an error, when no more jobs run."""
        return self._given - self._done < self._room or self.error is not None

    @property
    def is_idle(self) -> bool:
        """True if all jobs are done, or no more jobs run after an error."""
        return self._given == self._done or self.error is not None

    def check(self) -> None:
        """Raise the first exception of a job, if any."""
        if self.error is not None:
            raise self.error

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait until *condition* is true; it is checked after each job."""
        while not condition():
            self._bell.wait()

    def close(self) -> None:
        """Start no more jobs, and wait for the running ones."""
        if self._process is process.current:
            self._closed = True
            threads.run(self._close)

    def _close(self) -> None:
        with self._lock:
            while self._running:
                self._ended.wait()

    # ---- on driver threads

    def _look(self) -> None:
        self._looking = False
        while self._begins():
            self._work()

    def _begins(self) -> bool:
        """Return True if this thread is to run jobs."""
        with self._lock:
            self._take_told()
            begins = self._may_go_on and self._running < self._size
            self._running += begins
        return begins

    @property
    def _may_go_on(self) -> bool:
        return bool(self._ready) and not self._closed and self.error is None

    def _take_told(self) -> None:
        while self._told:
            chain = self._told.popleft()
            if not chain.is_busy and chain.jobs:
                chain.is_busy = True
                self._ready.append(chain)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._take_told()
                if not self._may_go_on:
                    self._running -= 1
                    self._ended.notify_all()
                    return
                chain = self._ready.popleft()
                job = chain.jobs.popleft()
                wants_company = bool(self._ready) and self._running < self._size and not self._looking
            if wants_company:
                self._start_another()
            try:
                job()
            except BaseException as error:
                if self.error is None:
                    self.error = error
            del job
            with self._lock:
                self._done += 1
                if chain.jobs:
                    self._ready.append(chain)
                else:
                    chain.is_busy = False
            self._bell.ring()
            changed = self.on_change
            if changed is not None:
                changed()

    def _start_another(self) -> None:
        self._looking = True
        try:
            threads.start(self._look)
        except RuntimeError:  # out of threads: this one does all
            self._looking = False
