"""What ends a command, and what the program says then (L6)."""

from __future__ import annotations

DONE = 0
DIFFERENT = 1  # rows differ, or some could not be read or written
USAGE = 2
BROKEN = 3  # it could not go on
INTERRUPTED = 130


class UsageError(Exception):
    """The command makes no sense as it was given."""


class TooManyFailed(Exception):
    """More rows have failed than the options allow."""
