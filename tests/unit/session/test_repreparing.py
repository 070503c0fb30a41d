"""A host has forgotten a statement that many requests are for: it is prepared there once, and every request ends."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest, OperationTimedOut
from cassandra._session.statements.prepared import columns_query, has_types_of
from cassandra.cluster import NoHostAvailable, ResponseFuture
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.connection import ConnectionShutdown, ProtocolError
from cassandra.cqltypes import (
    BytesType,
    FloatType,
    Int32Type,
    ListType,
    LongType,
    MapType,
    SetType,
    TupleType,
    UserType,
    UTF8Type,
    VectorType,
)
from cassandra.query import BatchStatement, PreparedStatement
from tests.fakes import wire
from tests.unit.session.harness import (
    TIMED_OUT,
    Answer,
    Lab,
    Lost,
    ScriptedConnection,
    Sent,
    error,
    prepared,
    rows,
    string,
    texts,
    unprepared,
    void,
)

PREPARE, EXECUTE, BATCH = 9, 10, 13
MANY = 50

pytestmark = pytest.mark.usefixtures("as_driver_thread")  # which answers of a Lab come on


def a_statement(lab: Lab) -> Any:
    lab[0].script = [prepared()]
    made = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
    lab[0].sent.clear()
    return made


def preparing(lab: Lab, host: int = 0) -> list[Sent]:
    return [sent for sent in lab[host].sent if sent.opcode == PREPARE]


def executing(lab: Lab, host: int = 0) -> list[Sent]:
    return [sent for sent in lab[host].sent if sent.opcode != PREPARE]


def forgotten(lab: Lab, count: int = MANY, **options: Any) -> list[ResponseFuture]:
    """Requests that were told UNPREPARED, by the first host."""
    select = a_statement(lab)
    futures = [lab.session.execute_async(select, (number,), **options) for number in range(count)]
    for sent in executing(lab):
        lab[0].answer(unprepared(), sent)
    for future in futures:
        future._on_outcome()
    return futures


class TestOnce:
    def test_one_prepare_serves_all_waiting_requests(self) -> None:
        lab = Lab()
        futures = forgotten(lab)
        assert len(preparing(lab)) == 1
        lab[0].answer(prepared(), preparing(lab)[0])
        again = executing(lab)[MANY:]
        assert len(again) == MANY and len(preparing(lab)) == 1
        for number, sent in enumerate(again):
            lab[0].answer(rows(number), sent)
        assert [future.result().one().n for future in futures] == list(range(MANY))

    def test_for_one_that_comes_while_it_is_prepared(self) -> None:
        lab = Lab()
        first = forgotten(lab, 1)[0]
        late = lab.session.execute_async(first.prepared_statement, (7,))
        lab[0].answer(unprepared(), executing(lab)[1])
        late._on_outcome()
        lab[0].answer(prepared(), preparing(lab)[0])
        for number, sent in enumerate(executing(lab)[2:]):
            lab[0].answer(rows(number), sent)
        assert (first.result().one().n, late.result().one().n) == (0, 1)
        assert len(preparing(lab)) == 1

    def test_and_once_more_when_it_is_forgotten_again(self) -> None:
        lab = Lab()
        future = forgotten(lab, 1)[0]
        lab[0].script = [unprepared(), prepared(), rows(5)]
        lab[0].answer(prepared(), preparing(lab)[0])
        assert future.result().one().n == 5
        assert len(preparing(lab)) == 2

    def test_on_each_host(self) -> None:
        lab = Lab(hosts=2)
        select = a_statement(lab)
        for index in range(2):
            lab.policy.hosts = [lab.hosts[index]]
            futures = [lab.session.execute_async(select, (1,)) for _ in range(3)]
            for sent in executing(lab, index):
                lab[index].answer(unprepared(), sent)
            for future in futures:
                future._on_outcome()
        assert [len(preparing(lab, index)) for index in range(2)] == [1, 1]

    def test_with_batches(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        futures = [lab.session.execute_async(BatchStatement().add(select, (n,))) for n in range(3)]
        for sent in executing(lab):
            lab[0].answer(unprepared(), sent)
        for future in futures:
            future._on_outcome()
        lab[0].script = [void()] * 3
        lab[0].answer(prepared(), preparing(lab)[0])
        assert [future.result().one() for future in futures] == [None] * 3
        assert len(preparing(lab)) == 1


class TestNobodyIsLeftBehind:
    def test_when_the_first_one_is_cancelled(self) -> None:
        lab = Lab()
        futures = forgotten(lab, 3)
        assert futures[0].cancel()
        lab[0].script = [rows(1), rows(2)]
        lab[0].answer(prepared(), preparing(lab)[0])
        assert [future.result().one().n for future in futures[1:]] == [1, 2]
        assert len(executing(lab)) == 5

    def test_when_its_time_is_up(self) -> None:
        """Each has its own; the others may still try another host."""
        lab = Lab(hosts=2)
        futures = forgotten(lab, 3, timeout=60)
        futures[0].timeout = 1e-6  # all of it has passed
        lab[1].script = [rows(1), rows(2)]
        lab[0].answer(Lost(kind=TIMED_OUT), preparing(lab)[0])
        with pytest.raises(OperationTimedOut):
            futures[0].result()
        assert [future.result().one().n for future in futures[1:]] == [1, 2]

    def test_when_no_other_host_is_left(self) -> None:
        lab = Lab()
        futures = forgotten(lab, 2, timeout=60)
        lab[0].answer(Lost(kind=TIMED_OUT), preparing(lab)[0])
        for future in futures:
            with pytest.raises(NoHostAvailable, match="not prepared again in time"):
                future.result()

    def test_by_timers_of_their_own(self) -> None:
        """A host that is silent, and a PREPARE that has more time than later requests."""
        lab = Lab()
        future = forgotten(lab, 1, timeout=None)[0]
        late = lab.session.execute_async(future.prepared_statement, (7,), timeout=3)
        lab[0].answer(unprepared(), executing(lab)[1])
        late._on_outcome()
        (delay,) = lab.reactor.run()
        assert 0 < delay <= 3
        with pytest.raises(OperationTimedOut) as caught:
            late.result()
        assert caught.value.maybe_executed is False  # type: ignore[attr-defined]
        lab[0].script = [rows(4)]
        lab[0].answer(prepared(), preparing(lab)[0])
        assert future.result().one().n == 4
        assert lab.reactor.run() == []

    def test_when_the_server_refuses(self) -> None:
        lab = Lab()
        futures = forgotten(lab, 3)
        lab[0].answer(error(0x2200, "no such table"), preparing(lab)[0])
        for future in futures:
            with pytest.raises(InvalidRequest, match="no such table"):
                future.result()
        assert lab.session._repreparing._under_way == {}

    def test_when_the_connection_is_lost(self) -> None:
        lab = Lab(hosts=2)
        futures = forgotten(lab, 3)
        lab[1].script = [rows(n) for n in range(3)]
        lab[0].answer(Lost(sent=True), preparing(lab)[0])
        assert [future.result().one().n for future in futures] == [0, 1, 2]

    @pytest.mark.parametrize("problem", [Lost(sent=True), ConnectionShutdown("closed")], ids=["lost", "not sent"])
    def test_when_only_one_connection_to_the_host_is_lost(self, problem: Any) -> None:
        """Requests with another connection prepare by that; there may be no other host."""
        lab = Lab()
        select = a_statement(lab)
        pool, first, second = lab.pools[lab.hosts[0]], lab[0], ScriptedConnection(lab.hosts[0])
        one = lab.session.execute_async(select, (1,))
        pool.connection = second
        two = lab.session.execute_async(select, (2,))
        first.columns = None
        first.answer(unprepared())
        one._on_outcome()
        second.answer(unprepared())
        two._on_outcome()
        assert second.asked_for_columns == 0
        second.script = [prepared(), rows(5)]
        if isinstance(problem, Lost):
            first.end_asking(problem)
        else:
            first.script = [problem]
            first.end_asking(texts(("column_name", "type"), ("k", "int")))
        assert two.result().one().n == 5
        with pytest.raises(NoHostAvailable):
            one.result()
        assert lab.session._repreparing._under_way == {}

    def test_when_it_cannot_be_sent(self) -> None:
        lab = Lab(hosts=2)
        select = a_statement(lab)
        future = lab.session.execute_async(select, (1,))
        lab[0].script = [ConnectionShutdown("closed")]
        lab[1].script = [rows(8)]
        lab[0].answer(unprepared())
        assert future.result().one().n == 8
        assert lab.session._repreparing._under_way == {}

    def test_when_it_cannot_be_encoded(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        future = lab.session.execute_async(select, (1,))
        select.query_string = None
        lab[0].answer(unprepared())
        with pytest.raises(TypeError):
            future.result()

    def test_threads_that_wait(self) -> None:
        lab = Lab()
        futures = forgotten(lab, 8)
        with ThreadPoolExecutor(8) as threads:
            waiting = [threads.submit(future.result) for future in futures]
            lab[0].script = [rows(n) for n in range(8)]
            lab[0].answer(prepared(), preparing(lab)[0])
            assert sorted(one.result(30).one().n for one in waiting) == list(range(8))


# ---- parameters of other types


def prepared_as(code: int, name: str = "k") -> Answer:
    """PREPARED with a parameter of another type."""
    body = struct.pack(">iH", 4, 2) + b"id"
    body += struct.pack(">iiiH", 1, 1, 1, 0) + string("ks") + string("tbl") + string(name) + struct.pack(">H", code)
    return Answer(8, body + struct.pack(">ii", 4, 0))


TEXT = 0x0D
MESSAGE = r"'k' of ks.tbl is of type text, where it was int.*prepare it again.*SELECT n FROM tbl"


class TestOtherTypes:
    """The table was dropped and created again."""

    def test_are_refused(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared_as(TEXT)]
        with pytest.raises(DriverException, match=MESSAGE) as caught:
            lab.session.execute(select, (1094861636,))
        assert (caught.value.host, caught.value.maybe_executed) == (lab.hosts[0], False)  # type: ignore[attr-defined]
        assert len(executing(lab)) == 1

    def test_ever_after(self) -> None:
        """The server knows the id again, and would decode the bytes as values of another type."""
        lab = Lab()
        select = a_statement(lab)
        bound = select.bind((1,))
        batch = BatchStatement().add(select, (1,))
        lab[0].script = [unprepared(), prepared_as(TEXT)]
        with pytest.raises(DriverException, match=MESSAGE):
            lab.session.execute(select, (1,))
        for query, parameters in ((select, (1,)), (select, ("text",)), (bound, None), (batch, None)):
            with pytest.raises(DriverException, match=MESSAGE):
                lab.session.execute(query, parameters)
        assert len(executing(lab)) == 1

    def test_in_many_at_once(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared_as(TEXT)]
        results = execute_concurrent_with_args(
            lab.session, select, [(n,) for n in range(5)], concurrency=1, raise_on_first_error=False
        )
        assert [success for success, _ in results] == [False] * 5
        for _, problem in results:
            with pytest.raises(DriverException, match=MESSAGE):
                raise problem
        assert len(executing(lab)) == 1

    def test_in_a_batch(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared_as(TEXT)]
        with pytest.raises(DriverException, match=MESSAGE):
            lab.session.execute(BatchStatement().add("INSERT 1").add(select, (1,)))
        assert len(executing(lab)) == 1

    def test_all_waiting_requests_get_the_error_of_changed_types(self) -> None:
        lab = Lab()
        futures = forgotten(lab, 5)
        lab[0].answer(prepared_as(TEXT), preparing(lab)[0])
        for future in futures:
            with pytest.raises(DriverException, match=MESSAGE):
                future.result()

    def test_a_statement_that_is_prepared_again_works(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared_as(TEXT)]
        with pytest.raises(DriverException, match=MESSAGE):
            lab.session.execute(select, (1,))
        lab[0].script = [prepared_as(TEXT), rows(1)]
        anew = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
        assert lab.session.execute(anew, ("ABCD",)).one().n == 1


class TestLookedAtBefore:
    """A host that is sent PREPARE executes other requests on their way. So the types are looked up first."""

    def test_nothing_has_changed(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        lab[0].script = [unprepared(), prepared(), rows(1)]
        assert lab.session.execute(select, (1,)).one().n == 1
        assert lab[0].asked_for_columns == 1
        assert texts_of(preparing(lab)) == ["SELECT n FROM tbl WHERE k = ?"]

    def test_other_types(self) -> None:
        lab = Lab()
        futures = forgotten_with(lab, {"k": "text"})
        assert texts_of(preparing(lab)) == ["SELECT n FROM tbl WHERE k = ? "]
        lab[0].answer(prepared_as(TEXT), preparing(lab)[0])
        for future in futures:
            with pytest.raises(DriverException, match=MESSAGE):
                future.result()
        assert len(preparing(lab)) == 1 and len(executing(lab)) == len(futures)
        assert lab.session._repreparing._under_way == {}

    def test_a_request_that_was_on_its_way(self) -> None:
        lab = Lab()
        select = a_statement(lab)
        futures = [lab.session.execute_async(select, (1,)) for _ in range(2)]
        lab[0].columns = {"k": "text"}
        lab[0].script = [prepared_as(TEXT)]
        for future, sent in zip(futures, executing(lab), strict=True):
            lab[0].answer(unprepared(), sent)
            with pytest.raises(DriverException, match=MESSAGE):
                future.result()
        assert len(preparing(lab)) == 1

    @pytest.mark.parametrize("columns", [{}, {"other": "int"}, {"k": "frozen<address>"}, {"k": "<"}])
    def test_types_unknown_from_columns_are_checked_by_another_prepare(self, columns: dict[str, str]) -> None:
        lab = Lab()
        futures = forgotten_with(lab, columns)
        lab[0].answer(prepared(b"other"), preparing(lab)[0])
        lab[0].answer(prepared(), preparing(lab)[1])
        assert texts_of(preparing(lab)) == ["SELECT n FROM tbl WHERE k = ? ", "SELECT n FROM tbl WHERE k = ?"]
        for number, sent in enumerate(executing(lab)[len(futures) :]):
            lab[0].answer(rows(number), sent)
        assert [future.result().one().n for future in futures] == list(range(len(futures)))

    def test_the_table_is_gone(self) -> None:
        lab = Lab()
        futures = forgotten_with(lab, {})
        lab[0].answer(error(0x2200, "no such table"), preparing(lab)[0])
        for future in futures:
            with pytest.raises(InvalidRequest, match="no such table"):
                future.result()
        assert len(preparing(lab)) == 1

    def test_no_answer_about_the_columns(self) -> None:
        lab = Lab(hosts=2)
        futures = forgotten_with(lab, None, count=2, timeout=60)
        assert preparing(lab) == []
        lab[1].script = [rows(1), rows(2)]
        lab[0].end_asking(Lost(kind=TIMED_OUT))
        assert [future.result().one().n for future in futures] == [1, 2]
        assert lab.session._repreparing._under_way == {}

    def test_the_connection_is_lost_while_looking(self) -> None:
        lab = Lab(hosts=2)
        futures = forgotten_with(lab, {}, count=2)
        lab[1].script = [rows(1), rows(2)]
        lab[0].answer(Lost(sent=True), preparing(lab)[0])
        assert [future.result().one().n for future in futures] == [1, 2]

    def test_an_answer_that_is_none(self) -> None:
        lab = Lab()
        futures = forgotten_with(lab, {}, count=2)
        lab[0].answer(Answer(8, b"\0"), preparing(lab)[0])
        for future in futures:
            with pytest.raises(ProtocolError):
                future.result()

    def test_of_several_with_one_id_some_have_other_types(self) -> None:
        """One was prepared before the table was created again, the other after that."""
        lab = Lab()
        old = a_statement(lab)
        before = lab.session.execute_async(old, (1,))
        lab[0].script = [prepared_as(TEXT)]
        new = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
        lab[0].columns = {"k": "text"}
        after = lab.session.execute_async(new, ("x",))
        for future, sent in zip((before, after), executing(lab), strict=True):
            lab[0].answer(unprepared(), sent)
            future._on_outcome()
        lab[0].answer(prepared_as(TEXT), preparing(lab)[1])
        with pytest.raises(DriverException, match=MESSAGE):
            before.result()
        lab[0].script = [rows(1)]
        lab[0].answer(prepared_as(TEXT), preparing(lab)[2])
        assert after.result().one().n == 1

    def test_without_parameters(self) -> None:
        lab = Lab()
        select = PreparedStatement([], b"id", None, "SELECT n FROM tbl", None, 4, None, None)
        lab[0].script = [unprepared(), prepared(), rows(1)]
        assert lab.session.execute(select).one().n == 1
        assert lab[0].asked_for_columns == 0
        assert texts_of(preparing(lab)) == ["SELECT n FROM tbl"]


def texts_of(sent: list[Sent]) -> list[str]:
    return [wire.read_long_string(one.body) for one in sent]


def forgotten_with(lab: Lab, columns: dict[str, str] | None, count: int = 5, **options: Any) -> list[ResponseFuture]:
    lab[0].columns = columns
    return forgotten(lab, count, **options)


COLUMNS = {
    "i": "int",
    "s": "text",
    "l": "frozen<list<int>>",
    "m": "map<text, frozen<set<bigint>>>",
    "t": "frozen<tuple<int, text>>",
    "v": "vector<float, 3>",
    "u": "frozen<address>",
    "c": "'org.example.Own'",
}
SET = SetType.apply_parameters((LongType,))
VECTOR = VectorType.apply_parameters((FloatType, 3))


@pytest.mark.parametrize(
    "name, kind, same",
    [
        ("i", Int32Type, True),
        ("i", LongType, False),
        ("s", UTF8Type, True),
        ("l", ListType.apply_parameters((Int32Type,)), True),
        ("l", ListType.apply_parameters((LongType,)), False),
        ("l", SetType.apply_parameters((Int32Type,)), False),
        ("m", MapType.apply_parameters((UTF8Type, SET)), True),
        ("m", MapType.apply_parameters((UTF8Type, Int32Type)), False),
        ("t", TupleType.apply_parameters((Int32Type, UTF8Type)), True),
        ("t", TupleType.apply_parameters((Int32Type,)), False),
        ("v", VECTOR, True),
        ("v", VectorType.apply_parameters((FloatType, 4)), False),
        ("v", Int32Type, False),
        ("c", BytesType, False),
        ("gone", Int32Type, False),
        ("[ttl]", Int32Type, True),
    ],
)
def test_parameter_types_are_compared_with_schema_columns(name: str, kind: Any, same: bool) -> None:
    rows_of_it = [{"column_name": column, "type": text} for column, text in COLUMNS.items()]
    made = PreparedStatement([("ks", "t", name, kind)], b"id", None, "INSERT", "ks", 4, None, None)
    assert has_types_of(made, rows_of_it) is same


def test_columns_query_only_for_positional_markers_of_one_table() -> None:
    specs = [("k's", "t", "i", Int32Type), ("k's", "t", "s", UTF8Type)]
    made = PreparedStatement(specs, b"id", None, "INSERT ?", "ks", 4, None, None)
    question = columns_query(made)
    assert question is not None and question.endswith("keyspace_name = 'k''s' AND table_name = 't'")
    named = PreparedStatement(specs, b"id", None, "INSERT :s", "ks", 4, None, None)
    several = PreparedStatement([*specs, ("k", "t2", "i", Int32Type)], b"id", None, "BEGIN", "ks", 4, None, None)
    assert columns_query(named) is None and columns_query(several) is None


UDT = UserType.make_udt_class("ks", "address", ("street",), (UTF8Type,))
LONGER = UserType.make_udt_class("ks", "address", ("road", "zip"), (UTF8Type, Int32Type))
OTHER = UserType.make_udt_class("ks", "address", ("street",), (Int32Type,))
ANOTHER = UserType.make_udt_class("ks", "place", ("street",), (UTF8Type,))


@pytest.mark.parametrize(
    "before, now, same",
    [
        (Int32Type, Int32Type, True),
        (Int32Type, UTF8Type, False),
        (UDT, UDT, True),
        (UDT, LONGER, True),  # ALTER TYPE ADD, RENAME
        (LONGER, UDT, False),
        (UDT, OTHER, False),
        (UDT, ANOTHER, False),
        (ListType.apply_parameters((UDT,)), ListType.apply_parameters((LONGER,)), True),
        (ListType.apply_parameters((Int32Type,)), ListType.apply_parameters((UTF8Type,)), False),
        (TupleType.apply_parameters((Int32Type,)), TupleType.apply_parameters((Int32Type, Int32Type)), False),
    ],
)
def test_changed_parameter_types_are_refused(before: Any, now: Any, same: bool) -> None:
    def of(kind: Any) -> PreparedStatement:
        return PreparedStatement([("ks", "t", "k", kind)], b"id", None, "INSERT", "ks", 4, None, None)

    old = of(before)
    if same:
        old._compare(of(now)._bind_plan)
    else:
        with pytest.raises(DriverException, match=r"'k' of ks.t is of type (.*), where it was") as caught:
            old._compare(of(now)._bind_plan)
        (new_type, old_type) = str(caught.value).split("is of type ")[1].split(". Values")[0].split(", where it was ")
        assert new_type != old_type
