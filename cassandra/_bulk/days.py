"""Days as text: ``2026-01-31``, and years of other than four digits with a sign, as the server has them (L6)."""

from __future__ import annotations

import datetime
import re

from .errors import shown

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_BASE = datetime.date(2000, 1, 1).toordinal() - _EPOCH
_CYCLE = 146097  # days of 400 years, after which the calendar is the same
_DAY = re.compile(r"(\d{4}|-\d{4,7}|\+\d{5,7})-(\d{1,2})-(\d{1,2})", re.ASCII)
MOST = 2**31  # days before and behind 1970 that a date can have


def day_text(days: int) -> str:
    """*days* since 1970-01-01."""
    cycles, rest = divmod(days - _BASE, _CYCLE)
    found = datetime.date.fromordinal(rest + _BASE + _EPOCH)
    year = found.year + 400 * cycles
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{found.month:02d}-{found.day:02d}"


def day_of(text: str) -> int:
    """Days since 1970-01-01. ValueError for what is no day."""
    match = _DAY.fullmatch(text)
    if match is not None:
        cycles, year = divmod(int(match[1]) - 2000, 400)
        try:
            found = datetime.date(year + 2000, int(match[2]), int(match[3])).toordinal() - _EPOCH + cycles * _CYCLE
        except ValueError:  # a month or a day that there is not
            pass
        else:
            if not -MOST <= found < MOST:
                raise ValueError(f"{shown(text)} is beyond the days that a date counts")
            return found
    raise ValueError(f"invalid date: {shown(text)}; expected one such as 2026-01-31")
