"""Errors and exit codes of commands, and quoting for messages (L6)."""

from __future__ import annotations

DONE = 0
DIFFERENT = 1  # rows differ, or some could not be read or written
USAGE = 2
BROKEN = 3  # the command could not continue
INTERRUPTED = 130

MOST_SHOWN = 80  # characters of a text


class UsageError(Exception):
    """The options of the command are invalid."""


class TooManyFailed(Exception):
    """More rows have failed than the options allow."""


def shown(text: str) -> str:
    """Return a text of a file for a message: quoted, and cut if it is long."""
    return repr(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "\u2026")
