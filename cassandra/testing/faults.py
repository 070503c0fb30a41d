"""Faults on demand: rules of a condition and a reaction.

::

    from cassandra.testing import SimulatedCluster
    from cassandra.testing.errors import Overloaded
    from cassandra.testing.faults import Delay, Fail

    with SimulatedCluster() as cluster:
        error = Fail(Overloaded())
        with cluster.inject(error, query="FROM orders", times=2) as rule:
            ...  # the first two statements that contain "FROM orders" fail
        assert rule.hits == 2

A rule is applied to the requests of clients before they run. A reaction with ``executed=False`` prevents the statement
from running; otherwise it runs, and the reaction changes the response. A rule with ``opcode="CONNECT"`` is applied to
new connections instead: its reaction is one of :class:`Drop`, :class:`Close`, :class:`Delay`, :class:`Hold`,
:class:`Garbage`, :class:`Nat`, :class:`Pause` and :class:`Refuse`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cassandra.testing._connection import EMPTY_STATE, empty_page, empty_state, is_rows, paging_state_of
from cassandra.testing._rules import CONNECT, Exchange, Reaction, Rule
from cassandra.testing.errors import CqlError

if TYPE_CHECKING:
    from cassandra.testing._node import SimulatedNode

__all__ = [
    "Close", "Cut", "Delay", "Drop", "EmptyPage", "Exchange", "Fail", "Garbage", "Hold", "Nat", "Pages", "Pause",
    "Reaction", "Refuse", "Rewrite", "Rule", "Warn", "WrongStream",
]  # fmt: skip


# -- no response, or a late one ---------------------------------------------------------------------------------------


@dataclass
class Drop(Reaction):
    """Send no response. A new connection is accepted, and nothing is read from it."""

    executed: bool = False  #: True if the request is executed before.
    connects = True  #: True if it applies to new connections, too.

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            exchange.execute()


@dataclass
class Close(Reaction):
    """Close the connection instead of a response; with *reset* as by a machine that has restarted (RST)."""

    executed: bool = False  #: True if the request is executed before.
    reset: bool = False  #: True resets the connection (RST).
    connects = True  #: True if it applies to new connections, too.

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            exchange.execute()
        exchange.connection.close(reset=self.reset)


@dataclass
class Delay(Reaction):
    """Send the response *seconds* later; the statement runs at once unless ``executed=False``: then it runs late. A new
    connection is served with the same delay."""

    seconds: float  #: The delay in seconds.
    executed: bool = True  #: True if the request is executed before.
    connects = True  #: True if it applies to new connections, too.

    def react(self, exchange: Exchange) -> None:
        exchange.later(self.seconds, _answer(exchange, self.executed))


@dataclass
class Hold(Reaction):
    """Hold responses until :meth:`Rule.release`; so do new connections."""

    executed: bool = True  #: True if the request is executed before.
    held: list[Callable[[], None]] = field(default_factory=list)  #: Requests that are held.
    connects = True  #: True if it applies to new connections, too.

    def react(self, exchange: Exchange) -> None:
        self.held.append(_answer(exchange, self.executed))

    def release(self) -> None:
        while self.held:
            self.held.pop(0)()


@dataclass
class Pause(Reaction):
    """Stop the whole node, as by SIGSTOP, until :meth:`Rule.release` or the end of the rule; then it continues with
    this request and all that arrived meanwhile."""

    executed: bool = False  #: True if the request is executed before.
    held: list[tuple[SimulatedNode, Callable[[], None]]] = field(default_factory=list)  #: Requests that are held.
    connects = True  #: True if it applies to new connections, too.

    def react(self, exchange: Exchange) -> None:
        self.held.append((exchange.node, _answer(exchange, self.executed)))
        exchange.node.pause()

    def release(self) -> None:
        held, self.held = self.held, []
        for _, answer in held:  # before the nodes continue: this request arrived first
            answer()
        for node, _ in held:
            node.resume()


@dataclass
class Refuse(Reaction):
    """Let the node refuse connections from this request on, until :meth:`Rule.release` or the end of the rule. The
    request itself gets its response; a new connection is reset."""

    nodes: list[SimulatedNode] = field(default_factory=list)  #: Nodes that it applies to.
    connects = True  #: True if it applies to new connections, too.

    def react(self, exchange: Exchange) -> None:
        self.nodes.append(exchange.node)
        exchange.node.refuse_connections()
        if exchange.opcode == CONNECT:
            exchange.connection.close(reset=True)
        else:
            exchange.send(exchange.execute())

    def release(self) -> None:
        while self.nodes:
            self.nodes.pop().refuse_connections(False)


def _answer(exchange: Exchange, executed: bool) -> Callable[[], None]:
    """Return a function that sends the response: of a statement that runs now (*executed*), or only then."""
    if not executed:
        return lambda: exchange.send(exchange.execute())
    response = exchange.execute()
    return lambda: exchange.send(response)


# -- another response ------------------------------------------------------------------------------------------------


@dataclass
class Fail(Reaction):
    """Respond with an error of :mod:`cassandra.testing.errors`."""

    error: CqlError  #: The error.
    executed: bool = False  #: True if the request is executed before.

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            exchange.execute()
        exchange.send(exchange.failed(self.error))


@dataclass
class Cut(Reaction):
    """Send only *count* bytes of the response, then close the connection."""

    count: int = 5  #: Number of bytes.

    def react(self, exchange: Exchange) -> None:
        frame = exchange.execute().frame(exchange.frame.version, exchange.frame.stream)
        exchange.connection.send_raw(exchange.connection.encode(frame)[: self.count])
        exchange.connection.close()


@dataclass
class Garbage(Reaction):
    """Send these bytes instead of the response; the connection stays open. A new connection gets them at once, and
    nothing else."""

    data: bytes = b"HTTP/1.1 400 Bad Request\r\n\r\n"  #: The bytes.
    connects = True  #: True if it applies to new connections, too.

    def react(self, exchange: Exchange) -> None:
        exchange.connection.send_raw(self.data)


@dataclass
class Rewrite(Reaction):
    """Replace the body of the response by the result of *change*, which is called with it."""

    change: Callable[[bytes], bytes]  #: Called with each frame; returns another one.

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        response.body = self.change(response.body)
        exchange.send(response)


@dataclass
class WrongStream(Reaction):
    """Send the response with a stream id that is *offset* higher."""

    offset: int = 1  #: Added to the stream id.

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        stream = (exchange.frame.stream + self.offset) % 0x8000
        exchange.connection.send(response, stream, exchange.frame.version)


@dataclass
class EmptyPage(Reaction):
    """Send a page without rows first; its paging state leads to the real one. Other responses stay unchanged."""

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        state = paging_state_of(exchange.frame) or b""
        if not state.startswith(EMPTY_STATE):
            response.body = empty_page(response.body, empty_state(state))
        exchange.send(response)


@dataclass
class Pages(Reaction):
    """Send pages with these numbers of rows, in turn and from the beginning again: never more than the client
    requested, and 0 is a page without rows. Clients without paging get all rows, as always."""

    sizes: Sequence[int] = (1,)  #: Rows of each page.
    turn: int = 0  #: Number of the next page.

    def __post_init__(self) -> None:
        if not any(size > 0 for size in self.sizes) or any(size < 0 for size in self.sizes):
            raise ValueError("page sizes must not be negative, and at least one must be positive")

    def react(self, exchange: Exchange) -> None:
        if not exchange.page_size:
            exchange.send(exchange.execute())
            return
        size = self.sizes[self.turn % len(self.sizes)]
        if size:
            exchange.limit_page(size)
        response = exchange.execute()
        if is_rows(response):
            self.turn += 1
            if not size:
                response.body = empty_page(response.body, empty_state(paging_state_of(exchange.frame) or b""))
        exchange.send(response)


@dataclass
class Warn(Reaction):
    """Add these warnings to the response (protocol 4 and later)."""

    warnings: tuple[str, ...]  #: The warnings.

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        response.warnings = (*response.warnings, *self.warnings)
        exchange.send(response)


# -- the network ------------------------------------------------------------------------------------------------------


@dataclass
class Nat(Reaction):
    """Simulate an address translation that replaces the port of the client, for rules with ``opcode="CONNECT"``: on a
    shard-aware port the connection gets the shard of the port that the node sees.

    :param shift: offset added to the port; None makes it random, reproducible for the same *seed*.
    """

    shift: int | None = 1  #: Added to the client's port.
    seed: int = 1  #: Seed of random ports.
    connects = True  #: True if it applies to new connections, too.

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def react(self, exchange: Exchange) -> None:
        port = exchange.connection.peer[1]
        seen = self._random.randint(1024, 65535) if self.shift is None else port + self.shift
        exchange.connection.translate(seen)
        exchange.send(exchange.execute())
