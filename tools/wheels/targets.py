"""Which wheels there are: CPython 3.10 to 3.15, and without the GIL from 3.14 on, for four kinds of Linux."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

PYTHONS = ("310", "311", "312", "313", "314", "314t", "315", "315t")


@dataclass(frozen=True)
class Platform:
    name: str  # as in cibuildwheel's identifiers
    tag: str  # of wheels, see PEP 600 and PEP 656
    machine: str
    zig: str  # what Zig compiles for
    triplet: str  # in the names of extension modules

    @property
    def is_musl(self) -> bool:
        return self.triplet.endswith("musl")


PLATFORMS = (
    Platform("manylinux_x86_64", "manylinux_2_28_x86_64", "x86_64", "x86_64-linux-gnu.2.28", "x86_64-linux-gnu"),
    Platform("manylinux_aarch64", "manylinux_2_28_aarch64", "aarch64", "aarch64-linux-gnu.2.28", "aarch64-linux-gnu"),
    Platform("musllinux_x86_64", "musllinux_1_2_x86_64", "x86_64", "x86_64-linux-musl", "x86_64-linux-musl"),
    Platform("musllinux_aarch64", "musllinux_1_2_aarch64", "aarch64", "aarch64-linux-musl", "aarch64-linux-musl"),
)


@dataclass(frozen=True)
class Target:
    python: str  # one of PYTHONS
    platform: Platform

    def __str__(self) -> str:
        """The identifier that cibuildwheel has for it."""
        return f"cp{self.python}-{self.platform.name}"

    @property
    def free_threaded(self) -> bool:
        return self.python.endswith("t")

    @property
    def version(self) -> str:
        """Of the language: 3.14."""
        digits = self.python.rstrip("t")
        return f"{digits[0]}.{digits[1:]}"

    @property
    def tag(self) -> str:
        return f"cp{self.python.rstrip('t')}-cp{self.python}-{self.platform.tag}"

    @property
    def suffix(self) -> str:
        """Of the file names of extension modules."""
        return f".cpython-{self.python}-{self.platform.triplet}.so"


ALL = tuple(Target(python, platform) for platform in PLATFORMS for python in PYTHONS)


def select(patterns: Iterable[str]) -> list[Target]:
    """Return the targets that any of *patterns* names; all of them without patterns.

    A pattern is an identifier, a part of one before or behind its hyphen, or either with wildcards.
    """
    chosen: set[Target] = set()
    patterns = list(patterns)
    for pattern in patterns:
        found = {target for target in ALL if _matches(str(target), pattern)}
        if not found:
            raise ValueError(f"no such wheel: {pattern!r}; there are: {', '.join(map(str, ALL))}")
        chosen |= found
    return [target for target in ALL if target in chosen or not patterns]


def _matches(identifier: str, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in (identifier, *identifier.split("-")))


def covers(promised: str, found: str) -> bool:
    """True if a file that needs *found* runs wherever *promised* does: the C library may be older."""
    shape = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)")
    one, other = shape.fullmatch(promised), shape.fullmatch(found)
    if one is None or other is None or (one[1], one[4]) != (other[1], other[4]):
        return False
    return (int(other[2]), int(other[3])) <= (int(one[2]), int(one[3]))
