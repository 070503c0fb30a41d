"""New connections, for rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra.testing._connection import Connection, Response
from cassandra.testing._rules import CONNECT
from cassandra.testing._wire import Frame
from cassandra.testing.errors import CqlError

if TYPE_CHECKING:
    from cassandra.testing._node import SimulatedNode


class Arrival:
    """A connection that waits for a rule to accept it: an :class:`~cassandra.testing.faults.Exchange` without request.

    It waits for :meth:`send`; it may be closed instead, or wait for ever.
    """

    opcode = CONNECT
    query = ""
    page_size = 0

    def __init__(self, node: SimulatedNode, connection: Connection) -> None:
        self.node = node
        self.connection = connection
        self.frame = Frame(0, 0, 0, 0, b"")

    def limit_page(self, rows: int) -> None:
        raise TypeError("a new connection has no pages")

    def execute(self) -> Response:
        """Return an empty response: there is nothing to run."""
        return Response(0)

    def failed(self, error: CqlError) -> Response:
        raise TypeError("a new connection gets no response, so no error either")

    def send(self, response: Response) -> None:
        """Accept the connection."""
        self.connection.keep_waiting(False)

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        self.node.reactor.later(seconds, action)
