"""From a statement and a profile to the message: precedence of settings, and the bytes on the wire."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from cassandra import ConsistencyLevel, UnsupportedOperation
from cassandra._session.config import ConfigMode
from cassandra.cluster import ExecutionProfile, ResponseFuture
from cassandra.murmur3 import murmur3
from cassandra.policies import FallthroughRetryPolicy, RetryPolicy
from cassandra.protocol import BatchMessage, ExecuteMessage, QueryMessage
from cassandra.query import (
    BatchStatement,
    BoundStatement,
    SimpleStatement,
    dict_factory,
    named_tuple_factory,
    tuple_factory,
)
from tests.unit.session.harness import Lab, prepared, rows, void

CL = ConsistencyLevel


def sent(lab: Lab, query: Any, *args: Any, **kwargs: Any) -> ResponseFuture:
    """The future of a request that has no answer yet."""
    return lab.session.execute_async(query, *args, **kwargs)


def a_statement(lab: Lab) -> Any:
    lab[0].script = [prepared()]
    return lab.session.prepare("SELECT n FROM tbl WHERE k = ?")


class TestWhatWins:
    def test_profile_values(self) -> None:
        lab = Lab(
            consistency_level=CL.QUORUM,
            serial_consistency_level=CL.LOCAL_SERIAL,
            request_timeout=7.0,
            row_factory=dict_factory,
        )
        future = sent(lab, "SELECT 1")
        assert future.message.consistency_level == CL.QUORUM
        assert future.message.serial_consistency_level == CL.LOCAL_SERIAL
        assert future.timeout == 7.0
        assert future.row_factory is dict_factory

    def test_statement_values(self) -> None:
        lab = Lab(consistency_level=CL.QUORUM, serial_consistency_level=CL.LOCAL_SERIAL)
        own = RetryPolicy()
        future = sent(
            lab,
            SimpleStatement(
                "SELECT 1", retry_policy=own, consistency_level=CL.ANY, serial_consistency_level=CL.SERIAL, fetch_size=3
            ),
        )
        assert future.message.consistency_level == CL.ANY
        assert future.message.serial_consistency_level == CL.SERIAL
        assert future.message.fetch_size == 3
        assert future._retry_policy is own

    def test_call_values(self) -> None:
        lab = Lab(request_timeout=7.0)
        future = sent(lab, "SELECT 1", timeout=1.5, paging_state=b"here")
        assert future.timeout == 1.5
        assert future.message.paging_state == b"here"
        assert sent(lab, "SELECT 1", timeout=None).timeout is None

    def test_another_profile(self) -> None:
        lab = Lab()
        lab.cluster.profile_manager.profiles["other"] = ExecutionProfile(
            lab.policy, FallthroughRetryPolicy(), CL.TWO, row_factory=tuple_factory
        )
        future = sent(lab, "SELECT 1", execution_profile="other")
        assert future.message.consistency_level == CL.TWO
        assert isinstance(future._retry_policy, FallthroughRetryPolicy)
        assert future.row_factory is tuple_factory

    def test_a_profile_changed_later(self) -> None:
        lab = Lab()
        assert sent(lab, "SELECT 1").message.consistency_level == CL.LOCAL_ONE
        lab.profile.consistency_level = CL.ALL
        assert sent(lab, "SELECT 1").message.consistency_level == CL.ALL

    def test_session_overrides(self) -> None:
        lab = Lab()
        with pytest.warns(DeprecationWarning, match="EXEC_PROFILE_DEFAULT") as told:
            lab.session.default_consistency_level = CL.THREE
        assert [one.filename for one in told] == [__file__]
        lab.session.row_factory = dict_factory
        lab.session.default_timeout = None
        future = sent(lab, "SELECT 1")
        assert (future.message.consistency_level, future.row_factory, future.timeout) == (CL.THREE, dict_factory, None)
        assert lab.session.default_consistency_level == CL.THREE
        assert lab.cluster.profile_manager.mode is ConfigMode.LEGACY
        other = ExecutionProfile(lab.policy, request_timeout=3)
        future = sent(lab, "SELECT 1", execution_profile=other)
        assert (future.timeout, future.row_factory) == (3, named_tuple_factory)
        with pytest.raises(ValueError, match="default_serial_consistency_level must be"):
            lab.session.default_serial_consistency_level = CL.ONE
        lab.session.default_serial_consistency_level = CL.SERIAL
        lab.session.default_serial_consistency_level = None

    def test_fetch_size(self) -> None:
        lab = Lab()
        assert sent(lab, "SELECT 1").message.fetch_size == 5000
        lab.session.default_fetch_size = 10
        assert sent(lab, "SELECT 1").message.fetch_size == 10
        assert sent(lab, SimpleStatement("SELECT 1", fetch_size=None)).message.fetch_size is None

    def test_timestamps(self) -> None:
        lab = Lab()
        assert sent(lab, "SELECT 1").message.timestamp is None
        lab.session.timestamp_generator = iter(range(100, 200)).__next__
        assert [sent(lab, "SELECT 1").message.timestamp for _ in range(2)] == [100, 101]
        assert sent(lab, BatchStatement()).message.timestamp == 102
        lab.session.use_client_timestamp = False
        assert sent(lab, "SELECT 1").message.timestamp is None

    def test_payloads_are_merged(self) -> None:
        lab = Lab()
        statement = SimpleStatement("SELECT 1", custom_payload={"a": b"1", "b": b"1"})
        future = sent(lab, statement, custom_payload={"b": b"2"}, execute_as="me")
        assert future.message.custom_payload == {"a": b"1", "b": b"2", "ProxyExecute": b"me"}
        assert statement.custom_payload == {"a": b"1", "b": b"1"}

    def test_tracing(self) -> None:
        lab = Lab()
        sent(lab, "SELECT 1")
        sent(lab, "SELECT 1", trace=True)
        assert [request.frame[1] & 0x02 for request in lab[0].sent] == [0, 2]


class TestMessages:
    def test_text(self) -> None:
        message = sent(Lab(), "INSERT %s %%", ("x",)).message
        assert isinstance(message, QueryMessage)
        assert message.query == "INSERT 'x' %"

    def test_text_without_parameters_is_left_alone(self) -> None:
        assert sent(Lab(), "LIKE '%s%%'").message.query == "LIKE '%s%%'"
        assert sent(Lab(), "LIKE '%s%%'", ()).message.query == "LIKE '%s%%'"

    def test_bound(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        message = sent(lab, select.bind((7,))).message
        assert isinstance(message, ExecuteMessage)
        assert message.query_id == b"id"
        assert b"\x00\x01" + struct.pack(">ii", 4, 7) in lab[0].sent[-1].body

    def test_metadata_is_skipped_when_its_id_is_known(self) -> None:
        """Without an id the server could not tell that the columns are others by now."""
        lab = Lab(protocol_version=5)
        lab[0].script = [prepared(metadata_id=b"one")]
        select = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
        assert sent(lab, select, (1,)).message.skip_meta is True
        select.update_result_metadata(select.result_metadata, None)
        assert sent(lab, select, (1,)).message.skip_meta is False
        select.update_result_metadata(None, b"none")
        assert sent(lab, select, (1,)).message.skip_meta is False

    def test_metadata_is_asked_for_where_there_are_no_ids(self) -> None:
        lab = Lab(protocol_version=4)
        select = a_statement(lab)
        assert select.result_metadata is not None
        assert sent(lab, select, (1,)).message.skip_meta is False

    def test_a_bound_statement_without_values_is_refused(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        with pytest.raises(ValueError, match="k"):
            sent(lab, BoundStatement(select))

    def test_batch(self) -> None:
        lab = Lab(consistency_level=CL.QUORUM)
        batch = BatchStatement().add("INSERT 1").add(a_statement(lab), (5,))
        message = sent(lab, batch).message
        assert isinstance(message, BatchMessage)
        assert message.consistency_level == CL.QUORUM
        body = lab[0].sent[-1].body
        assert body[:3] == b"\x00\x00\x02"
        assert b"INSERT 1" in body and b"\x01\x00\x02id\x00\x01" + struct.pack(">ii", 4, 5) in body

    def test_a_batch_that_grows_after_it_was_sent(self) -> None:
        """A request has the statements of the batch at its execution, also if it is sent again."""
        lab = Lab(hosts=2)
        batch = BatchStatement().add("INSERT 1")
        future = sent(lab, batch)
        batch.add("INSERT 2")
        assert b"INSERT 2" not in lab[0].sent[0].body
        assert future.message.queries[0][1] == "INSERT 1"

    @pytest.mark.parametrize("version", [3, 4, 5])
    def test_keyspace_only_on_protocol_5(self, version: int) -> None:
        lab = Lab(protocol_version=version)
        lab.session.keyspace = "mine"
        sent(lab, SimpleStatement("SELECT 1", keyspace="mine"))
        assert (b"mine" in lab[0].sent[-1].body) is (version == 5)

    @pytest.mark.parametrize("wrong", [None, 1, b"SELECT", ("SELECT",)])
    def test_no_statement(self, wrong: Any) -> None:
        with pytest.raises(TypeError):
            sent(Lab(), wrong)

    def test_parameters_of_a_batch(self) -> None:
        with pytest.raises(ValueError, match="batch"):
            sent(Lab(), BatchStatement(), (1,))

    def test_own_statement_class(self) -> None:
        class Mine(SimpleStatement):
            pass

        assert sent(Lab(), Mine("SELECT 1")).message.query == "SELECT 1"


class TestToken:
    def test_of_bound_values(self) -> None:
        lab = Lab()
        sent(lab, a_statement(lab), (7,))
        assert lab.pools[lab.hosts[0]].picked_tokens[-1] == murmur3(struct.pack(">i", 7))

    def test_of_a_given_routing_key(self) -> None:
        lab = Lab()
        sent(lab, SimpleStatement("SELECT 1", routing_key=b"key"))
        bound = a_statement(lab).bind((7,))
        bound.routing_key = b"other"
        sent(lab, bound)
        tokens = lab.pools[lab.hosts[0]].picked_tokens
        assert (tokens[0], tokens[-1]) == (murmur3(b"key"), murmur3(b"other"))

    def test_of_a_routing_key_that_is_text(self) -> None:
        lab = Lab()
        sent(lab, SimpleStatement("SELECT 1", routing_key="k\u00e9y"))
        assert lab.pools[lab.hosts[0]].picked_tokens[-1] == murmur3("k\u00e9y".encode())

    def test_of_a_batch(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        sent(lab, BatchStatement().add("x").add(select, (7,)).add(select, (8,)))
        assert lab.pools[lab.hosts[0]].picked_tokens[-1] == murmur3(struct.pack(">i", 7))

    def test_unknown(self) -> None:
        lab = Lab()
        sent(lab, "SELECT 1")
        assert lab.pools[lab.hosts[0]].picked_tokens == [None]


class TestListeners:
    def test_before_sending(self) -> None:
        lab = Lab()
        seen: list[Any] = []
        with lab.listening(lambda future: seen.append((future, len(lab[0].sent)))):
            future = sent(lab, "SELECT 1")
        sent(lab, "SELECT 1")
        assert seen == [(future, 0)]

    def test_may_change_the_message(self) -> None:
        lab = Lab()

        def change(future: ResponseFuture) -> None:
            future.message.consistency_level = CL.ALL

        with lab.listening(change):
            sent(lab, "SELECT 1")
        assert struct.unpack_from(">H", lab[0].sent[0].body, 4 + len("SELECT 1")) == (CL.ALL,)


class TestPrepare:
    def test_attributes_of_a_prepared_statement(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        assert select.query_id == b"id"
        assert select.query_string == "SELECT n FROM tbl WHERE k = ?"
        assert select.routing_key_indexes == [0]
        assert lab.cluster.prepared == {b"id": select}
        lab[0].script = [rows(1)]

    def test_on_all_hosts(self) -> None:
        lab = Lab(hosts=3)
        lab.cluster.prepare_on_all_hosts = True
        for index in range(3):
            lab[index].script = [prepared()]
        lab.session.prepare("SELECT 1")
        assert [len(lab[index].sent) for index in range(3)] == [1, 1, 1]

    def test_a_host_that_cannot_is_left_for_later(self, caplog: pytest.LogCaptureFixture) -> None:
        lab = Lab(hosts=3)
        lab.cluster.prepare_on_all_hosts = True
        lab[0].script = [prepared()]
        lab.pools[lab.hosts[1]].gone = True
        lab[2].script = [prepared()]
        assert lab.session.prepare("SELECT 1").query_id == b"id"
        assert "10.0.0.2" in caplog.text

    def test_keyspace(self) -> None:
        lab = Lab(protocol_version=5)
        lab[0].script = [void()]
        with pytest.raises(Exception):  # noqa: B017 - the answer is of no interest
            lab.session.prepare("SELECT 1", keyspace="mine")
        assert b"mine" in lab[0].sent[0].body

    def test_keyspace_that_cannot_be_said(self) -> None:
        lab = Lab(protocol_version=4)
        with pytest.raises(UnsupportedOperation, match="protocol version 5"):
            lab.session.prepare("SELECT 1", keyspace="mine")
        assert lab[0].sent == []
        lab.session.keyspace = "mine"
        lab[0].script = [prepared()]
        assert lab.session.prepare("SELECT 1", keyspace="mine").keyspace == "mine"

    def test_payload(self) -> None:
        lab = Lab()
        lab[0].script = [prepared()]
        lab.session.prepare("SELECT 1", custom_payload={"a": b"xyz"})
        assert b"xyz" in lab[0].sent[0].body


class TestSettingsOfAWrongType:
    """The error names the setting, not one of the encoder's integers."""

    @pytest.mark.parametrize(
        ("options", "arguments", "text"),
        [
            ({"consistency_level": "ONE"}, {}, "consistency_level must be a ConsistencyLevel, not 'ONE'"),
            ({"fetch_size": "5"}, {}, "fetch_size must be an int, not '5'"),
            ({}, {"paging_state": "00ff"}, "paging_state must be bytes, not '00ff'"),
            ({}, {"custom_payload": {"who": "me"}}, "custom_payload\\['who'\\] must be bytes, not 'me'"),
            ({}, {"timeout": "1"}, "timeout should be a number of seconds or None, not '1'"),
        ],
        ids=["consistency", "fetch_size", "paging_state", "payload", "timeout"],
    )
    def test_of_a_statement(self, options: dict[str, Any], arguments: dict[str, Any], text: str) -> None:
        lab = Lab()
        with pytest.raises(TypeError, match=text):
            lab.session.execute(SimpleStatement("SELECT 1", **options), **arguments)
        lab[0].script = [void()]
        lab.session.execute("SELECT 1")
