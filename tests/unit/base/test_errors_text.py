"""Texts of errors that a server words: one printable line, of bounded length; the server's own words are kept apart."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from cassandra import AlreadyExists, InvalidRequest
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Frame
from cassandra._wire.messages.responses import decode_response
from tests.fakes import wire
from tests.fakes.wire import byte, int32, short, string, string_list

EVIL = "no\n\x1b[31mCRITICAL fake\u2028\u202e"
SHOWN = "no\\n\\x1b[31mCRITICAL fake\\u2028\\u202e"
DETAILS = {
    0x1000: short(1) + int32(2) + int32(1),
    0x1100: short(1) + int32(2) + int32(1) + string(EVIL),
    0x1200: short(1) + int32(2) + int32(1) + byte(1),
    0x1300: short(1) + int32(2) + int32(1) + int32(1) + byte(1),
    0x1400: string(EVIL) + string(EVIL) + string_list([EVIL] * 3),
    0x1500: short(1) + int32(2) + int32(1) + int32(1) + string(EVIL),
    0x1700: short(1) + int32(2) + int32(1),
    0x2400: string(EVIL) + string(EVIL),
    0x2500: short(2) + b"id",
}
CODES = [
    *(0x0000, 0x000A, 0x0100, 0x1000, 0x1001, 0x1002, 0x1003, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x1700),
    *(0x2000, 0x2100, 0x2200, 0x2300, 0x2400, 0x2500, 0x8000, 0x7777),
]


def answered(code: int, text: str) -> Any:
    body = wire.error(code, text, DETAILS.get(code, b""))
    return decode_response(Frame(4, 0, 0, wire.ERROR, body), TypeContext())


@pytest.mark.parametrize("code", CODES, ids=hex)
def test_one_printable_line(code: int) -> None:
    message = answered(code, EVIL)
    error = message.to_exception()
    for text in (str(message), repr(message), message.summary_msg(), str(error), repr(error)):
        assert text.isprintable(), text
    if not isinstance(error, AlreadyExists):
        assert SHOWN in str(error).replace("\\\\", "\\")
    assert message.message == EVIL


@pytest.mark.parametrize("code", CODES, ids=hex)
def test_bounded(code: int) -> None:
    message = answered(code, "\n" * 65_000)
    assert len(str(message)) < 10_000 and len(str(message.to_exception())) < 10_000


@pytest.mark.parametrize("code", CODES, ids=hex)
def test_the_servers_own_words(code: int) -> None:
    error = answered(code, EVIL).to_exception()
    assert (error.message if hasattr(error, "code") else error.server_message) == EVIL
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (other.message if hasattr(other, "code") else other.server_message) == EVIL


def test_many_argument_types_are_cut() -> None:
    body = wire.error(0x1400, "x", string("ks") + string("f") + string_list(["t" * 100] * 60_000))
    message = decode_response(Frame(4, 0, 0, wire.ERROR, body), TypeContext())
    assert len(str(message)) < 10_000
    assert len(message.to_exception().arg_types) == 60_000


def test_an_exception_of_a_program_has_no_server_message() -> None:
    assert InvalidRequest("mine").server_message is None
    assert str(InvalidRequest("two\nlines")) == "two\nlines"
