"""Reactors that tests make themselves: their I/O thread is known as one of the driver's, as a cluster's is."""

from __future__ import annotations

from typing import Any

from cassandra._base.locks import IO, enter_driver_thread
from cassandra._core.transport import Reactor


def made_reactor(**options: Any) -> Reactor:
    """A reactor of the test's."""
    reactor = Reactor(**options)
    reactor.call_soon(lambda: enter_driver_thread(IO))
    return reactor
