"""Worker threads, delayed calls and strands."""

from __future__ import annotations

import contextlib
import logging
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, wait

import pytest

from cassandra._base import threads
from cassandra._session.scheduler import Scheduler, Strand
from tests.checked_locks import as_driver
from tests.interrupts import handlers_raise
from tests.patience import PATIENCE, eventually, ever_longer


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    made = Scheduler(2)
    yield made
    assert made.shutdown(PATIENCE)


def test_no_thread_before_work() -> None:
    eventually(lambda: not threads.end_idle())
    before = set(threading.enumerate())
    scheduler = Scheduler(2)
    assert not set(threading.enumerate()) - before
    scheduler.submit(int).result(PATIENCE)
    assert len(set(threading.enumerate()) - before) >= 1
    scheduler.shutdown()
    assert not set(threading.enumerate()) - before


def test_submit_gives_result_and_exception(scheduler: Scheduler) -> None:
    assert scheduler.submit(lambda a, b=0: a + b, 1, b=2).result(PATIENCE) == 3
    with pytest.raises(ZeroDivisionError):
        scheduler.submit(lambda: 1 / 0).result(PATIENCE)


def test_a_blocked_worker_does_not_delay_the_next_task(scheduler: Scheduler) -> None:
    scheduler.submit(int).result(PATIENCE)  # one idle worker
    gate = threading.Event()
    blocked = scheduler.submit(gate.wait, PATIENCE)
    assert scheduler.submit(lambda: 7).result(PATIENCE) == 7
    gate.set()
    assert blocked.result(PATIENCE)


def test_never_more_threads_than_workers(scheduler: Scheduler) -> None:
    running: list[None] = []
    counts: list[int] = []

    def work() -> None:
        running.append(None)
        counts.append(len(running))
        time.sleep(0.001)
        running.pop()

    wait([scheduler.submit(work) for _ in range(200)], PATIENCE)
    assert len(counts) == 200 and max(counts) <= 2


def test_schedule_runs_in_order_of_time(scheduler: Scheduler) -> None:
    def in_order(gap: float) -> bool:
        ran: list[str] = []
        scheduler.schedule(2 * gap, ran.append, "late")
        scheduler.schedule(gap, ran.append, "early")
        eventually(lambda: len(ran) == 2, 2 * gap + PATIENCE)
        return ran == ["early", "late"]

    assert any(in_order(gap) for gap in ever_longer(0.03))


def test_cancelled_task_does_not_run_and_frees_its_arguments(scheduler: Scheduler) -> None:
    def cancelled(delay: float) -> bool:
        ran: list[int] = []
        task = scheduler.schedule(delay, ran.append, 1)
        task.cancel()
        assert task.args == ()
        done = threading.Event()
        scheduler.schedule(2 * delay, done.set)
        assert done.wait(2 * delay + PATIENCE)
        return ran == []

    assert any(cancelled(delay) for delay in ever_longer(0.02))


def test_failing_background_task_is_logged(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "cassandra.cluster"):
        scheduler.spawn(lambda: 1 / 0)
        eventually(lambda: "ZeroDivisionError" in caplog.text)
    assert scheduler.submit(lambda: 1).result(PATIENCE) == 1


def test_shutdown_cancels_calls_that_have_not_started() -> None:
    scheduler = Scheduler(1)
    gate = threading.Event()
    running = scheduler.submit(gate.wait, PATIENCE)
    eventually(running.running)
    waiting = scheduler.submit(int)
    strand = scheduler.strand()
    strand.post(gate.wait, PATIENCE)
    eventually(lambda: strand._owner is not None)
    errors: list[BaseException] = []

    def call() -> None:
        try:
            strand.call(int)
        except CancelledError as error:
            errors.append(error)

    caller = threading.Thread(target=call)
    caller.start()
    eventually(lambda: strand._queue)
    assert not scheduler.shutdown(0.01)
    caller.join(PATIENCE)
    assert waiting.cancelled() and len(errors) == 1
    assert scheduler.submit(int).cancelled()
    assert not scheduler.spawn(int)
    assert scheduler.schedule(0, int).cancelled
    gate.set()
    assert scheduler.join(PATIENCE)
    assert running.result(PATIENCE)


