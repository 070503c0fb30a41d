"""What holds for every file of unit tests."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from cassandra._base import locks
from cassandra._net import compression
from tests.lz4_libraries import LIBRARIES
from tests.patience import eventually


def _threads_of_the_driver() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("fastcql")]


@pytest.fixture
def as_driver_thread() -> Iterator[None]:
    """The test's thread plays one of the driver's: it calls what the I/O thread or a worker does."""
    locks.enter_driver_thread()
    yield
    locks.enter_driver_thread(locks.CALLER)


@pytest.fixture(params=LIBRARIES)
def lz4_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of the library that the driver uses for LZ4 in this test."""
    monkeypatch.setattr(compression, "_lz4", LIBRARIES[request.param])
    return str(request.param)


@pytest.fixture(params=[False, *LIBRARIES])
def compression_option(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool | str:
    """A value of the option *compression*: False, and "lz4" with each library."""
    if request.param is False:
        return False
    monkeypatch.setattr(compression, "_lz4", LIBRARIES[request.param])
    return "lz4"


@pytest.fixture(autouse=True, scope="module")
def _no_threads_are_left() -> Iterator[None]:
    """A file ends the clusters that it makes: those of one would be taken for another's."""
    yield
    if _threads_of_the_driver():
        gc.collect()
        eventually(lambda: not _threads_of_the_driver())
