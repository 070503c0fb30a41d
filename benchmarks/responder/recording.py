"""Recorded answers: read, written, and looked up by the key of a request (see ``responder.cpp`` for the form)."""

from __future__ import annotations

import contextlib
import gzip
import socket
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).parents[1] / "data" / "responder.gz"

STARTUP, OPTIONS, QUERY, PREPARE, EXECUTE, REGISTER, BATCH = 0x01, 0x05, 0x07, 0x09, 0x0A, 0x0B, 0x0D
ERROR = 0x00
SKIP_METADATA = 0x02


class Answer(NamedTuple):
    opcode: int
    flags: int
    body: bytes


def key_of(opcode: int, body: bytes) -> bytes | None:
    """The key of a request; None for one that is not to be recorded."""
    if opcode in (STARTUP, OPTIONS, REGISTER, BATCH):
        return {STARTUP: b"S", OPTIONS: b"O", REGISTER: b"R", BATCH: b"B"}[opcode]
    if opcode in (QUERY, PREPARE):
        (size,) = struct.unpack_from(">i", body)
        return (b"Q" if opcode == QUERY else b"P") + body[4 : 4 + size]
    if opcode == EXECUTE:
        (size,) = struct.unpack_from(">H", body)
        skip = body[2 + size + 2] & SKIP_METADATA
        return (b"X1" if skip else b"X0") + body[2 : 2 + size]
    return None


def frames(sock: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    """(header, body) until the end."""
    with contextlib.suppress(OSError), sock.makefile("rb") as reader:  # a reset is an end, too
        while len(header := reader.read(9)) == 9:
            yield header, reader.read(struct.unpack(">i", header[5:])[0])


def load(more: Mapping[bytes, Answer] | None = None) -> bytes:
    """The input of the responder: the recording, large answers also with metadata, and *more*."""
    known = {**answers(), **(more or {})}
    prepared = {answer.body[6:22]: answer.body for key, answer in known.items() if key[:1] == b"P"}
    for key, answer in list(known.items()):
        identity, other = key[2:], b"X0" + key[2:]
        if key[:2] == b"X1" and other not in known and identity in prepared:
            body = with_metadata(prepared[identity], answer.body)
            if body is not None:
                known[other] = answer._replace(body=body)
    return packed(known)


def answers() -> dict[bytes, Answer]:
    """The recording."""
    return taken_apart(gzip.decompress(PATH.read_bytes()))


def taken_apart(data: bytes) -> dict[bytes, Answer]:
    """The answers in the output of :func:`packed`."""
    at, found = 0, {}
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        key = data[at + 4 : at + 4 + size]
        opcode, flags, length = struct.unpack_from("<BBI", data, at + 4 + size)
        at += 4 + size + 6
        found[key] = Answer(opcode, flags, data[at : at + length])
        at += length
    return found


LARGE = 64 << 10
PREPARED = 4
PREFIX = struct.Struct(">iii")


def with_metadata(prepared: bytes, rows: bytes) -> bytes | None:
    """The ROWS result *rows*, which has no metadata, with that of the PREPARED result; None unless the statement has no
    parameters, where that is easy to find."""
    kind, size = struct.unpack_from(">ih", prepared)
    at = 6 + size
    if kind != PREPARED or PREFIX.unpack_from(prepared, at)[1:] != (0, 0):
        return None
    return rows[:4] + prepared[at + PREFIX.size :] + rows[PREFIX.size :]


def save(answers: Mapping[bytes, Answer]) -> None:
    """Write the recording. Large answers are kept once: without metadata, if a request asked for them so."""
    kept = {
        key: answer
        for key, answer in answers.items()
        if key[:2] != b"X0" or len(answer.body) < LARGE or b"X1" + key[2:] not in answers
    }
    PATH.write_bytes(gzip.compress(packed(kept), mtime=0))


def packed(answers: Mapping[bytes, Answer]) -> bytes:
    """A recording as the responder reads it."""
    return b"".join(
        struct.pack("<I", len(key))
        + key
        + bytes([answer.opcode, answer.flags])
        + struct.pack("<I", len(answer.body))
        + answer.body
        for key, answer in sorted(answers.items())
    )
