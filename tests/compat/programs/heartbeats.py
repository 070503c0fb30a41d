"""``ConnectionHeartbeat`` and ``HeartbeatFuture`` over connections that are mocks."""

# mypy: ignore-errors
# ruff: noqa
import logging
import threading
import time
import warnings
from unittest.mock import MagicMock, Mock

from cases import case, show

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from cassandra import ConsistencyLevel, OperationTimedOut
from cassandra.connection import ConnectionBusy, ConnectionException, ConnectionHeartbeat, HeartbeatFuture
from cassandra.protocol import SupportedMessage


class Fake:
    """A connection that answers as it is told."""

    max_request_id = 100
    endpoint = host = "fake"
    last_error = None

    def __init__(self, is_idle=True, answer=None, is_closed=False, is_defunct=False, in_flight=0, control=False):
        self.is_idle, self.answer, self.is_closed, self.is_defunct = is_idle, answer, is_closed, is_defunct
        self.in_flight, self.is_control_connection = in_flight, control
        self.lock = threading.RLock()
        self.heard = []

    def get_request_id(self):
        return 7

    def send_msg(self, msg, request_id, cb, *args, **kwargs):
        self.heard.append((type(msg).__name__, request_id))
        if isinstance(self.answer, BaseException) and not isinstance(self.answer, ConnectionException):
            raise self.answer
        if self.answer is not None:
            cb(self.answer)

    def reset_idle(self):
        self.heard.append("reset_idle")

    def defunct(self, exc):
        self.heard.append(("defunct", type(exc).__name__))
        self.is_defunct = True


class Holder:
    def __init__(self, *connections):
        self.connections, self.returned = list(connections), []

    def get_connections(self):
        return list(self.connections)

    def return_connection(self, connection, *args, **kwargs):
        self.returned.append(self.connections.index(connection))


def until(condition):
    for _ in range(3000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def rounds(holder, ready, timeout=30):
    """Beat until *ready*; then stop."""
    count = [0]

    def holders():
        count[0] += 1
        return [holder]

    beat = ConnectionHeartbeat(0.01, holders, timeout)
    ended = until(ready)
    beat.stop()
    beat.join(10)
    return ended, beat.is_alive(), count[0] > 0


ANSWER = SupportedMessage([], {})


@case("an idle connection is asked")
def _():
    connection = Fake(answer=ANSWER)
    return (
        rounds(Holder(connection), lambda: "reset_idle" in connection.heard),
        connection.heard[:2],
        connection.in_flight,
    )


@case("a busy connection is not")
def _():
    connection = Fake(is_idle=False)
    return rounds(Holder(connection), lambda: connection.heard), set(connection.heard)


@case("a closed connection is returned")
def _():
    holder = Holder(Fake(is_closed=True))
    return rounds(holder, lambda: holder.returned), holder.connections[0].heard, set(holder.returned)


@case("a defunct connection is returned")
def _():
    holder = Holder(Fake(is_defunct=True))
    return rounds(holder, lambda: holder.returned), holder.connections[0].heard, set(holder.returned)


@case("a connection that does not answer")
def _():
    holder = Holder(Fake())
    return rounds(holder, lambda: holder.returned, 0.01), holder.connections[0].heard[:2], set(holder.returned)


@case("a control connection that does not answer")
def _():
    holder = Holder(Fake(control=True))
    return rounds(holder, lambda: holder.returned, 0.01), holder.connections[0].heard[:2], set(holder.returned)


@case("a connection that answers with an error")
def _():
    holder = Holder(Fake(answer=ConnectionException("no")))
    return rounds(holder, lambda: holder.returned), holder.connections[0].heard[:2], set(holder.returned)


@case("a connection that cannot be asked")
def _():
    holder = Holder(Fake(answer=KeyError("no")))
    return rounds(holder, lambda: holder.returned), holder.connections[0].heard[1][0], set(holder.returned)


@case("a full connection")
def _():
    holder = Holder(Fake(in_flight=100))
    return rounds(holder, lambda: holder.returned), holder.connections[0].heard[:2], set(holder.returned)


@case("a failing one does not hold up the others")
def _():
    holder = Holder(Fake(answer=KeyError("no")), Fake(answer=ANSWER), Fake(is_idle=False))
    ended = rounds(holder, lambda: all("reset_idle" in one.heard for one in holder.connections[1:]))
    return ended, [sorted(map(str, set(one.heard))) for one in holder.connections[1:]]


@case("holders that fail are asked again")
def _():
    asked = []

    def holders():
        asked.append(1)
        raise KeyError("no")

    beat = ConnectionHeartbeat(0.01, holders, 1)
    found = until(lambda: len(asked) > 2)
    beat.stop()
    beat.join(10)
    return found, beat.is_alive()


@case("no holders")
def _():
    asked = []
    beat = ConnectionHeartbeat(0.01, lambda: asked.append(1) or [], 1)
    found = until(lambda: len(asked) > 2)
    beat.stop()
    beat.join(10)
    return found, beat.daemon, beat.name, isinstance(beat, threading.Thread)


@case("a stop is at once")
def _():
    beat = ConnectionHeartbeat(1000, lambda: [], 1)
    beat.stop()
    beat.join(10)
    return beat.is_alive()


show(
    "a shutdown's error",
    lambda: (
        ConnectionHeartbeat.ShutdownException.__name__,
        issubclass(ConnectionHeartbeat.ShutdownException, Exception),
    ),
)


@case("a future that is answered")
def _():
    connection = Fake(answer=ANSWER)
    future = HeartbeatFuture(connection, "owner")
    return future.wait(1, 1), connection.heard, future.owner, connection.in_flight


@case("a future that is not answered")
def _():
    return HeartbeatFuture(Fake(), "owner").wait(0.01, 0.01)


@case("a future that is answered by an error")
def _():
    return HeartbeatFuture(Fake(answer=ConnectionException("no")), "owner").wait(1, 1)


@case("a future of a full connection")
def _():
    connection = Fake(in_flight=100)
    try:
        HeartbeatFuture(connection, "owner").wait(1, 1)
    finally:
        print(connection.heard, connection.in_flight)


@case("a future of an answer of another kind")
def _():
    return HeartbeatFuture(Fake(answer="what"), "owner").wait(1, 1)
