"""Loggers of the driver (L0).

Each message is one printable line, regardless of text from servers. Records of driver threads are handled by another
thread.

*Relay.* A log handler of the program holds its lock while it emits a record. A caller thread may be interrupted there
by a signal handler that executes a request, or the log handler itself executes one. If the I/O thread had to wait for
that lock, the request would never end. So a driver thread never handles a record: it appends the arguments of the
record, the time and the thread to ``_waiting``, and another thread makes and handles the record. Records of one thread,
and of driver threads among each other, keep their order; records of callers are handled at once, by the caller.

* Usually that other thread is a worker of ``threads.py``, started when a record is logged and free when all records are
  handled.
* In a process that gevent or eventlet has patched it is the thread of a hub, in a greenlet of its own: there the locks
  of ``logging`` are for greenlets (``green.py``).

A command that ends waits at most ``FLUSH_LIMIT`` seconds until all earlier records are handled, so that a program finds
the records of its call. Records left at the end of the process are handled then; a forked child leaves them to the
parent.

State: any driver thread appends to ``_waiting``, and threads that handle records empty it. ``_right`` holds one item
while no thread handles records; the thread that pops it handles them. There is no lock, as garbage collection may run a
``__del__`` that logs at any point. No record is left behind: a thread appends its record before it tries to pop, and
the handling thread checks ``_waiting`` again after it has put the item back. The level of a logger is read without its
cache, which a lock of ``logging`` guards.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import logging
import sys
import time
from _thread import get_ident
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

# ---- relay of records

#: Maximum number of queued records; more are queued only if a handler is blocked for long. The oldest are dropped.
MOST = 10_000
FLUSH_LIMIT = 0.1
EXIT_LIMIT = 2.0

_waiting: deque[tuple[logging.Logger, float, int, str, tuple[Any, ...]]] = deque(maxlen=MOST)
_right: deque[None] = deque([None])  # the right to handle records


def _discard() -> str | None:
    return None


_ours: Callable[[], str | None] = _discard
_wake: Callable[[], object] = _discard


def begin(ours: Callable[[], str | None], wake: Callable[[], object]) -> None:
    """Set the two hooks. *ours* returns the name of the running thread if it is a driver thread, else None. *wake*,
    called on a driver thread, arranges a call of :func:`handle_all`."""
    global _ours, _wake
    _ours, _wake = ours, wake


@functools.cache
def relaying(kind: Any) -> Any:
    """Return a subclass of *kind*, the logger class of the program, that relays records of driver threads to another
    thread."""

    class Relaying(kind):  # type: ignore[misc]
        def isEnabledFor(self, level: int) -> bool:
            if _ours() is None:
                return bool(super().isEnabledFor(level))
            # As in the standard library, without the cache, which a lock guards.
            return not self.disabled and self.manager.disable < level and level >= self.getEffectiveLevel()

        def makeRecord(self, *args: Any, **kwargs: Any) -> Any:
            thread = _ours()
            if thread is None:
                return super().makeRecord(*args, **kwargs)
            return self, time.time(), get_ident(), thread, args

        def handle(self, record: Any) -> None:
            if type(record) is tuple:
                _waiting.append(record)
                _wake()
            else:
                super().handle(record)

        def _handle_relayed(self, created: float, ident: int, thread: str, args: tuple[Any, ...]) -> None:
            record = super().makeRecord(*args)
            late = record.created - created
            record.created, record.thread, record.threadName = created, ident, thread
            record.msecs = int((created - int(created)) * 1000)
            record.relativeCreated -= late * 1000
            super().handle(record)

    for name in ("__name__", "__qualname__", "__module__"):
        setattr(Relaying, name, getattr(kind, name))
    return Relaying


def call_thread(start: Callable[[Callable[[], None]], object]) -> None:
    """Handle all records on a thread that *start* provides, unless a thread already does. For *wake*."""
    if not _acquire():
        return
    try:
        start(_handle_until_empty)
    except RuntimeError:  # the interpreter exits, or no thread can be started
        _handle_until_empty()


def _acquire() -> bool:
    """Acquire the right to handle records; False if another thread has it."""
    try:
        _right.pop()
    except IndexError:
        return False
    return True


def _handle_until_empty() -> None:
    while True:
        handle_all()
        _right.append(None)
        if not _waiting or not _acquire():
            return


def handle_all() -> None:
    """Make and handle all queued records."""
    while _waiting:
        try:
            logger, *made_of = _waiting.popleft()
        except IndexError:  # another thread took it
            return
        try:
            logger._handle_relayed(*made_of)  # type: ignore[attr-defined]
        except Exception as error:  # from a filter or a record factory; logging handles those of handlers
            if logging.raiseExceptions:
                print(f"cassandra: a log record could not be handled: {error!r}", file=sys.stderr)


def flush(limit: float = FLUSH_LIMIT) -> None:
    """Wait until all earlier records are handled, at most *limit* seconds. For a caller."""
    if _right and not _waiting:
        return
    deadline = time.monotonic() + limit
    while (not _right or _waiting) and time.monotonic() < deadline:
        time.sleep(0.0005)


def leave_to_parent() -> None:
    """Drop the queued records, which the parent handles. In a forked child."""
    global _right
    _waiting.clear()
    _right = deque([None])


@atexit.register
def _at_exit() -> None:
    flush(EXIT_LIMIT)
    handle_all()


# ---- printable text

_ELLIPSIS = "…"
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: object, limit: int = 4096) -> str:
    r"""Return ``str(text)`` on one line, without characters that control a terminal or hide text.

    Characters that are not printable (``str.isprintable``: controls, separators except the space, format characters
    such as bidi controls, lone surrogates, code points without a character) are written as in Python source: ``\n``,
    ``\x1b``, ``\u2028``. A text longer than *limit* characters is cut, with an ellipsis at its end. Never raises. Any
    thread.

    Example::

        >>> printable("no such table\n\x1b[31mCRITICAL")
        'no such table\\n\\x1b[31mCRITICAL'
    """
    if not isinstance(text, str):
        try:
            text = str(text)
        except Exception as error:
            text = f"<{type(text).__name__}: str() failed with {type(error).__name__}>"
    whole = text if len(text) <= limit else text[: limit + 1]  # the rest is not escaped
    shown = whole if whole.isprintable() else "".join(map(_escape, whole))
    if len(shown) <= limit:
        return shown
    return _truncate(whole, limit - len(_ELLIPSIS)) + _ELLIPSIS


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    short = _SHORT.get(character)
    if short is not None:
        return short
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _truncate(text: str, room: int) -> str:
    """Return the longest escaped prefix of *text* that fits in *room* characters, without a partial escape."""
    kept: list[str] = []
    for character in text:
        piece = _escape(character)
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept)


# ---- loggers and messages

_WARNINGS = 5  # logged for one response
_TEXTS = 100  # different warnings logged for one session and minute
_TEXT = 4096  # characters by which they are compared; the log shows no more
_MINUTE = 60.0
_ERRORS = 20  # that were never retrieved, logged with their tracebacks in a minute
_LINES = 50  # of one kind, logged for one reading of a server's tables


class _PrintableMessages(logging.Filter):
    """Escapes control characters in messages and cuts long ones. Other records stay unchanged, with their arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except Exception:  # logging reports it
            return True
        shown = printable(message)
        if shown != message:
            record.msg, record.args = shown, None
        return True


