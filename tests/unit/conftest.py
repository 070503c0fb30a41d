"""What holds for every file of unit tests."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from cassandra._base import locks
from tests.patience import eventually


def _threads_of_the_driver() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("fastcql")]


@pytest.fixture
def as_driver_thread() -> Iterator[None]:
    """The test's thread plays one of the driver's: it calls what the I/O thread or a worker does."""
    locks.enter_driver_thread()
    yield
    locks.enter_driver_thread(locks.CALLER)


@pytest.fixture(autouse=True, scope="module")
def _no_threads_are_left() -> Iterator[None]:
    """A file ends the clusters that it makes: those of one would be taken for another's."""
    yield
    if _threads_of_the_driver():
        gc.collect()
        eventually(lambda: not _threads_of_the_driver())
