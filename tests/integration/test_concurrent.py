"""execute_concurrent on a real server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import ResultSet, Session
from cassandra.concurrent import ExecutionResult, execute_concurrent, execute_concurrent_with_args
from cassandra.query import SimpleStatement


@pytest.fixture(scope="module")
def select(session: Session) -> Any:
    return session.prepare("SELECT (int) ? AS n FROM system.local")


def test_results_in_order(session: Session, select: Any) -> None:
    results = execute_concurrent_with_args(session, select, [(n,) for n in range(1000)])
    assert isinstance(results, list)
    assert all(type(result) is ExecutionResult and result.success for result in results)
    assert [result.result_or_exc.one().n for result in results] == list(range(1000))
    success, rows = results[0]
    assert success and isinstance(rows, ResultSet)


def test_mixed_statements(session: Session, select: Any) -> None:
    statements = [
        ("SELECT key FROM system.local", None),
        ("SELECT key FROM system.local WHERE key = %s", ("local",)),
        (SimpleStatement("SELECT key FROM system.local"), ()),
        (select, (4,)),
        (select.bind((5,)), None),
    ]
    results = execute_concurrent(session, statements)
    assert [result.result_or_exc.one()[0] for result in results] == ["local", "local", "local", 4, 5]


def test_nothing_to_do(session: Session, select: Any) -> None:
    assert execute_concurrent(session, []) == []
    assert list(execute_concurrent_with_args(session, select, [], results_generator=True)) == []


def test_endless_generator(session: Session, select: Any) -> None:
    """Parameters and results flow; memory is bounded by the window."""
    drawn = count()
    results = execute_concurrent_with_args(
        session, select, ((n,) for n in drawn), concurrency=10, results_generator=True
    )
    taken = [next(results).result_or_exc.one().n for _ in range(500)]  # type: ignore[arg-type]
    assert taken == list(range(500))
    assert next(drawn) < 600


def test_the_generator_runs_on_the_callers_thread(session: Session, select: Any) -> None:
    import threading

    threads = set()

    def parameters() -> Iterator[tuple[int]]:
        for number in range(300):
            threads.add(threading.current_thread())
            yield (number,)

    execute_concurrent_with_args(session, select, parameters(), concurrency=20)
    assert threads == {threading.current_thread()}


class TestErrors:
    BAD = "SELECT * FROM nothing_there"

    def test_the_first_is_raised(self, session: Session) -> None:
        statements = [("SELECT key FROM system.local", None)] * 50 + [(self.BAD, None)]
        with pytest.raises(InvalidRequest):
            execute_concurrent(session, statements)
        with pytest.raises(InvalidRequest):
            list(execute_concurrent(session, statements, results_generator=True))

    def test_nothing_is_sent_after_it(self, session: Session) -> None:
        drawn = count()
        statements = (((self.BAD if n == 5 else "SELECT key FROM system.local"), None) for n in drawn)
        with pytest.raises(InvalidRequest):
            execute_concurrent(session, statements, concurrency=10)
        assert next(drawn) < 100

    @pytest.mark.parametrize("generator", [False, True])
    def test_or_all_are_in_the_results(self, session: Session, generator: bool) -> None:
        statements = [((self.BAD if n % 3 == 0 else "SELECT key FROM system.local"), None) for n in range(30)]
        results = list(execute_concurrent(session, statements, raise_on_first_error=False, results_generator=generator))
        assert [result.success for result in results] == [n % 3 != 0 for n in range(30)]
        assert all(isinstance(results[n].result_or_exc, InvalidRequest) for n in range(0, 30, 3))

    def test_parameters_that_do_not_bind(self, session: Session, select: Any) -> None:
        with pytest.raises(TypeError):
            execute_concurrent_with_args(session, select, [(1,), ("x",)])
        results = execute_concurrent_with_args(session, select, [(1,), ("x",), (3,)], raise_on_first_error=False)
        assert [result.success for result in results] == [True, False, True]

    def test_a_generator_that_raises(self, session: Session, select: Any) -> None:
        def parameters() -> Iterator[tuple[int]]:
            yield (1,)
            raise LookupError("in the generator")

        with pytest.raises(LookupError, match="in the generator"):
            execute_concurrent_with_args(session, select, parameters())
        assert session.execute(select, (1,)).one() == (1,)

    @pytest.mark.parametrize("concurrency", [0, -1])
    def test_concurrency_must_be_positive(self, session: Session, concurrency: int) -> None:
        with pytest.raises(ValueError):
            execute_concurrent(session, [], concurrency=concurrency)


def test_pages_of_results(session: Session) -> None:
    session.execute("CREATE TABLE pages (p int, c int, PRIMARY KEY (p, c))")
    insert = session.prepare("INSERT INTO pages (p, c) VALUES (?, ?)")
    execute_concurrent_with_args(session, insert, ((p, c) for p in range(5) for c in range(50)))
    select = session.prepare("SELECT c FROM pages WHERE p = ?")
    select.fetch_size = 7
    for result in execute_concurrent_with_args(session, select, [(p,) for p in range(5)]):
        assert [row.c for row in result.result_or_exc] == list(range(50))


def test_profile(session: Session, select: Any) -> None:
    profile = session.execution_profile_clone_update(
        session.cluster.profile_manager.default, row_factory=lambda names, rows: ["made"]
    )
    (result,) = execute_concurrent(session, [(select, (1,))], execution_profile=profile)
    assert result.result_or_exc.one() == "made"


def test_deep_recursion_is_not_needed(session: Session) -> None:
    """Statements that fail before they are sent must not nest."""
    results = execute_concurrent(session, [("SELECT %s", (1, 2))] * 5000, raise_on_first_error=False)
    assert len(results) == 5000
    assert not any(result.success for result in results)
