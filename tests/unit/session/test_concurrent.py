"""execute_concurrent: order, window, failures; requests are answered by the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.concurrent import ExecutionResult, execute_concurrent, execute_concurrent_with_args
from tests.patience import PATIENCE, eventually
from tests.unit.session.harness import Lab, error, rows

QUERIES = [(f"SELECT {n}", None) for n in range(10)]


def answering(lab: Lab, *numbers: int) -> None:
    lab[0].script += [rows(n) for n in numbers]


def test_all_in_order() -> None:
    lab = Lab()
    answering(lab, *range(10))
    results = execute_concurrent(lab.session, QUERIES)
    assert [result.result_or_exc.one().n for result in results] == list(range(10))
    assert all(isinstance(result, ExecutionResult) and result.success for result in results)


def test_answers_out_of_order() -> None:
    """The last request is answered first; results keep the order of the statements."""
    lab = Lab()
    results: list[Any] = []
    worker = threading.Thread(target=lambda: results.extend(execute_concurrent(lab.session, QUERIES)))
    worker.start()
    eventually(lambda: len(lab[0].sent) == 10)
    for n in reversed(range(10)):
        lab[0].answer(rows(n), lab[0].sent[n])
    worker.join(PATIENCE)
    assert [result.result_or_exc.one().n for result in results] == list(range(10))


def test_never_more_than_concurrency() -> None:
    lab = Lab()
    results: list[Any] = []
    worker = threading.Thread(target=lambda: results.extend(execute_concurrent(lab.session, QUERIES, concurrency=3)))
    worker.start()
    for n in range(10):
        eventually(lambda sent=n: len(lab[0].sent) > sent)
        assert len(lab[0].sent) - n <= 3
        lab[0].answer(rows(n), lab[0].sent[n])
    worker.join(PATIENCE)
    assert len(results) == 10


def test_one_statement_many_parameters() -> None:
    lab = Lab()
    answering(lab, 1, 2)
    execute_concurrent_with_args(lab.session, "SELECT %s", [(1,), ("x",)])
    assert [sent.body[4:12] for sent in lab[0].sent] == [b"SELECT 1", b"SELECT '"]


def test_nothing_to_do() -> None:
    assert execute_concurrent(Lab().session, None) == execute_concurrent(Lab().session, []) == []  # type: ignore[arg-type]


class TestGenerator:
    def test_starts_at_once(self) -> None:
        """Sending does not wait for the first look at the results, as in scylla-driver."""
        lab = Lab()
        answering(lab, *range(10))
        results = execute_concurrent(lab.session, QUERIES, results_generator=True)
        assert len(lab[0].sent) == 10
        assert [result.result_or_exc.one().n for result in results] == list(range(10))

    def test_window(self) -> None:
        """Somebody who reads slowly is not overrun."""
        lab = Lab()
        drawn = count()
        answering(lab, *range(200))
        results = execute_concurrent(lab.session, ((f"SELECT {n}", None) for n in drawn), 5, results_generator=True)
        assert isinstance(results, Iterator)
        for expected in range(50):
            assert next(results).result_or_exc.one().n == expected
        assert next(drawn) <= 50 + 2 * 5 + 1

    def test_failures_in_place(self) -> None:
        lab = Lab()
        lab[0].script = [rows(0), error(0x2200), rows(2)]
        results = list(execute_concurrent(lab.session, QUERIES[:3], raise_on_first_error=False, results_generator=True))
        assert [result.success for result in results] == [True, False, True]
        assert isinstance(results[1].result_or_exc, InvalidRequest)


class TestFailures:
    def test_first_is_raised_and_the_rest_left(self) -> None:
        lab = Lab()
        lab[0].script = [rows(0), error(0x2200), rows(2)]
        with pytest.raises(InvalidRequest):
            execute_concurrent(lab.session, QUERIES, concurrency=1)
        assert len(lab[0].sent) == 2

    def test_errors_before_sending(self) -> None:
        lab = Lab()
        answering(lab, 0, 2)
        pairs = [("SELECT %s", (1,)), ("SELECT %s", (1, 2)), ("SELECT %s", (3,))]
        with pytest.raises(TypeError):
            execute_concurrent(lab.session, pairs)
        answering(lab, 0, 2)
        results = execute_concurrent(lab.session, pairs, raise_on_first_error=False)
        assert [result.success for result in results] == [True, False, True]

    def test_statements_that_are_no_pairs(self) -> None:
        with pytest.raises((TypeError, ValueError)):
            execute_concurrent(Lab().session, ["SELECT 1"])  # type: ignore[list-item]

    def test_thousands_of_early_errors_do_not_nest(self) -> None:
        lab = Lab()
        results = execute_concurrent(lab.session, [("SELECT %s", (1, 2))] * 3000, raise_on_first_error=False)
        assert len(results) == 3000

    def test_concurrency(self) -> None:
        for wrong in (0, -5):
            with pytest.raises(ValueError, match="concurrency"):
                execute_concurrent(Lab().session, QUERIES, concurrency=wrong)


def test_nothing() -> None:
    assert execute_concurrent(Lab().session, []) == []
    assert list(execute_concurrent(Lab().session, [], results_generator=True)) == []


def test_results_page_on() -> None:
    lab = Lab()
    lab[0].script = [rows(1, more=b"x"), rows(2)]
    ((success, result),) = execute_concurrent(lab.session, QUERIES[:1])
    assert success
    assert [row.n for row in result] == [1, 2]
