"""Folds over pieces as a reading gives them: each row once, even if its range fails or is read again."""

from __future__ import annotations

import asyncio
import os
import pickle
import random
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from cassandra._base.errors import ConnectionShutdown
from cassandra._base.locks import enter_driver_thread
from cassandra._routing.tokens import FULL_RING, TokenRange
from cassandra._scan.checkpoint import Checkpoint, CheckpointError
from cassandra._scan.fold import Fold, checkpoint_of, with_checkpoint
from cassandra._scan.reading import BATCH, DONE, FAILED, RESTARTED, ScanEvent
from cassandra._scan.reducers import StopScan
from tests.interrupts import interrupted_everywhere
from tests.patience import PATIENCE, eventually

WHAT = {"table": "ks.t", "cql": "SELECT v", "reducer": "Rows"}


class Batch(list[Any]):
    """Rows, as a reducer of a test reads them."""

    schema = "schema"


class Rows:
    """All rows, in the order in which they were folded and combined; changes its accumulators, as it may."""

    def open(self, schema: Any, token_range: TokenRange) -> list[Any]:
        assert schema == "schema"
        return []

    def stream(self, acc: list[Any], batch: Batch) -> list[Any]:
        acc.extend(batch)
        return acc

    def combine(self, a: list[Any], b: list[Any]) -> list[Any]:
        a.extend(b)
        b.clear()  # no other reference exists
        return a

    def finish(self, acc: list[Any]) -> list[Any]:
        return list(acc)


class Floats(Rows):
    """A sum of floating-point numbers, which depends on the order of its additions."""

    def open(self, schema: Any, token_range: TokenRange) -> Any:
        return 0.0

    def stream(self, acc: Any, batch: Batch) -> Any:
        for value in batch:
            acc += value
        return acc

    def combine(self, a: Any, b: Any) -> Any:
        return a + b

    def finish(self, acc: Any) -> Any:
        return acc


def parts(count: int) -> list[TokenRange]:
    return FULL_RING.split(count)


def rows_of(ranges: Iterable[TokenRange], each: int = 6) -> dict[TokenRange, list[Batch]]:
    """Batches of two rows per range, none for every fourth one."""
    found = {}
    for number, one in enumerate(ranges):
        values = [(number, i) for i in range(each)] if number % 4 else []
        found[one] = [Batch(values[at : at + 2]) for at in range(0, len(values), 2)]
    return found


def pieces_of(
    rows: dict[TokenRange, list[Batch]], ranges: list[TokenRange], seed: int, restarts: bool = True, open_: int = 5
) -> Iterator[ScanEvent]:
    """As a reading gives them: several ranges at a time, in no order; some begin again in the middle."""
    chance = random.Random(seed)
    waiting = list(enumerate(ranges))
    chance.shuffle(waiting)
    going: dict[int, list[ScanEvent]] = {}

    def script(number: int, one: TokenRange) -> list[ScanEvent]:
        batches = [ScanEvent(number, one, BATCH, batch) for batch in rows[one]]  # type: ignore[arg-type]
        again = []
        if restarts and chance.random() < 0.3:
            again = [*batches[: chance.randint(0, len(batches))], ScanEvent(number, one, RESTARTED)]
        return [*again, *batches, ScanEvent(number, one, DONE)]

    while waiting or going:
        while waiting and len(going) < open_:
            number, one = waiting.pop()
            going[number] = script(number, one)
        number = chance.choice(list(going))
        yield going[number].pop(0)
        if not going[number]:
            del going[number]


def folded(fold: Fold, pieces: Iterable[ScanEvent]) -> Any:
    try:
        for event in pieces:
            fold.take(event)
            if fold.stopped:
                break
            fold.wait()
        return fold.result("schema")  # type: ignore[arg-type]
    except BaseException as error:
        fold.close()
        with_checkpoint(error, fold)
        raise
    finally:
        fold.close()


def expected(rows: dict[TokenRange, list[Batch]]) -> list[Any]:
    return [row for batches in rows.values() for batch in batches for row in batch]


@pytest.mark.parametrize("workers", [None, 1, 4])
@pytest.mark.parametrize("deterministic", [False, True])
def test_each_row_once(workers: int | None, deterministic: bool) -> None:
    for seed in range(10):
        ranges = parts(1 + 5 * seed)
        rows = rows_of(ranges)
        fold = Fold(Rows(), ranges, WHAT, workers=workers, deterministic=deterministic)
        result = folded(fold, pieces_of(rows, ranges, seed))
        if deterministic:
            assert result == expected(rows)
        else:
            assert sorted(result) == sorted(expected(rows))


