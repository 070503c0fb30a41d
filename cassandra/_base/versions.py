"""Server versions, other helpers of ``cassandra.util``, and checks of durations that programs pass (L0).

Durations are timeouts, waits and delays in seconds.
"""

from __future__ import annotations

from datetime import timedelta
from functools import total_ordering
from numbers import Real
from typing import Any

from .logs import get_logger
from .objects import public

log = get_logger("cassandra.util")


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


@public("cassandra.util")
@total_ordering
class Version:
    """A version ``major.minor.patch.build-prerelease`` that compares part by part. Missing numbers are 0."""

    __slots__ = ("_version", "build", "major", "minor", "patch", "prerelease")

    major: int  #: First number.
    minor: int  #: Second number.
    patch: int  #: Third number.
    build: int | str  #: Build, after ``+``.
    prerelease: int | str  #: Text after ``-``.

    def __init__(self, version: str) -> None:
        self._version = version
        numbers, _, prerelease = version.partition("-")
        self.prerelease = prerelease or 0
        parts = numbers.split(".")
        try:
            self.major = int(parts[0])
        except ValueError:
            raise ValueError(f"Couldn't parse version {version}. Version should start with a number") from None
        if len(parts) > 4:
            log.warning("Unrecognized version: %s. Only 4 components plus prerelease are used", version)
        self.minor = self.patch = 0
        try:
            self.minor = int(parts[1]) if len(parts) > 1 else 0
            self.patch = int(parts[2]) if len(parts) > 2 else 0
        except ValueError:
            log.warning("Unrecognized version: %s. Assuming version as %d.%d.0", version, self.major, self.minor)
        build = parts[3] if len(parts) > 3 else "0"
        self.build = int(build) if build.isdigit() else build

    def _key(self) -> tuple[Any, ...]:
        """Return the sort key: a release sorts after its prereleases, a number before text."""
        build = (isinstance(self.build, str), self.build)
        return self.major, self.minor, self.patch, build, (not self.prerelease, str(self.prerelease))

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, Version) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return self._version

    def __repr__(self) -> str:
        parts = [self.major, self.minor, self.patch, self.build, self.prerelease]
        return f"Version({', '.join(str(part) for part in parts[:3] + [part for part in parts[3:] if part])})"


@public("cassandra.util")
def maybe_add_timeout_to_query(stmt: str, metadata_request_timeout: timedelta | None) -> str:
    """Return *stmt*, with ScyllaDB's ``USING TIMEOUT`` if a timeout is given."""
    if not metadata_request_timeout:
        return stmt
    return f"{stmt} USING TIMEOUT {int(metadata_request_timeout / timedelta(milliseconds=1))}ms"


@public("cassandra.util")
def list_contents_to_tuple(to_convert: Any) -> Any:
    """Return *to_convert*, if it is a list, as a tuple, and convert lists in it likewise."""
    if isinstance(to_convert, list):
        return tuple(map(list_contents_to_tuple, to_convert))
    return to_convert
