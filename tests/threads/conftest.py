"""Fixtures: a simulated cluster, sessions, and threads that take turns as often as they can."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator

import pytest

from cassandra.cluster import Session
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect, _patient_with_silence, connect, session, simulated

__all__ = ["Connect", "_patient_with_silence", "connect", "session", "simulated"]


@pytest.fixture(autouse=True)
def _switch_often() -> Iterator[None]:
    """With the GIL, every gap between two steps is found as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(autouse=True, scope="session")
def _symbols() -> None:
    """Under ThreadSanitizer: open the file for reports, and start the process that names functions. Otherwise the test
    with the first report would seem to leak their descriptors."""
    runtime = ctypes.CDLL(None)
    options = dict(option.split("=", 1) for option in os.environ.get("TSAN_OPTIONS", "").split())
    if hasattr(runtime, "__sanitizer_set_report_fd") and "log_path" in options:
        report = os.open(f"{options['log_path']}.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        runtime.__sanitizer_set_report_fd(ctypes.c_void_p(report))
    symbolize = getattr(runtime, "__sanitizer_symbolize_pc", None)
    if symbolize is not None:
        name = ctypes.create_string_buffer(200)
        symbolize(ctypes.cast(ctypes.pythonapi.Py_IncRef, ctypes.c_void_p), b"%f", name, ctypes.c_size_t(len(name)))


ROWS = 200


@pytest.fixture
def table(simulated: SimulatedCluster, session: Session) -> Session:
    """The session; in its keyspace is a table ``t`` with :data:`ROWS` rows, whose ``v`` is ``id * 7``."""
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v int)")
    rows = "".join(f"INSERT INTO ks.t (id, v) VALUES ({number}, {number * 7}); " for number in range(ROWS))
    simulated.execute(f"BEGIN UNLOGGED BATCH {rows} APPLY BATCH")
    session.cluster.refresh_schema_metadata()
    return session
