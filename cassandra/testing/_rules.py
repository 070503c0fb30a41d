"""Rules: a condition on requests or new connections, and a reaction."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Protocol

from cassandra.testing._connection import Connection, Response
from cassandra.testing._wire import NUMBERS, Frame
from cassandra.testing.errors import CqlError

if TYPE_CHECKING:
    from cassandra.testing._node import SimulatedNode

CONNECT = "CONNECT"
OPCODES = frozenset(NUMBERS) | {CONNECT}


class Exchange(Protocol):
    """A request that matches a rule, or a new connection; for the thread of the cluster only."""

    @property
    def node(self) -> SimulatedNode:
        """The node that received it."""

    @property
    def connection(self) -> Connection:
        """The connection on which it was received."""

    @property
    def opcode(self) -> str:
        """``"QUERY"``, ``"EXECUTE"``, ...; ``"CONNECT"`` for a new connection."""

    @property
    def frame(self) -> Frame:
        """The request; for a new connection an empty one."""

    @property
    def query(self) -> str:
        """The text of the statement (of the first of a batch); empty for other requests."""

    @property
    def page_size(self) -> int:
        """Number of rows per page of the response; 0 without paging. :meth:`limit_page` changes it."""

    def limit_page(self, rows: int) -> None:
        """Limit the response to *rows* rows; more follow on further pages."""

    def execute(self) -> Response:
        """Run the request, once. Return the response of the node; an error is a response too."""

    def failed(self, error: CqlError) -> Response:
        """Return *error* as a response to this client."""

    def send(self, response: Response) -> None:
        """Send the response."""

    def later(self, seconds: float, action: Callable[[], object]) -> None:
        """Call *action* after *seconds*."""


class Reaction:
    """Reaction to a request; subclass it for a reaction of your own. It runs on the thread of the cluster."""

    connects: ClassVar[bool] = False
    """True if it can react to new connections, too: rules with ``opcode="CONNECT"``."""

    def react(self, exchange: Exchange) -> None:
        """Respond to *exchange*, now or later, or never. An exception is not sent as a response."""
        raise NotImplementedError

    def release(self) -> None:
        """Release everything that it holds; called when its rule is released or removed."""


@dataclass
class Condition:
    """Condition of a rule; None matches everything."""

    query: str | re.Pattern[str] | None = None
    opcode: str | None = None
    node: int | None = None
    shard: int | None = None
    connection: int | None = None  # number of the connection at its node, from 0
    control: bool | None = None
    consistency: str | None = None
    probability: float | None = None
    when: Callable[[Exchange], bool] | None = None

    def __post_init__(self) -> None:
        if self.opcode is not None:
            self.opcode = self.opcode.upper()
            if self.opcode not in OPCODES:
                raise ValueError(f"unknown opcode {self.opcode}; expected one of: {', '.join(sorted(OPCODES))}")
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise ValueError(f"probability must be between 0 and 1, not {self.probability}")

    def matches(self, exchange: Exchange, consistency: str | None, rng: random.Random) -> bool:
        connection = exchange.connection
        if exchange.opcode != self.opcode and (self.opcode is not None or exchange.opcode == CONNECT):
            return False
        if self.node not in (None, exchange.node.index) or self.shard not in (None, connection.shard):
            return False
        if self.connection not in (None, connection.number) or self.control not in (None, connection.control):
            return False
        if self.consistency is not None and self.consistency.upper() != consistency:
            return False
        if self.query is not None and not self._text(exchange.query):
            return False
        if self.when is not None and not self.when(exchange):
            return False
        return self.probability is None or rng.random() < self.probability

    def _text(self, text: str) -> bool:
        if isinstance(self.query, str):
            return bool(text) and self.query.lower() in text.lower()
        assert self.query is not None
        return self.query.search(text) is not None


class Rule:
    """A reaction to requests under a condition; made by :meth:`SimulatedCluster.inject`. Also a context manager that
    removes it. Its methods may be called from any thread."""

    def __init__(
        self, condition: Condition, reaction: Reaction, times: int | None, after: int, call: Callable[..., object]
    ) -> None:
        if condition.opcode == CONNECT and not reaction.connects:
            raise ValueError(f"{type(reaction).__name__} changes a response, and a new connection gets none")
        self.condition = condition  #: Called with each :class:`Exchange`; true for those that it applies to.
        self.reaction = reaction  #: What happens to them.
        self.hits = 0  #: Number of exchanges that it was applied to.
        """Number of requests that matched."""
        self._times = times
        self._after = after
        self._call = call
        self.active = True  #: False after the rule was removed.
        """True if it may match another one."""

    def caught(self, exchange: Exchange, consistency: str | None, rng: random.Random) -> bool:
        """Return True if this request matches, and count it. For the cluster."""
        if not self.active or not self.condition.matches(exchange, consistency, rng):
            return False
        if self._after > 0:
            self._after -= 1
            return False
        self.hits += 1
        if self._times is not None and self.hits >= self._times:
            self.active = False
        return True

    def remove(self) -> None:
        """Stop matching, and release everything that is held."""
        self.active = False
        self.release()

    def release(self) -> None:
        """Send the responses that :class:`Hold` holds, end the effect of :class:`Pause` and :class:`Refuse`; the rule
        stays."""
        self._call(self.reaction.release)

    def __enter__(self) -> Rule:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


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
