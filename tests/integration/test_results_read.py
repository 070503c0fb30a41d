"""Large pages, and result classes with reading steps of their own, from a real server through a session."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import cqltypes
from cassandra.cluster import Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.protocol import ProtocolHandler, ResultMessage, read_int
from cassandra.query import SimpleStatement, dict_factory, named_tuple_factory, tuple_factory

pytestmark = pytest.mark.server

ROWS = 60
TEXT = "x" * 40_000


@pytest.fixture(scope="module")
def tables(session: Session) -> None:
    session.execute("CREATE TABLE large (k int, c int, v text, PRIMARY KEY (k, c))")
    insert = session.prepare("INSERT INTO large (k, c, v) VALUES (0, ?, ?)")
    execute_concurrent_with_args(session, insert, [(i, f"{i}{TEXT}") for i in range(ROWS)], concurrency=8)
    session.execute("CREATE TABLE ids (k int, id uuid, PRIMARY KEY (k, id))")


@pytest.fixture(autouse=True)
def defaults(session: Session, tables: None) -> Iterator[None]:
    handler, factory = session.client_protocol_handler, session.row_factory
    yield
    session.client_protocol_handler, session.row_factory = handler, factory


@pytest.mark.parametrize("factory", [named_tuple_factory, tuple_factory, dict_factory])
def test_a_large_page(session: Session, factory: Any) -> None:
    session.row_factory = factory
    expected = factory(["c", "v"], [(i, f"{i}{TEXT}") for i in range(ROWS)])
    select = SimpleStatement("SELECT c, v FROM large WHERE k = 0", fetch_size=1000)

    def result() -> Any:
        return session.execute(select)

    rows = result().current_rows
    assert not isinstance(rows, list) and len(rows) == ROWS and rows == expected, "it is one page, and a large one"
    assert result().one() == expected[0] and result().all() == expected
    assert list(result()) == expected and result()[ROWS - 1] == expected[-1]
    assert result() == expected and bool(result())
    assert pickle.loads(pickle.dumps(rows)) == expected


def test_large_pages_one_after_the_other(session: Session) -> None:
    select = session.prepare("SELECT c, v FROM large WHERE k = 0")
    select.fetch_size = ROWS // 2 + 1
    found = session.execute(select)
    assert not isinstance(found.current_rows, list) and found.has_more_pages
    assert [row.c for row in found] == list(range(ROWS))


class Number(cqltypes.UUIDType):
    """Uuids as numbers."""

    @staticmethod
    def deserialize(byts: bytes, protocol_version: int) -> int:
        return uuid.UUID(bytes=bytes(byts)).int

    @staticmethod
    def serialize(val: int, protocol_version: int) -> bytes:
        return uuid.UUID(int=val).bytes


class Numbers(ResultMessage):
    type_codes = {**ResultMessage.type_codes, 0x0C: Number}


class Reversed(ResultMessage):
    def recv_results_rows(
        self, f: Any, protocol_version: int, user_type_map: Any, result_metadata: Any, column_encryption_policy: Any
    ) -> None:
        self.recv_results_metadata(f, user_type_map)
        columns = self.column_metadata or result_metadata
        cells = [self.recv_row(f, len(columns)) for _ in range(read_int(f))]
        self.column_names = [column[2] for column in columns]
        self.column_types = [column[3] for column in columns]
        self.parsed_rows = [
            tuple(kind.from_binary(cell, protocol_version) for kind, cell in zip(self.column_types, row, strict=True))
            for row in reversed(cells)
        ]


def handler(cls: Any) -> Any:
    class Handler(ProtocolHandler):
        message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, ResultMessage.opcode: cls}

    return Handler


def test_own_types(session: Session) -> None:
    session.client_protocol_handler = handler(Numbers)
    insert = session.prepare("INSERT INTO ids (k, id) VALUES (?, ?)")
    for number in (5, 7):
        session.execute(insert, (1, number))
    select = session.prepare("SELECT k, id FROM ids WHERE k = ? AND id = ?")
    assert session.execute(select, (1, 7)).one() == (1, 7)
    found = session.execute("SELECT id FROM ids WHERE k = 1")
    assert found.column_types == [Number] and sorted(row.id for row in found) == [5, 7]
    session.client_protocol_handler = ProtocolHandler
    assert {row.id for row in session.execute("SELECT id FROM ids WHERE k = 1")} == {uuid.UUID(int=5), uuid.UUID(int=7)}


def test_own_reading_of_rows(session: Session) -> None:
    session.client_protocol_handler = handler(Reversed)
    expected = [(i, f"{i}{TEXT}") for i in reversed(range(ROWS))]
    select = session.prepare("SELECT c, v FROM large WHERE k = 0")
    for statement in ("SELECT c, v FROM large WHERE k = 0", select):
        found = session.execute(statement)
        assert found.column_names == ["c", "v"]
        assert [row.c for row in found] == [row[0] for row in expected]
