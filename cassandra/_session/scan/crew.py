"""Crew: the driver threads that fold.

L5. Work is given in *chains*: the jobs of one chain are done in order, one at a time; different chains are done at the
same time, by up to *threads* driver threads.

Threads and owners: the *consumer*, one caller's thread or task, gives jobs, and has no more waiting than there is room
for. It appends to the queue of a chain, and the chain to ``_told`` (``deque.append`` is atomic), and starts a driver
thread unless one is sure to look at ``_told`` later; it acquires no lock, so the handler of a signal that interrupts it
anywhere leaves none held. ``_given`` belongs to it. Everything else changes on driver threads, with the lock, which is
held for moments and not while a job runs. A consumer that is interrupted between the steps closes the crew, as its fold
has failed.

No job is forgotten: the consumer appends first and then reads ``_looking`` and ``_running``. A thread that was started
to look clears ``_looking`` first and then reads ``_told``; one that ends counts itself out of ``_running`` first and
then reads ``_told`` once more.

What a job raises is kept in ``error``: the first error stays, no job begins after it, and :meth:`check` raises it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cassandra._base import commands, process, threads
from cassandra._base.locks import driver_lock
from cassandra._base.real import threading

Job = Callable[[], object]


class Chain:
    """Jobs that are done in order."""

    __slots__ = ("is_busy", "jobs")

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.is_busy = False  # a thread has it, or it waits for one


class Crew:
    """Up to *threads* threads at a time, until :meth:`close`. There is room for *room* jobs."""

    def __init__(self, threads: int, room: int) -> None:
        self.error: BaseException | None = None
        self.on_change: Callable[[], object] | None = None  # called on its threads when a job was done
        self._size = threads
        self._room = room
        self._lock = driver_lock("Crew")
        self._ended = threading.Condition(self._lock)  # for close()
        self._told: deque[Chain] = deque()  # chains that got a job
        self._ready: deque[Chain] = deque()  # chains with jobs that no thread has
        self._looking = False  # a thread is started that has not looked yet
        self._running = 0  # threads that do jobs
        self._given = 0
        self._done = 0
        self._closed = False
        self._bell = process.Bell()  # for the consumer
        self._process = process.here()

    def give(self, chain: Chain, job: Job) -> None:
        """Have *job* done after the other jobs of *chain*."""
        process.stay(self._process)  # a forked child has none of the threads
        self._given += 1
        chain.jobs.append(job)
        self._told.append(chain)
        if not self._looking and self._running < self._size:
            self._looking = True
            threads.start(self._look)

    @property
    def has_room(self) -> bool:
        """Whether another job may be given; also after an error, when none is done any more."""
        return self._given - self._done < self._room or self.error is not None

    @property
    def is_idle(self) -> bool:
        """Whether all jobs are done, or none is done any more."""
        return self._given == self._done or self.error is not None

    def check(self) -> None:
        """Raise what a job has raised."""
        if self.error is not None:
            raise self.error

    def wait(self, condition: Callable[[], bool]) -> None:
        """Until *condition*, which a job that is done may make true."""
        while not condition():
            self._bell.wait()

    def close(self) -> None:
        """No job begins any more; those that run are waited for."""
        if self._process is process.current:
            self._closed = True
            commands.run(self._close)

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
        """Whether this thread is to do jobs."""
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
