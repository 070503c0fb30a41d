"""Replaced methods of sessions and requests, as by tracers, wrappers and subclasses."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock, patch

import pytest

from cassandra import InvalidRequest
from cassandra.cluster import Cluster, ResponseFuture, ResultSet, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_async, execute_concurrent_with_args
from cassandra.query import SimpleStatement
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE, eventually

SELECT = "SELECT p, c FROM t WHERE p = ?"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with SimulatedCluster() as simulated, Cluster(simulated.contact_points, port=simulated.port) as found:
        session = found.connect()
        session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TABLE k.t (p int PRIMARY KEY, c text)")
        for p in range(5):
            session.execute("INSERT INTO k.t (p, c) VALUES (%s, 'x')", (p,))
        yield found


@pytest.fixture
def session(cluster: Cluster) -> Iterator[Any]:
    with cluster.connect("k") as found:
        yield found


class Counting:
    """A function that calls another and counts."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self.inner = inner
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.inner(*args, **kwargs)


class Wrapper:
    """In the place of a method in its class, as wrapt does it: it has the attributes of the wrapped method."""

    def __init__(self, wrapped: Any, around: Callable[..., Any]) -> None:
        self.wrapped = wrapped
        self.around = around

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return Wrapper(self.wrapped.__get__(instance, owner), self.around) if instance is not None else self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.around(self.wrapped, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)


