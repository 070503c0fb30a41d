"""Fixtures for all tests: real servers, a leak check, and the rule that CI skips nothing."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from cassandra._base import logs, threads
from tests import groups
from tests.checked_locks import locks, violations
from tests.patience import PATIENCE, be_patient
from tests.servers import Options, ServerCluster, ServerNode
from tests.servers.config import PREVIOUS

IN_CI = os.environ.get("CI") == "true"

# Neither is about the code under test: a busy machine generates examples slowly, too.
HEALTH = [HealthCheck.too_slow]
settings.register_profile("here", deadline=None, derandomize=IN_CI, print_blob=True, suppress_health_check=HEALTH)
settings.load_profile("here")

SERVERS = {
    "cassandra_node": Options(),
    "cassandra_three": Options(nodes=3, durable=True),
    "cassandra_auth": Options(auth=True),
    "cassandra_tls": Options(tls=True),
    "cassandra_41": Options(version=PREVIOUS),
}


@dataclass(frozen=True)
class ForeignServer:
    """A server that runs already (``CASSANDRA_CONTACT=host:port``) in the shape of a :class:`ServerCluster`."""

    contact_points: list[str]
    port: int
    nodes: list[ServerNode] = field(default_factory=list)
    tls: None = None

    def restore(self) -> None:
        pass


@pytest.fixture(scope="session")
def cassandra_node() -> Iterator[ServerCluster | ForeignServer]:
    """One 5.0.6 node; the one at ``CASSANDRA_CONTACT=host:port`` if that is set."""
    contact = os.environ.get("CASSANDRA_CONTACT")
    if contact:
        host, _, port = contact.partition(":")
        yield ForeignServer([host], int(port or 9042))
    else:
        yield from _serve("cassandra_node")


@pytest.fixture(scope="session")
def cassandra_three() -> Iterator[ServerCluster]:
    """Three 5.0.6 nodes; a test may stop, pause and restart them, they are brought back after it."""
    yield from _serve("cassandra_three")


@pytest.fixture(scope="session")
def cassandra_auth() -> Iterator[ServerCluster]:
    """One node that wants a password; user and password are ``cassandra``."""
    yield from _serve("cassandra_auth")


@pytest.fixture(scope="session")
def cassandra_tls() -> Iterator[ServerCluster]:
    """One node that speaks only TLS; ``.tls`` has the CA and a client certificate."""
    yield from _serve("cassandra_tls")


@pytest.fixture(scope="session")
def cassandra_41() -> Iterator[ServerCluster]:
    """One 4.1.10 node."""
    yield from _serve("cassandra_41")


def _serve(name: str) -> Iterator[ServerCluster]:
    with ServerCluster(SERVERS[name]) as cluster:
        yield cluster


def _handled_first(name: str) -> property:
    """An attribute of ``caplog``: another thread handles the records of driver threads (``log_relay.py``)."""
    get: Any = getattr(pytest.LogCaptureFixture, name).fget

    def attribute(caplog: pytest.LogCaptureFixture) -> Any:
        logs.flush(PATIENCE)
        return get(caplog)

    return property(attribute)


for _name in ("text", "records", "record_tuples", "messages"):
    setattr(pytest.LogCaptureFixture, _name, _handled_first(_name))


@pytest.fixture(autouse=True)
def _restore_servers(request: pytest.FixtureRequest) -> Iterator[None]:
    """After a test, restore the servers that it stopped or paused."""
    used = [name for name in SERVERS if name in request.fixturenames]
    yield
    for name in used:
        request.getfixturevalue(name).restore()


def pytest_configure() -> None:
    """Ctrl-C works also where the run was started in the background of a script, which has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collecting tests makes a million objects and no garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Hypothesis makes its generator before it is frozen: since Python 3.14 it warns about one to which only frozen
    objects refer."""
    given(strategies.none())(lambda _: None)()


_begun: list[Path] = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Objects that exist when a file begins stay until the end: leak checks, which collect garbage several times a
    test, need not scan modules that the files before have imported. After a failure some do not stay: the exception
    refers to them until another test fails."""
    if _begun[-1:] != [item.path]:
        _begun.append(item.path)
        if item.session.testsfailed:
            gc.unfreeze()
        gc.collect()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need servers, by fixture: ``-m 'not server'`` never forgets a test. Only one is not ``long``.

    What takes longest comes first.
    """
    for item in items:
        used = SERVERS.keys() & set(getattr(item, "fixturenames", ()))
        if used:
            if _without_servers(item.path):
                raise pytest.UsageError(f"{item.nodeid}: runs of tests with servers do not read this folder")
            if not groups.has(item.nodeid, used):
                raise pytest.UsageError(f"{item.nodeid}: tests/groups.py does not say that it needs {sorted(used)}")
            item.add_marker(pytest.mark.server)
        if used - {"cassandra_node"}:
            item.add_marker(pytest.mark.long)
        if "cassandra_three" in used:
            item.add_marker(pytest.mark.cluster)
    items.sort(key=lambda item: item.get_closest_marker("cluster") is None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadgroup`` one worker runs a group of :mod:`tests.groups`."""
    return groups.scheduler(config, log) if config.getoption("dist") == "loadgroup" else None


