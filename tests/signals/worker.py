"""One process of a campaign: one call, interrupted again and again.

``python -m tests.signals.worker`` takes a :class:`Work` as JSON and writes a line of JSON for each fault, and one at
its end. A watchdog ends the process if it hangs, with a dump of its threads in the file ``dump`` of its folder; the
file ``at`` says which moment it was at.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import gc
import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from cassandra._base import locks
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from tests.signals import mapper_calls as mapper_calls
from tests.signals.async_calls import ASYNC_CALLS
from tests.signals.calls import CALLS, Call, Parts
from tests.signals.moments import SIGNAL, Chosen, Random, stop_counting
from tests.signals.scene import AT_ONCE, Broken, Scene
from tests.signals.server import Server

HANGS = 40.0  # seconds without progress
CHECKED = 12.0  # seconds that all checks after an interrupt may take
WARM = 3
SPARE = 5  # a call has a few moments more at times
THOROUGH = 25  # each so many interrupts every kind of request is tried
ALL_CALLS: dict[str, Call] = {**CALLS, **ASYNC_CALLS}


@dataclass
class Work:
    """What a worker does.

    *mode*: what the handler does: ``raise`` (KeyboardInterrupt), ``except`` (raises an Exception, which may be caught),
    ``execute``, ``both`` (executes and raises KeyboardInterrupt), ``cancel`` (the task, in asyncio). *kind*: of
    connections. *loop*: None, ``asyncio`` or ``uvloop``. *moments*: ``chosen`` or ``random``. Interrupts are numbered
    from *first*; there are *limit* of them, chosen ones spread over all moments of the call.
    """

    call: str
    mode: str
    kind: str
    loop: str | None
    moments: str
    first: int
    limit: int
    seed: int
    folder: str


class Alarm(Exception):
    """Raised by the handler."""


class Interrupt(KeyboardInterrupt):
    """Raised by the handler."""


class Hang(BaseException):
    """Raised in a call that hangs."""


@contextlib.contextmanager
def ended_if_it_hangs() -> Iterator[None]:
    """What the main thread does ends by :class:`Hang`, which says where it was, if it takes too long."""

    def raise_hang(number: int, frame: FrameType | None) -> None:
        stack = "".join(traceback.format_stack(frame)[-8:])
        raise Hang(f"does not end within {CHECKED:.0f} s\n{stack}")

    signal.signal(signal.SIGUSR1, raise_hang)
    main = threading.main_thread().ident or 0
    timer = threading.Timer(CHECKED, signal.pthread_kill, (main, signal.SIGUSR1))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)


class Handler:
    """Of the signal: acts once after each :meth:`arm`."""

    def __init__(self, scene: Scene, mode: str) -> None:
        self.scene, self.mode = scene, mode
        self.armed = self.has_run = self.is_unraisable = False
        self.where = ""
        self.fault: str | None = None
        self.task: asyncio.Task[Any] | None = None
        signal.signal(SIGNAL, self._handle)
        sys.unraisablehook = self._unraisable

    def arm(self) -> None:
        self.has_run = self.is_unraisable = False
        self.where, self.fault, self.task = "", None, None
        self.armed = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.armed:
            return
        stop_counting()
        self.armed = False
        if self.raises and is_of_loop(frame):
            return
        self.has_run = True
        self.where = target_of(frame)
        if self.mode in ("execute", "both"):
            self._execute()
        if self.mode == "cancel":
            assert self.task is not None
            self.task.cancel()
        if self.mode in ("raise", "both"):
            raise Interrupt
        if self.mode == "except":
            raise Alarm

    def _execute(self) -> None:
        """Foreign code that uses the driver: its requests work while any other call is under way."""
        session = self.scene.session
        try:
            if not session.is_shutdown:
                assert session.execute(self.scene.select, (5,)).one().v == "v5"
                session.execute("SELECT v FROM one.t WHERE id = 6")
        except (ConnectionException, NoHostAvailable) as error:
            if not self.scene.loses_connections:
                self.fault = f"the handler's request: {error!r}"
        except Exception as error:
            self.fault = f"the handler's request: {error!r}"

    def _unraisable(self, unraisable: Any) -> None:
        """An exception of the handler in a ``__del__`` or a native callback has no way out."""
        if isinstance(unraisable.exc_value, (Alarm, Interrupt)):
            self.is_unraisable = True

    @property
    def raises(self) -> bool:
        return self.mode in ("raise", "both", "except")


def is_of_loop(frame: FrameType | None) -> bool:
    """Whether the interrupted code is asyncio's own, which loses callbacks if it is interrupted by an exception."""
    return frame is not None and Path(frame.f_code.co_filename).parent.name in ("asyncio", "uvloop")


