"""Checks of durations that programs pass: timeouts, waits and delays in seconds (L0)."""

from __future__ import annotations

from numbers import Real
from typing import Any


def seconds(name: str, value: Any, *, optional: bool = True, negative: bool = False, zero: bool = True) -> Any:
    """Check and return *value*, a duration called *name*. *optional*, *negative* and *zero* allow None, negative values
    and zero. Raise TypeError for other types, including bool, and ValueError for NaN and values out of range."""
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
    """Check and return *value*, the timeout of a request: None for no limit; with zero or less it fails at once."""
    kind = type(value)
    if (kind is float or kind is int) and value == value:  # the common case
        return value  # type: ignore[no-any-return]
    return seconds("timeout", value, negative=True)  # type: ignore[no-any-return]