def test_rows_of_a_range_are_streamed_in_order_and_by_one_thread_at_a_time() -> None:
    ranges = parts(9)
    rows = rows_of(ranges, each=40)
    busy: dict[TokenRange, int] = dict.fromkeys(ranges, 0)
    threads = set()

    class Watched(Rows):
        def open(self, schema: Any, token_range: TokenRange) -> Any:
            return [token_range]

        def stream(self, acc: Any, batch: Batch) -> Any:
            threads.add(threading.get_ident())
            busy[acc[0]] += 1
            assert busy[acc[0]] == 1
            acc = super().stream(acc, batch)
            busy[acc[0]] -= 1
            return acc

        def combine(self, a: Any, b: Any) -> Any:
            assert threading.current_thread() is not threading.main_thread()
            return a + b

    result = folded(Fold(Watched(), ranges, WHAT, workers=3), pieces_of(rows, ranges, 7))
    of_range: dict[int, list[Any]] = {}
    for row in result:
        if not isinstance(row, TokenRange):
            of_range.setdefault(row[0], []).append(row)
    assert of_range and all(found == sorted(found) for found in of_range.values())
    assert threading.get_ident() not in threads


@pytest.mark.parametrize("workers", [2, 3])
def test_ranges_are_streamed_by_so_many_threads_at_a_time(workers: int) -> None:
    together = threading.Barrier(workers)

    class Meeting(Rows):
        def open(self, schema: Any, token_range: TokenRange) -> Any:
            together.wait(PATIENCE)
            return []

    ranges = parts(workers)
    rows = {one: [Batch([number])] for number, one in enumerate(ranges)}
    pieces = pieces_of(rows, ranges, 1, restarts=False)
    assert sorted(folded(Fold(Meeting(), ranges, WHAT, workers=workers), pieces)) == list(range(workers))


@pytest.mark.parametrize("workers", [None, 1, 2, 4])
def test_threads_that_are_switched_at_any_moment_forget_nothing(workers: int | None) -> None:
    ranges = parts(300)
    rows = rows_of(ranges, each=2)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-7)
    try:
        for seed in range(5):
            result = folded(Fold(Rows(), ranges, WHAT, workers=workers), pieces_of(rows, ranges, seed))
            assert sorted(result) == sorted(expected(rows))
    finally:
        sys.setswitchinterval(before)


def test_a_table_without_rows() -> None:
    ranges = parts(3)
    empty: dict[TokenRange, list[Batch]] = {one: [] for one in ranges}
    for deterministic in (False, True):
        assert folded(Fold(Rows(), ranges, WHAT, deterministic=deterministic), pieces_of(empty, ranges, 1)) == []


def test_deterministic_float_sums_do_not_depend_on_piece_order() -> None:
    chance = random.Random(3)
    ranges = parts(37)
    rows = {one: [Batch([chance.uniform(-1e15, 1e-3) for _ in range(3)])] for one in ranges}

    def total(seed: int, **options: Any) -> float:
        result = folded(Fold(Floats(), ranges, WHAT, **options), pieces_of(rows, ranges, seed))
        assert isinstance(result, float)
        return result

    assert len({total(seed, deterministic=True, workers=seed % 3 or None) for seed in range(12)}) == 1
    assert len({total(seed) for seed in range(12)}) > 1


@pytest.mark.parametrize("workers", [None, 3])
@pytest.mark.parametrize("deterministic", [False, True])
def test_stop(workers: int | None, deterministic: bool) -> None:
    """The result has the ranges that are done and the value given to the stop, and no range that is half done."""

    class First(Rows):
        def stream(self, acc: Any, batch: Batch) -> Any:
            acc = super().stream(acc, batch)
            if acc[0][0] == 14 and len(acc) == 4:
                raise StopScan(acc)
            return acc

    ranges = parts(30)
    rows = rows_of(ranges)
    for seed in range(10):
        fold = Fold(First(), ranges, WHAT, workers=workers, deterministic=deterministic)
        result = folded(fold, pieces_of(rows, ranges, seed))
        counts = {number: [row[0] for row in result].count(number) for number, _ in result}
        assert counts.pop(14) == 4 and set(counts.values()) <= {6}
        assert not deterministic or result == sorted(result)
        with pytest.raises(CheckpointError, match="StopScan"):
            fold.checkpoint()


