"""A request whose statement a host has forgotten, whose columns have changed, that changes keyspace or schema."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest
from cassandra.connection import ConnectionException
from cassandra.query import BatchStatement, PreparedStatement
from tests.unit.session.executions import (
    EXECUTE,
    PREPARE,
    a_statement,
    opcodes,
)
from tests.unit.session.harness import (
    Answer,
    Lab,
    Lost,
    error,
    prepared,
    rows_without_metadata,
    schema_change,
    set_keyspace,
    unprepared,
    void,
)


class TestUnprepared:
    def test_prepared_again_on_that_host_and_sent_again(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared(), rows_without_metadata(5)]
        future = lab.session.execute_async(select, (1,))
        assert future.result().one() == (5,)
        assert opcodes(lab) == [PREPARE, EXECUTE, PREPARE, EXECUTE]
        assert lab[0].sent[1].body == lab[0].sent[3].body

    def test_new_result_metadata_is_used_at_once(self) -> None:
        """The table was altered: the statement is the same, its rows have a column more."""
        lab = Lab()
        select = a_statement(lab)
        answer = struct.pack(">iiii", 2, 4, 2, 1) + struct.pack(">iiii", 4, 5, 4, 6)
        lab[0].script = [unprepared(), prepared(columns=("n", "m")), Answer(8, answer)]
        row = lab.session.execute(select, (1,)).one()
        assert row._asdict() == {"n": 5, "m": 6}
        assert [column.name for column in select.result_metadata or ()] == ["n", "m"]

    def test_another_id_is_an_error(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared(query_id=b"other")]
        with pytest.raises(DriverException, match=r"under the id .* instead of"):
            lab.session.execute(select, (1,))

    def test_preparing_again_fails(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), error(0x2200, "no such table")]
        with pytest.raises(InvalidRequest, match="no such table"):
            lab.session.execute(select, (1,))

    def test_the_connection_is_lost_while_preparing_again(self) -> None:
        """Nothing was executed, so any statement may go on to the next host."""
        lab = Lab(hosts=2)
        select = a_statement(lab)
        lab[0].script = [unprepared(), Lost(sent=True)]
        lab[1].script = [rows_without_metadata(8)]
        assert lab.session.execute(select, (1,)).one() == (8,)

    def test_a_host_that_forgets_again_and_again(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared()] * 50
        with pytest.raises(DriverException, match="evicted"):
            lab.session.execute(select, (1,))
        assert len(lab[0].sent) < 30

    def test_unknown_to_the_driver_too(self) -> None:
        lab = Lab()
        lab[0].script = [unprepared(b"\xab")]
        with pytest.raises(DriverException, match="ab"):
            lab.session.execute("SELECT 1")

    def test_statements_of_a_batch(self) -> None:
        lab = Lab()
        insert = a_statement(lab)
        batch = BatchStatement().add(insert, (1,)).add(insert, (2,))
        lab.cluster.prepared.clear()
        lab[0].script = [unprepared(), prepared(), void()]
        lab.session.execute(batch)
        assert opcodes(lab)[1:] == [13, PREPARE, 13]

    def test_another_keyspace_is_in_use(self) -> None:
        """Before protocol 5 it would be prepared in the wrong keyspace."""
        lab = Lab()
        select = a_statement(lab)
        select.keyspace = "mine"
        lab[0].keyspace = "other"
        lab[0].script = [unprepared()]
        with pytest.raises(ValueError, match="mine"):
            lab.session.execute(select, (1,))


def _int() -> Any:
    from cassandra.cqltypes import Int32Type

    return Int32Type


class TestMetadataChange:
    def test_protocol_5_tells_with_the_rows(self) -> None:
        """The answer carries new metadata and its id: both are used for it and kept for the next request."""
        lab = Lab(protocol_version=5)
        statement = PreparedStatement([], b"id", None, "SELECT *", "ks", 5, [("ks", "tbl", "n", _int())], b"old")
        metadata = struct.pack(">ii", 1 | 8, 2) + b"\x00\x03new" + b"\x00\x02ks\x00\x03tbl"
        metadata += b"\x00\x01n\x00\x09" + b"\x00\x01m\x00\x09"
        body = struct.pack(">i", 2) + metadata + struct.pack(">i", 1) + struct.pack(">iiii", 4, 5, 4, 6)
        lab[0].script = [
            Answer(8, body),
            Answer(8, struct.pack(">iiii", 2, 4, 2, 1) + struct.pack(">iiii", 4, 7, 4, 8)),
        ]
        assert lab.session.execute(statement).one()._asdict() == {"n": 5, "m": 6}
        assert statement.result_metadata_id == b"new"
        assert lab.session.execute(statement).one()._asdict() == {"n": 7, "m": 8}
        assert b"\x00\x03old" in lab[0].sent[0].body
        assert b"\x00\x03new" in lab[0].sent[1].body

    def test_a_request_keeps_the_snapshot_it_was_sent_with(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        future = lab.session.execute_async(select, (1,))
        select.update_result_metadata([("ks", "tbl", "a", _int()), ("ks", "tbl", "b", _int())], None)
        lab[0].answer(rows_without_metadata(5))
        assert future.result().one()._asdict() == {"n": 5}


class TestKeyspace:
    def test_use_changes_the_session_and_every_pool(self) -> None:
        lab = Lab(hosts=3)
        lab[0].script = [set_keyspace("app")]
        assert lab.session.execute("USE app").one() is None
        assert lab.session.keyspace == "app"
        assert lab[0].keyspace == "app"
        assert [pool.keyspaces for pool in lab.pools.values()] == [["app"]] * 3

    def test_a_pool_that_cannot(self) -> None:
        lab = Lab(hosts=2)
        lab.pools[lab.hosts[1]].keyspace_errors = [InvalidRequest("no such keyspace")]
        lab[0].script = [set_keyspace("app")]
        with pytest.raises(ConnectionException, match="no such keyspace"):
            lab.session.execute("USE app")

    def test_without_pools(self) -> None:
        lab = Lab()
        future = lab.session.execute_async("USE app")
        lab.session._pool_set.pools = {}
        lab[0].answer(set_keyspace("app"))
        assert future.result().one() is None

    @pytest.mark.parametrize("name", ["plain", "Mixed Case", 'quo"te', "select"])
    def test_set_keyspace_quotes(self, name: str) -> None:
        lab = Lab()
        lab[0].script = [set_keyspace(name)]
        lab.session.set_keyspace(name)
        sent = lab[0].sent[0].body[4:].split(b"\x00")[0].decode()
        expected = {"plain": "USE plain", "Mixed Case": 'USE "Mixed Case"', 'quo"te': 'USE "quo""te"'}
        assert sent.startswith(expected.get(name, 'USE "select"'))


class TestSchemaChange:
    def test_waits_for_agreement(self) -> None:
        lab = Lab()
        lab[0].script = [schema_change()]
        future = lab.session.execute_async("CREATE KEYSPACE ks")
        assert future.result().one() is None
        assert future.is_schema_agreed is True
        ((event, host),) = lab.cluster.schema_changes
        assert (event["change_type"], event["keyspace"], host) == ("CREATED", "ks", lab.hosts[0])

    def test_no_agreement_is_no_error(self) -> None:
        lab = Lab()
        lab.cluster.schema_outcome = (False, OSError("refresh failed"))
        lab[0].script = [schema_change()]
        future = lab.session.execute_async("CREATE KEYSPACE ks")
        assert future.result().one() is None
        assert future.is_schema_agreed is False
