"""Tasks: parts of a scan that other processes run, for folds over executors, Dask and Ray (cassandra.scan).

L6. A :class:`ScanTask` has the arguments of :meth:`Session.scan`, its part of the ring, and the reducer, unchanged. It
keeps no state between runs, so that a lost task can be run again, anywhere.

Its session is made by its :class:`Origin`: one per cluster in a process, connected by the first task. A task contains
addresses, plain options and the policy of the cluster, never credentials: the process gets these itself, from a
function that is pickled as its name. The four sessions used last stay until the process ends, or until
:func:`close_sessions`; others are closed when they are unused. A forked child continues with the sessions of its
parent, as with every session. ``_lock`` guards ``_sessions`` and is held briefly. A missing session is connected under
the lock of its entry.

A fold over an executor (:func:`fold_by`) has outcomes of tasks as scan events: a task is one range, which is done when
its outcome is there; the rest (each range once, the order, checkpoints) is that of every fold. Futures complete on
threads of the executor, which only enqueue them and set an event; they belong to the thread that folds. Exceptions of a
task are returned in its outcome; a future that fails itself has lost its worker, and the task is submitted again. A
broken executor, such as a pool of processes after one of them died, accepts no more tasks: it is replaced by a new one,
or, without a function that makes one, the remaining tasks run in this process.

A collection of Dask or Ray has a partition, or block, per task. Nothing is read before they are used.
"""

from __future__ import annotations

import pickle
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cassandra._base import process
from cassandra._base.errors import DriverException
from cassandra._base.locks import caller_lock
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.process import in_child, renew
from cassandra._base.real import Future
from cassandra._net.endpoint import DefaultEndPointFactory
from cassandra._routing.tokens import TokenRange
from cassandra._session.options import ClusterOptions
from cassandra._session.request.columns import ArrowBatches, load_library

from .checkpoint import ProgressRecorder, description, shown
from .fold import Fold, FoldOptions, fold_part, planned, remaining_parts, with_checkpoint
from .reading import BATCH, DONE, FAILED, ScanEvent
from .reducers import MapReducer, StopScan

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan
    from cassandra._session.session import Session

    from .scan import Scan

log = get_logger("cassandra.cluster")

Importable = Callable[[], Any] | str  # a function of a module, or "module:function"

TASKS = 64
ATTEMPTS = 3  # per task
MOST_KEPT = 4  # sessions

#: Options of a cluster that are copied to other processes.
PLAIN = (
    "adaptive_concurrency",
    "allowed_addresses",
    "allowed_authenticators",
    "allow_beta_protocol_version",
    "compression",
    "connect_timeout",
    "connection_rate",
    "control_connection_timeout",
    "cql_version",
    "idle_heartbeat_interval",
    "idle_heartbeat_timeout",
    "max_request_wait",
    "max_requests_per_connection",
    "max_requests_per_host",
    "max_requests_per_session",
    "max_response_bytes",
    "max_waiting_requests",
    "no_compact",
    "port",
    "reprepare_rate",
    "reprepare_window",
    "retry_budget",
    "security_warnings",
    "verify_host_ids",
)

#: Options that are secret, or bound to this process.
OWN = ("client_routes_config", "cloud", "column_encryption_policy", "ssl_context", "ssl_options")


# ---- sessions of tasks


class _CachedSession:
    """A session, connected or to be connected."""

    def __init__(self) -> None:
        self.lock = caller_lock("of connecting for tasks")
        self.session: Session | None = None
        self.users = 0


_lock = caller_lock("of the sessions of tasks")
_sessions: dict[bytes, _CachedSession] = {}  # in order of last use


def _in_child() -> None:
    renew(_lock)
    for kept in _sessions.values():
        renew(kept.lock)
        kept.users = 0  # the users are threads of the parent


in_child(_in_child)


@public("cassandra.scan")
def close_sessions() -> None:
    """Shut down the sessions that tasks of scans have made in this process, with their clusters, unless a task is using
    them; the next task makes a new one. Not needed before a process ends."""
    _close(0)


def _close(most: int) -> None:
    """Close the sessions without users, until *most* are left."""
    with _lock:
        unused = [key for key, kept in _sessions.items() if not kept.users]
        closing = [_sessions.pop(key) for key in unused[: max(0, len(_sessions) - most)]]
    for kept in closing:
        if kept.session is not None:
            kept.session.cluster.shutdown()


