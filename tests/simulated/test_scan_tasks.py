"""Scans in parts, by threads and by other processes, some of which are lost."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from cassandra._scan import tasks
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, Session
from cassandra.connection import DefaultEndPointFactory
from cassandra.policies import DCAwareRoundRobinPolicy, IdentityTranslator, TokenAwarePolicy
from cassandra.scan import MapReducer, Scan, ScanError, ScanProgress, ScanTask, StopScan, checkpoint_of, close_sessions
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail
from tests.patience import PATIENCE
from tests.simulated.conftest import Connect

pytestmark = pytest.mark.long

ROWS = 1000
TOTAL = (ROWS, sum(range(ROWS)))


@pytest.fixture(scope="module", autouse=True)
def _multiprocessing_keeps_a_process() -> None:
    """And a descriptor for it, from the first process that it spawns on."""
    resource_tracker.ensure_running()


@pytest.fixture
def table(session: Session, simulated: SimulatedCluster) -> Iterator[Session]:
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v bigint)")
    session.cluster.refresh_schema_metadata()
    session.ingest("ks.t", pa.table({"id": pa.array(range(ROWS), pa.int32()), "v": pa.array(range(ROWS), pa.int64())}))
    yield session
    close_sessions()


class Totals:
    """Rows, and the sum of v; kills its process once, if it is given a file that says that it was done."""

    def __init__(self, killed: Path | None = None, stop: int = ROWS + 1) -> None:
        self.killed = killed
        self.stop = stop

    def open(self, schema: Any, token_range: Any) -> tuple[int, int]:
        return 0, 0

    def stream(self, acc: tuple[int, int], batch: Any) -> tuple[int, int]:
        if self.killed is not None and not self.killed.exists():
            self.killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        rows = acc[0] + len(batch), acc[1] + (pc.sum(pa.record_batch(batch).column("v")).as_py() or 0)
        if rows[0] >= self.stop:
            raise StopScan(rows)
        return rows

    def combine(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]

    def finish(self, acc: tuple[int, int]) -> tuple[int, int]:
        return acc

    def __repr__(self) -> str:
        return "Totals()"


def processes(count: int = 2) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def test_by_hand(table: Session) -> None:
    reducer: MapReducer = Totals()
    tasks = table.scan("ks.t", where=("v >= ? ALLOW FILTERING", [10])).tasks(reducer, tasks=10)
    assert 5 <= len(tasks) <= 20 and "by Totals()" in repr(tasks[0]) and tasks[0].hosts
    accs = [pickle.loads(pickle.dumps(task)).run() if number % 2 else task.run() for number, task in enumerate(tasks)]
    assert functools.reduce(reducer.combine, accs) == (ROWS - 10, sum(range(10, ROWS)))
    prepared = table.prepare("SELECT v FROM ks.t")
    tables = [task.run() for task in table.scan(prepared).tasks(tasks=3)]
    assert sorted(pa.concat_tables(tables).column("v").to_pylist()) == list(range(ROWS))


def test_threads(table: Session) -> None:
    told: list[ScanProgress] = []
    scan = table.scan("ks.t", progress=told.append)
    with ThreadPoolExecutor(3) as pool:
        for deterministic in (False, True):
            assert scan.fold(Totals(), executor=pool, deterministic=deterministic) == TOTAL
        assert scan.checkpoint().fraction == 1 and scan.checkpoint().rows == ROWS
        assert told[-1].fraction == 1 and told[-1].rows == ROWS
        assert table.scan("ks.t", resume=scan.checkpoint()).fold(Totals(), executor=pool) == TOTAL
        rows, _ = table.scan("ks.t").fold(Totals(stop=20), executor=pool)
        assert 20 <= rows <= ROWS
        with pytest.raises(ValueError, match="workers"):
            scan.fold(Totals(), executor=pool, workers=2)
    with pytest.raises(TypeError, match="executor"):
        scan.fold(Totals(), executor=3)


def test_a_task_that_fails(table: Session, simulated: SimulatedCluster) -> None:
    scan = table.scan("ks.t")
    with (
        ThreadPoolExecutor(2) as pool,
        simulated.inject(Fail(errors.InvalidRequest("no")), query="token", opcode="EXECUTE", after=100),
        pytest.raises(ScanError) as caught,
    ):
        scan.fold(Totals(), executor=pool)
    checkpoint = checkpoint_of(caught.value)
    assert checkpoint is not None and checkpoint.fraction < 1
    assert table.scan("ks.t", splits=9).fold(Totals(), resume=checkpoint) == TOTAL


class Losing(Executor):
    """Loses some of its calls, as an executor over machines does."""

    def __init__(self, lost: Callable[[int], bool]) -> None:
        self.count = 0
        self.lost = lost

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: Future[Any] = Future()
        self.count += 1
        if self.lost(self.count):
            future.set_exception(RuntimeError("the worker is gone"))
        elif self.count in (5, 10):
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(function(*args, **kwargs))
        return future


def test_lost_tasks_are_run_again(table: Session) -> None:
    losing = Losing(lambda number: number in range(3, 16, 3))
    assert table.scan("ks.t").fold(Totals(), executor=losing, tasks=20) == TOTAL
    assert losing.count > 20
    with pytest.raises(RuntimeError, match="is gone"):
        table.scan("ks.t").fold(Totals(), executor=Losing(lambda number: True))


def test_processes(table: Session) -> None:
    scan = table.scan("ks.t", page_size=50)
    with processes() as pool:
        assert scan.fold(Totals(), executor=pool, tasks=8) == TOTAL
        assert scan.fold(Totals(), executor=pool, tasks=8, deterministic=True) == TOTAL
        parts = list(pool.map(ScanTask.run, scan.tasks(Totals(), tasks=4)))
    assert functools.reduce(Totals().combine, parts) == TOTAL


@pytest.mark.parametrize("again", [True, False])
def test_a_process_is_killed_in_the_middle(table: Session, tmp_path: Path, again: bool) -> None:
    """Its tasks are done by a new pool, or here."""
    reducer = Totals(tmp_path / "killed")
    if again:
        result = table.scan("ks.t").fold(reducer, executor=processes, tasks=8)
    else:
        with processes(1) as pool:
            result = table.scan("ks.t").fold(reducer, executor=pool, tasks=8)
    assert (tmp_path / "killed").exists()
    assert result == TOTAL


# ---- how a process gets its session

AT: tuple[list[str], int] = ([], 0)
CONNECTED: list[Session] = []


def connected() -> Session:
    CONNECTED.append(Cluster(AT[0], port=AT[1]).connect())
    return CONNECTED[-1]


def credentials() -> tuple[str, str]:
    return "cassandra", "secret"


@pytest.fixture
def address(simulated: SimulatedCluster) -> Iterator[None]:
    global AT
    AT = (simulated.contact_points, simulated.port)
    yield
    CONNECTED.clear()


def sent(scan: Scan, **options: Any) -> ScanTask:
    task = pickle.loads(pickle.dumps(scan.tasks(Totals(), tasks=1, **options)[0]))
    assert isinstance(task, ScanTask)
    return task


def test_one_session_for_all_tasks(table: Session, address: None) -> None:
    tasks = [sent(table.scan("ks.t"), connect=connected) for _ in range(3)]
    assert [task.run() for task in tasks] == [TOTAL] * 3
    assert len(CONNECTED) == 1


def test_credentials_are_not_pickled(table: Session, simulated: SimulatedCluster, connect: Connect) -> None:
    session = connect(simulated, auth_provider=PlainTextAuthProvider("cassandra", "secret"))
    (task,) = session.scan("ks.t").tasks(tasks=1)
    assert task.run().num_rows == ROWS  # in this process
    with pytest.raises(TypeError, match="credentials are never pickled"):
        pickle.dumps(task)
    (task,) = session.scan("ks.t").tasks(tasks=1, credentials=credentials)
    assert b"secret" not in pickle.dumps(task)
    (task,) = session.scan("ks.t").tasks(tasks=1, credentials=f"{__name__}:credentials")
    assert pickle.loads(pickle.dumps(task)).run().num_rows == ROWS
    for function in ("connected", ":", 5, lambda: ("cassandra", "secret"), functools.partial(credentials)):
        with pytest.raises(TypeError, match="connect="):
            session.scan("ks.t").tasks(connect=function)  # type: ignore[arg-type]
    (task,) = session.scan("ks.t").tasks(tasks=1, credentials="nowhere.to.be:found")
    with pytest.raises(ImportError, match="credentials="):
        pickle.loads(pickle.dumps(task)).run()


@pytest.mark.parametrize("option", ["ssl_context", "address_translator", "endpoint_factory"])
def test_tasks_with_cluster_options_that_cannot_be_pickled_need_connect(
    simulated: SimulatedCluster, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Own(IdentityTranslator, DefaultEndPointFactory):  # type: ignore[misc]
        pass

    with Cluster(simulated.contact_points, port=simulated.port, connect_timeout=50) as cluster:
        session = cluster.connect()
        monkeypatch.setattr(cluster, option, ssl.create_default_context() if option == "ssl_context" else Own())
        for function, refusal in ((None, option), (connected, None)):
            task = session.scan("system.local").tasks(tasks=1, connect=function)[0]
            if refusal is None:
                assert pickle.dumps(task)
            else:
                with pytest.raises(TypeError, match=f"{refusal}.*use connect="):
                    pickle.dumps(task)
        monkeypatch.undo()


def test_options_and_the_policy_are_the_same_elsewhere(table: Session, simulated: SimulatedCluster) -> None:
    center = table.cluster.metadata.all_hosts()[0].datacenter
    policy = TokenAwarePolicy(DCAwareRoundRobinPolicy(center))
    options: dict[str, Any] = {"connect_timeout": 50, "compression": False, "max_requests_per_host": 7}
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(policy)}
    with Cluster(simulated.contact_points, port=simulated.port, execution_profiles=profiles, **options) as cluster:
        session = cluster.connect("ks")
        prepared = session.prepare("SELECT v FROM t WHERE token(id) > ? AND token(id) <= ?")
        for scan in (session.scan(prepared), session.scan("t"), session.scan("t", columns=["v"])):
            assert sent(scan).run() == TOTAL
        (kept,) = tasks._sessions.values()
        assert kept.session is not None
        found: Any = kept.session.cluster
        assert {name: getattr(found, name) for name in options} == options
        assert found.profile_manager.default.load_balancing_policy._child_policy.local_dc == center


def test_few_sessions_are_kept(table: Session, simulated: SimulatedCluster, address: None) -> None:
    for number in range(tasks.MOST_KEPT + 2):
        with Cluster(simulated.contact_points, port=simulated.port) as cluster:
            assert sent(cluster.connect().scan("ks.t"), connect=connected).run() == TOTAL
        assert len(tasks._sessions) == min(number + 1, tasks.MOST_KEPT)
    assert [session.is_shutdown for session in CONNECTED] == [True, True, *[False] * tasks.MOST_KEPT]
    again = sent(table.scan("ks.t"), connect=connected)
    assert again.run() == TOTAL
    CONNECTED[-1].cluster.shutdown()
    assert again.run() == TOTAL, "by another one"


def test_columns_are_those_of_the_moment(table: Session) -> None:
    (task,) = table.scan("ks.t").tasks(tasks=1)
    again = pickle.loads(pickle.dumps(task))
    table.execute("ALTER TABLE ks.t ADD more int")
    assert again.run().column_names == ["id", "v"]


@pytest.mark.parametrize("deterministic", [False, True])
def test_ranges_that_are_skipped(table: Session, simulated: SimulatedCluster, deterministic: bool) -> None:
    """A task of which a range cannot be read is given up, and told."""
    scan = table.scan("ks.t", on_error="skip", pushdown="never")
    refused = Fail(errors.InvalidRequest("not now"))
    with ThreadPoolExecutor(2) as pool, simulated.inject(refused, query="token", opcode="EXECUTE", after=20, times=3):
        found = scan.fold(Totals(), executor=pool, deterministic=deterministic)
    assert 1 <= len(scan.failed_ranges) <= 3 and "not now" in str(scan.failed_ranges[0][1])
    checkpoint = scan.checkpoint()
    assert checkpoint.fraction < 1
    left = table.scan("ks.t", token_range=[one for one, _ in scan.failed_ranges]).fold(Totals())
    assert Totals().combine(found, left) == TOTAL
    assert scan.fold(Totals(), resume=checkpoint, deterministic=deterministic) == TOTAL


class Once(Totals):
    """Fails with the first batch, and lets nothing else go on before."""

    def __init__(self) -> None:
        super().__init__()
        self.batches = 0
        self.failed = threading.Event()

    def stream(self, acc: Any, batch: Any) -> Any:
        self.batches += 1
        if self.batches == 1:
            raise LookupError("of the reducer")
        assert self.failed.wait(PATIENCE)
        return super().stream(acc, batch)


def test_scan_threads_stop_after_the_fold_failed(table: Session) -> None:
    scan = table.scan("ks.t", page_size=1, target_rows=1)
    reducer = Once()
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(LookupError):
            scan.fold(reducer, executor=pool, tasks=2)
        reducer.failed.set()
    assert reducer.batches < ROWS / 4
