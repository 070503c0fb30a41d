"""Loggers of the driver (L0). What they log is one printable line, whatever a server has sent."""

import logging
from collections.abc import Sequence

from cassandra._base.printable import printable

__all__ = ["get_logger", "log_server_warnings"]

_WARNINGS = 5  # of one response that are logged


class _PrintableMessages(logging.Filter):
    """Escapes control characters in messages and cuts long ones. Records that need neither stay as they are, with their
    arguments."""

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
    """The logger called *name*. Names, addresses, warnings and errors of servers go to messages as arguments: line
    breaks and escape sequences in them are escaped."""
    logger = logging.getLogger(name)
    logger.addFilter(_filter)  # once: it is the same object
    return logger


_server = get_logger("cassandra.protocol")


def log_server_warnings(warnings: Sequence[str] | None) -> None:
    """Log the *warnings* of one response, a few lines at most. The program can read all of them from its result."""
    if not warnings:
        return
    for warning in warnings[:_WARNINGS]:
        _server.warning("Server warning: %s", warning)
    if len(warnings) > _WARNINGS:
        _server.warning("Server warning: %d more in the same response", len(warnings) - _WARNINGS)