def _without_servers(path: Path) -> bool:
    folder = path.relative_to(Path(__file__).parent).parts[0]
    return folder in ("unit", "property", "native", "docs", "threads", "typing")


@dataclass(frozen=True)
class Held:
    """Resources that a process holds now."""

    threads: frozenset[str]
    descriptors: int
    native: dict[str, int]

    @classmethod
    def now(cls) -> Held:
        from cassandra._core import columns, memory, transport

        gc.collect()
        names = frozenset(f"{thread.name} ({thread.ident})" for thread in threading.enumerate())
        native = transport.debug_counters() | memory.debug_counters() | columns.debug_counters()
        del native["pools"]  # applications' objects
        return cls(names, len(list(Path("/proc/self/fd").iterdir())), native)

    def excess(self, before: Held) -> dict[str, Any]:
        """Resources held in addition to *before*."""
        found: dict[str, Any] = {}
        if self.threads - before.threads:
            found["threads"] = sorted(self.threads - before.threads)
        if self.descriptors > before.descriptors:
            found["descriptors"] = self.descriptors - before.descriptors
        grown = {key: count - before.native.get(key, 0) for key, count in self.native.items()}
        if before.native.get("channels"):  # opened before: the server may send to them at any time
            grown.pop("pool_frames", None)
        if any(count > 0 for count in grown.values()):
            found["native"] = {key: count for key, count in grown.items() if count > 0}
        return found


@pytest.fixture
def patient_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters have no short time limits by default: a server's thread may be held up for seconds."""
    from cassandra.cluster import Cluster

    be_patient(monkeypatch, Cluster, connect_timeout=PATIENCE, control_connection_timeout=PATIENCE)


@pytest.fixture(autouse=True)
def _locks_are_right() -> Iterator[None]:
    """No thread has acquired a lock that it must not have, or in another order than before."""
    violations.clear()
    yield
    locks.enter_driver_thread(locks.CALLER)  # a test may have played a driver thread
    found = violations[:]
    violations.clear()
    assert not found, f"violations of the rule of locks: {found}"


@pytest.fixture(autouse=True)
def _contact_points_in_order(request: pytest.FixtureRequest) -> Iterator[None]:
    """Clusters ask their contact points in the order given: a test knows which one has the control connection."""
    with pytest.MonkeyPatch.context() as patch:  # tests with the fixture monkeypatch cannot run in several threads
        if request.node.get_closest_marker("contact_points_are_shuffled") is None:
            from cassandra._session.hosts import contact

            patch.setattr(contact, "shuffled", list)
        yield


@pytest.fixture
def no_leaks(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture, patient_clusters: None
) -> Iterator[None]:
    """The test must give back every thread, descriptor and native object that it took."""
    before = Held.now()
    yield
    request.node.funcargs.clear()  # pytest keeps them until the next test, and with them the objects they refer to
    reported = request.config.pluginmanager.get_plugin("logging-plugin").report_handler.records  # type: ignore[union-attr]

    def excess() -> dict[str, Any]:
        reported.clear()  # exceptions in log records refer to frames, and these to connections
        for phase in ("setup", "call", "teardown"):
            caplog.get_records(phase).clear()
        threads.end_idle()  # they would end by themselves a second later
        return Held.now().excess(before)

    deadline, pause = time.monotonic() + PATIENCE, 0.002
    while (found := excess()) and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    assert not found, f"leaked: {found}\n{stacks()}"


def stacks() -> str:
    """The current stack of each thread."""
    frames = sys._current_frames()
    return "\n".join(
        f"{thread.name} ({thread.ident}):\n{''.join(traceback.format_stack(frames[thread.ident]))}"
        for thread in threading.enumerate()
        if thread.ident in frames
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skip in CI is a failure."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """So is a module that skips itself."""
    report = yield
    if IN_CI and report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    report.outcome = "failed"
    report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
