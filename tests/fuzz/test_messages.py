"""Responses of every kind, made at random and then damaged: each is understood or refused, in time and memory by its
length, regardless of the numbers in it.

The oracle is the length of the body: memory and time of decoding grow with it, and with nothing else.
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from cassandra._base import errors, server_errors
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Frame
from cassandra._wire.messages.responses import decode_response
from cassandra._wire.rows import decode_page, dict_factory, named_tuple_factory
from cassandra._wire.types.registry import resolve_custom
from cassandra.protocol import ResultMessage
from tests.fakes import wire
from tests.fakes.wire import byte, inet, int32, short, short_bytes, string

BYTES_PER_BYTE = 1000  # of memory: an empty column name takes four bytes, and a tuple, a name and a field of a class
BYTES = 4 << 20  # regardless of the length
SECONDS_PER_BYTE = 100e-6  # of CPU: a user type of twenty bytes makes a class
SECONDS = 2.0

ODD = [-(2**31), -65_536, -3, -2, -1, 0, 1, 2, 127, 128, 255, 256, 32_767, 65_535, 65_536, 2**24, 2**28, 2**31 - 1]
TEXTS = ["", "a", "ks", "t", "\n\x1b[31m", "\u202e", "x" * 300, "ünïcode", "9" * 500, "DROPPED", "CAS", "select"]
SCALARS = list(range(1, 0x16))


class Maker:
    """Random pieces of bodies; mostly right, with lengths and counts that lie now and then."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.lies = chance.choice([0.0, 0.0, 0.02, 0.1])

    def count(self, honest: int, write: Callable[[int], bytes]) -> bytes:
        if self.chance.random() >= self.lies:
            return write(honest)
        odd = self.chance.choice(ODD)
        return write(odd) if write is int32 else write(odd & 0xFFFF)

    def text(self) -> bytes:
        data = self.chance.choice(TEXTS).encode()
        return self.count(len(data), short) + data

    def value(self) -> bytes:
        data = self.chance.randbytes(self.chance.choice([0, 1, 4, 8, 16, 40]))
        return self.count(self.chance.choice([len(data), -1]), int32) + data

    def kind(self, depth: int = 0) -> bytes:
        pick = self.chance.randrange(12 if depth < 6 else 6)
        if pick < 6:
            return short(self.chance.choice(SCALARS))
        if pick < 8:
            return short(self.chance.choice([0x20, 0x22])) + self.kind(depth + 1)
        if pick == 8:
            return short(0x21) + self.kind(depth + 1) + self.kind(depth + 1)
        if pick == 9:
            size = self.chance.randrange(4)
            return short(0x31) + self.count(size, short) + b"".join(self.kind(depth + 1) for _ in range(size))
        if pick == 10:
            size = self.chance.randrange(4)
            fields = b"".join(self.text() + self.kind(depth + 1) for _ in range(size))
            return short(0x30) + self.text() + self.text() + self.count(size, short) + fields
        names = ["x", "Int32Type", "ListType(", "VectorType(FloatType, 3)", "UserType(ks,61,61:Int32Type)", "A(" * 200]
        return short(0) + string(self.chance.choice(names))

    def metadata(self) -> tuple[bytes, int]:
        size = self.chance.choice([0, 1, 2, 3, 30])
        flags = self.chance.choice([0, 1, 1, 1, 2, 3, 4, 5, 8, 9, 0x7FFFFFFF])
        body = int32(flags) + self.count(size, int32)
        if flags & 2:
            body += self.value()
        if flags & 8:
            body += short_bytes(b"id")
        if not flags & 4:
            body += self.text() + self.text() if flags & 1 else b""
            for _ in range(size):
                body += b"" if flags & 1 else self.text() + self.text()
                body += self.text() + self.kind()
        return body, size

    def rows(self) -> bytes:
        metadata, size = self.metadata()
        count = self.chance.choice([0, 1, 2, 20])
        cells = b"".join(self.value() for _ in range(count * size))
        return int32(2) + metadata + self.count(count, int32) + cells

    def prepared(self) -> bytes:
        bound, _ = self.metadata()
        keys = self.chance.randrange(3)
        head, tail = bound[:8], bound[8:]
        indexes = self.count(keys, int32) + b"".join(short(self.chance.randrange(4)) for _ in range(keys))
        return int32(4) + short_bytes(b"id") + head + indexes + tail + self.metadata()[0]

    def result(self) -> bytes:
        makers: list[Callable[[], bytes]] = [
            self.rows, self.rows, self.prepared, lambda: int32(1), lambda: int32(3) + self.text(),
            lambda: int32(5) + self.change(), lambda: int32(self.chance.choice(ODD)) + self.text(),
        ]  # fmt: skip
        return self.chance.choice(makers)()

    def change(self) -> bytes:
        target = self.chance.choice(["KEYSPACE", "TABLE", "TYPE", "FUNCTION", "AGGREGATE", "keyspace", "X"])
        return self.text() + string(target) + self.text() + self.text() + self.texts()

    def texts(self) -> bytes:
        size = self.chance.randrange(4)
        return self.count(size, short) + b"".join(self.text() for _ in range(size))

    def event(self) -> bytes:
        kind = self.chance.choice(["TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE", "CLIENT_ROUTES_CHANGE", "X\n"])
        if kind == "SCHEMA_CHANGE":
            return string(kind) + self.change()
        if kind == "CLIENT_ROUTES_CHANGE":
            return string(kind) + self.text() + self.texts() + self.texts()
        return string(kind) + self.text() + inet("10.0.0.1", self.chance.choice(ODD))

    def error(self) -> bytes:
        code = self.chance.choice([*server_errors.ERROR_CLASSES, 0x7777, -1])
        more = short(1) + int32(1) + int32(2)
        if code in (0x1300, 0x1500):
            more += self.count(1, int32) + byte(4) + b"\x0a\0\0\1" + short(1) + self.text() + byte(1)
        return int32(code) + self.text() + (more + self.text() + self.texts() if self.chance.random() < 0.7 else b"")

    def supported(self) -> bytes:
        size = self.chance.randrange(4)
        return self.count(size, short) + b"".join(self.text() + self.texts() for _ in range(size))

    def body(self) -> tuple[int, int, bytes]:
        """Opcode, flags, body."""
        opcode, make = self.chance.choice(
            [
                (wire.RESULT, self.result),
                (wire.RESULT, self.result),
                (wire.ERROR, self.error),
                (wire.EVENT, self.event),
                (wire.SUPPORTED, self.supported),
                (wire.AUTHENTICATE, self.text),
                (wire.AUTH_CHALLENGE, self.value),
                (wire.AUTH_SUCCESS, self.value),
                (wire.READY, bytes),
            ]
        )
        flags, prefix = 0, b""
        if self.chance.random() < 0.2:
            flags |= wire.TRACING
            prefix += self.chance.randbytes(16)
        if self.chance.random() < 0.2:
            flags |= wire.WARNING
            prefix += self.texts()
        if self.chance.random() < 0.2:
            flags |= wire.PAYLOAD
            prefix += self.count(1, short) + self.text() + self.value()
        return opcode, flags, self.damaged(prefix + make())

    def damaged(self, body: bytes) -> bytes:
        pick = self.chance.random()
        if not body or pick < 0.5:
            return body
        at = self.chance.randrange(len(body))
        if pick < 0.7:
            return body[:at]
        if pick < 0.85:
            return body[:at] + self.chance.choice([int32(self.chance.choice(ODD)), b"\xff", b""]) + body[at + 4 :]
        return body[:at] + body[at : at + 40] * self.chance.choice([2, 5, 2000]) + body[at + 40 :]


