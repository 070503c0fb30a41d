"""Loggers of the driver (L0). Each message is one printable line, regardless of text from servers. Records of driver
threads are handled by another thread: ``log_relay.py``."""

import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import Any

from cassandra._base.log_relay import relaying
from cassandra._base.printable import printable

__all__ = ["get_logger", "log_each", "log_server_warnings"]

_WARNINGS = 5  # logged for one response
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


def log_server_warnings(warnings: Sequence[str] | None) -> None:
    """Log the *warnings* of one response, a few lines at most. The program can read all of them from its result."""
    if not warnings:
        return
    for warning in warnings[:_WARNINGS]:
        _server.warning("Server warning: %s", warning)
    if len(warnings) > _WARNINGS:
        _server.warning("Server warning: %d more in the same response", len(warnings) - _WARNINGS)


def log_each(log: Callable[..., None], message: str, rows: Sequence[tuple[object, ...]]) -> None:
    """Log one line for each of *rows*, the arguments of *message*; of many rows the first ones and the number of the
    others.

    *log* is a method of a logger, such as ``logger.info``.
    """
    for row in rows[:_LINES]:
        log(message, *row)
    if len(rows) > _LINES:
        log(f"{message}, and %d more", *rows[_LINES], len(rows) - _LINES - 1)
