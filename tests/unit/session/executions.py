"""Answers, statements and policies for the tests of requests over all their attempts."""

from __future__ import annotations

import struct
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.policies import (
    RetryPolicy,
)
from cassandra.query import PreparedStatement, SimpleStatement
from tests.unit.session.harness import (
    Answer,
    Lab,
    error,
    prepared,
)

QUERY, PREPARE, EXECUTE = 7, 9, 10
READ_TIMEOUT = struct.pack(">HiiB", ConsistencyLevel.QUORUM, 1, 2, 0)
SIMPLE = b"\x00\x06SIMPLE"


def write_timeout(write_type: bytes = SIMPLE, more: bytes = b"") -> Answer:
    return error(0x1100, "slow", struct.pack(">Hii", ConsistencyLevel.QUORUM, 1, 2) + write_type + more)


def idempotent(query: str = "SELECT 1") -> SimpleStatement:
    return SimpleStatement(query, is_idempotent=True)


class Told(RetryPolicy):
    """Answers as told, and keeps what it was asked."""

    def __init__(self, *verdicts: Any) -> None:
        self.verdicts = list(verdicts)
        self.asked: list[dict[str, Any]] = []

    def _answer(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.append(kwargs)
        return self.verdicts.pop(0) if self.verdicts else (self.RETHROW, None)

    on_read_timeout = on_write_timeout = on_unavailable = on_request_error = _answer


def a_statement(lab: Lab) -> PreparedStatement:
    lab[0].script = [prepared()]
    return lab.session.prepare("SELECT n FROM tbl WHERE k = ?")


def opcodes(lab: Lab, index: int = 0) -> list[int]:
    return [sent.opcode for sent in lab[index].sent]