@pytest.mark.parametrize("workers", [None, 2])
def test_reducer_error_is_raised_with_a_checkpoint(workers: int | None) -> None:
    class Fails(Rows):
        def stream(self, acc: Any, batch: Batch) -> Any:
            if batch[0] == (9, 2):
                raise ZeroDivisionError("of the reducer")
            return super().stream(acc, batch)

    ranges = parts(20)
    rows = rows_of(ranges)
    with pytest.raises(ZeroDivisionError, match="of the reducer") as caught:
        folded(Fold(Fails(), ranges, WHAT, workers=workers), pieces_of(rows, ranges, 4))
    checkpoint = checkpoint_of(caught.value)
    assert checkpoint is not None and checkpoint.fraction < 1
    left = Fold(Rows(), ranges, WHAT, resume=checkpoint)
    assert sorted(folded(left, pieces_of(rows, left.ranges, 5))) == sorted(expected(rows))


def test_combine_fails() -> None:
    class Fails(Rows):
        def combine(self, a: Any, b: Any) -> Any:
            a.extend(b)
            raise ZeroDivisionError

    ranges = parts(20)
    fold = Fold(Fails(), ranges, WHAT)
    with pytest.raises(ZeroDivisionError) as caught:
        folded(fold, pieces_of(rows_of(ranges), ranges, 4))
    assert checkpoint_of(caught.value) is None
    with pytest.raises(CheckpointError, match="combine"):
        fold.checkpoint()


def test_ranges_that_were_given_up_are_not_done() -> None:
    ranges = parts(8)
    rows = rows_of(ranges)
    pieces = list(pieces_of(rows, ranges, 1, restarts=False))
    failing = [ScanEvent(p.number, p.token_range, FAILED) if (p.number, p.kind) == (3, DONE) else p for p in pieces]
    fold = Fold(Rows(), ranges, WHAT)
    assert {row[0] for row in folded(fold, failing)} == {1, 2, 5, 6, 7}
    again = Fold(Rows(), ranges, WHAT, resume=fold.checkpoint())
    assert again.ranges == [ranges[3]]
    assert sorted(folded(again, pieces_of(rows, again.ranges, 1))) == sorted(expected(rows))


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_checkpoint_at_every_step(deterministic: bool) -> None:
    """Each one goes on to the same result, from other ranges, too."""
    chance = random.Random(1)
    ranges = parts(13)
    rows = {one: [Batch([chance.randint(0, 1 << 40), chance.random()])] for one in ranges}
    quiet = folded(Fold(Floats(), ranges, WHAT, deterministic=True), pieces_of(rows, ranges, 0))
    fold = Fold(Floats(), ranges, WHAT, deterministic=deterministic)
    checkpoints = [fold.checkpoint()]
    for event in pieces_of(rows, ranges, 3):
        fold.take(event)
        fold.wait()
        checkpoints.append(pickle.loads(pickle.dumps(fold.checkpoint())))
    fold.close()
    assert checkpoints[0].fraction == 0
    for checkpoint in checkpoints:
        for _ in range(2):  # it is not used up
            rest = Fold(Floats(), ranges, WHAT, deterministic=deterministic, resume=checkpoint)
            assert sum(one.size for one in rest.ranges) == sum(one.size for one in ranges) * 1 - sum(
                end - start for start, end in checkpoint.done
            )
            result = folded(rest, pieces_of(rows, rest.ranges, 5))
            if deterministic:
                assert result == quiet
            else:
                assert result == pytest.approx(quiet)


def test_going_on_with_other_ranges() -> None:
    """Rows are told by their tokens: however the ring is cut, the rest has exactly the missing rows."""
    ranges, others = parts(12), parts(7)
    tokens = [one.end - chance for one in parts(100) for chance in (0, 5)]

    def rows(of: Iterable[TokenRange]) -> dict[TokenRange, list[Batch]]:
        return {one: [Batch([token for token in tokens if one.contains(token)])] for one in of}

    fold = Fold(Rows(), ranges, WHAT)
    for _, event in zip(range(14), pieces_of(rows(ranges), ranges, 2), strict=False):
        fold.take(event)
    assert eventually(lambda: fold.rows > 0)
    fold.close()
    checkpoint = fold.checkpoint()
    assert 0 < checkpoint.fraction < 1
    rest = Fold(Rows(), others, WHAT, resume=checkpoint)
    assert sorted(folded(rest, pieces_of(rows(rest.ranges), rest.ranges, 2))) == sorted(tokens)
    with pytest.raises(CheckpointError, match="outside of the range of this scan"):
        first = checkpoint.done[0][0]
        Fold(Rows(), [TokenRange(first, first + 1)], WHAT, resume=checkpoint)
    with pytest.raises(CheckpointError, match="deterministic"):
        Fold(Rows(), others, WHAT, resume=checkpoint, deterministic=True)
    with pytest.raises(CheckpointError, match="its reducer is Rows, the scan's is Count"):
        Fold(Rows(), others, {**WHAT, "reducer": "Count"}, resume=checkpoint)


