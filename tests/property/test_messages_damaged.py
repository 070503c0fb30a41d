"""Damaged and random bodies of every response: a message or ProtocolError, never anything else. And handshakes with any
answers in any order: they end, with a connection or with an exception that says why."""

from __future__ import annotations

import contextlib
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cassandra._base import errors, server_errors
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Frame
from cassandra._net import compression
from cassandra._net.auth import PlainTextAuthProvider
from cassandra._net.endpoint import DefaultEndPoint
from cassandra._net.handshake import Blocking, Established, Negotiated, Starting, handshake
from cassandra._net.options import ConnectionOptions
from cassandra._wire.messages.responses import decode_response
from tests.fakes import wire
from tests.fakes.wire import byte, bytes_, inet, inet_addr, int32, short, short_bytes, string, string_list

CONTEXT = TypeContext()

COLUMNS = int32(2) + int32(1) + int32(2) + string("ks") + string("t") + string("a") + short(9) + string("b")
BODIES: list[tuple[int, bytes]] = [
    (wire.READY, b""),
    (wire.SUPPORTED, wire.string_multimap({"CQL_VERSION": ["3.4.7"], "COMPRESSION": ["lz4"]})),
    (wire.AUTHENTICATE, string("org.apache.cassandra.auth.PasswordAuthenticator")),
    (wire.AUTH_CHALLENGE, bytes_(b"challenge")),
    (wire.AUTH_SUCCESS, bytes_(None)),
    (wire.EVENT, string("STATUS_CHANGE") + string("UP") + inet("10.0.0.1", 9042)),
    (wire.EVENT, string("SCHEMA_CHANGE") + string("CREATED") + string("TABLE") + string("ks") + string("t")),
    (
        wire.EVENT,
        string("SCHEMA_CHANGE")
        + string("DROPPED")
        + string("FUNCTION")
        + string("ks")
        + string("f")
        + string_list(["int"]),
    ),
    (wire.ERROR, wire.error(0x1000, "no", short(1) + int32(2) + int32(1))),
    (wire.ERROR, wire.error(0x1100, "no", short(1) + int32(2) + int32(1) + string("CAS") + short(3))),
    (
        wire.ERROR,
        wire.error(0x1300, "no", short(1) + int32(2) + int32(1) + int32(1) + inet_addr("::1") + short(1) + byte(1)),
    ),
    (wire.ERROR, wire.error(0x2400, "no", string("ks") + string("t"))),
    (wire.ERROR, wire.error(0x2500, "no", short_bytes(b"id"))),
    (wire.RESULT, int32(1)),
    (wire.RESULT, COLUMNS + short(0x0D) + int32(1) + bytes_(int32(1)) + bytes_(b"x")),
    (wire.RESULT, int32(3) + string("ks")),
    (wire.RESULT, int32(5) + string("CREATED") + string("KEYSPACE") + string("ks")),
]
FLAGS = st.sampled_from([0, wire.TRACING, wire.WARNING, wire.PAYLOAD, wire.TRACING | wire.WARNING | wire.PAYLOAD])
VERSIONS = st.sampled_from([3, 4, 5])


def decode(opcode: int, body: bytes, version: int, flags: int) -> None:
    with contextlib.suppress(errors.ProtocolError):
        message = decode_response(Frame(version, flags, 0, opcode, body), CONTEXT, rate_limit_error=0xF000)
        if isinstance(message, server_errors.ErrorMessage):
            message.to_exception()
        repr(message)


@given(st.sampled_from(BODIES), VERSIONS, FLAGS, st.data())
def test_damaged_bodies(original: tuple[int, bytes], version: int, flags: int, data: st.DataObject) -> None:
    opcode, whole = original
    body = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        if body and data.draw(st.booleans()):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
        else:
            position = data.draw(st.integers(0, len(body)))
            body[position : position + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    decode(opcode, bytes(body), version, flags)


@given(st.integers(0, 255), st.binary(max_size=200), VERSIONS, FLAGS)
def test_random_bodies(opcode: int, body: bytes, version: int, flags: int) -> None:
    decode(opcode, body, version, flags)


@given(st.sampled_from(list(compression.available().values())), st.binary(max_size=500), st.data())
def test_damaged_compression(algorithm: compression.Compression, body: bytes, data: st.DataObject) -> None:
    packed = bytearray(algorithm.compress(body))
    assert algorithm.decompress(bytes(packed)) == body
    packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(errors.ProtocolError):
        algorithm.decompress(bytes(packed))


ANSWERS = st.sampled_from(BODIES).map(lambda body: decode_response(Frame(4, 0, 0, *body), CONTEXT))
TEXTS = st.sampled_from(
    [
        "Invalid or unsupported protocol version (5); supported versions are (3/v3, 4/v4)",
        "Beta version of the protocol used (5/v5-beta), but USE_BETA flag is unset",
        "Unexpected message",
    ]
)
REFUSALS = TEXTS.map(lambda text: decode_response(Frame(4, 0, 0, wire.ERROR, wire.error(0x0A, text)), CONTEXT))
OPTIONS = st.builds(
    ConnectionOptions,
    auth_provider=st.sampled_from([None, PlainTextAuthProvider("me", "pw")]),
    keyspace=st.sampled_from([None, "ks"]),
    register_events=st.sampled_from([(), ("STATUS_CHANGE",)]),
)


@given(OPTIONS, VERSIONS, st.lists(ANSWERS | REFUSALS, min_size=30, max_size=30))
def test_handshakes_end(options: ConnectionOptions, version: int, answers: list[Any]) -> None:
    steps = handshake(options, DefaultEndPoint("10.0.0.1"), version)
    answer = None
    try:
        while True:
            wanted = steps.send(answer)
            assert not isinstance(wanted, Blocking)
            if isinstance(wanted, (Starting, Established)):
                answer = None
            else:
                assert wanted.encode(version)
                answer = answers.pop()
    except StopIteration as stop:
        assert isinstance(stop.value, Negotiated)
    except (
        errors.ConnectionException,
        errors.ProtocolError,
        errors.DriverException,
        server_errors.ErrorMessage,
    ) as error:
        assert str(error)
