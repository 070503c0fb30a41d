"""BatchStatement: what it holds, inherits and refuses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqltypes import Int32Type
from cassandra.encoder import Encoder
from cassandra.query import BatchStatement, BatchType, BoundStatement, PreparedStatement, SimpleStatement, Statement


def prepared(query_id: bytes = b"id", is_lwt: bool = False) -> PreparedStatement:
    return PreparedStatement([("ks", "t", "k", Int32Type)], query_id, (0,), "q", "ks", 4, None, None, is_lwt)


def entries(batch: BatchStatement) -> list[tuple[bool, str | bytes]]:
    return [(is_prepared, query) for is_prepared, query, _ in batch._statements_and_parameters]


def test_text_with_and_without_parameters() -> None:
    batch = BatchStatement()
    batch.add("INSERT 1").add("INSERT %s", (2,)).add("INSERT %(a)s", {"a": "x"})
    assert entries(batch) == [(False, "INSERT 1"), (False, "INSERT 2"), (False, "INSERT 'x'")]
    assert len(batch) == 3


def test_percent_signs_stay_without_parameters() -> None:
    batch = BatchStatement()
    batch.add("INSERT '100%'")
    batch.add("INSERT '100%'", ())
    assert entries(batch) == [(False, "INSERT '100%'")] * 2


def test_simple_statement() -> None:
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT %s"), (1,))
    assert entries(batch) == [(False, "INSERT 1")]


def test_prepared_and_bound() -> None:
    statement = prepared()
    batch = BatchStatement()
    batch.add(statement, (1,))
    batch.add(statement.bind((2,)))
    assert entries(batch) == [(True, b"id")] * 2
    assert [values.values for _, _, values in batch._statements_and_parameters if values is not None] == [
        [b"\x00\x00\x00\x01"],
        [b"\x00\x00\x00\x02"],
    ]


def test_a_bound_statement_keeps_the_values_it_had_when_it_was_added() -> None:
    bound = prepared().bind((1,))
    batch = BatchStatement()
    batch.add(bound)
    bound.bind((2,))
    batch.add(bound)
    values = [values.values for _, _, values in batch._statements_and_parameters if values is not None]
    assert values == [[b"\x00\x00\x00\x01"], [b"\x00\x00\x00\x02"]]


def test_a_bound_statement_takes_no_parameters() -> None:
    with pytest.raises(ValueError, match="BoundStatement"):
        BatchStatement().add(prepared().bind((1,)), (2,))


def test_a_bound_statement_without_values() -> None:
    """Binding was forgotten: say so when it is added, not with a protocol error later."""
    with pytest.raises(ValueError, match="k"):
        BatchStatement().add(BoundStatement(prepared()))


@pytest.mark.parametrize("wrong", [None, 1, BatchStatement(), Statement()])
def test_other_things_are_refused(wrong: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        BatchStatement().add(wrong)  # type: ignore[arg-type]


def test_add_all() -> None:
    batch = BatchStatement()
    batch.add_all(["a %s", "b"], [(1,), None])
    assert entries(batch) == [(False, "a 1"), (False, "b")]


def test_the_first_routable_statement_routes_the_batch() -> None:
    batch = BatchStatement()
    batch.add("INSERT")
    assert batch.routing_key is None
    batch.add(prepared(), (1,))
    batch.add(prepared(), (2,))
    assert batch.routing_key == b"\x00\x00\x00\x01"
    assert (batch.keyspace, batch.table) == ("ks", "t")


def test_a_routing_key_without_keyspace_routes_nothing() -> None:
    batch = BatchStatement()
    batch.add(SimpleStatement("INSERT", routing_key=b"k"))
    assert batch.routing_key is None
    batch.add(SimpleStatement("INSERT", routing_key=b"k", keyspace="ks"))
    assert (batch.routing_key, batch.keyspace) == (b"k", "ks")


def test_payloads_are_merged_and_the_given_one_is_not_changed() -> None:
    own = {"a": b"1"}
    batch = BatchStatement(custom_payload=own)
    batch.add(SimpleStatement("x", custom_payload={"b": b"2"}))
    batch.add(SimpleStatement("x", custom_payload={"a": b"3"}))
    assert batch.custom_payload == {"a": b"3", "b": b"2"}
    assert own == {"a": b"1"}


def test_one_lwt_makes_it_an_lwt() -> None:
    batch = BatchStatement()
    batch.add(prepared(), (1,))
    assert not batch.is_lwt()
    batch.add(prepared(is_lwt=True), (1,))
    assert batch.is_lwt()


def test_clear() -> None:
    batch = BatchStatement(BatchType.COUNTER, consistency_level=ConsistencyLevel.ONE, custom_payload={"a": b"b"})
    batch.add(prepared(is_lwt=True), (1,))
    batch.clear()
    assert len(batch) == 0
    assert batch.routing_key is None and batch.keyspace is None and batch.custom_payload is None
    assert not batch.is_lwt()
    assert batch.batch_type is BatchType.COUNTER
    assert batch.consistency_level == ConsistencyLevel.ONE


def test_at_most_65535_statements() -> None:
    batch = BatchStatement()
    for _ in range(0xFFFF):
        batch.add("x")
    with pytest.raises(ValueError, match="65535"):
        batch.add("x")
    assert len(batch) == 0xFFFF


def test_the_session_encodes_registered_types() -> None:
    class Address:
        pass

    encoder = Encoder()
    encoder.mapping[Address] = lambda value: "{street: 'x'}"
    batch = BatchStatement(session=SimpleNamespace(encoder=encoder))
    batch.add("INSERT %s", (Address(),))
    assert entries(batch) == [(False, "INSERT {street: 'x'}")]


def test_repr() -> None:
    batch = BatchStatement(BatchType.UNLOGGED)
    batch.add("x")
    assert repr(batch) == str(batch) == "<BatchStatement type=UNLOGGED, statements=1, consistency=Not Set>"
