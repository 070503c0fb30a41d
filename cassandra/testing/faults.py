"""What can go wrong, on demand: rules of a condition and a reaction.

::

    from cassandra.testing import SimulatedCluster
    from cassandra.testing.errors import Overloaded
    from cassandra.testing.faults import Delay, Fail

    with SimulatedCluster() as cluster:
        with cluster.inject(Fail(Overloaded()), query="FROM orders", times=2) as rule:
            ...  # the first two statements that contain "FROM orders" fail
        assert rule.hits == 2

A rule sees the requests of clients before they run. A reaction with ``executed=False`` keeps the statement from
running; otherwise it runs, and the reaction is about the answer.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from cassandra.testing import _wire as wire
from cassandra.testing._connection import Connection, Response
from cassandra.testing._messages import EMPTY_STATE, paging_state_of
from cassandra.testing._wire import Frame
from cassandra.testing.errors import CqlError

__all__ = [
    "Close", "Cut", "Delay", "Drop", "EmptyPage", "Exchange", "Fail", "Garbage", "Hold", "Reaction", "Rewrite", "Rule",
    "Warn", "WrongStream",
]  # fmt: skip


class Exchange(Protocol):
    """A request that a rule caught."""

    @property
    def connection(self) -> Connection: ...
    @property
    def frame(self) -> Frame: ...
    @property
    def query(self) -> str:
        """The text of the statement (of the first of a batch); empty when there is none."""

    def execute(self) -> Response:
        """Run the request."""

    def send(self, response: Response) -> None:
        """Answer it."""

    def later(self, seconds: float, action: Callable[[], object]) -> None: ...


class Reaction:
    """What happens to a request; subclass it for a reaction of your own. It runs on the thread of the cluster."""

    def react(self, exchange: Exchange) -> None:
        raise NotImplementedError


@dataclass
class Drop(Reaction):
    """No answer, ever."""

    executed: bool = False

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            exchange.execute()


@dataclass
class Close(Reaction):
    """The connection is closed instead of an answer."""

    executed: bool = False

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            exchange.execute()
        exchange.connection.close()


@dataclass
class Delay(Reaction):
    """The answer comes *seconds* later; the statement runs at once unless ``executed=False``: then it runs late."""

    seconds: float
    executed: bool = True

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            response = exchange.execute()
            exchange.later(self.seconds, lambda: exchange.send(response))
        else:
            exchange.later(self.seconds, lambda: exchange.send(exchange.execute()))


@dataclass
class Hold(Reaction):
    """The answers wait for :meth:`Rule.release`."""

    executed: bool = True
    held: list[Callable[[], None]] = field(default_factory=list)

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            response = exchange.execute()
            self.held.append(lambda: exchange.send(response))
        else:
            self.held.append(lambda: exchange.send(exchange.execute()))


@dataclass
class Fail(Reaction):
    """An error of :mod:`cassandra.testing.errors` is the answer."""

    error: CqlError
    executed: bool = False

    def react(self, exchange: Exchange) -> None:
        if self.executed:
            exchange.execute()
        body = self.error.body(exchange.frame.version)
        exchange.send(Response(wire.NUMBERS["ERROR"], body))


@dataclass
class Cut(Reaction):
    """Only *count* bytes of the answer come, then the connection closes."""

    count: int = 5

    def react(self, exchange: Exchange) -> None:
        frame = exchange.execute().frame(exchange.frame.version, exchange.frame.stream)
        exchange.connection.send_raw(exchange.connection.encode(frame)[: self.count])
        exchange.connection.close()


@dataclass
class Garbage(Reaction):
    """These bytes come instead of the answer."""

    data: bytes = b"HTTP/1.1 400 Bad Request\r\n\r\n"

    def react(self, exchange: Exchange) -> None:
        exchange.connection.send_raw(self.data)


@dataclass
class Rewrite(Reaction):
    """*change* gets the body of the answer and returns another one."""

    change: Callable[[bytes], bytes]

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        response.body = self.change(response.body)
        exchange.send(response)


@dataclass
class WrongStream(Reaction):
    """The answer comes for the stream that is *offset* further."""

    offset: int = 1

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        stream = (exchange.frame.stream + self.offset) % 0x8000
        exchange.connection.send(response, stream, exchange.frame.version)


@dataclass
class EmptyPage(Reaction):
    """A page without rows comes first; its paging state leads to the real one. Other answers stay as they are."""

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        state = paging_state_of(exchange.frame) or b""
        if not state.startswith(EMPTY_STATE):
            response.body = empty_page(response.body, state)
        exchange.send(response)


@dataclass
class Warn(Reaction):
    """The answer carries these warnings (protocol 4 and later)."""

    warnings: tuple[str, ...]

    def react(self, exchange: Exchange) -> None:
        response = exchange.execute()
        response.warnings = (*response.warnings, *self.warnings)
        exchange.send(response)


def empty_page(body: bytes, state: bytes) -> bytes:
    """A ROWS body without its rows, which says that there are more, from *state* on."""
    reader = wire.Reader(body)
    if reader.int32() != 2:
        return body
    flags, columns = reader.int32(), reader.int32()
    if flags & 0x02:
        reader.bytes_()
    changed = reader.take(2 + int.from_bytes(reader.data[reader.at : reader.at + 2], "big")) if flags & 0x08 else b""
    start = reader.at
    if flags & 0x04 == 0:
        _skip_specs(reader, flags, columns)
    specs = body[start : reader.at]
    head = wire.int32(2) + wire.int32(flags | 0x02) + wire.int32(columns) + wire.bytes_(EMPTY_STATE + state)
    return head + changed + specs + wire.int32(0)


def _skip_specs(reader: wire.Reader, flags: int, columns: int) -> None:
    if flags & 0x01:
        reader.string(), reader.string()
    for _ in range(columns):
        if not flags & 0x01:
            reader.string(), reader.string()
        reader.string()
        _skip_option(reader)


def _skip_option(reader: wire.Reader) -> None:
    number = reader.short()
    if number == 0x00:
        reader.string()
    elif number in (0x20, 0x22):
        _skip_option(reader)
    elif number == 0x21:
        _skip_option(reader)
        _skip_option(reader)
    elif number == 0x30:
        reader.string(), reader.string()
        for _ in range(reader.short()):
            reader.string()
            _skip_option(reader)
    elif number == 0x31:
        for _ in range(reader.short()):
            _skip_option(reader)


# -- rules ------------------------------------------------------------------------------------------------------------


@dataclass
class Condition:
    """Which requests a rule is about; what is None does not matter."""

    query: str | re.Pattern[str] | None = None
    opcode: str | None = None
    node: int | None = None
    shard: int | None = None
    connection: int | None = None  # number of the connection at its node, from 0
    control: bool | None = None
    consistency: str | None = None
    probability: float | None = None
    when: Callable[[Exchange], bool] | None = None

    def matches(self, exchange: Exchange, node: int, consistency: str | None, rng: random.Random) -> bool:
        connection = exchange.connection
        if self.opcode is not None and wire.OPCODES.get(exchange.frame.opcode) != self.opcode.upper():
            return False
        if self.node not in (None, node) or self.shard not in (None, connection.shard):
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
        self.condition = condition
        self.reaction = reaction
        self.hits = 0
        """How many requests it has caught."""
        self._times = times
        self._after = after
        self._call = call
        self.active = True

    def caught(self, exchange: Exchange, node: int, consistency: str | None, rng: random.Random) -> bool:
        """Whether this request is one of its own; counts it."""
        if not self.active or not self.condition.matches(exchange, node, consistency, rng):
            return False
        if self._after > 0:
            self._after -= 1
            return False
        self.hits += 1
        if self._times is not None and self.hits >= self._times:
            self.active = False
        return True

    def remove(self) -> None:
        """It catches nothing more, and lets go of what it holds."""
        self.active = False
        self.release()

    def release(self) -> None:
        """Send the answers that :class:`Hold` keeps back."""
        if isinstance(self.reaction, Hold):
            held = self.reaction.held
            self._call(lambda: _send(held))

    def __enter__(self) -> Rule:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _send(held: list[Callable[[], None]]) -> None:
    while held:
        held.pop(0)()
