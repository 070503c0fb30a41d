"""Result metadata of prepared statements: each answer is read by the metadata that its own request was sent with."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.policies import ConstantSpeculativeExecutionPolicy
from cassandra.protocol_features import ProtocolFeatures
from cassandra.query import PreparedStatement
from tests.unit.session.harness import INT, Answer, Lab, prepared, rows, rows_without_metadata, string, unprepared

OLD = [("ks", "tbl", "n", Int32Type)]


def two_columns(*values: int, metadata_id: bytes | None = None, names: tuple[str, str] = ("m", "n")) -> Answer:
    """One row of two int columns; with *metadata_id* METADATA_CHANGED is set."""
    metadata = struct.pack(">ii", 1 if metadata_id is None else 9, 2)
    if metadata_id is not None:
        metadata += struct.pack(">H", len(metadata_id)) + metadata_id
    metadata += string("ks") + string("tbl") + b"".join(string(name) + struct.pack(">H", INT) for name in names)
    cells = b"".join(struct.pack(">ii", 4, value) for value in values)
    return Answer(8, struct.pack(">i", 2) + metadata + struct.pack(">i", 1) + cells)


def two_columns_without_metadata(*values: int) -> Answer:
    cells = b"".join(struct.pack(">ii", 4, value) for value in values)
    return Answer(8, struct.pack(">iiii", 2, 4, 2, 1) + cells)


def statement(result: Any = OLD, metadata_id: bytes | None = b"old", version: int = 5) -> PreparedStatement:
    made = PreparedStatement([], b"id", None, "SELECT *", "ks", version, result, metadata_id)
    made.is_idempotent = True
    return made


def short_bytes(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


class TestProtocol5:
    def test_answers_in_flight_around_a_change_do_not_mix(self) -> None:
        """The first request was sent before another one heard of the change, and is answered after it."""
        lab = Lab(protocol_version=5)
        select = statement()
        before = lab.session.execute_async(select)
        change = lab.session.execute_async(select)
        lab[0].answer(two_columns(1, 2, metadata_id=b"new"), lab[0].sent[1])
        assert change.result().one()._asdict() == {"m": 1, "n": 2}
        after = lab.session.execute_async(select)
        lab[0].answer(two_columns_without_metadata(3, 4), lab[0].sent[2])
        lab[0].answer(rows_without_metadata(5), lab[0].sent[0])
        assert before.result().one()._asdict() == {"n": 5}
        assert after.result().one()._asdict() == {"m": 3, "n": 4}
        assert [short_bytes(b"old") in sent.body for sent in lab[0].sent] == [True, True, False]
        assert select.result_metadata_id == b"new"

    def test_attempts_of_one_request_do_not_mix(self) -> None:
        """One host answers in the old shape a request that was sent before another host reported the new one."""
        policy = ConstantSpeculativeExecutionPolicy(0.1, 1)
        lab = Lab(hosts=2, protocol_version=5, speculative_execution_policy=policy)
        future = lab.session.execute_async(statement())
        lab.reactor.run()
        lab[1].answer(unprepared())
        future._on_outcome()
        lab[1].answer(prepared(columns=("m", "n"), metadata_id=b"new"))
        future._on_outcome()
        assert [short_bytes(b"new") in sent.body for sent in lab[1].sent] == [False, False, True]
        lab[0].answer(rows_without_metadata(5))
        assert future.result().one()._asdict() == {"n": 5}

    def test_rows_of_a_reprepared_statement_use_the_new_metadata(self) -> None:
        lab = Lab(protocol_version=5)
        select = statement()
        lab[0].script = [
            unprepared(),
            prepared(columns=("m", "n"), metadata_id=b"new"),
            two_columns_without_metadata(1, 2),
        ]
        assert lab.session.execute(select).one()._asdict() == {"m": 1, "n": 2}
        assert short_bytes(b"new") in lab[0].sent[-1].body

    def test_later_pages_are_asked_for_by_the_new_id(self) -> None:
        lab = Lab(protocol_version=5)
        select = statement()
        first = two_columns(1, 2, metadata_id=b"new")
        more = struct.pack(">i", 2) + struct.pack(">ii", 1 | 2 | 8, 2) + struct.pack(">i", 2) + b"p2" + first.body[12:]
        lab[0].script = [Answer(8, more), two_columns_without_metadata(3, 4)]
        assert [row._asdict() for row in lab.session.execute(select)] == [{"m": 1, "n": 2}, {"m": 3, "n": 4}]
        assert short_bytes(b"new") in lab[0].sent[1].body

    def test_metadata_without_a_new_id_are_of_that_answer_only(self) -> None:
        """Kept under the old id they would be taken for those the server leaves out."""
        lab = Lab(protocol_version=5)
        select = statement()
        lab[0].script = [two_columns(1, 2), rows_without_metadata(5)]
        assert lab.session.execute(select).one()._asdict() == {"m": 1, "n": 2}
        assert lab.session.execute(select).one()._asdict() == {"n": 5}
        assert select._result_col_names == ["n"]


class TestWithoutMetadataIds:
    def test_the_statement_learns_from_the_answers(self) -> None:
        lab = Lab()
        select = statement(metadata_id=None, version=4)
        lab[0].script = [rows(1), two_columns(2, 3), two_columns(4, 5)]
        assert lab.session.execute(select).one()._asdict() == {"n": 1}
        assert select._result_col_names == ["n"]
        assert lab.session.execute(select).one()._asdict() == {"m": 2, "n": 3}
        assert select._result_col_names == ["m", "n"]
        known = select._snapshot
        lab.session.execute(select)
        assert select._snapshot is known, "nothing new is nothing to write"

    def test_an_answer_with_something_beside_its_rows_teaches_as_much(self) -> None:
        lab = Lab()
        select = statement(metadata_id=None, version=4)
        warned = Answer(8, struct.pack(">H", 1) + b"\x00\x02hm" + two_columns(2, 3).body, flags=0x08)
        lab[0].script = [warned]
        assert lab.session.execute(select).one()._asdict() == {"m": 2, "n": 3}
        assert select._result_col_names == ["m", "n"]

    def test_a_conditional_statement_has_no_columns_of_its_own(self) -> None:
        """The columns of its answer depend on the rows that it found."""
        lab = Lab()
        insert = statement(result=None, metadata_id=None, version=4)
        lab[0].script = [rows(1, column="[applied]")]
        assert lab.session.execute(insert).was_applied
        assert insert.result_metadata is None and insert._result_col_names is None

    @pytest.mark.parametrize("negotiated", [True, False])
    def test_a_connection_decides_for_itself(self, negotiated: bool) -> None:
        """Hosts of one cluster may differ, as while they are upgraded. Where metadata have no ids the server could not
        tell that the rows are others."""
        lab = Lab()
        lab[0].features = ProtocolFeatures(use_metadata_id=negotiated)
        select = statement(version=4)
        future = lab.session.execute_async(select)
        (sent,) = lab[0].sent
        at = 2 + len(b"id") + (2 + len(b"old")) * negotiated + 2  # query id, metadata id, consistency
        assert bool(sent.body[at] & 0x02) is negotiated
        assert (short_bytes(b"old") in sent.body) is negotiated
        lab[0].answer(rows_without_metadata(7) if negotiated else two_columns(8, 9))
        assert future.result().one()._asdict() == ({"n": 7} if negotiated else {"m": 8, "n": 9})
        assert future.message.skip_meta is True, "the request may go to other hosts yet"


class TestPublicFace:
    def test_follows_the_snapshot(self) -> None:
        select = statement()
        assert (select._result_col_names, select._result_col_types) == (["n"], [Int32Type])
        assert [column.name for column in select.result_metadata or ()] == ["n"]
        select.update_result_metadata([("ks", "tbl", "a", UTF8Type), ("ks", "tbl", "b", Int32Type)], b"new")
        assert (select._result_col_names, select._result_col_types) == (["a", "b"], [UTF8Type, Int32Type])
        assert select.result_metadata_id == b"new"
        metadata, metadata_id = select.result_metadata_and_id
        assert ([column.type for column in metadata or ()], metadata_id) == ([UTF8Type, Int32Type], b"new")
        select.update_result_metadata(None, None)
        assert (select._result_col_names, select._result_col_types, select.result_metadata) == (None, None, None)

    def test_plan_and_id_are_one_value(self) -> None:
        """A thread that reads them while they are replaced gets both of one moment."""
        import threading

        select = statement()
        shapes = {b"old": ["n"], b"new": ["a", "b"]}
        new = [("ks", "tbl", "a", UTF8Type), ("ks", "tbl", "b", Int32Type)]
        done = threading.Event()

        def replace() -> None:
            for number in range(2000):
                select.update_result_metadata(*((new, b"new") if number % 2 else (OLD, b"old")))
            done.set()

        writer = threading.Thread(target=replace)
        writer.start()
        try:
            while not done.is_set():
                metadata, metadata_id = select.result_metadata_and_id
                assert metadata is not None and metadata_id is not None
                assert [column.name for column in metadata] == shapes[metadata_id]
        finally:
            writer.join(30)
