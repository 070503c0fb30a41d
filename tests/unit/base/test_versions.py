"""Server versions and the small helpers."""

from __future__ import annotations

import datetime as dt
import logging
from itertools import pairwise

import packaging.version
import pytest

from cassandra import __version__, __version_info__
from cassandra.util import Version, list_contents_to_tuple, maybe_add_timeout_to_query

ASCENDING = [
    "2",
    "3.0.0-alpha",
    "3.0",
    "3.0.1",
    "3.11",
    "3.11.0.1",
    "3.11.0.x",
    "4.0.0-beta1",
    "4.0.0-rc1",
    "4.0.0",
    "4.1.10",
]


def test_order() -> None:
    versions = [Version(text) for text in ASCENDING]
    assert sorted(Version(text) for text in reversed(ASCENDING)) == versions
    assert all(a < b and b > a and a != b for a, b in pairwise(versions))
    assert Version("4.0") == Version("4.0.0") and hash(Version("4")) == hash(Version("4.0.0.0"))
    assert Version("4") != "4"


def test_parts() -> None:
    version = Version("1.2.3.4-SNAPSHOT")
    assert (version.major, version.minor, version.patch, version.build, version.prerelease) == (1, 2, 3, 4, "SNAPSHOT")
    assert str(version) == "1.2.3.4-SNAPSHOT"
    assert (Version("5").minor, Version("5").build, Version("5").prerelease) == (0, 0, 0)
    assert Version("1.2.3.dev").build == "dev"


def test_odd_versions(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "cassandra.util"):
        assert Version("1.2.3.4.5") == Version("1.2.3.4") and Version("1.x.3") == Version("1.0.0")
    assert len(caplog.records) == 2
    with pytest.raises(ValueError, match="should start with a number"):
        Version("x.1")


def test_version_of_the_driver() -> None:
    """The version is that of the package index; its parts are three numbers, which programs compare."""
    parsed = packaging.version.parse(__version__)
    assert str(parsed) == __version__
    assert __version_info__ == parsed.release and len(__version_info__) == 3


def test_timeouts_in_queries() -> None:
    assert maybe_add_timeout_to_query("SELECT 1", None) == "SELECT 1"
    assert maybe_add_timeout_to_query("SELECT 1", dt.timedelta(0)) == "SELECT 1"
    assert maybe_add_timeout_to_query("SELECT 1", dt.timedelta(seconds=2)) == "SELECT 1 USING TIMEOUT 2000ms"


def test_lists_to_tuples() -> None:
    assert list_contents_to_tuple([1, [2, [3]]]) == (1, (2, (3,)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [("4", "4, 0, 0"), ("4.1-rc1", "4, 1, 0, rc1"), ("1.2.3.4-x", "1, 2, 3, 4, x"), ("1.2.3.0-x", "1, 2, 3, x")],
)
def test_repr(text: str, shown: str) -> None:
    assert repr(Version(text)) == f"Version({shown})" and str(Version(text)) == text
