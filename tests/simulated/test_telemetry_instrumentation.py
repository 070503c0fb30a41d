"""``opentelemetry-instrumentation-cassandra`` beside the driver's own spans."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from cassandra.concurrent import execute_concurrent_with_args
from cassandra.telemetry import OpenTelemetry
from cassandra.testing import SimulatedCluster
from tests.packages import module
from tests.simulated.conftest import Connect
from tests.simulated.test_telemetry import Traced, simulated, traced

__all__ = ["simulated", "traced"]  # fixtures


def instrumentor() -> Any:
    return module("opentelemetry.instrumentation.cassandra").CassandraInstrumentor()


@pytest.mark.parametrize("has_tracker", [True, False])
def test_one_span_for_each_request(
    simulated: SimulatedCluster, connect: Connect, traced: Traced, has_tracker: bool
) -> None:
    other = instrumentor()
    other.instrument(tracer_provider=traced.provider, skip_dep_check=True)
    try:
        tracker = OpenTelemetry(tracer_provider=traced.provider) if has_tracker else None
        session = connect(simulated, "ks", request_tracker=tracker)
        insert = session.prepare("INSERT INTO t (k, v) VALUES (?, ?)")
        traced.taken()
        session.execute("SELECT v FROM t WHERE k = 1")
        session.execute(insert, (1, "x"))
        execute_concurrent_with_args(session, insert, [(n, "x") for n in range(5)])
        assert [span.name for span in traced.taken()] == ["Cassandra"] * 7
    finally:
        other.uninstrument()
    session.execute(insert, (1, "x"))
    assert [span.name for span in traced.taken()] == (["INSERT t"] if has_tracker else [])


def test_it_does_not_instrument_by_default(
    simulated: SimulatedCluster, connect: Connect, traced: Traced, caplog: pytest.LogCaptureFixture
) -> None:
    """It asks for the distributions cassandra-driver and scylla-driver; without them it logs that, and does nothing."""
    with caplog.at_level(logging.ERROR, "opentelemetry"):
        instrumentor().instrument(tracer_provider=traced.provider)
    assert "cassandra-driver" in caplog.text
    caplog.clear()
    session = connect(simulated, "ks", request_tracker=OpenTelemetry(tracer_provider=traced.provider))
    session.execute("SELECT v FROM t WHERE k = 1")
    assert traced.one().name == "SELECT t"