def test_checkpoints_of_another_thread() -> None:
    """Any of them goes on to the same sum."""
    ranges = parts(60)
    rows = rows_of(ranges)
    fold = Fold(Rows(), ranges, WHAT, workers=2)
    found: list[Checkpoint] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            found.append(fold.checkpoint())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        folded(fold, pieces_of(rows, ranges, 3))
    finally:
        over.set()
        thread.join()
    for checkpoint in found[:: max(1, len(found) // 20)]:
        rest = Fold(Rows(), ranges, WHAT, resume=checkpoint)
        assert sorted(folded(rest, pieces_of(rows, rest.ranges, 1))) == sorted(expected(rows))


def test_interrupted_anywhere() -> None:
    """An exception that comes between any two pieces leaves a checkpoint from which the sum is that of a quiet run."""
    ranges = parts(10)
    rows = rows_of(ranges)
    count = len(list(pieces_of(rows, ranges, 8)))
    for stop in range(count):

        def interrupted(stop: int = stop) -> Iterator[ScanEvent]:
            for number, event in enumerate(pieces_of(rows, ranges, 8)):
                if number == stop:
                    raise KeyboardInterrupt
                yield event

        with pytest.raises(KeyboardInterrupt) as caught:
            folded(Fold(Rows(), ranges, WHAT), interrupted())
        rest = Fold(Rows(), ranges, WHAT, resume=checkpoint_of(caught.value))
        assert sorted(folded(rest, pieces_of(rows, rest.ranges, 9))) == sorted(expected(rows))


@pytest.mark.parametrize("workers", [None, 2])
def test_interrupted_at_any_moment(workers: int | None) -> None:
    """As by the handler of a signal. The fold can be closed, and its remaining ranges folded."""
    ranges = parts(2)
    rows = rows_of(ranges)
    folds: list[Fold] = []

    def fold() -> Any:
        folds.append(Fold(Rows(), ranges, WHAT, workers=workers))
        return folded(folds[-1], pieces_of(rows, ranges, 3))

    for moment in interrupted_everywhere(fold):
        if not folds:
            continue
        closing = threading.Thread(target=folds[-1].close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive(), f"it cannot be closed after moment {moment}"
        rest = Fold(Rows(), ranges, WHAT, resume=folds[-1].checkpoint())
        assert sorted(folded(rest, pieces_of(rows, rest.ranges, 4))) == sorted(expected(rows))


def test_on_a_loop() -> None:
    ranges = parts(20)
    rows = rows_of(ranges)

    async def run(workers: int | None) -> Any:
        fold = Fold(Rows(), ranges, WHAT, workers=workers)
        try:
            for event in pieces_of(rows, ranges, 6):
                fold.take(event)
                await fold.wait_async()
            return await fold.result_async("schema")  # type: ignore[arg-type]
        finally:
            fold.close()

    for workers in (None, 3):
        assert sorted(asyncio.run(run(workers))) == sorted(expected(rows))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # of later Pythons: threads and fork
def test_a_forked_child_leaves_it_to_the_parent() -> None:
    """The child does not depend on locks that are held at the fork."""
    ranges = parts(3)
    rows = rows_of(ranges)
    fold = Fold(Rows(), ranges, WHAT, workers=2)
    pieces = pieces_of(rows, ranges, 1)
    fold.take(next(pieces))
    held = threading.Event(), threading.Event()

    def hold() -> None:
        enter_driver_thread()
        with fold._lock, fold._workers._lock:
            held[0].set()
            held[1].wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held[0].wait()
    child = os.fork()
    if not child:
        try:
            for refused in (lambda: fold.take(next(pieces)), fold.checkpoint):
                try:
                    refused()
                except ConnectionShutdown:
                    continue
                os._exit(1)
            fold.close()
            with_checkpoint(KeyboardInterrupt(), fold)
            os._exit(0)
        finally:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    held[1].set()
    thread.join()
    assert status == 0
    assert sorted(folded(fold, pieces)) == sorted(expected(rows))


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_workers_are_a_number(workers: Any) -> None:
    with pytest.raises(ValueError, match="workers"):
        Fold(Rows(), parts(1), WHAT, workers=workers)
