"""Commands: calls that run on a driver thread while the caller thread waits.

L0. A caller thread may be interrupted between any two bytecodes by a signal handler, which may raise, or use the driver
itself. State that requests depend on is therefore changed by driver threads, where no handler runs. A public call that
changes such state (connect, prepare, shut down, refresh metadata...) submits itself as a command::

    return run(self._prepare, query)

* It runs on a thread of ``threads.py``. There are as many threads as commands in progress: no command waits for
  another one to get its thread. On a driver thread (a listener, a callback, another command) it runs directly.
* It has the caller's context variables. Its exception is raised in the caller, with its traceback.
* The wait is one native wait, fork-safe (:class:`~cassandra._base.process.Bell`); a greenlet waits with its hub.
* If the wait is interrupted, the command continues. *undo* is then called with its result, on a driver thread, as no
  caller receives it: ``connect`` shuts down the session.
* Its log records are handled before the call returns, within a time limit (``log_relay.py``).
* Where no thread can be started (the interpreter exits, or the process is out of threads) the caller runs it.

The result has one receiver: ``_end`` is set once, by the atomic ``dict.setdefault``, to "done" by the command or to
"left" by the caller; the second of the two reads the value of the first, and undoes the result.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial, wraps
from typing import Any, Generic, ParamSpec, TypeVar

from . import threads
from .locks import CALLER, WORKER, enter_driver_thread, thread_kind
from .log_relay import flush
from .logs import get_logger
from .process import Bell, catch_up

log = get_logger("cassandra.cluster")

P = ParamSpec("P")
T = TypeVar("T")


def run(fn: Callable[..., T], *args: Any, undo: Callable[[T], object] | None = None) -> T:
    """Run ``fn(*args)`` on a driver thread and return its result. If the wait is interrupted, the call continues, and
    *undo* is called with its result."""
    if thread_kind() != CALLER:
        return fn(*args)
    bell = Bell()
    command = Command(fn, args, bell.ring, undo)
    try:
        command.start()
        bell.wait()
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

    __slots__ = ("_args", "_context", "_end", "_fn", "_on_end", "_result", "_undo", "error")

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
        self._end: dict[str, str] = {}
        self._result: T | None = None
        self.error: BaseException | None = None

    def start(self) -> None:
        """Start the call on a worker thread; run it here if no thread can be started."""
        try:
            threads.start(self._run)
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
        if self._end.setdefault("end", "left") == "done" and self._undo is not None:
            submit(self._undone)

    def _run(self) -> None:
        """Run the call. On a driver thread."""
        try:
            self._result = self._context.run(self._fn, *self._args)
        except BaseException as error:
            self.error = error
        self._args = ()
        if self._end.setdefault("end", "done") == "left":
            self._undone()
        threads.ending()
        self._on_end()

    def _undone(self) -> None:
        result, self._result = self._result, None
        if self._undo is None or self.error is not None or result is None:
            return
        try:
            self._undo(result)
        except Exception:
            log.exception("The result of an interrupted call could not be undone")
