"""Compiled requests: the frames are those of the messages, settings are never stale, and unusual requests are not
compiled."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cluster import ExecutionProfile, ResponseFuture, Session
from cassandra.connection import ConnectionBusy
from cassandra.policies import (
    ConstantSpeculativeExecutionPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
)
from cassandra.protocol import ProtocolHandler
from cassandra.query import PreparedStatement, dict_factory, tuple_factory
from cassandra.timestamps import MonotonicTimestampGenerator
from tests.unit.session.harness import (
    Answer,
    Lab,
    Lost,
    error,
    prepared,
    routed_lab,
    rows,
    rows_without_metadata,
    unprepared,
    void,
)

VERSIONS = (4, 5)
PREPARE, EXECUTE = 9, 10


def is_compiled(future: ResponseFuture) -> bool:
    return future._execute_plan is not None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stamps", [None, lambda: 12345], ids=["unstamped", "stamped"])
def test_the_frame_is_the_messages(version: int, stamps: Callable[[], int] | None) -> None:
    lab, select = routed_lab(version)
    lab.session.timestamp_generator = stamps
    select.consistency_level = ConsistencyLevel.QUORUM
    select.serial_consistency_level = ConsistencyLevel.SERIAL
    select.fetch_size = 77
    future = lab.session.execute_async(select, (7,))
    assert is_compiled(future)
    frame = lab[0].sent[-1].frame
    assert future.message.encode(version) == frame
    assert future.message.fetch_size == 77 and future.message.timestamp == (stamps() if stamps else None)
    assert future.request_encoded_size == len(frame)
    bound = select.bind((7,))
    again = lab.session.execute_async(bound)
    assert is_compiled(again) and again.query is bound
    assert lab[0].sent[-1].frame == frame


def test_the_query_of_a_future_is_the_bound_statement() -> None:
    lab, select = routed_lab()
    future = lab.session.execute_async(select, {"k": 7})
    query = future.query
    assert query is future.query
    assert (query.prepared_statement, query.values, query.raw_values) == (select, [b"\0\0\0\x07"], {"k": 7})
    assert (query.keyspace, query.table, query.routing_key) == ("ks", "tbl", b"\0\0\0\x07")


@pytest.mark.parametrize("version", VERSIONS)
def test_rows(version: int) -> None:
    lab, select = routed_lab(version)
    lab[0].script = [rows_without_metadata(1, 2) if version >= 5 else rows(1, 2), void()]
    assert [row.n for row in lab.session.execute(select, (1,))] == [1, 2]
    assert list(lab.session.execute(select, (1,))) == []


def test_errors_of_values_name_the_column() -> None:
    lab, select = routed_lab()
    with pytest.raises(TypeError, match=r'column "k"\. .*\(ks\.tbl, \w+: '):
        lab.session.execute_async(select, ("text",))
    with pytest.raises(ValueError, match="Too many"):
        lab.session.execute_async(select, (1, 2))
    assert lab[0].sent == []


class TestSettings:
    @pytest.mark.parametrize(
        "change",
        [
            pytest.param(lambda lab, select: setattr(lab.session, "default_fetch_size", 3), id="fetch size"),
            pytest.param(lambda lab, select: setattr(select, "fetch_size", 3), id="of the statement"),
            pytest.param(lambda lab, select: setattr(select, "consistency_level", 4), id="consistency"),
            pytest.param(lambda lab, select: setattr(lab.session, "timestamp_generator", lambda: 5), id="timestamps"),
            pytest.param(lambda lab, select: setattr(lab.profile, "consistency_level", 6), id="profile"),
            pytest.param(
                lambda lab, select: setattr(lab.session, "default_consistency_level", 5),
                id="legacy",
                marks=pytest.mark.filterwarnings("ignore:Setting the consistency level:DeprecationWarning"),
            ),
        ],
    )
    def test_a_change_shows_in_the_next_request(self, change: Callable[[Lab, PreparedStatement], None]) -> None:
        lab, select = routed_lab()
        before = lab.session.execute_async(select, (1,))
        change(lab, select)
        after = lab.session.execute_async(select, (1,))
        assert is_compiled(before) and is_compiled(after)
        first, second = (sent.frame for sent in lab[0].sent)
        assert first != second
        assert (before.message.encode(4), after.message.encode(4)) == (first, second)

    def test_metadata(self) -> None:
        lab, select = routed_lab(5)
        lab.session.execute_async(select, (1,))
        select.update_result_metadata(select.result_metadata, b"other")
        lab.session.execute_async(select, (1,))
        assert b"other" in lab[0].sent[-1].frame and b"other" not in lab[0].sent[0].frame

    def test_compiled_once_per_settings(self) -> None:
        lab, select = routed_lab()
        other = ExecutionProfile(load_balancing_policy=lab.profile.load_balancing_policy, row_factory=dict_factory)
        lab.session.cluster.profile_manager.profiles["other"] = other
        made = {
            id(lab.session.execute_async(select, (1,), execution_profile=profile)._execute_plan)
            for profile in (other, "other", lab.profile) * 3
        }
        assert len(made) == 2

    def test_compiled_requests_per_statement_are_bounded(self) -> None:
        lab, select = routed_lab()
        for size in range(50):
            lab.session.default_fetch_size = size
            lab.session.execute_async(select, (1,))
        assert len(select._plans.others) <= 8

    def test_a_copy_is_another_statement(self) -> None:
        lab, select = routed_lab()
        lab.session.execute_async(select, (1,))
        twin = copy.copy(select)
        twin.consistency_level = ConsistencyLevel.ALL
        for statement in (select, twin, select):
            future = lab.session.execute_async(statement, (1,))
            assert future.prepared_statement is statement
            assert future.message.consistency_level == (statement.consistency_level or ConsistencyLevel.LOCAL_ONE)
            assert future.message.encode(4) == lab[0].sent[-1].frame


class Handler(ProtocolHandler):
    pass


@pytest.mark.parametrize(
    ("arguments", "prepare"),
    [
        pytest.param({"trace": True}, None, id="trace"),
        pytest.param({"custom_payload": {"a": b"1"}}, None, id="payload"),
        pytest.param({"paging_state": b"there"}, None, id="paging state"),
        pytest.param({"timeout": 3.0}, None, id="timeout"),
        pytest.param({}, lambda lab, select: setattr(lab.session, "client_protocol_handler", Handler), id="handler"),
        pytest.param({}, lambda lab, select: setattr(select, "custom_payload", {"b": b"2"}), id="own payload"),
        pytest.param({}, lambda lab, select: setattr(select, "consistency_level", "ONE"), id="no level"),
    ],
)
def test_the_extraordinary_goes_by_its_message(
    arguments: dict[str, Any], prepare: Callable[[Lab, PreparedStatement], None] | None
) -> None:
    lab, select = routed_lab()
    if prepare is not None:
        prepare(lab, select)
    assert not is_compiled(lab.session.execute_async(select, (1,), **arguments))


def test_speculative_ones_go_by_their_message() -> None:
    lab, select = routed_lab(speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.1, 1))
    assert is_compiled(lab.session.execute_async(select, (1,)))
    select.is_idempotent = True
    assert not is_compiled(lab.session.execute_async(select, (1,)))


class TestTrouble:
    def test_statements_with_overrides(self) -> None:
        lab, select = routed_lab()
        bound = select.bind((1,))
        bound.consistency_level = ConsistencyLevel.ALL
        future = lab.session.execute_async(bound)
        assert future.message.consistency_level == ConsistencyLevel.ALL
        assert lab[0].sent[-1].frame == future.message.encode(4)

    def test_a_full_connection(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [ConnectionBusy("full"), rows(3)]
        future = lab.session.execute_async(select, (1,))
        assert future.result().one().n == 3
        assert len(lab[0].sent) == 1 and future.attempted_hosts == lab.hosts

    def test_a_host_without_pool(self) -> None:
        lab, select = routed_lab(hosts=2)
        lab.session._pool_set.pools = {lab.hosts[1]: lab.pools[lab.hosts[1]]}  # type: ignore[dict-item]
        for _ in range(4):
            lab.session.execute_async(select, (1,))
        assert len(lab[1].sent) == 4

    def test_another_dialect(self) -> None:
        """A connection that knows no metadata ids, in a session of others."""
        lab, select = routed_lab(5)
        lab[0].protocol_version = 4
        lab.session.execute_async(select, (1,))
        assert lab[0].sent[-1].frame[0] == 4

    def test_unprepared_is_prepared_and_sent_again(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [unprepared(), prepared(), rows(5)]
        assert lab.session.execute(select, (7,)).one().n == 5
        assert [sent.opcode for sent in lab[0].sent] == [EXECUTE, PREPARE, EXECUTE]
        assert lab[0].sent[0].frame == lab[0].sent[2].frame
        assert [sent.attempt for sent in lab[0].sent if sent.opcode == EXECUTE] == [0, 2]

    def test_a_retry_has_the_consistency_level_of_the_policy(self) -> None:
        class Down(RetryPolicy):
            def on_unavailable(self, *args: Any, **kwargs: Any) -> tuple[int, int | None]:
                return self.RETRY, ConsistencyLevel.ONE

        lab, select = routed_lab(retry_policy=Down(), consistency_level=ConsistencyLevel.QUORUM)
        unavailable = error(0x1000, "few", b"\0\x04\0\0\0\2\0\0\0\1")
        lab[0].script = [unavailable, rows(5)]
        future = lab.session.execute_async(select, (7,))
        assert future.result().one().n == 5
        assert future.message.consistency_level == ConsistencyLevel.ONE
        assert lab[0].sent[1].frame == future.message.encode(4) != lab[0].sent[0].frame

    def test_a_lost_connection_before_it_was_sent(self) -> None:
        lab, select = routed_lab(hosts=2)
        lab[0].script = [Lost(sent=False)]
        lab[1].script = [Lost(sent=False)]
        future = lab.session.execute_async(select, (1,))
        assert len(future.attempted_hosts) == 2

    def test_an_error(self) -> None:
        lab, select = routed_lab(retry_policy=FallthroughRetryPolicy())
        lab[0].script = [error(0x2200, "nonsense")]
        with pytest.raises(Exception, match="nonsense"):
            lab.session.execute(select, (1,))

    def test_pages(self) -> None:
        lab, select = routed_lab()
        lab[0].script = [rows(1, more=b"two"), rows(2)]
        assert [row.n for row in lab.session.execute(select, (7,))] == [1, 2]
        assert lab[0].sent[1].frame != lab[0].sent[0].frame and b"two" in lab[0].sent[1].frame

    def test_a_listener_may_change_the_message(self) -> None:
        lab, select = routed_lab()

        def change(future: ResponseFuture) -> None:
            future.message.consistency_level = ConsistencyLevel.THREE

        with lab.listening(change):
            future = lab.session.execute_async(select, (1,))
        assert lab[0].sent[-1].frame == future.message.encode(4)
        assert future.message.consistency_level == ConsistencyLevel.THREE

    def test_a_listener_may_give_it_up(self) -> None:
        lab, select = routed_lab()
        with lab.listening(lambda future: future.cancel()):
            lab.session.execute_async(select, (1,))
        assert lab[0].sent == []

    def test_a_session_that_is_shut_down(self) -> None:
        lab, select = routed_lab()
        lab.session.shutdown()
        with pytest.raises(Exception, match="shut down"):
            lab.session.execute(select, (1,))
        assert lab[0].sent == []


def test_timestamps_never_repeat_in_frames() -> None:
    lab, select = routed_lab()
    lab.session.timestamp_generator = iter(range(100, 200)).__next__
    frames = [lab.session.execute_async(select, (1,)) for _ in range(3)]
    assert [future.message.timestamp for future in frames] == [100, 101, 102]


def test_a_clock_that_went_back_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    lab, select = routed_lab()
    lab.session.timestamp_generator = generator = MonotonicTimestampGenerator()
    generator.last = future = generator() + 3_600_000_000
    with caplog.at_level(logging.WARNING, "cassandra.timestamps"):
        stamps = [lab.session.execute_async(select, (1,)).message.timestamp for _ in range(2)]
    assert stamps == [future + 1, future + 2]
    (record,) = [each for each in caplog.records if each.name == "cassandra.timestamps"]
    assert "ahead of the clock" in record.getMessage()


def test_answers_of_other_kinds_are_unaffected() -> None:
    lab, select = routed_lab()
    lab[0].script = [Answer(8, b"\0\0\0\x63")]
    with pytest.raises(Exception, match="kind"):
        lab.session.execute(select, (1,))
    assert isinstance(lab.session, Session)


@pytest.mark.parametrize("owner", ["profile", "session"])
def test_requests_follow_the_default_profile(owner: str) -> None:
    """They are not asked for it each time."""
    lab, select = routed_lab()
    for factory, expected in [(tuple_factory, (1,)), (dict_factory, {"n": 1}), (tuple_factory, (1,))]:
        getattr(lab, owner).row_factory = factory
        for _ in range(3):
            lab[0].script = [rows(1)]
            assert lab.session.execute(select, (1,)).one() == expected


def test_one_statement_in_two_sessions_and_profiles() -> None:
    lab, select = routed_lab()
    other, _ = routed_lab()
    other.profile.row_factory = dict_factory
    lab.session.cluster.profile_manager.profiles["tuples"] = ExecutionProfile(
        lab.profile.load_balancing_policy, row_factory=tuple_factory
    )
    for _ in range(3):
        lab[0].script = [rows(1), rows(2)]
        other[0].script = [rows(3)]
        assert lab.session.execute(select, (1,)).one().n == 1
        assert lab.session.execute(select, (1,), execution_profile="tuples").one() == (2,)
        assert other.session.execute(select, (1,)).one() == {"n": 3}