class Proxy:
    """A wrapper around a session that counts the executed statements."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.calls = 0

    def execute_async(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.inner.execute_async(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


# ---- many at a time


def run_all(session: Any, prepared: Any) -> None:
    rows = execute_concurrent_with_args(session, prepared, [(i,) for i in range(5)])
    assert [[row.p for row in result] for _, result in rows] == [[i] for i in range(5)]
    generated = execute_concurrent(session, [(prepared, (i,)) for i in range(5)], results_generator=True, concurrency=2)
    assert [result.one().p for _, result in generated] == list(range(5))

    async def on_loop() -> list[Any]:
        return await execute_concurrent_async(session, [(prepared, (i,)) for i in range(5)], concurrency=2)

    assert [result.one().p for _, result in asyncio.run(on_loop())] == list(range(5))


def test_a_replaced_execute_async_is_called_for_each_of_many(session: Any) -> None:
    prepared = session.prepare(SELECT)
    run_all(session, prepared)
    counting = Counting(session.execute_async)
    session.execute_async = counting
    run_all(session, prepared)
    assert counting.calls == 15
    del session.execute_async
    run_all(session, prepared)
    assert counting.calls == 15


@pytest.mark.parametrize("how", ["function", "wrapper"])
def test_an_execute_async_that_is_replaced_in_the_class(session: Any, how: str) -> None:
    prepared = session.prepare(SELECT)
    run_all(session, prepared)
    counting = Counting(Session.execute_async)
    if how == "function":

        def instead(self: Any, *args: Any, **kwargs: Any) -> Any:
            return counting(self, *args, **kwargs)
    else:
        counting.inner = lambda wrapped, *args, **kwargs: wrapped(*args, **kwargs)
        instead = Wrapper(Session.execute_async, counting)  # type: ignore[assignment]
    with patch.object(Session, "execute_async", instead):
        run_all(session, prepared)
        assert counting.calls == 15
        session.execute(prepared, (1,))
        assert counting.calls == 16
    run_all(session, prepared)
    assert counting.calls == 16


def test_proxies_of_sessions(session: Any) -> None:
    prepared = session.prepare(SELECT)
    proxy = Proxy(session)
    run_all(proxy, prepared)
    assert proxy.calls == 15
    outer = SimpleNamespace(execute_async=session.execute_async)  # has that method and nothing else
    assert len(execute_concurrent(outer, [(prepared, (1,))] * 3)) == 3  # type: ignore[arg-type]
    failed = execute_concurrent(proxy, [("SELECT x FROM t", None), (prepared, (1,))], raise_on_first_error=False)  # type: ignore[arg-type]
    assert [success for success, _ in failed] == [False, True]
    with pytest.raises(InvalidRequest):
        execute_concurrent(proxy, [("SELECT x FROM t", None), (prepared, (1,))])  # type: ignore[arg-type]


def test_execute_async_error_of_a_proxy_is_the_statement_outcome() -> None:
    mock = Mock(spec=Session)
    mock.execute_async.side_effect = KeyError("no")
    (outcome,) = execute_concurrent(mock, [("SELECT", None)], raise_on_first_error=False)
    assert not outcome.success and isinstance(outcome.result_or_exc, KeyError)
    with pytest.raises(KeyError):
        execute_concurrent(mock, [("SELECT", None)])


def test_many_of_a_proxy_are_not_waited_for_in_a_callback(session: Any) -> None:
    prepared = session.prepare(SELECT)
    proxy = Proxy(session)
    found: list[Any] = []

    def in_callback(_: Any) -> None:
        try:
            execute_concurrent_with_args(proxy, prepared, [(1,)])  # type: ignore[arg-type]
        except Exception as error:
            found.append(error)

    session.execute_async(prepared, (1,)).add_callback(in_callback)
    eventually(lambda: found)
    assert "I/O thread" in str(found[0])


# ---- pages


def test_pages_are_fetched_by_a_replaced_start_fetching_next_page(session: Any) -> None:
    session.default_fetch_size = 2
    future = session.execute_async("SELECT p FROM t")
    future.start_fetching_next_page = counting = Counting(future.start_fetching_next_page)
    assert len(future.result().all()) == 5 and counting.calls == 2
    future = session.execute_async(session.prepare("SELECT p FROM t"))
    future.start_fetching_next_page = counting = Counting(future.start_fetching_next_page)
    assert len(list(future.result())) == 5 and counting.calls == 2

    counting = Counting(ResponseFuture.start_fetching_next_page)
    with patch.object(ResponseFuture, "start_fetching_next_page", lambda self: counting(self)):
        assert len(list(session.execute("SELECT p FROM t"))) == 5 and counting.calls == 2
        ((_, rows),) = execute_concurrent_with_args(session, session.prepare("SELECT p FROM t"), [()])
        assert len(list(rows)) == 5 and counting.calls == 4


def test_start_fetching_next_page_that_requests_no_page_raises(session: Any) -> None:
    session.default_fetch_size = 2
    future = session.execute_async("SELECT p FROM t")
    future.start_fetching_next_page = lambda: None
    with pytest.raises(Exception, match="has not asked for a page"):
        future.result().all()


# ---- the end of a request


class Heard:
    def __init__(self) -> None:
        self.results: list[tuple[Any, Any]] = []
        self.errors: list[tuple[Any, Any]] = []
        self.times: list[float] = []

    def result(self, wrapped: Any, instance: Any, rows: Any) -> None:
        self.results.append((instance, rows))
        self.times.append(time.monotonic())
        wrapped(rows)

    def error(self, wrapped: Any, instance: Any, error: Any) -> None:
        self.errors.append((instance, error))
        wrapped(error)


def with_functions(heard: Heard) -> Any:
    """Both methods replaced by functions of the class."""
    result: Any = ResponseFuture._set_final_result  # type: ignore[attr-defined]
    error: Any = ResponseFuture._set_final_exception  # type: ignore[attr-defined]
    return patch.multiple(
        ResponseFuture,
        _set_final_result=lambda self, rows: heard.result(lambda it: result(self, it), self, rows),
        _set_final_exception=lambda self, raised: heard.error(lambda it: error(self, it), self, raised),
    )


def with_wrappers(heard: Heard) -> Any:
    """Both replaced by wrappers of the methods in the class, as wrapt does it."""

    def of(name: str, tell: Any) -> Wrapper:
        return Wrapper(vars(ResponseFuture)[name], lambda wrapped, what: tell(wrapped, None, what))

    return patch.multiple(
        ResponseFuture,
        _set_final_result=of("_set_final_result", heard.result),
        _set_final_exception=of("_set_final_exception", heard.error),
    )


@pytest.mark.parametrize("how", [with_functions, with_wrappers])
def test_methods_that_end_requests_are_replaced_in_the_class(session: Any, how: Any) -> None:
    prepared = session.prepare(SELECT)
    session.execute(prepared, (1,))
    heard = Heard()
    with how(heard):
        rows = session.execute(prepared, (1,))
        assert rows.one().p == 1 and len(heard.results) == 1
        if how is with_functions:
            assert heard.results[0] == (rows.response_future, [(1, "x")])
        session.execute("SELECT p FROM t WHERE p = 1")
        session.execute("INSERT INTO t (p, c) VALUES (1, 'x')")
        assert len(heard.results) == 3 and heard.results[2][1] is None
        with pytest.raises(InvalidRequest) as raised:
            session.execute("SELECT x FROM t")
        assert [str(error) for _, error in heard.errors] == [str(raised.value)]
        session.default_fetch_size = 2
        assert len(session.execute("SELECT p FROM t").all()) == 5
        assert [len(rows) for _, rows in heard.results[3:]] == [2, 2, 1]
        execute_concurrent_with_args(session, prepared, [(i,) for i in range(5)])
        assert len(heard.results) == 11
        asyncio.run(_awaited(session, prepared))
        assert len(heard.results) == 13
        del heard.results[:]
        session.execute_async(prepared, (1,))  # no caller asks for the result
        eventually(lambda: heard.results)
    session.execute(prepared, (1,))
    execute_concurrent_with_args(session, prepared, [(1,)])
    assert len(heard.results) == 1 and len(heard.errors) == 1


@pytest.mark.parametrize("made", ["connect", "connect_async", "by hand"])
def test_a_wrapped_init_of_sessions_is_called_once(cluster: Cluster, made: str) -> None:
    seen: list[Any] = []

    def init(wrapped: Any, *args: Any, **kwargs: Any) -> None:
        wrapped(*args, **kwargs)
        wrapped.__self__.add_request_init_listener(seen.append)

    with patch.object(Session, "__init__", Wrapper(Session.__init__, init)):
        if made == "connect":
            session = cluster.connect("k")
        elif made == "connect_async":
            session = asyncio.run(cluster.connect_async("k"))
        else:
            session = Session(cluster, cluster.metadata.all_hosts(), "k")
    with session:
        future = session.execute_async("SELECT p FROM t")
        future.result()
        assert seen == [future]


def test_a_wrapped_init_of_futures_is_called_for_texts(session: Any) -> None:
    """Those of prepared statements are made natively."""
    seen: list[Any] = []

    def init(wrapped: Any, *args: Any, **kwargs: Any) -> None:
        wrapped(*args, **kwargs)
        seen.append(wrapped.__self__)

    with patch.object(ResponseFuture, "__init__", Wrapper(ResponseFuture.__init__, init)):
        future = session.execute_async("SELECT p FROM t")
        future.result()
        session.execute("SELECT p FROM t")
    assert seen[0] is future and len(seen) == 2


async def _awaited(session: Any, prepared: Any) -> None:
    assert (await session.execute_async(prepared, (1,))).one().p == 1
    async for _, result in execute_concurrent_async(session, [(prepared, (1,))]):
        assert result.one().p == 1


def test_a_result_is_there_when_its_wrapper_has_been_called(session: Any) -> None:
    """The program goes on only after the tracer's code that precedes the wrapped method."""
    prepared = session.prepare(SELECT)
    order: list[str] = []
    ours: Any = ResponseFuture._set_final_result  # type: ignore[attr-defined]

    def slow(self: Any, rows: Any) -> None:
        time.sleep(0.02)
        order.append("wrapper")
        ours(self, rows)

    with patch.object(ResponseFuture, "_set_final_result", slow):
        for callback in (False, True):
            future = session.execute_async(prepared, (1,))
            if callback:
                future.add_callback(lambda rows: order.append("callback"))
            future.result()
            order.append("program")
            eventually(lambda wanted=callback: not wanted or "callback" in order)
            assert order[0] == "wrapper" and order.count("wrapper") == 1
            order.clear()


