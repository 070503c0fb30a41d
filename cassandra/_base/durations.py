"""Durations that programs give: timeouts, waits and delays in seconds (L0)."""

from __future__ import annotations

from numbers import Real
from typing import Any


def seconds(name: str, value: Any, *, optional: bool = True, negative: bool = False, zero: bool = True) -> Any:
    """*value*, a duration called *name*. *optional*: None is allowed; *negative*: below zero has a meaning; *zero*: so
    has zero. TypeError for what is no number, a truth value included; ValueError for NaN and what is out of range."""
    if value is None and optional:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} should be a number of seconds{' or None' if optional else ''}, not {value!r}")
    if value != value:
        raise ValueError(f"{name} should be a number of seconds, not {value!r}")
    if (value < 0 and not negative) or (value == 0 and not zero):
        raise ValueError(f"{name} should be {'at least' if zero else 'more than'} 0 seconds, not {value!r}")
    return value


def request_timeout(value: Any) -> float | None:
    """*value*, the timeout of a request: None for no limit; with zero and below it fails at once."""
    kind = type(value)
    if (kind is float or kind is int) and value == value:  # nearly always
        return value  # type: ignore[no-any-return]
    return seconds("timeout", value, negative=True)  # type: ignore[no-any-return]