def target_of(frame: FrameType | None) -> str:
    """``file:line function`` of the interrupted code, and of the driver's code that called it."""
    places: list[str] = []
    while frame is not None and len(places) < 3:
        path = frame.f_code.co_filename
        is_driver = "/cassandra/" in path
        if is_driver or not places:
            short = path[path.rindex("/cassandra/") + 1 :] if is_driver else Path(path).name
            places.append(f"{short}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(places)


class Worker:
    def __init__(self, work: Work, scene: Scene) -> None:
        self.work, self.scene = work, scene
        self.call = ALL_CALLS[work.call]
        self.handler = Handler(scene, work.mode)
        self.folder = Path(work.folder)
        self.dump = (self.folder / "dump").open("w")
        faulthandler.enable(self.dump)
        self.interrupts = self.faults = 0

    def run(self) -> None:
        self._watch()
        total = self.most = self._warm_up()
        step = max(1, total // self.work.limit) if self.work.moments == "chosen" else 1
        number = self.work.first
        while self.interrupts < self.work.limit:
            self._watch()
            self._interrupt(number)
            number += step * (1 + self.faults // 4)  # enough of the same; faults cost time
            if self.work.moments == "chosen" and number > self.most + SPARE:
                break
        faulthandler.cancel_dump_traceback_later()
        say(done=self.interrupts, moments=total)

    def _watch(self) -> None:
        faulthandler.dump_traceback_later(HANGS, exit=True, file=self.dump)

    def _warm_up(self) -> int:
        for _ in range(WARM):
            run, check = self.call.parts(self.scene)
            self._complete(run)
            check(True)
        parts, moment = self.call.parts(self.scene), Chosen(sys.maxsize)
        self._run_interrupted(parts, moment)
        parts[1](True)
        return moment.counted

    def _complete(self, run: Any) -> None:
        """*run* without an interrupt."""
        if self.work.loop is None:
            run()
        else:
            runner(self.work.loop)(run())

    def _interrupt(self, number: int) -> None:
        handler, moment = self.handler, self._moment(number)
        parts = self.call.parts(self.scene)
        handler.arm()
        ended, error = self._run_interrupted(parts, moment)
        self.interrupts += handler.has_run
        (self.folder / "at").write_text(json.dumps([number, handler.where, self.interrupts]))
        fault = handler.fault or self._wrong_outcome(ended, error)
        detail = "" if fault is None or error is None else "".join(traceback.format_exception(error))[-1500:]
        error = None
        if isinstance(moment, Chosen):
            self.most = max(self.most, moment.counted)
        problem = in_another_thread(lambda: self._check(parts, ended, number))
        if problem is not None:
            fault = f"{fault or ''}{'; ' if fault else ''}afterwards: {type(problem).__name__}: {problem}"
            detail += "".join(traceback.format_exception(problem))[-1500:]
            problem = None
        if locks.violations:
            fault = f"{fault or ''} locks: {locks.violations[0]}"
            locks.violations.clear()
        if fault is not None:
            self.faults += 1
            say(fault=fault, number=number, where=handler.where, detail=detail)
            self.scene.renew()

    def _run_interrupted(self, parts: Parts, moment: Chosen | Random) -> tuple[bool, BaseException | None]:
        with ended_if_it_hangs():
            if self.work.loop is None:
                return run_interrupted(parts, self.handler, moment)
            return run_loop_interrupted(parts, self.handler, moment, self.work.loop, self.scene)

    def _moment(self, number: int) -> Chosen | Random:
        if self.work.moments == "chosen":
            return Chosen(number)
        return Random((self.work.seed, self.work.call, self.work.mode, number))

    def _wrong_outcome(self, ended: bool, error: BaseException | None) -> str | None:
        handler = self.handler
        if error is None:
            is_lost = handler.has_run and handler.raises and not handler.is_unraisable
            if is_lost and ended and handler.mode != "except":
                return "the handler's exception is swallowed"
            return None
        if handler.has_run and (isinstance(error, (Alarm, Interrupt)) or is_caused_by_alarm(error)):
            return None
        if handler.has_run and handler.mode == "cancel" and isinstance(error, asyncio.CancelledError):
            return None
        return f"raises {type(error).__name__}: {error}"

    def _check(self, parts: Parts, ended: bool, number: int) -> None:
        scene = self.scene
        gc_each(number)
        scene.check_quiet()
        parts[1](ended)
        scene.check_works()
        run, check = self.call.parts(scene)
        self._complete(run)
        check(True)
        if number % THOROUGH == 0:
            scene.check_every_kind()
            scene.check_quiet()


def is_caused_by_alarm(error: BaseException | None) -> bool:
    """Code that tolerates or describes exceptions (a value that cannot be decoded) cannot tell an Alarm from others."""
    while error is not None and not isinstance(error, Alarm):
        error = error.__cause__ or error.__context__
    return error is not None


def in_another_thread(check: Callable[[], None]) -> BaseException | None:
    """What *check* raises; a fault if it hangs. In another thread, as the interrupted one may hold a lock for ever,
    which it could acquire again itself."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            check()
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(CHECKED)
    if thread.is_alive():
        stack = "".join(traceback.format_stack(sys._current_frames()[thread.ident or 0]))
        return Broken(f"hangs\n{stack[-1800:]}")
    return problems[0] if problems else None


def gc_each(number: int) -> None:
    if number % THOROUGH == 0:
        gc.collect()


def run_interrupted(parts: Parts, handler: Handler, moment: Chosen | Random) -> tuple[bool, BaseException | None]:
    """(whether the call returned, what came out of it)."""
    ended = False
    try:
        try:
            moment.start()
            parts[0]()
            ended = True
        finally:
            moment.stop()
            handler.armed = False
    except BaseException as error:
        return ended, error
    return ended, None


def runner(loop: str) -> Any:
    if loop == "uvloop":
        import uvloop

        return uvloop.run
    return asyncio.run


def run_loop_interrupted(
    parts: Parts, handler: Handler, moment: Chosen | Random, loop: str, scene: Scene
) -> tuple[bool, BaseException | None]:
    """As :func:`run_interrupted`, in a loop of its own. After an interrupt that does not end the loop, requests work in
    it."""
    ended = hangs = False

    async def interrupted() -> None:
        nonlocal ended
        handler.task = asyncio.current_task()
        try:
            moment.start()
            await parts[0]()
            ended = True
        finally:
            moment.stop()
            handler.armed = False
        if handler.mode == "cancel" and handler.has_run:
            await asyncio.sleep(0)

    async def main() -> None:
        nonlocal hangs
        running = asyncio.get_running_loop()
        running.set_exception_handler(lambda loop, context: None)
        task = asyncio.ensure_future(interrupted())

        def give_up() -> None:
            nonlocal hangs
            hangs = True
            task.cancel()

        timer = running.call_later(AT_ONCE, give_up)
        try:
            await task
        finally:
            timer.cancel()
            if handler.mode in ("cancel", "except", "execute"):
                result = await asyncio.wait_for(scene.session.execute_async(scene.select, (2,)), AT_ONCE)
                assert result.one().v == "v2"

    try:
        runner(loop)(main())
    except BaseException as error:
        if hangs:
            return ended, Broken("the await does not end")
        return ended, error
    finally:
        moment.stop()
        handler.armed = False
        handler.task = None
    return ended, None


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def main() -> None:
    work = Work(**json.loads(sys.argv[1]))
    logging.getLogger("cassandra").addHandler(logging.NullHandler())
    logging.getLogger("cassandra").propagate = False
    sys.setswitchinterval(0.001)
    with Server(work.kind) as server:
        scene = Scene(server, work.kind, **ALL_CALLS[work.call].options)
        Worker(work, scene).run()
        with contextlib.suppress(Exception):
            thread = threading.Thread(target=scene.close, daemon=True)
            thread.start()
            thread.join(5)
        if thread.is_alive():
            say(fault="the last shutdown does not end", number=-1, where="", detail="")
    sys.stdout.flush()
    time.sleep(0)
    os._exit(0)


if __name__ == "__main__":
    main()