def test_wrappers_may_change_or_drop_final_results_and_errors(session: Any) -> None:
    ours: Any = ResponseFuture._set_final_result  # type: ignore[attr-defined]
    fail: Any = ResponseFuture._set_final_exception  # type: ignore[attr-defined]
    with patch.object(ResponseFuture, "_set_final_result", lambda self, rows: ours(self, rows[:1])):
        rows = session.execute("SELECT p FROM t")
        assert len(rows.all()) == 1 and rows.column_names == ["p"]
    failing = patch.object(ResponseFuture, "_set_final_result", lambda self, rows: fail(self, KeyError("own")))
    with failing, pytest.raises(KeyError):
        session.execute("SELECT p FROM t")
    with patch.object(ResponseFuture, "_set_final_result", lambda self, rows: None):
        assert len(session.execute("SELECT p FROM t").all()) == 5
    with patch.object(ResponseFuture, "_set_final_exception", lambda self, error: ours(self, [])):
        assert session.execute("SELECT x FROM t").all() == []


def test_a_wrapper_that_raises_is_logged_and_changes_nothing(session: Any, caplog: Any) -> None:
    with patch.object(ResponseFuture, "_set_final_result", Mock(side_effect=KeyError("own"))):
        assert len(session.execute("SELECT p FROM t").all()) == 5
    assert "in the place of a method that ends requests" in caplog.text