def test_shutdown_from_a_worker_does_not_wait_for_itself() -> None:
    scheduler = Scheduler(1)
    done = threading.Event()
    outcome: list[bool] = []
    scheduler.spawn(lambda: (outcome.append(scheduler.shutdown(PATIENCE)), done.set()))
    assert done.wait(PATIENCE)
    assert outcome == [True]
    assert scheduler.join(PATIENCE)


def test_strand_runs_one_at_a_time_and_in_order(scheduler: Scheduler) -> None:
    strand = scheduler.strand()
    ran: list[int] = []
    inside = [0]

    def step(number: int) -> None:
        inside[0] += 1
        assert inside[0] == 1
        ran.append(number)
        inside[0] -= 1

    for number in range(500):
        strand.post(step, number)
    strand.call(lambda: None, timeout=PATIENCE)
    assert ran == list(range(500))


def test_strand_call_gives_result_and_exception(scheduler: Scheduler) -> None:
    strand = scheduler.strand()
    assert strand.call(lambda a: a + 1, 1) == 2
    with pytest.raises(KeyError):
        strand.call({}.__getitem__, "x")
    assert strand.call(lambda: strand.call(lambda: strand.is_held())) is True
    assert not strand.is_held()


def test_strand_call_gives_up_when_its_turn_does_not_come(scheduler: Scheduler) -> None:
    strand = scheduler.strand()
    gate = threading.Event()
    strand.post(gate.wait, PATIENCE)
    ran: list[int] = []
    with pytest.raises(TimeoutError):
        strand.call(ran.append, 1, timeout=0.02)
    gate.set()
    strand.call(lambda: None, timeout=PATIENCE)
    assert ran == []


def test_workers_that_call_strands_do_not_wait_for_each_other() -> None:
    """With one worker, a task on it that needs a strand runs the strand itself."""
    scheduler = Scheduler(1)
    outer, inner = scheduler.strand(), scheduler.strand()
    inner.post(lambda: None)
    assert scheduler.submit(lambda: outer.call(lambda: inner.call(lambda: 3))).result(PATIENCE) == 3
    assert outer.call(lambda: inner.call(lambda: 4), timeout=PATIENCE) == 4
    assert scheduler.shutdown(PATIENCE)


