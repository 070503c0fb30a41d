"""Worker threads for calls that may block, and commands: calls that run there while the caller thread waits (L0).

*Workers* run commands of callers and handle log records of driver threads. There are as many as calls in progress, and
none without calls. Each thread runs one call after another. A call never waits for another one to end: when all threads
are busy, one more is started. A thread that is idle for ``IDLE_LIMIT`` seconds ends, or at once when the last cluster
is shut down (:func:`end_idle`).

State: ``_calls`` and ``_idle``, both changed by atomic operations only, so any thread may submit, also in a signal
handler or in a ``__del__`` at any point of another submission. No lost wake-ups: a submitter publishes its call and
then checks for an idle thread; a thread publishes that it is idle and then checks for calls. An exception between the
two steps of a submitter (Ctrl-C) leaves a call that the next idle thread takes.

*Commands.* A caller thread may be interrupted between any two bytecodes by a signal handler, which may raise, or use
the driver itself. State that requests depend on is therefore changed by driver threads, where no handler runs. A public
call that changes such state (connect, prepare, shut down, refresh metadata...) submits itself as a command::

    return run(self._prepare, query)

* It runs on a worker: no command waits for another one to get its thread. On a driver thread (a listener, a callback,
  another command) it runs directly.
* It has the caller's context variables. Its exception is raised in the caller, with its traceback.
* The wait is one native wait, fork-safe (:class:`~cassandra._base.process.AutoResetEvent`); a greenlet waits with its
  hub.
* If the wait is interrupted, the command continues. *undo* is then called with its result, on a driver thread, as no
  caller receives it: ``connect`` shuts down the session.
* Its log records are handled before the call returns, within a time limit (``logs.py``).
* Where no thread can be started (the interpreter exits, or the process is out of threads) the caller runs it.

The result has one receiver: ``_winner`` is set once, by the atomic ``dict.setdefault``, to "done" by the command or to
"left" by the caller; the second of the two reads the value of the first, and undoes the result.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial, wraps
from sys import is_finalizing
from typing import Any, Generic, ParamSpec, TypeVar

from . import locks, logs
from .locks import CALLER, IO, WORKER, enter_driver_thread, thread_kind
from .logs import flush, get_logger
from .process import AutoResetEvent, catch_up, in_child
from .real import green, start_bare_thread, threading

log = get_logger("cassandra.cluster")

P = ParamSpec("P")
T = TypeVar("T")


# ---- worker threads

IDLE_LIMIT = 1.0

_calls: deque[Callable[[], object]] = deque()
_idle: deque[_Worker] = deque()
_workers: set[_Worker] = set()
_current_worker = threading.local()


def start(call: Callable[[], object]) -> None:
    """Run *call* on a driver thread that may block.

    Raise RuntimeError, without effect, if no thread is idle and none can be started, as while the interpreter exits.
    *call* must not raise.
    """
    if is_finalizing():  # idle threads exist, but do not run any more
        raise RuntimeError("the interpreter is shutting down")
    _calls.append(call)
    try:
        worker = _idle.pop()
    except IndexError:
        try:
            _Worker().start()
        except RuntimeError:
            try:
                _calls.remove(call)
            except ValueError:  # another thread took it
                return
            raise
    else:
        worker.gate.give()


def is_exit(error: RuntimeError) -> bool:
    """Return True if *error*, of :func:`start`, is due to the exit of the interpreter, not to a lack of threads."""
    return "interpreter" in str(error)


def ending() -> None:
    """Mark this thread as not busy: the call that runs on it only has to return."""
    worker = getattr(_current_worker, "worker", None)
    if worker is not None:
        worker.is_busy = False


def end_after_call() -> None:
    """End this thread after the call that it runs, unless others wait: the last call of a cluster needs no idle
    thread after it."""
    worker = getattr(_current_worker, "worker", None)
    if worker is not None:
        worker.is_ending = True


def end_idle() -> list[Any]:
    """Make idle threads end, without waiting for them. Return these threads, except the calling one."""
    ended = []
    for worker in _workers.copy():
        if worker.is_busy or is_finalizing():
            continue
        worker.is_ending = True  # the worker reads it after it has published that it is idle
        with contextlib.suppress(ValueError):
            _idle.remove(worker)
            worker.gate.give()
        if worker.thread.ident != threading.get_ident():
            ended.append(worker.thread)
    return ended


class Signal:
    """Wakes the driver thread that waits for it; if it is given before the wait, the wait ends at once."""

    def __init__(self) -> None:
        self._silent: Any = threading.Lock()  # held, except between a signal and the wait that it ends
        self._silent.acquire()

    def give(self) -> None:
        """Give the signal. Any thread."""
        try:  # noqa: SIM105 - suppress makes three calls more
            self._silent.release()
        except RuntimeError:  # already given
            pass

    def wait(self, timeout: float) -> bool:
        """Wait until the signal is given; False after *timeout* seconds."""
        given: bool = self._silent.acquire(timeout=min(timeout, threading.TIMEOUT_MAX))
        return given


class _Worker:
    def __init__(self) -> None:
        self.gate = Signal()  # given once by the thread that took this worker from _idle
        self.is_busy = True
        self.is_ending = False
        self.thread = threading.Thread(target=self._work, name="fastcql-worker", daemon=True)

    def start(self) -> None:
        if thread_kind() != CALLER:
            self.thread.start()
        else:  # a caller may be interrupted or have an asyncio loop, so it must not wait for the thread to begin
            start_bare_thread(self._start_thread, ())

    def _start_thread(self) -> None:
        if green is not None:
            green.note_thread(self.thread.name)  # it gets no hub
        try:
            self.thread.start()
        except RuntimeError:  # no further thread can be started: use this one
            self._work()

    def _work(self) -> None:
        enter_driver_thread()
        _current_worker.worker = self
        _workers.add(self)
        try:
            while self._run_calls() or self._waits():
                pass
        finally:
            _workers.discard(self)

    def _run_calls(self) -> bool:
        """Run the next call; False if there is none."""
        try:
            call = _calls.popleft()
        except IndexError:
            return False
        self.is_busy = True
        try:
            call()
        finally:
            self.is_busy = False
        return True

    def _waits(self) -> bool:
        """Wait until there may be a call; False if this thread is to end."""
        self.is_busy = False
        _idle.append(self)
        rung = not _calls and not self.is_ending and self.gate.wait(IDLE_LIMIT)
        if not rung:
            try:
                _idle.remove(self)
            except ValueError:  # a submitter has just taken this worker
                self.gate.wait(IDLE_LIMIT)  # with a limit: an interrupted submitter never gives the signal
                return not self.is_ending or bool(_calls)
            return bool(_calls)
        return not self.is_ending or bool(_calls)


def _in_child() -> None:
    _calls.clear()
    _idle.clear()
    _workers.clear()
    locks.leave_to_parent()
    logs.leave_to_parent()


in_child(_in_child)


def _name() -> str | None:
    """Return the name of this thread if it is a driver thread, else None."""
    kind = thread_kind()
    if kind == CALLER:
        return None
    return "fastcql-io" if kind == IO else threading.current_thread().name


if green is None:
    logs.begin(_name, lambda: logs.call_thread(start))


# ---- commands of callers


def run(fn: Callable[..., T], *args: Any, undo: Callable[[T], object] | None = None) -> T:
    """Run ``fn(*args)`` on a driver thread and return its result. If the wait is interrupted, the call continues, and
    *undo* is called with its result."""
    if thread_kind() != CALLER:
        return fn(*args)
    event = AutoResetEvent()
    command = Command(fn, args, event.set, undo)
    try:
        command.start()
        event.wait()
        flush()
        return command.outcome()
    except BaseException as error:
        if error is not command.error:
            command.leave()
        raise


def command(fn: Callable[P, T]) -> Callable[P, T]:
    """Decorate a public method that blocks: it runs as a command, and continues if the caller is interrupted."""

    @wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(partial(fn, *args, **kwargs))

    return call


def submit(fn: Callable[..., object], *args: Any) -> None:
    """Run ``fn(*args)`` on a driver thread, without waiting. For a ``__del__``, and for callers that need no result."""
    catch_up()
    Command(fn, args, _ignore, None).start()


def _ignore() -> None:
    pass


class Command(Generic[T]):
    """One call, and its outcome."""

    __slots__ = ("_args", "_context", "_fn", "_on_end", "_result", "_undo", "_winner", "error")

    def __init__(
        self,
        fn: Callable[..., T],
        args: tuple[Any, ...],
        on_end: Callable[[], object],
        undo: Callable[[T], object] | None,
    ) -> None:
        self._fn = fn
        self._args = args
        self._on_end = on_end
        self._undo = undo
        self._context: Context = copy_context()
        self._winner: dict[str, str] = {}
        self._result: T | None = None
        self.error: BaseException | None = None

    def start(self) -> None:
        """Start the call on a worker thread; run it here if no thread can be started."""
        try:
            start(self._run)
        except RuntimeError:
            kind = thread_kind()
            enter_driver_thread(WORKER)
            try:
                self._run()
            finally:
                enter_driver_thread(kind)

    def outcome(self) -> T:
        """Return the result, or raise the exception of the call. To be called once, after the end of the call."""
        error = self.error
        if error is None:
            return self._result  # type: ignore[return-value]
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame

    def leave(self) -> None:
        """Record that the caller no longer waits; undo the result if the call is done."""
        if self._winner.setdefault("end", "left") == "done" and self._undo is not None:
            submit(self._undo_result)

    def _run(self) -> None:
        """Run the call. On a driver thread."""
        try:
            self._result = self._context.run(self._fn, *self._args)
        except BaseException as error:
            self.error = error
        self._args = ()
        if self._winner.setdefault("end", "done") == "left":
            self._undo_result()
        ending()
        self._on_end()

    def _undo_result(self) -> None:
        result, self._result = self._result, None
        if self._undo is None or self.error is not None or result is None:
            return
        try:
            self._undo(result)
        except Exception:
            log.exception("The result of an interrupted call could not be undone")