def test_one_wrapper_hears_of_timeouts_and_cancelled_requests(session: Any) -> None:
    heard = Heard()
    with with_functions(heard):
        future = session.execute_async("SELECT p FROM t")
        future.cancel()
        assert future._event.wait(PATIENCE)
        assert len(heard.errors) + len(heard.results) == 1


# ---- results made by hand


def test_a_result_of_nothing() -> None:
    rows: Any = ResultSet(None, [1, 2, 3])  # type: ignore[arg-type]
    assert isinstance(rows, ResultSet) and rows.response_future is None and not rows.has_more_pages
    assert list(rows) == [1, 2, 3] and rows.column_names is None and rows.paging_state is None
    assert ResultSet(None, None).one() is None  # type: ignore[arg-type]
    assert ResultSet(response_future=MagicMock(has_more_pages=False), initial_response=[1])[0] == 1


def test_a_result_made_by_hand_is_iterated_on_a_loop() -> None:
    future = Mock(has_more_pages=True)

    def result() -> Any:
        future.has_more_pages = False
        return ResultSet(future, [3])

    future.result = result

    async def gather(rows: Any) -> list[Any]:
        return [row async for row in rows]

    assert asyncio.run(gather(ResultSet(future, [1, 2]))) == [1, 2, 3]
    future.has_more_pages = True
    assert asyncio.run(ResultSet(future, [1, 2]).all_async()) == [1, 2, 3]
    assert future.start_fetching_next_page.call_count == 2


def test_result_sets_made_by_hand_keep_their_class(session: Any) -> None:
    class Own(ResultSet):
        pass

    future = session.execute_async("SELECT p FROM t")
    future.result()
    assert type(ResultSet(future, [1])) is ResultSet and type(Own(future, [1])) is Own
    made = Own(Mock(has_more_pages=False), [1])  # type: ignore[arg-type]
    assert isinstance(made, Own) and type(made).__name__ == "Own" and list(made) == [1]


def test_set_final_methods_are_bound_to_their_future(session: Any) -> None:
    """Wrappers by wrapt pass ``__self__`` on; ddtrace finds its span by it."""
    future = session.execute_async("SELECT * FROM t")
    assert future._set_final_result.__self__ is future
    assert future._set_final_exception.__self__ is future


def test_methods_that_end_requests_see_whether_there_are_more_pages(session: Any) -> None:
    """ddtrace numbers the pages by it."""
    seen = []
    future = session.execute_async(SimpleStatement("SELECT * FROM t", fetch_size=2))
    inner = future._set_final_result

    def final(rows: Any) -> None:
        seen.append((len(rows), future.has_more_pages))
        inner(rows)

    future._set_final_result = final
    assert len(list(future.result())) == 5
    assert seen == [(2, True), (2, True), (1, False)]
