"""Traces, read from the server that wrote them."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from cassandra.cluster import Session
from cassandra.query import QueryTrace, SimpleStatement, TraceUnavailable


def test_a_trace(session: Session) -> None:
    result = session.execute("SELECT key FROM system.local", trace=True)
    trace = result.get_query_trace(max_wait_sec=10)
    assert isinstance(trace, QueryTrace)
    assert trace.request_type and "query" in trace.request_type.lower()
    assert trace.duration is not None and trace.duration > dt.timedelta(0)
    assert trace.coordinator == result.response_future.coordinator_host.address
    assert abs(trace.started_at - dt.datetime.now(dt.timezone.utc).replace(tzinfo=None)) < dt.timedelta(minutes=5)
    assert "SELECT key FROM system.local" in trace.parameters["query"]
    assert trace.client
    assert trace.events
    event = trace.events[0]
    assert event.description and event.source and event.thread_name and event.datetime.tzinfo is dt.timezone.utc
    assert isinstance(event.source_elapsed, dt.timedelta)
    assert str(trace) and str(event)


def test_none_without_tracing(session: Session) -> None:
    result = session.execute("SELECT key FROM system.local")
    assert result.get_query_trace() is None
    assert result.get_all_query_traces() == []


def test_one_per_page(session: Session) -> None:
    session.execute("CREATE TABLE pages (p int, c int, PRIMARY KEY (p, c))")
    for c in range(6):
        session.execute("INSERT INTO pages (p, c) VALUES (1, %s)", (c,))
    result = session.execute(SimpleStatement("SELECT c FROM pages WHERE p = 1", fetch_size=2), trace=True)
    assert len(list(result)) == 6
    traces = result.get_all_query_traces(max_wait_sec_per=10)
    assert len(traces) >= 3
    assert len({trace.trace_id for trace in traces}) == len(traces)


def test_prepared_and_async(session: Session) -> None:
    select = session.prepare("SELECT key FROM system.local")

    async def main() -> int:
        future = session.execute_async(select, trace=True)
        await future
        return len(future.get_query_trace_ids())

    assert asyncio.run(main()) == 1


def test_a_trace_that_never_comes(session: Session) -> None:
    future = session.execute_async("SELECT key FROM system.local", trace=True)
    future.result()
    trace = future._traces[-1]  # type: ignore[index]
    trace.trace_id = __import__("uuid").uuid1()
    with pytest.raises(TraceUnavailable):
        future.get_query_trace(max_wait=0.2)
    with pytest.raises(TraceUnavailable):
        trace.populate(wait_for_complete=False)


def test_custom_row_factory_does_not_matter(session: Session) -> None:
    """The driver's own queries are read as tuples, independent of the application's row factory."""
    profile = session.execution_profile_clone_update(
        session.cluster.profile_manager.default, row_factory=lambda names, rows: "not rows"
    )
    result = session.execute("SELECT key FROM system.local", trace=True, execution_profile=profile)
    trace = result.get_query_trace(max_wait_sec=10)
    assert trace is not None and trace.events
