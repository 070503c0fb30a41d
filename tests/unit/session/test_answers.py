"""Payloads and other parts of an answer beside its rows, and handlers that read answers themselves."""

from __future__ import annotations

import asyncio
import struct
from typing import Any
from uuid import UUID

import pytest

from cassandra import DriverException
from cassandra._core.codec import Result, RowsPage
from cassandra.cqltypes import Int32Type, UTF8Type
from cassandra.policies import ConstantSpeculativeExecutionPolicy
from cassandra.protocol import LazyProtocolHandler, ProtocolHandler, ResultMessage
from cassandra.protocol_features import ProtocolFeatures
from cassandra.query import BatchStatement, PreparedStatement, SimpleStatement, tuple_factory
from cassandra.tablets import Tablets
from tests.unit.session.harness import (
    RESULT,
    Answer,
    Lab,
    error,
    prepared,
    rows,
    rows_without_metadata,
    string,
    unprepared,
    value,
    void,
)

REPLICA = UUID(int=7)
V1 = ProtocolFeatures(tablets_routing_v1=True)
V2 = ProtocolFeatures(tablets_routing_v2=True)


def tablet(first: int, last: int, *replicas: tuple[UUID, int], version: int | None = None) -> bytes:
    """The payload as the protocol extensions describe it."""
    hosts = b"".join(value(value(host.bytes) + value(struct.pack(">i", shard))) for host, shard in replicas)
    listed = value(struct.pack(">i", len(replicas)) + hosts)
    ends = value(struct.pack(">q", first)) + value(struct.pack(">q", last))
    return ends + listed + (b"" if version is None else value(struct.pack(">q", version)))


def with_payload(answer: Answer, **payload: bytes | None) -> Answer:
    items = b"".join(string(key.replace("_", "-")) + value(data) for key, data in payload.items())
    return Answer(answer.opcode, struct.pack(">H", len(payload)) + items + answer.body, 0x04)


def lab_of(features: ProtocolFeatures) -> Lab:
    lab = Lab(hosts=2)
    lab.cluster.metadata._tablets = Tablets({})
    lab[0].features = features
    lab.session.keyspace = "ks"
    return lab


def known(lab: Lab) -> dict[tuple[str, str], list[tuple[int, int]]]:
    tables = lab.cluster.metadata._tablets._tablets
    return {key: [(one.first_token, one.last_token) for one in tablets] for key, tablets in tables.items() if tablets}


def in_table(keyspace: str | None = "ks") -> SimpleStatement:
    made = SimpleStatement("SELECT n FROM tbl", keyspace=keyspace)
    made.table = "tbl"
    return made


