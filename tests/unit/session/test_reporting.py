"""The contents of STARTUP about a cluster: its id on all connections, its configuration on control connections."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cassandra._session.driver_config import _as_json
from cassandra.cluster import Cluster
from tests.fakes import wire
from tests.fakes.nodes import FakeCluster
from tests.fakes.scripted import SUPPORTED

SCYLLA = {
    "SCYLLA_SHARD": ["0"],
    "SCYLLA_NR_SHARDS": ["1"],
    "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
    "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
    "SCYLLA_SHARDING_IGNORE_MSB": ["12"],
}


def startups(supported: dict[str, list[str]], **options: Any) -> tuple[str, list[dict[str, str]], list[dict[str, str]]]:
    """The id of a cluster, and STARTUP of its connections: those that register for events, and the others."""
    with FakeCluster() as fake:
        server = fake.nodes[0].server
        assert server is not None
        server.supported = {**SUPPORTED, **supported}
        with Cluster(fake.contact_points, **options) as cluster:
            cluster.connect()
            found: tuple[list[dict[str, str]], list[dict[str, str]]] = ([], [])
            for connection in server.connections:
                if connection.startup:
                    registers = any(request.opcode == wire.REGISTER for request in connection.requests)
                    found[not registers].append(connection.startup)
            return str(cluster.session_id), *found


@pytest.mark.parametrize("supported", [{}, SCYLLA], ids=["cassandra", "scylla"])
def test_the_control_connection_reports(supported: dict[str, list[str]]) -> None:
    session_id, control, others = startups(supported, connect_timeout=30, control_connection_timeout=31.5)
    assert control and others
    assert {startup["SESSION_ID"] for startup in control + others} == {session_id}
    assert not any("DRIVER_CONFIG" in startup for startup in others)
    for startup in control:
        report = json.loads(startup["DRIVER_CONFIG"])
        assert report["version"] == 1 and report["connection"]["connect"] == {"timeout-ms": 30000}
        assert report["connection"]["requests"] == {"in-flight": {"max": 32768}, "orphaned": {"max": 24576}}
        assert report["connection"]["socket"]["tcp-no-delay"] is True
        server_side = {"server-side-ms": 31500} if supported else {}
        assert report["control-plane"]["queries"]["system"]["timeout"] == {"client-side-ms": 31500, **server_side}


def test_the_report_can_be_switched_off() -> None:
    session_id, control, others = startups({}, driver_config_reporting_enabled=False)
    assert control and {startup["SESSION_ID"] for startup in control + others} == {session_id}
    assert not any("DRIVER_CONFIG" in startup for startup in control + others)


def test_no_connection_fails_for_its_report(caplog: pytest.LogCaptureFixture) -> None:
    name = "P" * 40_000
    policy = type(name, (Cluster.reconnection_policy.__class__,), {})(1, 2)
    _, control, _ = startups({}, reconnection_policy=policy)
    assert control and not any("DRIVER_CONFIG" in startup for startup in control)
    assert "too long (40" in caplog.text and "was not sent" in caplog.text
    caplog.clear()
    _, control, _ = startups({}, max_schema_agreement_wait=float("inf"))
    assert control and not any("DRIVER_CONFIG" in startup for startup in control)
    assert "The driver configuration could not be reported" in caplog.text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


class Verbose(int):
    def __repr__(self) -> str:
        return "many"


@given(VALUES)
@example('a "quoted" \\ name')
@example({"é": "\U0001f600", "\x7f": "\n"})
@example(Verbose(5))
def test_the_report_is_json(value: Any) -> None:
    text = _as_json(value)
    assert text.isascii() and json.loads(text) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": b"bytes"}, [1]])
def test_values_without_a_json_form_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be reported"):
        _as_json(value)


def test_a_usual_report_imports_no_library_for_it() -> None:
    with FakeCluster() as fake:
        program = f"""
import sys
from cassandra._session.driver_config import _as_json
from cassandra.cluster import Cluster
with Cluster({fake.contact_points!r}) as cluster:
    cluster.connect()
assert "cassandra._session.driver_config" in sys.modules
assert "json" not in sys.modules
"""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
