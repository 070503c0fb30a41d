"""Durations as text: ``1y2mo3d4h5m6s7ms8us9ns``, with a leading minus for negative ones (L6)."""

from __future__ import annotations

import re

from .errors import shown

MONTHS = {"y": 12, "mo": 1}
DAYS = {"w": 7, "d": 1}
NANOSECONDS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_PART = re.compile(r"(\d+)(mo|ms|us|µs|μs|ns|[ywdhms])", re.ASCII | re.IGNORECASE)
_ORDER = {unit: place for place, unit in enumerate(("y", "mo", "w", "d", "h", "m", "s", "ms", "us", "ns"))}
_WRITTEN = (("y", "mo"), ("d",), ("h", "m", "s", "ms", "us", "ns"))
_UNITS = {**MONTHS, **DAYS, **NANOSECONDS}


def duration_text(months: int, days: int, nanoseconds: int) -> str:
    """Return the duration as CQL spells it; ``0s`` for an empty one."""
    parts = ["-"] if min(months, days, nanoseconds) < 0 else []
    for rest, units in zip((abs(months), abs(days), abs(nanoseconds)), _WRITTEN, strict=True):
        for unit in units:
            count, rest = divmod(rest, _UNITS[unit])
            if count:
                parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def duration_of(text: str) -> tuple[int, int, int]:
    """Return months, days and nanoseconds. Raise ValueError for an invalid duration."""
    sign, body = (-1, text[1:]) if text.startswith("-") else (1, text)
    months = days = nanoseconds = at = 0
    before = -1
    while at < len(body):
        match = _PART.match(body, at)
        if match is None:
            break
        count, unit = int(match[1]), match[2].lower().replace("µ", "u").replace("μ", "u")
        if _ORDER[unit] <= before:
            raise ValueError(f"{shown(text)} has {unit} after a smaller unit, or twice")
        before = _ORDER[unit]
        months += count * MONTHS.get(unit, 0)
        days += count * DAYS.get(unit, 0)
        nanoseconds += count * NANOSECONDS.get(unit, 0)
        at = match.end()
    if not body or at < len(body):
        raise ValueError(f"invalid duration: {shown(text)}; expected one such as 1y2mo3d4h5m6s7ms8us9ns")
    return sign * months, sign * days, sign * nanoseconds