class Origin:
    """Source of the session of a task: in the process that made the task, its own session.

    *connect* makes a session; without it, one is made from the addresses and the result of *credentials*, an auth
    provider or a user and a password. Both are functions that the other process imports. Missing functions raise only
    in ``__reduce__``, as threads do not need them. The policy is pickled separately: cloudpickle would pickle the
    contents of a class whose public module is not imported.
    """

    def __init__(self, session: Session, connect: Importable | None, credentials: Importable | None) -> None:
        self._here: Callable[[], Session | None] = weakref.ref(session)
        self._connect = None if connect is None else name_of("connect", connect)
        self._credentials = None if credentials is None else name_of("credentials", credentials)
        self._keyspace = session.keyspace
        self._hosts: dict[str, Any] = {}
        self._policy = b""
        # Tasks with equal keys share a session. The key has the cluster and not its policy, which contains the hosts
        # that are currently up, or its options, which may be objects that are pickled differently each time.
        self._key = pickle.dumps((self._connect, self._credentials, self._keyspace, session.cluster.session_id))
        self._refusal = "" if connect is not None else self._describe(session)

    def _describe(self, session: Session) -> str:
        """Set the description of such a session; return the reason if it cannot be made in another process."""
        cluster = session.cluster
        own = [name for name in OWN if getattr(cluster, name) is not None]
        for name in ("address_translator", "connection_class"):
            if getattr(cluster, name) is not getattr(ClusterOptions, name):
                own.append(name)
        if type(cluster.endpoint_factory) is not DefaultEndPointFactory:
            own.append("endpoint_factory")
        if own:
            return f"{', '.join(own)} of its cluster cannot be: use connect=, a function that makes a session"
        if cluster.auth_provider is not None and self._credentials is None:
            return "credentials are never pickled: use credentials=, a function that returns them, or connect="
        try:
            self._policy = pickle.dumps(cluster.profile_manager.default.load_balancing_policy)
        except Exception as error:
            return f"its load balancing policy cannot be, {error}: use connect=, a function that makes a session"
        self._hosts = {name: getattr(cluster, name) for name in PLAIN}
        self._hosts["contact_points"] = list(cluster.contact_points)
        self._hosts["shard_aware_options"] = dict(vars(cluster.shard_aware_options))
        if cluster._versions.is_given:
            self._hosts["protocol_version"] = cluster.protocol_version
        return ""

    @contextmanager
    def session(self) -> Iterator[Session]:
        """The session of this process, as a context manager that counts its users."""
        session = self._here()
        if session is not None and not session.is_shutdown:
            yield session
            return
        with _lock:
            kept = _sessions.pop(self._key, None) or _CachedSession()
            _sessions[self._key] = kept
            kept.users += 1
        try:
            with kept.lock:
                session = kept.session
                if session is None or session.is_shutdown:
                    session = kept.session = self._make_session()
            yield session
        finally:
            with _lock:
                kept.users -= 1
            if len(_sessions) > MOST_KEPT:
                _close(MOST_KEPT)

    def _make_session(self) -> Session:
        if self._connect is not None:
            made: Session = imported("connect", self._connect)()
            return made
        from cassandra._session.cluster import Cluster
        from cassandra._session.profiles import EXEC_PROFILE_DEFAULT, ExecutionProfile

        reached = dict(self._hosts)
        if self._credentials is not None:
            reached["auth_provider"] = _provider(imported("credentials", self._credentials)())
        profile = ExecutionProfile(load_balancing_policy=pickle.loads(self._policy))
        cluster = Cluster(execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **reached)
        try:
            return cluster.connect(self._keyspace)
        except BaseException:
            cluster.shutdown()
            raise

    def __reduce__(self) -> Any:
        if self._refusal:
            raise TypeError(f"a task of a scan cannot be pickled: {self._refusal}")
        state = {name: value for name, value in self.__dict__.items() if name != "_here"}
        return _unpickle_origin, (state,)


def _unpickle_origin(state: dict[str, Any]) -> Origin:
    origin = Origin.__new__(Origin)
    origin._here = _no_session
    origin.__dict__.update(state)
    return origin


def _no_session() -> None:
    return None


def name_of(argument: str, function: Importable) -> str:
    """Return ``"module:function"``: the contents of a function, which may be secret, are not pickled."""
    if isinstance(function, str):
        module, _, name = function.partition(":")
        if not module or not name:
            raise TypeError(
                f'{argument}= must be an importable function of a module, or "module:function", got {function!r}'
            )
        return function
    name = f"{getattr(function, '__module__', None)}:{getattr(function, '__qualname__', None)}"
    try:
        found = imported(argument, name)
    except ImportError:
        found = None
    if found is not function:
        raise TypeError(f"{argument}= must be a function of a module that workers can import, got {function!r}")
    return name


