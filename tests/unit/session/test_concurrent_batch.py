"""Prepared statements in execute_concurrent: flights, requests that do not end plainly, and the end."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest, OperationTimedOut
from cassandra._base.locks import enter_driver_thread
from cassandra.cluster import NoHostAvailable, ResponseFuture
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.connection import ConnectionBusy
from cassandra.policies import FallthroughRetryPolicy
from cassandra.query import SimpleStatement, dict_factory
from tests.patience import PATIENCE, eventually
from tests.unit.session.harness import (
    TIMED_OUT,
    Lab,
    Lost,
    error,
    prepared,
    routed_lab,
    rows,
    rows_without_metadata,
    unprepared,
    void,
)

PREPARE, EXECUTE = 9, 10


def numbers(results: Any) -> list[int]:
    return [result.result_or_exc.one().n for result in results]


def started(lab: Lab, *args: Any, **kwargs: Any) -> tuple[threading.Thread, list[Any]]:
    """execute_concurrent_with_args on a thread of its own, and where its results, or its exception, will be."""
    found: list[Any] = []

    def run() -> None:
        enter_driver_thread()  # the lab has none of its own
        try:
            found.extend(execute_concurrent_with_args(lab.session, *args, **kwargs))
        except Exception as raised:
            found.append(raised)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def flights(lab: Lab) -> int:
    """How many of the requests were sent without a future."""
    return sum(not isinstance(sent.operation, ResponseFuture) for sent in lab[0].sent if sent.opcode == EXECUTE)


@pytest.mark.parametrize("version", [4, 5])
def test_all_in_order(version: int) -> None:
    lab, select = routed_lab(version)
    lab[0].script = [rows_without_metadata(n) if version >= 5 else rows(n) for n in range(20)]
    results = execute_concurrent_with_args(lab.session, select, [(n,) for n in range(20)], concurrency=7)
    assert numbers(results) == list(range(20))
    assert flights(lab) == 20 and lab[0].queued == 0


def test_answers_out_of_order() -> None:
    lab, select = routed_lab()
    thread, results = started(lab, select, [(n,) for n in range(10)])
    eventually(lambda: len(lab[0].sent) == 10)
    for n in reversed(range(10)):
        lab[0].answer(rows(n), lab[0].sent[n])
    thread.join(PATIENCE)
    assert numbers(results) == list(range(10))


def test_never_more_than_concurrency() -> None:
    lab, select = routed_lab()
    thread, results = started(lab, select, [(n,) for n in range(10)], concurrency=3)
    for n in range(10):
        eventually(lambda sent=n: len(lab[0].sent) > sent)
        assert len(lab[0].sent) - n <= 3
        lab[0].answer(rows(n), lab[0].sent[n])
    thread.join(PATIENCE)
    assert numbers(results) == list(range(10))


def test_nothing_to_read() -> None:
    lab, select = routed_lab()
    lab[0].script = [void(), void()]
    first, second = execute_concurrent_with_args(lab.session, select, [(1,), (2,)])
    assert list(first.result_or_exc) == [] and second.result_or_exc.one() is None


def test_a_users_row_factory() -> None:
    lab, select = routed_lab(row_factory=lambda names, found: [(names, row) for row in found])
    lab[0].script = [rows(1), rows(2)]
    results = execute_concurrent_with_args(lab.session, select, [(1,), (2,)])
    assert [result.result_or_exc.one() for result in results] == [(["n"], (1,)), (["n"], (2,))]


def test_a_row_factory_that_raises_is_that_requests_failure() -> None:
    def factory(names: list[str], found: list[Any]) -> list[Any]:
        if found[0][0] == 2:
            raise KeyError("two")
        return found

    lab, select = routed_lab(row_factory=factory)
    lab[0].script = [rows(1), rows(2), rows(3)]
    results = execute_concurrent_with_args(lab.session, select, [(1,), (2,), (3,)], raise_on_first_error=False)
    assert [result.success for result in results] == [True, False, True]
    assert isinstance(results[1].result_or_exc, KeyError)  # type: ignore[index]


class TestWhatEndsOtherwise:
    def test_errors(self) -> None:
        lab, select = routed_lab(retry_policy=FallthroughRetryPolicy())
        lab[0].script = [rows(1), error(0x2200, "nonsense"), rows(3)]
        one, two, three = execute_concurrent_with_args(
            lab.session, select, [(1,), (2,), (3,)], raise_on_first_error=False
        )
        assert (one.success, two.success, three.success) == (True, False, True)
        assert isinstance(two.result_or_exc, InvalidRequest)

    def test_values_that_do_not_fit(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [rows(1), rows(3)]
        results = execute_concurrent_with_args(lab.session, select, [(1,), ("x",), (3,)], raise_on_first_error=False)
        assert [result.success for result in results] == [True, False, True]
        assert isinstance(results[1].result_or_exc, TypeError)  # type: ignore[index]
        with pytest.raises(TypeError):
            execute_concurrent_with_args(lab.session, select, [("x",)])

    @pytest.mark.usefixtures("as_driver_thread")  # the lab has none of its own
    def test_unprepared_ones_are_prepared_and_sent_again(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [unprepared(), prepared(), rows(7), rows(8)]
        assert numbers(execute_concurrent_with_args(lab.session, select, [(1,), (2,)], concurrency=1)) == [7, 8]
        assert [sent.opcode for sent in lab[0].sent] == [EXECUTE, PREPARE, EXECUTE, EXECUTE]
        assert lab[0].sent[0].frame == lab[0].sent[2].frame

    def test_a_timeout(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [Lost(kind=TIMED_OUT)]
        (result,) = execute_concurrent_with_args(lab.session, select, [(1,)], raise_on_first_error=False)
        assert isinstance(result.result_or_exc, OperationTimedOut)
        assert result.result_or_exc.last_host is lab.hosts[0]

    def test_a_request_that_was_not_sent_goes_elsewhere(self) -> None:
        lab, select = routed_lab(hosts=2)
        lab[0].script = lab[1].script = [Lost(sent=False), rows(5)]
        assert numbers(execute_concurrent_with_args(lab.session, select, [(1,)])) == [5]
        assert len(lab[0].sent) == len(lab[1].sent) == 1

    def test_a_lost_connection_is_said_with_whether_it_was_executed(self) -> None:
        lab, select = routed_lab(retry_policy=FallthroughRetryPolicy())
        lab[0].script = [Lost(sent=True)]
        (result,) = execute_concurrent_with_args(lab.session, select, [(1,)], raise_on_first_error=False)
        assert result.result_or_exc.maybe_executed is True

    def test_a_full_connection(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [ConnectionBusy("full"), rows(5)]
        assert numbers(execute_concurrent_with_args(lab.session, select, [(1,)])) == [5]

    def test_nowhere_to_go(self) -> None:
        lab, select = routed_lab()
        lab.session._pool_set.pools = {}
        with pytest.raises(NoHostAvailable):
            execute_concurrent_with_args(lab.session, select, [(1,)])

    @pytest.mark.usefixtures("as_driver_thread")  # it gives the answers
    def test_an_answer_that_comes_later_from_a_future(self) -> None:
        """It ends on another thread while the caller waits."""
        lab, select = routed_lab()
        thread, results = started(lab, select, [(1,)])
        eventually(lambda: len(lab[0].sent) == 1)
        lab[0].answer(unprepared())
        eventually(lambda: len(lab[0].sent) == 2)
        lab[0].answer(prepared())
        eventually(lambda: len(lab[0].sent) == 3)
        lab[0].answer(rows(9))
        thread.join(PATIENCE)
        assert numbers(results) == [9]

    def test_text_and_prepared_mixed(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [rows(n) for n in range(6)]
        pairs = [(select, (1,)), (SimpleStatement("SELECT"), None)] * 3
        assert numbers(execute_concurrent(lab.session, pairs, concurrency=2)) == list(range(6))
        assert flights(lab) == 3


class TestResults:
    def test_have_a_future(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [rows(0), rows(5)]
        _, second = execute_concurrent_with_args(lab.session, select, [(1,), (2,)], concurrency=1)
        result = second.result_or_exc
        future = result.response_future
        assert future is result.response_future
        assert future.result().one().n == 5
        assert future.coordinator_host is lab.hosts[0] and future.attempted_hosts == lab.hosts
        assert future.query.values == [b"\0\0\0\2"] and future.query.raw_values == (2,)
        assert future.message.encode(4) == lab[0].sent[1].frame
        assert (future.warnings, future.custom_payload, future.get_query_trace_ids()) == (None, None, [])
        assert (result.column_names, result.has_more_pages) == (["n"], False)

    def test_have_pages(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [rows(0), rows(1, more=b"two"), rows(2, more=b"three"), rows(3)]
        _, paged = execute_concurrent_with_args(lab.session, select, [(1,), (2,)], concurrency=1)
        assert [row.n for row in paged.result_or_exc] == [1, 2, 3]
        assert b"three" in lab[0].sent[-1].frame

    def test_with_another_profile(self) -> None:
        lab, select = routed_lab()
        lab.cluster.profile_manager.profiles["dicts"] = profile = type(lab.profile)(
            load_balancing_policy=lab.profile.load_balancing_policy, row_factory=dict_factory
        )
        lab[0].script = [rows(1), rows(2)]
        for name in ("dicts", profile):
            lab[0].script = [rows(1), rows(2)]
            results = execute_concurrent_with_args(lab.session, select, [(1,), (2,)], execution_profile=name)
            assert [result.result_or_exc.one() for result in results] == [{"n": 1}, {"n": 2}]


class TestTheEnd:
    def test_the_first_error_is_raised_and_the_rest_unsent(self) -> None:
        lab, select = routed_lab(retry_policy=FallthroughRetryPolicy())
        lab[0].script = [rows(1), error(0x2200, "nonsense"), rows(3)]
        with pytest.raises(InvalidRequest, match="nonsense"):
            execute_concurrent_with_args(lab.session, select, [(n,) for n in range(9)], concurrency=1)
        assert len(lab[0].sent) == 2

    def test_late_answers_are_dropped(self) -> None:
        lab, select = routed_lab(retry_policy=FallthroughRetryPolicy())
        thread, raised = started(lab, select, [(1,), (2,), (3,)])
        eventually(lambda: len(lab[0].sent) == 3)
        lab[0].answer(error(0x2200, "nonsense"), lab[0].sent[0])
        thread.join(PATIENCE)
        assert isinstance(raised[0], InvalidRequest)
        operation = weakref.ref(lab[0].sent[1].operation)
        for sent in lab[0].sent[1:]:
            lab[0].answer(rows(2), sent)
        lab[0].sent.clear()
        del sent
        raised.clear()
        gc.collect()
        assert operation() is None

    def test_a_generator_that_is_closed(self) -> None:
        lab, select = routed_lab()
        drawn = count()
        results = execute_concurrent_with_args(
            lab.session, select, ((n,) for n in drawn), concurrency=5, results_generator=True
        )
        assert isinstance(results, Iterator)
        lab[0].answer(rows(0), lab[0].sent[0])
        assert next(results).result_or_exc.one().n == 0
        results.close()  # type: ignore[attr-defined]
        assert len(lab[0].sent) <= 10
        for sent in lab[0].sent[1:]:
            lab[0].answer(rows(1), sent)

    def test_an_endless_generator_stays_within_the_window(self) -> None:
        lab, select = routed_lab()
        drawn = count()
        results = execute_concurrent_with_args(
            lab.session, select, ((n,) for n in drawn), concurrency=10, results_generator=True
        )
        assert isinstance(results, Iterator)
        for n in range(200):
            lab[0].answer(rows(n), lab[0].sent[n])
            assert next(results).result_or_exc.one().n == n
            assert len(lab[0].sent) <= n + 21

    def test_error_of_the_parameter_generator_is_raised(self) -> None:
        def broken() -> Iterator[tuple[int]]:
            yield (1,)
            raise LookupError("no more")

        lab, select = routed_lab()
        with pytest.raises(LookupError, match="no more"):
            execute_concurrent_with_args(lab.session, select, broken())

    def test_not_on_the_io_thread(self) -> None:
        lab, select = routed_lab()
        lab.session._on_io_thread = lambda: True
        with pytest.raises(DriverException, match="I/O thread"):
            execute_concurrent_with_args(lab.session, select, [(1,)])


@pytest.mark.parametrize("generator", [False, True], ids=["list", "generator"])
def test_results_are_the_garbage_collectors(generator: bool) -> None:
    """They are untracked while they are collected; results that a caller holds may be in a cycle."""
    lab, select = routed_lab()
    answers = [rows(1), error(0x1100, "late", b"\0\1\0\0\0\1\0\0\0\1\0"), void()]
    lab[0].script = list(answers)
    kept: list[Any] = list(
        execute_concurrent_with_args(
            lab.session, select, [(1,), (2,), (3,)], raise_on_first_error=False, results_generator=generator
        )
    )
    gone = []
    for entry in kept:
        assert gc.is_tracked(entry)
        if entry.success:
            assert gc.is_tracked(entry.result_or_exc) and gc.is_tracked(entry.result_or_exc.current_rows or [entry])
            entry.result_or_exc.myself = kept
            gone.append(weakref.ref(entry.result_or_exc))
    assert len(gone) == 2
    del kept, entry
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