class TestTablets:
    ANSWER = with_payload(rows(1), tablets_routing_v1=tablet(0, 100, (REPLICA, 3)))

    def test_are_learned(self) -> None:
        lab = lab_of(V1)
        lab[0].script = [self.ANSWER]
        future = lab.session.execute_async(in_table())
        assert future.result().one() == (1,)
        assert known(lab) == {("ks", "tbl"): [(0, 100)]}
        found = lab.cluster.metadata._tablets.get_tablet_for_key("ks", "tbl", 50)
        assert list(found.replicas) == [(REPLICA, 3)]
        assert set(future.custom_payload or ()) == {"tablets-routing-v1"}

    def test_of_writes_too(self) -> None:
        lab = lab_of(V1)
        lab[0].script = [with_payload(void(), tablets_routing_v1=tablet(0, 100, (REPLICA, 3)))]
        lab.session.execute(in_table())
        assert known(lab) == {("ks", "tbl"): [(0, 100)]}

    def test_of_bound_statements(self) -> None:
        """Keyspace and table are those of the parameters."""
        lab = lab_of(V1)
        columns = [("mine", "bound", "k", Int32Type)]
        select = PreparedStatement(columns, b"id", [0], "SELECT", None, 4, None, None)
        for query in (select.bind((1,)), BatchStatement().add(select, (1,))):
            lab.cluster.metadata._tablets = Tablets({})
            lab[0].script = [self.ANSWER]
            lab.session.execute(query)
            assert known(lab) == {("mine", "bound"): [(0, 100)]}

    def test_with_versions(self) -> None:
        lab = lab_of(V2)
        lab[0].script = [with_payload(rows(1), tablets_routing_v2=tablet(0, 100, (REPLICA, 3), version=9))]
        lab.session.execute(in_table())
        assert lab.cluster.metadata._tablets.get_tablet_for_key("ks", "tbl", 50).tablet_version == 9

    @pytest.mark.parametrize(
        "features", [ProtocolFeatures(), V2, ProtocolFeatures(tablets_routing_v1=True, tablets_routing_v2=True)]
    )
    def test_payloads_of_features_that_were_not_negotiated_are_ignored(self, features: ProtocolFeatures) -> None:
        """Features of other connections do not count."""
        lab = lab_of(features)
        lab[1].features = V1
        lab[0].script = [self.ANSWER]
        lab.session.execute(in_table())
        assert known(lab) == {}

    def test_the_sessions_keyspace(self) -> None:
        lab = lab_of(V1)
        lab[0].script = [self.ANSWER] * 2
        lab.session.keyspace = None
        lab.session.execute(in_table(None))
        assert known(lab) == {}
        lab.session.keyspace = "current"
        lab.session.execute(in_table(None))
        assert known(lab) == {("current", "tbl"): [(0, 100)]}

    def test_no_table(self) -> None:
        lab = lab_of(V1)
        lab[0].script = [self.ANSWER]
        assert lab.session.execute(SimpleStatement("SELECT", keyspace="ks")).one() == (1,)
        assert known(lab) == {}

    @pytest.mark.parametrize(
        "payload", [None, tablet(0, 100), b"", b"no tablet"], ids=["null", "no replicas", "empty", "damaged"]
    )
    def test_that_are_none(self, payload: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
        """The answer is as good as without."""
        lab = lab_of(V1)
        lab[0].script = [with_payload(rows(1), tablets_routing_v1=payload)]
        assert lab.session.execute(in_table()).one() == (1,)
        assert known(lab) == {}
        assert ("ks.tbl" in caplog.text) is (payload in (b"", b"no tablet"))

    def test_other_payloads(self) -> None:
        lab = lab_of(V1)
        lab[0].script = [with_payload(rows(1), mine=b"x")]
        future = lab.session.execute_async(in_table())
        assert future.custom_payload == {"mine": b"x"}
        assert known(lab) == {}


class TestHandlers:
    """The handler that decodes, and its metadata, are chosen once per request."""

    class Own(ProtocolHandler):
        @classmethod
        def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
            message = super().decode_message(*args, **kwargs)
            if isinstance(message, ResultMessage) and message.parsed_rows is not None:
                message.parsed_rows = [tuple(-cell for cell in row) for row in message.parsed_rows]
            return message

    @pytest.fixture(autouse=True)
    def _decoding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As cassandra.connection.Connection does it."""

        def decode_with(self: Any, handler: Any, frame: Any, plan: Any = None) -> Any:
            version, body = self.protocol_version, bytes(frame)
            rest = (frame.stream, frame.flags, frame.opcode, body, None, plan)
            return handler.decode_message(version, self.features, self.context, *rest)

        monkeypatch.setattr("tests.unit.session.harness.ScriptedConnection.decode_with", decode_with, raising=False)

    def test_rows_of_its_own(self) -> None:
        lab = Lab()
        lab.session.client_protocol_handler = self.Own
        lab[0].script = [rows(1, 2, more=b"p2"), rows(3)]
        result = lab.session.execute("SELECT n FROM tbl")
        assert [row.n for row in result] == [-1, -2, -3]
        assert result.column_names == ["n"]

    def test_errors_and_the_rest_are_as_ever(self) -> None:
        from cassandra import InvalidRequest

        lab = Lab()
        lab.session.client_protocol_handler = self.Own
        lab[0].script = [error(0x2200), void(), with_payload(rows(5), mine=b"x")]
        with pytest.raises(InvalidRequest):
            lab.session.execute("SELECT")
        assert lab.session.execute("INSERT").one() is None
        future = lab.session.execute_async("SELECT")
        assert (future.result().one(), future.custom_payload) == ((-5,), {"mine": b"x"})

    def test_a_request_keeps_its_handler(self) -> None:
        """It is set for requests to come; pages of one result are of one kind."""
        lab = Lab()
        before = lab.session.execute_async("SELECT n FROM tbl")
        lab.session.client_protocol_handler = self.Own
        after = lab.session.execute_async("SELECT n FROM tbl")
        lab.session.client_protocol_handler = ProtocolHandler
        for future, sign in ((before, 1), (after, -1)):
            index = lab[0].sent.index(next(sent for sent in lab[0].sent if sent.operation is future))
            lab[0].answer(rows(1, more=b"p2"), lab[0].sent[index])
            lab[0].script = [rows(2)]
            assert [row.n for row in future.result()] == [sign, 2 * sign]

    @pytest.mark.parametrize("how", ["iter", "next", "async"])
    def test_lazy_rows_that_cannot_be_decoded(self, how: str) -> None:
        """Are an error each time: the rows behind it must not be missed without a word, nor the page be turned."""
        lab = Lab(row_factory=tuple_factory)
        lab.session.client_protocol_handler = LazyProtocolHandler
        page = rows(1, 2, 3, more=b"p2").body
        broken = page[:-16] + struct.pack(">i", 3) + b"abc" + struct.pack(">ii", 4, 3)  # the second of its rows
        lab[0].script = [Answer(RESULT, broken), rows(4)]
        result = lab.session.execute("SELECT n FROM tbl")
        taken = iter(result) if how == "iter" else result

        async def step() -> Any:
            return await result.__anext__()

        def take() -> Any:
            return asyncio.run(step()) if how == "async" else next(taken)

        assert take() == (1,)
        for _ in range(2):
            with pytest.raises(DriverException, match=r"column 'n' .* in row 1"):
                take()
        result.fetch_next_page()
        assert list(result) == [(4,)]

    def test_attempts_of_one_request_do_not_mix(self) -> None:
        """One host answers with the old columns a request sent before another host reported the new ones."""
        policy = ConstantSpeculativeExecutionPolicy(0.1, 1)
        lab = Lab(hosts=2, protocol_version=5, speculative_execution_policy=policy)
        lab.session.client_protocol_handler = self.Own
        select = PreparedStatement([], b"id", None, "SELECT *", "ks", 5, [("ks", "tbl", "n", Int32Type)], b"old")
        select.is_idempotent = True
        future = lab.session.execute_async(select)
        lab.reactor.run()
        lab[1].answer(unprepared())
        future._on_outcome()
        lab[1].answer(prepared(columns=("m", "n"), metadata_id=b"new"))
        future._on_outcome()
        lab[0].answer(rows_without_metadata(5))
        assert future.result().one()._asdict() == {"n": -5}

    def test_columns_of_its_own(self) -> None:
        """Columns made by a handler are the result's, and not those known for the prepared statement."""

        class Made(ProtocolHandler):
            @classmethod
            def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
                message = ResultMessage(2)
                message.column_names, message.column_types, message.parsed_rows = ["text"], [UTF8Type], [("made",)]
                return message

        lab = Lab()
        lab.session.client_protocol_handler = Made
        lab[0].script = [rows(1)]
        select = PreparedStatement([], b"id", None, "SELECT *", "ks", 4, [("ks", "tbl", "n", Int32Type)], None)
        result = lab.session.execute(select)
        assert (result.column_names, result.column_types) == (["text"], [UTF8Type])
        assert [row.text for row in result] == ["made"]
        assert select._result_col_names == ["n"]

    @pytest.mark.parametrize("kind", [None, 99])
    def test_results_of_no_known_kind(self, kind: int | None) -> None:
        class Odd(ProtocolHandler):
            @classmethod
            def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
                return ResultMessage(kind)

        lab = Lab()
        lab.session.client_protocol_handler = Odd
        lab[0].script = [rows(1)]
        with pytest.raises(DriverException, match=f"unknown kind of RESULT: {kind}"):
            lab.session.execute("SELECT n FROM tbl")

    def test_a_message_that_is_kept_is_whole(self) -> None:
        """A handler may hand out messages that it keeps; the driver takes nothing away from them."""
        kept: list[Any] = []

        class Keeping(ProtocolHandler):
            @classmethod
            def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
                kept.append(super().decode_message(*args, **kwargs))
                return kept[-1]

        lab = Lab()
        lab.session.client_protocol_handler = Keeping
        lab[0].script = [rows(1)]
        assert lab.session.execute("SELECT n FROM tbl").one() == (1,)
        assert kept[0].parsed_rows == [(1,)]


def test_the_bytes_of_rows_are_let_go() -> None:
    """A future that is kept keeps its rows, not the frame they came in too."""
    lab = Lab()
    lab[0].script = [rows(1), with_payload(rows(2), mine=b"x")]
    for number in (1, 2):
        future = lab.session.execute_async("SELECT n FROM tbl")
        assert future.result().one() == (number,)
        assert future._outcome is not None
        assert not any(isinstance(part, Result | RowsPage) for part in future._outcome[2])