def test_strand_from_many_threads(scheduler: Scheduler) -> None:
    strand = scheduler.strand()
    total = [0]

    def add() -> None:
        value = total[0]
        total[0] = value + 1

    def run() -> None:
        for number in range(200):
            if number % 2:
                strand.post(add)
            else:
                strand.call(add, timeout=PATIENCE)

    callers = [threading.Thread(target=run) for _ in range(8)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(PATIENCE)
    strand.call(lambda: None, timeout=PATIENCE)
    assert total[0] == 1600


def test_a_worker_runs_nested_strand_calls_itself() -> None:
    scheduler = Scheduler(2)
    outer, inner = scheduler.strand(), scheduler.strand()
    ran_by = scheduler.submit(
        lambda: (threading.get_ident(), outer.call(lambda: inner.call(threading.get_ident)))
    ).result(PATIENCE)
    assert ran_by[0] == ran_by[1]
    assert scheduler.shutdown(PATIENCE)


def test_post_here_on_a_worker_runs_in_that_worker() -> None:
    scheduler = Scheduler(2)
    strand = scheduler.strand()
    ran: list[tuple[str, int]] = []

    def note(what: str) -> None:
        ran.append((what, threading.get_ident()))

    def from_within() -> None:
        assert strand.post_here(note, "queued") and not ran, "the strand is held: it comes in its turn"

    def work() -> None:
        assert strand.post_here(note, "at once") and ran == [("at once", threading.get_ident())]
        ran.clear()
        strand.call(from_within)

    scheduler.submit(work).result(PATIENCE)
    eventually(lambda: [what for what, _ in ran] == ["queued"])
    assert strand.post_here(note, "of another thread")
    eventually(lambda: len(ran) == 2)
    assert ran[1][1] != threading.get_ident(), "a thread that is no worker posts as usual"
    assert scheduler.shutdown(PATIENCE)
    assert not strand.post_here(note, "too late")


def test_strand_of_workers_and_others(scheduler: Scheduler) -> None:
    """Workers call, which makes them run the strand, while others post and call: each call comes once, in turn."""
    strand = scheduler.strand()
    inside, total = [0], [0]

    def add() -> None:
        inside[0] += 1
        assert inside[0] == 1
        total[0] += 1
        inside[0] -= 1

    def work(rounds: int) -> None:
        for _ in range(rounds):
            strand.call(add, timeout=PATIENCE)
            strand.post(add)
            strand.post_here(add)

    for _ in range(50):
        before = total[0]
        workers = [scheduler.submit(work, 20) for _ in range(2)]
        work(20)
        for worker in workers:
            worker.result(PATIENCE)
        eventually(lambda before=before: total[0] == before + 180)  # type: ignore[misc]


def test_calls_of_workers_end_when_the_scheduler_does() -> None:
    for _ in range(300):
        scheduler = Scheduler(2)
        strand = scheduler.strand()
        start = threading.Barrier(3)
        ran: list[int] = []

        def call(strand: Strand = strand, start: threading.Barrier = start, ran: list[int] = ran) -> int:
            start.wait(PATIENCE)
            strand.call(ran.append, 1)
            return 1

        calls = [scheduler.submit(call) for _ in range(2)]
        start.wait(PATIENCE)
        assert scheduler.shutdown(PATIENCE)
        ended = [call.exception(PATIENCE) for call in calls]
        assert all(error is None or isinstance(error, CancelledError) for error in ended)
        assert len(ran) == ended.count(None)


def test_calls_of_others_end_when_the_scheduler_does() -> None:
    """Also one that is queued behind another one, while both are refused or abandoned."""
    for _ in range(300):
        scheduler = Scheduler(1)
        strand = scheduler.strand()
        start = threading.Barrier(5)
        ended: list[object] = []

        def call(strand: Strand = strand, start: threading.Barrier = start, ended: list[object] = ended) -> None:
            start.wait(PATIENCE)
            try:
                ended.append(strand.call(int))
            except CancelledError as error:
                ended.append(error)

        callers = [threading.Thread(target=call) for _ in range(4)]
        for thread in callers:
            thread.start()
        start.wait(PATIENCE)
        assert scheduler.shutdown(PATIENCE)
        for thread in callers:
            thread.join(PATIENCE)
        assert len(ended) == 4


def test_workers_survive_a_task_that_exits(scheduler: Scheduler, caplog: pytest.LogCaptureFixture) -> None:
    strand = scheduler.strand()
    strand.post(sys.exit, 1)
    assert strand.call(lambda: 1, timeout=PATIENCE) == 1
    assert "SystemExit" in caplog.text


def test_a_timer_behind_one_that_blocks() -> None:
    scheduler = Scheduler(workers=1)
    second, release = threading.Event(), threading.Event()
    try:
        scheduler.schedule(0, release.wait, 60)
        scheduler.schedule(0.01, second.set)
        assert second.wait(30)
    finally:
        release.set()
        assert scheduler.shutdown(30)


def test_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Python 3.12 while the interpreter ends: the caller gets the error, and nothing is left in a queue."""

    def refuse(*_: object) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    scheduler = Scheduler(2)
    ran: list[int] = []
    eventually(lambda: not threads.end_idle())
    with monkeypatch.context() as patch:
        patch.setattr(threads, "start_bare_thread", refuse)
        for ask in (
            lambda: scheduler.submit(ran.append, 1),
            lambda: scheduler.spawn(ran.append, 2),
            lambda: scheduler.schedule(0, ran.append, 3),
        ):
            with pytest.raises(RuntimeError, match="new thread"):
                ask()
    scheduler.submit(ran.append, 4).result(PATIENCE)
    scheduler.shutdown(PATIENCE)
    assert ran == [4]


class NoMoreThreads:
    """A process at its limit of threads, while it is entered."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.refused = 0
        self._at_limit = False
        self._start = threads.start
        patch.setattr(threads, "start", self._start_or_refuse)

    def __enter__(self) -> NoMoreThreads:
        self._at_limit = True
        return self

    def __exit__(self, *_: object) -> None:
        self._at_limit = False

    def _start_or_refuse(self, call: Callable[[], object]) -> None:
        if self._at_limit:
            self.refused += 1
            raise RuntimeError("can't start new thread")
        self._start(call)


def test_a_timer_waits_for_a_thread(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is not lost, although the clock finds no thread when it is due; the lack is logged once."""
    limit, ran = NoMoreThreads(monkeypatch), list[int]()
    begun = threading.Event()
    scheduler.schedule(0, begun.set)
    long = scheduler.schedule(PATIENCE, int)  # the clock stays
    assert begun.wait(PATIENCE)
    with limit:
        for number in range(3):
            scheduler.schedule(0.001, ran.append, number)
        eventually(lambda: limit.refused > 2)
        assert ran == []
    eventually(lambda: sorted(ran) == [0, 1, 2])
    long.cancel()
    assert caplog.text.count("No thread can be started") == 1


def test_driver_threads_need_no_thread_at_once(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their calls begin when the I/O thread finds a thread for them, in whatever way they were submitted."""
    limit, ran, later = NoMoreThreads(monkeypatch), list[str](), list[Callable[[], object]]()
    strand = scheduler.strand()
    scheduler.retry_on(lambda delay, call: later.append(call))

    def submit() -> None:
        scheduler.schedule(0, ran.append, "delayed")
        scheduler.spawn(ran.append, "spawned")
        scheduler.submit(ran.append, "submitted")
        assert strand.post(ran.append, "posted") and strand.post(ran.append, "posted too")

    with limit:
        as_driver(submit)
        for _ in range(2):  # the first attempt finds none either
            assert len(later) == 4 and ran == []
            calls, later[:] = later[:], []
            if limit.refused < 8:
                for call in calls:
                    as_driver(call)
    for call in calls:
        as_driver(call)
    eventually(lambda: sorted(ran) == ["delayed", "posted", "posted too", "spawned", "submitted"])


def test_a_strand_goes_on_after_a_call_that_found_no_thread(
    scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, strand, ran = NoMoreThreads(monkeypatch), scheduler.strand(), list[int]()
    with limit, pytest.raises(RuntimeError, match="new thread"):
        as_driver(strand.post, ran.append, 1)
    assert strand.post(ran.append, 2)
    assert strand.call(lambda: 3, timeout=PATIENCE) == 3
    assert ran == [2]


def test_a_strand_of_a_caller_that_was_interrupted_goes_on(scheduler: Scheduler) -> None:
    """The handler of a signal raises in the middle of a post: later calls run."""

    def raise_alarm(*_: object) -> None:
        raise InterruptedError

    strand, moments = scheduler.strand(), random.Random(7)
    ran: list[int] = []
    before = signal.signal(signal.SIGALRM, raise_alarm)
    try:
        with handlers_raise(InterruptedError):
            for number in range(1000):
                with contextlib.suppress(InterruptedError):
                    try:
                        signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.00005, 0.0005))
                        for _ in range(100):  # exceptions in a finalizer are ignored
                            strand.post(ran.append, number)
                            scheduler.submit(int)
                            scheduler.schedule(0.0001, int)
                            time.sleep(0.0001)
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0)
                assert strand.call(lambda: 1, timeout=PATIENCE) == 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert scheduler.submit(lambda: 2).result(PATIENCE) == 2
    done = threading.Event()
    scheduler.schedule(0, done.set)
    assert done.wait(PATIENCE)


def test_a_handler_may_use_the_scheduler_that_it_interrupts(scheduler: Scheduler) -> None:
    strand, moments = scheduler.strand(), random.Random(8)
    called: list[int] = []

    def handle(*_: object) -> None:
        called.append(strand.call(lambda: scheduler.submit(lambda: 5).result(PATIENCE), timeout=PATIENCE))

    before = signal.signal(signal.SIGALRM, handle)
    try:
        for _ in range(1000):
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(0.00002, 0.0003))
            strand.post(int)
            scheduler.schedule(0.0001, int)
            assert scheduler.submit(lambda: 3).result(PATIENCE) == 3
            assert strand.call(lambda: 4, timeout=PATIENCE) == 4
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(called) == {5}


def test_submitted_calls_may_wait_for_the_driver(scheduler: Scheduler) -> None:
    """As a function that changes the schema does: all workers are taken, and the call they wait for has a thread."""
    strand = scheduler.strand()

    def wait_for_the_strand() -> bool:
        done = threading.Event()
        scheduler.schedule(0, strand.post, done.set)
        return done.wait(PATIENCE)

    waiting = [scheduler.submit(wait_for_the_strand) for _ in range(4)]
    assert all(future.result(PATIENCE) for future in waiting)
