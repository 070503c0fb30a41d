"""Connections to scripted servers that are opened, or fail to."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._core.transport import Reactor
from cassandra._net.connection import Connection
from cassandra._net.endpoint import DefaultEndPoint, EndPoint
from cassandra._net.options import ConnectionOptions
from tests.fakes.scripted import ScriptedServer
from tests.patience import PATIENCE, ever_longer

PASSWORD = b"\0me\0pw"


def endpoint_of(server: ScriptedServer) -> DefaultEndPoint:
    return DefaultEndPoint(server.host, server.port)


def connect(reactor: Reactor, target: ScriptedServer | EndPoint, **options: Any) -> Connection:
    endpoint = target if isinstance(target, EndPoint) else endpoint_of(target)
    given = ConnectionOptions(**{"connect_timeout": PATIENCE, **options})
    return Connection.factory(endpoint, PATIENCE, reactor=reactor, options=given)


def fails(reactor: Reactor, target: ScriptedServer | EndPoint, **options: Any) -> BaseException:
    with pytest.raises(Exception) as caught:
        connect(reactor, target, **options)
    return caught.value


def fails_saying(text: str, reactor: Reactor, target: ScriptedServer | EndPoint, **options: Any) -> BaseException:
    """The error of a time limit that is reached when *text* is the case, which it may not be yet where threads wait
    for their turn."""
    for seconds in ever_longer(0.2):
        error = fails(reactor, target, connect_timeout=seconds, **options)
        if text in str(error):
            return error
    raise AssertionError(f"{text!r} is not in {error!r}")
