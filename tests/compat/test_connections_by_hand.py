"""Connections that programs and their tests make by hand: they move the bytes themselves."""

from __future__ import annotations

import importlib
import re
import struct
import threading
from typing import Any
from unittest.mock import Mock, patch

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import Cluster
from cassandra.connection import (
    Connection,
    ConnectionException,
    ConnectionShutdown,
    DefaultEndPoint,
    locally_supported_compressions,
)
from cassandra.io.libevreactor import LibevConnection
from cassandra.protocol import OptionsMessage, ProtocolHandler, QueryMessage, ReadyMessage, SupportedMessage
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE, eventually

made_by: Any = Connection  # type checkers know the arguments of the driver's own connections
frame: Any = importlib.import_module("cassandra.connection")._Frame


def envelope(stream: int, opcode: int, body: bytes = b"", version: int = 4) -> bytes:
    return struct.pack(">BBhBi", version | 0x80, 0, stream, opcode, len(body)) + body


def supported(**options: list[str]) -> SupportedMessage:
    return SupportedMessage(options.pop("CQL_VERSION", ["3.4.5"]), options)


class Own(Connection):
    """A connection class of a program: it keeps the sent data."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sent: list[bytes] = []

    def push(self, data: bytes) -> None:
        self.sent.append(data)


def own(**options: Any) -> Any:
    kind: Any = Own
    return kind(DefaultEndPoint("10.0.0.1"), protocol_version=4, **options)


def test_connection_made_by_hand_has_its_arguments_and_defaults() -> None:
    connection = made_by("10.0.0.1", 9043, compression=False, cql_version="3.0.0")
    assert type(connection) is not Connection and isinstance(connection, Connection)
    assert connection.endpoint == DefaultEndPoint("10.0.0.1", 9043) and connection.cql_version == "3.0.0"
    assert made_by(host=DefaultEndPoint("x")).endpoint == DefaultEndPoint("x")
    assert (connection.is_closed, connection.is_defunct, connection.in_flight, connection.keyspace) == (
        False,
        False,
        0,
        None,
    )
    assert (
        connection.decompressor is None and not connection.connected_event.is_set() and "10.0.0.1" in repr(connection)
    )
    with pytest.raises(NotImplementedError):
        connection.close()
    with pytest.raises(NotImplementedError):
        connection.send_msg(OptionsMessage(), 0, print)
    connection.set_keyspace_blocking(None)
    connection.keyspace = "ks"
    connection.set_keyspace_blocking("ks")
    with pytest.raises(NotImplementedError):
        connection.set_keyspace_blocking("other")


def test_bytes_become_answers_and_events() -> None:
    connection, answers = own(), list[Any]()
    first, second = connection.get_request_id(), connection.get_request_id()
    connection.send_msg(QueryMessage("SELECT 1", ConsistencyLevel.ONE), first, answers.append)
    size = connection.send_msg(OptionsMessage(), second, answers.append)
    assert len(connection.sent[1]) == size == 9 and connection.sent[1][2:5] == bytes([0, second, 5])
    body = b"\x00\x01" + b"\x00\x0bCOMPRESSION\x00\x01\x00\x03lz4"
    connection._iobuf.write(envelope(second, 6, body) + envelope(first, 8, b"\x00\x00\x00\x01")[:11])
    connection.process_io_buffer()
    assert answers[0].options == {"COMPRESSION": ["lz4"]} and len(answers) == 1 and connection.msg_received
    connection._iobuf.write(envelope(first, 8, b"\x00\x00\x00\x01")[11:])
    connection.process_io_buffer()
    assert answers[1].kind == 1 and not connection._requests and connection._iobuf.getvalue() == b""
    connection._push_watchers["STATUS_CHANGE"].add(answers.append)
    event = b"\x00\x0dSTATUS_CHANGE\x00\x02UP\x04\x7f\x00\x00\x01\x00\x00\x23\x52"
    connection._iobuf.write(envelope(-1, 0x0C, event))
    connection.process_io_buffer()
    assert answers[2] == {"change_type": "UP", "address": ("127.0.0.1", 9042)}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (envelope(0, 6, b"", 0x7F), "does not support protocol version 127"),
        (struct.pack(">BBhBi", 0x84, 0, 0, 6, -13), "negative body length: -13"),
        (envelope(0, 0x55), "0x55|85|opcode"),
        (envelope(5, 6), r"KeyError\(5\)"),
    ],
)
def test_invalid_response_frames_make_the_connection_defunct(data: bytes, text: str) -> None:
    connection, answers = own(), list[Any]()
    connection.send_msg(OptionsMessage(), 0, answers.append)
    connection._iobuf.write(data)
    connection.process_io_buffer()
    assert connection.is_defunct and connection.is_closed and connection.connected_event.is_set()
    assert re.search(text, repr(connection.last_error)), connection.last_error
    assert all(isinstance(answer, ConnectionShutdown) for answer in answers)
    with pytest.raises(ConnectionShutdown):
        connection.send_msg(OptionsMessage(), 1, answers.append)


def test_the_handshake() -> None:
    lz4 = locally_supported_compressions["lz4"]
    for wanted, offered, found in (
        (True, ["snappy", "lz4"], lz4),
        (True, ["zip"], None),
        (False, ["lz4"], None),
        ("lz4", ["lz4"], lz4),
    ):
        connection = own(compression=wanted)
        connection._handle_options_response(supported(COMPRESSION=offered))
        assert (connection.compressor, connection.decompressor) == (found or (None, None)) and not connection.is_defunct
        assert connection.sent[0][4] == 1 and connection.cql_version == "3.4.5"
        connection._handle_startup_response(ReadyMessage())
        assert connection.connected_event.is_set()


@pytest.mark.parametrize(
    ("options", "response", "text"),
    [
        ({"cql_version": "3.0.3"}, supported(CQL_VERSION=["7.8.9"]), "cql_version '3.0.3' is not supported"),
        ({"compression": "lz4"}, supported(COMPRESSION=["snappy"]), r"compression type \(lz4\) is not supported"),
        ({}, ReadyMessage(), "Did not get expected SupportedMessage"),
        ({}, ConnectionException("gone"), "gone"),
    ],
)
def test_a_handshake_that_fails(options: dict[str, Any], response: Any, text: str) -> None:
    connection = own(**options)
    connection.defunct = Mock()
    connection._requests[0] = (connection._handle_options_response, lambda *_: response, None)
    connection.process_msg(frame(4, 0, 0, 6, 9, 9), b"")
    (error,) = connection.defunct.call_args.args
    with pytest.raises(type(error), match=text):
        raise error


def test_a_startup_that_is_refused() -> None:
    for response in (supported(), ConnectionException("no")):
        connection = own()
        connection._handle_startup_response(response)
        assert connection.is_defunct and isinstance(connection.last_error, ConnectionException)


def test_compressed_answers() -> None:
    compress, _ = locally_supported_compressions["lz4"]
    connection, answers = own(), list[Any]()
    connection._handle_options_response(supported(COMPRESSION=["lz4"]))
    connection.send_msg(OptionsMessage(), 9, answers.append, ProtocolHandler.encode_message)
    body = compress(b"\x00\x01" + b"\x00\x0bCOMPRESSION\x00\x01\x00\x03lz4")
    connection._iobuf.write(struct.pack(">BBhBi", 0x84, 1, 9, 6, len(body)) + body)
    connection.process_io_buffer()
    assert answers[0].options == {"COMPRESSION": ["lz4"]}


def test_driver_connections_keep_their_class() -> None:
    with (
        SimulatedCluster() as simulated,
        Cluster(simulated.contact_points, port=simulated.port, connection_class=LibevConnection) as cluster,
    ):
        session = cluster.connect()
        assert session.execute("SELECT release_version FROM system.local").one()
        pools = list(session._pools.values())
        eventually(lambda: all(pool.get_connections() for pool in pools))
        assert {type(connection) for pool in pools for connection in pool.get_connections()} == {LibevConnection}
    assert isinstance(Mock(spec=Connection).endpoint, Mock)
    hand: Any = LibevConnection
    connection = hand("10.0.0.1")
    assert isinstance(connection, LibevConnection) and type(connection).__name__ == "LibevConnection"
    connection.close()
    assert connection.is_closed


@pytest.mark.parametrize("place", ["cassandra.io.asyncorereactor", "cassandra.io.libevreactor"])
def test_timers_and_their_loop(place: str) -> None:
    reactor = importlib.import_module(place)
    connection = reactor.__dict__[reactor.__all__[1]]("10.0.0.1", connect_timeout=5)
    called, cancelled, free = threading.Event(), threading.Event(), threading.Event()
    # The thread of the timers waits in a callback, so that no other timer ends before it is cancelled.
    connection.create_timer(0, lambda: free.wait(PATIENCE))
    connection.create_timer(0.01, cancelled.set).cancel()
    connection.create_timer(0.02, called.set)
    free.set()
    assert called.wait(PATIENCE) and not cancelled.is_set()
    eventually(lambda: not reactor._global_loop._timers._queue and not reactor._global_loop._timers._new_timers)
    loop = Mock()
    reactor._cleanup(loop)
    reactor._cleanup(None)
    loop._cleanup.assert_called_once_with()


def test_asyncore_has_nothing_to_watch() -> None:
    reactor = importlib.import_module("cassandra.io.asyncorereactor")
    with patch("cassandra.io.asyncorereactor.AsyncoreConnection.add_channel") as add:
        reactor.AsyncoreConnection("10.0.0.1")
    assert not add.called and reactor.AsyncoreConnection.add_channel(None) is None