class Stepwise(ResultMessage):
    """Decoded in Python, step by step, as of a program's protocol handler."""

    @classmethod
    def read_type(cls, f: Any, user_type_map: Any) -> Any:
        return super().read_type(f, user_type_map)


def decode(opcode: int, flags: int, body: bytes, version: int, kind: type[ResultMessage], context: TypeContext) -> None:
    allowed = (errors.ProtocolError, errors.DriverException, errors.NotSupportedError)
    with contextlib.suppress(*allowed):
        frame = Frame(version, flags, 0, opcode, body)
        if kind is Stepwise and opcode == wire.RESULT and not flags:
            with contextlib.suppress(ValueError):
                Stepwise.recv_body(io.BytesIO(body), version)
            return
        message = decode_response(frame, context, rate_limit_error=0xF000)
        str(message)
        if isinstance(message, server_errors.ErrorMessage):
            assert str(message.to_exception()).isprintable()
        elif isinstance(message, ResultMessage) and message.page is not None:
            for factory in (None, named_tuple_factory, dict_factory):
                list(decode_page(message.page, factory))


@pytest.fixture
def traced(caplog: pytest.LogCaptureFixture) -> Any:
    caplog.set_level(logging.CRITICAL, "cassandra")
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
def test_every_response(rounds: Any) -> None:
    context = TypeContext(resolve_custom, lambda keyspace, name: None)
    for chance in rounds:
        maker = Maker(chance)
        for _ in range(50):
            opcode, flags, body = maker.body()
            version, kind = chance.choice([3, 4, 5]), chance.choice([ResultMessage, Stepwise])
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            started = time.thread_time()
            decode(opcode, flags, body, version, kind, context)
            took = time.thread_time() - started
            _, peak = tracemalloc.get_traced_memory()
            about = (hex(opcode), flags, version, kind.__name__, len(body), body[:200].hex())
            assert peak - before < BYTES + BYTES_PER_BYTE * len(body), (peak - before, *about)
            assert took < SECONDS + SECONDS_PER_BYTE * len(body), (took, *about)
