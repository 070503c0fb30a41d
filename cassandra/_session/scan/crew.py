"""Crew: the threads that fold.

L5. Work is given in *chains*: what is given to one is done in order, one at a time; different chains are done at the
same time by as many threads as there are. The caller's thread gives, and sees to it that no more waits than there is
room for.

The lock is held for moments, and not while something is done. What is done raises into ``error``: the first one stays,
nothing is begun after it, and who gives or waits is told by ``check()``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cassandra._base import process
from cassandra._base.real import threading

Job = Callable[[], object]


class Chain:
    """Work that is done in order."""

    __slots__ = ("busy", "jobs")

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()
        self.busy = False  # a thread has it, or it waits for one


class Crew:
    """*threads* threads; begun with the first job, ended by :meth:`close`. There is room for *room* jobs."""

    def __init__(self, threads: int, room: int) -> None:
        self.error: BaseException | None = None
        self.on_change: Callable[[], object] | None = None  # called by its threads when something was done
        self._size = threads
        self._room = room
        self._lock = threading.Lock()
        self._something = threading.Condition(self._lock)  # for the threads
        self._ready: deque[Chain] = deque()
        self._open = 0  # jobs that are not done
        self._closed = False
        self._threads: list[threading.Thread] = []
        self._bell = process.Bell()  # for the one who waits
        self._process = process.here()

    def give(self, chain: Chain, job: Job) -> None:
        process.stay(self._process)  # in a forked child there are no threads, and the lock may be held for ever
        with self._something:
            self._open += 1
            chain.jobs.append(job)
            if not chain.busy:
                chain.busy = True
                self._ready.append(chain)
                self._something.notify()
        if len(self._threads) < min(self._size, self._open):
            thread = threading.Thread(target=self._work, name="cassandra-fold", daemon=True)
            thread.start()
            self._threads.append(thread)

    @property
    def has_room(self) -> bool:
        """Whether another job may be given; also when something has failed, and none will be done."""
        return self._open < self._room or self.error is not None

    @property
    def is_idle(self) -> bool:
        return not self._open or self.error is not None

    def check(self) -> None:
        """Raise what a job has raised."""
        if self.error is not None:
            raise self.error

    def wait(self, condition: Callable[[], bool]) -> None:
        """Until *condition*, which work that is done may make true."""
        while not condition():
            self._bell.wait()

    def close(self) -> None:
        """No job is begun any more; those that are being done are waited for."""
        if self._process is not process.current:
            return
        with self._something:
            self._closed = True
            self._something.notify_all()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._something:
                while not self._ready:
                    if self._closed:
                        return
                    self._something.wait()
                if self._closed or self.error is not None:
                    return
                chain = self._ready.popleft()
                job = chain.jobs.popleft()
            try:
                job()
            except BaseException as error:
                if self.error is None:
                    self.error = error
            del job
            with self._something:
                self._open -= 1
                if chain.jobs:
                    self._ready.append(chain)
                    self._something.notify()
                else:
                    chain.busy = False
            self._bell.ring()
            tell = self.on_change
            if tell is not None:
                tell()
