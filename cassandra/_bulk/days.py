"""Days as text: ``2026-01-31``; years of other than four digits have a sign, as in the server's format (L6)."""

from __future__ import annotations

import datetime
import re

from .errors import shown

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_BASE = datetime.date(2000, 1, 1).toordinal() - _EPOCH
_CYCLE = 146097  # days of 400 years, after which the calendar is the same
_DAY = re.compile(r"(\d{4}|-\d{4,7}|\+\d{5,7})-(\d{1,2})-(\d{1,2})", re.ASCII)
MOST = 2**31  # range of a date in days, before and after 1970


def day_text(days: int) -> str:
    """Return the text of the day that is *days* after 1970-01-01."""
    cycles, rest = divmod(days - _BASE, _CYCLE)
    found = datetime.date.fromordinal(rest + _BASE + _EPOCH)
    year = found.year + 400 * cycles
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{found.month:02d}-{found.day:02d}"


def day_of(text: str) -> int:
    """Return the days since 1970-01-01. Raise ValueError for an invalid date."""
    match = _DAY.fullmatch(text)
    if match is not None:
        cycles, year = divmod(int(match[1]) - 2000, 400)
        try:
            found = datetime.date(year + 2000, int(match[2]), int(match[3])).toordinal() - _EPOCH + cycles * _CYCLE
        except ValueError:  # an invalid month or day
            pass
        else:
            if not -MOST <= found < MOST:
                raise ValueError(f"{shown(text)} is out of the range of a date")
            return found
    raise ValueError(f"invalid date: {shown(text)}; expected one such as 2026-01-31")
