"""Packages that not every Python can have; tests import them from here: ``from tests.packages import polars as pl``.

A free-threaded Python lacks those packages of the dependency group ``test`` that the group ``test-free-threaded`` does
not name. There a stand-in takes the place of the package: a test that uses it is an expected failure, which names the
package, and the other tests of the file run. A package that the groups promise is imported, and missing is an error.
"""

from __future__ import annotations

import importlib
import os
import sysconfig
from pathlib import Path
from typing import Any, NoReturn

import pytest

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
#: modules of the driver that import a package
NEEDS = {"cassandra.column_encryption.policies": "cryptography"}


def absent() -> frozenset[str]:
    """The names of the packages that this Python lacks."""
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return frozenset()
    import tomllib

    groups = tomllib.loads(PYPROJECT.read_text())["dependency-groups"]
    return _names(groups["test"]) - _names(groups["test-free-threaded"])


def require(package: str) -> None:
    """End the test as an expected failure if this Python lacks *package*."""
    if package in ABSENT:
        _xfail(package)


def module(name: str) -> Any:
    """The module of this *name*, or a stand-in."""
    package = NEEDS.get(name, name.partition(".")[0])
    return StandIn(package) if package in ABSENT else importlib.import_module(name)


class StandIn:
    """Takes the place of a package, or of a name in it: may be passed around, but any use of it in a test ends that."""

    def __init__(self, package: str) -> None:
        self._package = package

    def __repr__(self) -> str:  # a part of the names of tests, which are the same in each process
        return f"<{self._package}, absent>"

    def __getattr__(self, name: str) -> StandIn:
        if name.startswith("__") and not _in_test():
            raise AttributeError(name)
        return self._use()

    def __call__(self, *args: object, **options: object) -> StandIn:
        return self._use()

    def __getitem__(self, key: object) -> NoReturn:
        _xfail(self._package)

    def __bool__(self) -> bool:
        self._use()
        return True

    def __len__(self) -> NoReturn:
        _xfail(self._package)

    def __iter__(self) -> NoReturn:
        _xfail(self._package)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (type("Base", (_Base,), {"package": self._package}),)

    def _use(self) -> StandIn:
        return _xfail(self._package) if _in_test() else self


class _Base:
    """The base of a class that is derived from a class of an absent package."""

    package: str

    def __init_subclass__(cls, **options: object) -> None:
        pass

    def __new__(cls, *args: object, **values: object) -> NoReturn:
        _xfail(cls.package)


def _names(requirements: list[Any]) -> frozenset[str]:
    from packaging.requirements import Requirement

    parsed = [Requirement(one) for one in requirements if isinstance(one, str)]  # not a group
    return frozenset(one.name for one in parsed if one.marker is None or one.marker.evaluate())


def _in_test() -> bool:
    return "PYTEST_CURRENT_TEST" in os.environ


def _xfail(package: str) -> NoReturn:
    pytest.xfail(f"{package} cannot be installed on this Python")


ABSENT = absent()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return module(name)