def imported(argument: str, name: str) -> Any:
    """Import the object named ``"module:function"``."""
    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
    except (ImportError, AttributeError) as error:
        raise ImportError(f"a task of a scan cannot import {name}, its {argument}=: {error}") from error
    return found


def _provider(given: Any) -> Any:
    if isinstance(given, tuple):
        from cassandra._net.auth import PlainTextAuthProvider

        return PlainTextAuthProvider(*given)
    return given


# ---- tasks and their outcomes


class Outcome:
    """Result of a part of a fold: its accumulator, or the error."""

    __slots__ = ("acc", "error", "rows", "skipped", "stopped")
    schema = None  # no accumulator is opened for an outcome

    def __init__(
        self,
        acc: Any = None,
        rows: int = 0,
        stopped: bool = False,
        error: Exception | None = None,
        skipped: Exception | None = None,
    ) -> None:
        self.acc = acc
        self.rows = rows
        self.stopped = stopped
        self.error = error
        self.skipped = skipped  # why some of its rows are missing (on_error="skip")

    def __len__(self) -> int:
        return self.rows


@public("cassandra.scan")
class ScanTask:
    """A part of a scan; made by :meth:`Scan.tasks`. It can be pickled, and run anywhere, any number of times.

    ``token_range`` is its part of the ring, ``hosts`` are the addresses of its first replicas.
    """

    def __init__(
        self,
        origin: Origin,
        asked: dict[str, Any],
        ranges: Sequence[TokenRange],
        reducer: MapReducer | None,
        deterministic: bool = False,
    ) -> None:
        self._origin = origin
        self._arguments = asked
        self._ranges = tuple(TokenRange(one.start, one.end) for one in ranges)
        self._reducer = reducer
        self._deterministic = deterministic
        self.token_range = TokenRange(ranges[0].start, ranges[-1].end)  #: Part of the ring.
        self._is_cancelled = False  # in this process: the result is not needed
        firsts = (str(one.replicas[0].address) for one in ranges if one.replicas)
        self.hosts = tuple(dict.fromkeys(firsts))  #: Addresses of the replicas.

    def run(self) -> Any:
        """Read it, and return the accumulator of its rows, without ``finish`` of the reducer; a ``pyarrow.Table``
        without a reducer. The first task of a process connects the session. Raises :exc:`ScanError`."""
        if self._reducer is None:
            with self._origin.session() as session:
                return self._scan(session).to_arrow()
        return self._fold().acc

    def _scan(self, session: Session) -> Scan:
        asked = dict(self._arguments)
        text = asked.pop("prepared", None)
        table = asked.pop("table") if text is None else session.prepare(text)
        return session.scan(table, token_range=self._ranges, **asked)

    def _fold(self) -> Outcome:
        assert self._reducer is not None
        with self._origin.session() as session:
            scan = self._scan(session)
            fold_options = FoldOptions(scan, self._reducer, deterministic=self._deterministic)
            outcome = Outcome(*fold_part(scan, fold_options, lambda: self._is_cancelled))
            if scan.failed_ranges:
                outcome.skipped = _portable(scan.failed_ranges[0][1])
            return outcome

    def __reduce__(self) -> Any:
        """Reduce to a function of this module: cloudpickle finds it independent of which public modules are
        imported."""
        spans = [(one.start, one.end) for one in self._ranges]
        return _unpickle_task, (self._origin, self._arguments, spans, self._reducer, self._deterministic, self.hosts)

    def __repr__(self) -> str:
        what = self._arguments.get("table") or self._arguments.get("prepared")
        by = "" if self._reducer is None else f" by {shown(self._reducer)}"
        return f"<ScanTask of {what}{by}: {self.token_range.start} to {self.token_range.end}>"


def _unpickle_task(origin: Origin, asked: Any, spans: Any, reducer: Any, deterministic: bool, hosts: Any) -> ScanTask:
    task = ScanTask(origin, asked, [TokenRange(*span) for span in spans], reducer, deterministic)
    task.hosts = hosts
    return task


def run_for_fold(task: ScanTask) -> Outcome:
    """Run a task on a worker; return its error in the outcome."""
    try:
        return task._fold()
    except Exception as error:
        return Outcome(error=_portable(error))


def _portable(error: Exception) -> Exception:
    """Return *error*, or an exception with the same text, if it cannot be pickled."""
    error.__dict__.pop("checkpoint", None)  # of a part, which is not resumed
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return DriverException(f"{type(error).__name__}: {error}")
    return error


