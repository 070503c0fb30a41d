"""What ends a command, and what the program says then (L6)."""

from __future__ import annotations

DONE = 0
DIFFERENT = 1  # rows differ, or some could not be read or written
USAGE = 2
BROKEN = 3  # it could not go on
INTERRUPTED = 130

MOST_SHOWN = 80  # characters of a text


class UsageError(Exception):
    """The command makes no sense as it was given."""


class TooManyFailed(Exception):
    """More rows have failed than the options allow."""


def shown(text: str) -> str:
    """A text of a file in a message: in quotes, of a long one its beginning."""
    return repr(text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "\u2026")