_filter = _PrintableMessages()


def get_logger(name: str) -> logging.Logger:
    """Return the logger called *name*. Names, addresses, warnings and errors of servers are passed as arguments of
    messages: line breaks and escape sequences in them are escaped."""
    logger: Any = logging.getLogger(name)
    kind: Any = type(logger)
    if not hasattr(kind, "_handle_relayed"):
        with contextlib.suppress(TypeError):  # a logger class of the program that cannot be replaced
            logger.__class__ = relaying(kind)
    logger.addFilter(_filter)  # added once, as it is always the same object
    made: logging.Logger = logger
    return made


_server = get_logger("cassandra.protocol")
_cluster = get_logger("cassandra.cluster")


class WarningLog:
    """Logs the warnings of servers in the responses to one session. The program can read all of them from its results.

    Each text is logged once a minute, at most ``_TEXTS`` different ones: servers repeat a warning in every response to
    a statement. Any thread; two that log the same text at the same time may both log it.
    """

    def __init__(self) -> None:
        self._logged: dict[str, None] = {}  # texts of the current minute, or their beginnings
        self._since = -_MINUTE  # beginning of that minute

    def log(self, warnings: Sequence[str] | None) -> None:
        """Log the *warnings* of one response, a few lines at most."""
        if not warnings:
            return
        now = time.monotonic()
        if now - self._since >= _MINUTE:
            self._logged, self._since = {}, now
        logged = self._logged
        if len(logged) >= _TEXTS:
            return
        texts = [text for warning in warnings if (text := warning[:_TEXT]) not in logged]
        for text in dict.fromkeys(texts[:_TEXTS]):
            logged[text] = None
        for text in dict.fromkeys(texts[:_WARNINGS]):
            _server.warning("Server warning: %s", text)
        if len(texts) > _WARNINGS:
            _server.warning("Server warning: %d more in the same response", len(texts) - _WARNINGS)
        if len(logged) >= _TEXTS:
            _server.warning(
                "Server warnings: %d different ones within a minute; until it ends, further ones are in results only",
                len(logged),
            )


class _UnretrievedErrors:
    """Logs errors of requests that no program has asked for: the first ones of each minute. Any thread; a race logs a
    few more."""

    def __init__(self) -> None:
        self._count = 0  # of the current minute
        self._since = -_MINUTE

    def log(self, error: BaseException) -> None:
        now = time.monotonic()
        if now - self._since >= _MINUTE:
            self._count, self._since = 0, now
        self._count += 1
        if self._count <= _ERRORS:
            _cluster.error("The error of a request was never retrieved: %s", error, exc_info=error)
        elif self._count == _ERRORS + 1:
            _cluster.error("Errors of more than %d requests within a minute were never retrieved", _ERRORS)


unretrieved_errors = _UnretrievedErrors()


def log_each(log: Callable[..., None], message: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Log one line for each of *rows*, the arguments of *message*; of many rows the first ones and the number of the
    others.

    *log* is a method of a logger, such as ``logger.info``.
    """
    for row in rows[:_LINES]:
        log(message, *row)
    if len(rows) > _LINES:
        log(f"{message}, and %d more", *rows[_LINES], len(rows) - _LINES - 1)