def parts_of(ranges: Iterable[TokenRange], count: int) -> list[list[TokenRange]]:
    """Return *ranges*, ascending, in about *count* lists of adjacent ranges."""
    runs: list[list[TokenRange]] = []
    for one in sorted(ranges):
        if runs and runs[-1][-1].end == one.start:
            runs[-1].append(one)
        else:
            runs.append([one])
    total = sum(map(len, runs)) or 1
    parts = []
    for run in runs:
        cuts = max(1, round(count * len(run) / total))
        bounds = [len(run) * cut // cuts for cut in range(cuts + 1)]
        parts += [run[first:last] for first, last in pairwise(bounds) if first < last]
    return parts


class TaskOptions:
    """Options for creating tasks: see Scan.tasks."""

    def __init__(self, connect: Importable | None, credentials: Importable | None, tasks: int | None) -> None:
        if tasks is not None and (type(tasks) is not int or tasks < 1):
            raise ValueError(f"tasks must be a positive int, got {tasks!r}")
        self.connect = connect
        self.credentials = credentials
        self.tasks = tasks or TASKS


def tasks_of(scan: Scan, reducer: MapReducer | None, task_options: TaskOptions) -> list[ScanTask]:
    """See Scan.tasks."""
    options = scan._options
    plan, _ = scan._plan()
    ranges: Iterable[TokenRange] = plan.ranges
    if options.resume is not None:
        options.resume.check(description(plan, options.filter, reducer))
        ranges = remaining_parts(plan.ranges, options.resume)
    origin = Origin(scan._session, task_options.connect, task_options.credentials)
    asked = {**options.asked, "pushdown": "never"}  # accumulators are those of the reducer
    if "columns" in asked and asked["columns"] is None:
        asked["columns"] = plan.columns  # the current ones, also for a task that runs later
    return [ScanTask(origin, asked, part, reducer) for part in parts_of(ranges, task_options.tasks)]


# ---- folds over an executor


class _OfTasks:
    """*reducer*, applied to outcomes of tasks."""

    def __init__(self, reducer: MapReducer) -> None:
        self.combine = reducer.combine
        self.finish = reducer.finish
        self._reducer = reducer

    def open(self, schema: Any, token_range: TokenRange) -> Any:
        return None if schema is None else self._reducer.open(schema, token_range)

    def stream(self, acc: Any, outcome: Any) -> Any:
        if outcome.stopped:
            raise StopScan(outcome.acc)
        return outcome.acc


class _InlineExecutor:
    """Executor that runs a function at once, on the calling thread."""

    def submit(self, function: Callable[[ScanTask], Outcome], task: ScanTask) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(function(task))
        return future


class _Executors:
    """*given*: an executor, or a function that makes one, which is shut down at the end."""

    def __init__(self, given: Any) -> None:
        self._make: Callable[[], Any] | None = None
        self._own: list[Any] = []
        if not hasattr(given, "submit"):
            if not callable(given):
                raise TypeError(
                    f"executor must have submit(), as in concurrent.futures, or be a function that makes one: {given!r}"
                )
            self._make = given
        self.current = given if self._make is None else self._new()
        self._attempts_left = ATTEMPTS

    def _new(self) -> Any:
        assert self._make is not None
        self._own.append(self._make())
        return self._own[-1]

    def replace(self, error: BaseException) -> None:
        """Replace the current executor, broken by *error*."""
        self._attempts_left -= 1
        if self._make is not None and self._attempts_left:
            log.warning("A worker of a fold was lost; its executor is replaced: %s", error)
            self.current = self._new()
        else:
            log.warning("A worker of a fold was lost with its executor; remaining tasks run in this process: %s", error)
            self.current = _InlineExecutor()

    def close(self) -> None:
        for executor in self._own:
            executor.shutdown(wait=False, cancel_futures=True)


class _Farm:
    """Runs *tasks* by the executors; yields their numbers and outcomes as they complete."""

    def __init__(self, executors: _Executors, tasks: Sequence[ScanTask]) -> None:
        self._executors = executors
        self._tasks = tasks
        self._attempts = [0] * len(tasks)
        self._going: dict[Any, tuple[int, Any]] = {}  # by future: number of the task, and its executor
        self._ended_queue: deque[Any] = deque()
        self._event = process.AutoResetEvent()

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        waiting = deque(range(len(self._tasks)))
        while waiting or self._going:
            while waiting and not self._ended_queue:
                self._submit(waiting.popleft())
            while not self._ended_queue:
                self._event.wait()
            future = self._ended_queue.popleft()
            number, executor = self._going.pop(future)
            error = _error_of(future)
            if error is None:
                yield number, future.result()
            else:
                self._on_task_lost(number, executor, error)
                waiting.append(number)

    def _submit(self, number: int) -> None:
        while True:
            executor = self._executors.current
            try:
                future = executor.submit(run_for_fold, self._tasks[number])
            except BrokenExecutor as error:
                self._executors.replace(error)
                continue
            self._attempts[number] += 1
            self._going[future] = (number, executor)
            future.add_done_callback(self._note)
            return

    def _note(self, future: Any) -> None:
        self._ended_queue.append(future)
        self._event.set()

    def _on_task_lost(self, number: int, executor: Any, error: BaseException) -> None:
        if isinstance(error, BrokenExecutor):  # broken by this or another task
            if executor is self._executors.current:
                self._executors.replace(error)
        elif self._attempts[number] >= ATTEMPTS:
            raise error

    def close(self) -> None:
        for future, (number, _) in self._going.items():
            self._tasks[number]._is_cancelled = True  # threads check it at their next page
            future.cancel()


def _error_of(future: Any) -> BaseException | None:
    try:
        error: BaseException | None = future.exception()
    except CancelledError as cancelled:
        return cancelled
    return error


def fold_by(scan: Scan, fold_options: FoldOptions, executor: Any, task_options: TaskOptions) -> Any:
    """See Scan.fold."""
    if fold_options.workers is not None:
        raise ValueError("workers= and executor= are mutually exclusive: an executor has its own workers")
    plan, sent, _ = planned(scan, fold_options)
    what = fold_options.what(plan)
    pushdown = "never" if fold_options.pushdown.selected is None else "always"  # as decided in this process
    spans = [TokenRange(part[0].start, part[-1].end) for part in parts_of(plan.ranges, task_options.tasks)]
    fold = Fold(
        _OfTasks(fold_options.folds), spans, what, deterministic=fold_options.deterministic, resume=fold_options.resume
    )
    scan._last, scan._failed = fold, []
    origin = Origin(scan._session, task_options.connect, task_options.credentials)
    asked = {**scan._options.asked, "filter": fold_options.filter, "pushdown": pushdown}
    tasks = [
        ScanTask(origin, asked, _intersect(plan.ranges, one), fold_options.reducer, fold_options.deterministic)
        for one in fold.ranges
    ]
    recorder = ProgressRecorder(what, fold.ranges, scan._options.progress, fold_options.resume)
    executors = _Executors(executor)
    farm = _Farm(executors, tasks)
    whole = False
    try:
        for number, outcome in farm.outcomes():
            if outcome.error is not None:
                raise outcome.error
            ends = DONE
            if outcome.skipped is not None:
                ends = FAILED
                scan._failed.append((fold.ranges[number], outcome.skipped))
            for kind, batch in ((BATCH, outcome), (ends, None)):
                event = ScanEvent(number, fold.ranges[number], kind, batch)  # type: ignore[arg-type]
                fold.take(event)
                recorder.take(event)
            if fold.stopped:
                break
            fold.wait()
        result = fold.result(sent.schema)
        whole = not fold.stopped
        return result
    except BaseException as error:
        fold.close()
        with_checkpoint(error, fold)
        raise
    finally:
        farm.close()
        executors.close()
        fold.close()
        recorder.end(whole)


def _intersect(ranges: Iterable[TokenRange], span: TokenRange) -> list[TokenRange]:
    return [part for one in ranges if (part := one.intersect(span)) is not None]


# ---- collections of Dask and Ray


def to_dask(tasks: Sequence[ScanTask], schema: ColumnPlan) -> Any:
    """See Scan.to_dask."""
    frames = load_library("dask.dataframe", "dask")
    return frames.from_map(_frame, tasks, meta=_pandas(ArrowBatches(schema, [])), label="scan")


def to_ray(tasks: Sequence[ScanTask]) -> Any:
    """See Scan.to_ray."""
    data = load_library("ray.data", "ray")
    items = data.from_items([{"task": task} for task in tasks], override_num_blocks=len(tasks))
    return items.map_batches(_block, batch_size=1, batch_format="numpy", zero_copy_batch=False)


def _frame(task: ScanTask) -> Any:
    return _pandas(task.run())


def _pandas(rows: Any) -> Any:
    """Convert with Arrow types: a column of integers stays one if some are null."""
    types = load_library("pandas", "pandas").ArrowDtype
    return load_library("pyarrow", "arrow").table(rows).to_pandas(types_mapper=types)


def _block(batch: dict[str, Any]) -> Any:
    (task,) = batch["task"]
    return task.run()
