"""Prepared and bound statements, without a server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import ConsistencyLevel
from cassandra.cqltypes import Int32Type, MapType, UTF8Type
from cassandra.murmur3 import murmur3
from cassandra.policies import RetryPolicy
from cassandra.query import FETCH_SIZE_UNSET, UNSET_VALUE, BoundStatement, PreparedStatement

COLUMNS = [
    ("ks", "tbl", "k", Int32Type),
    ("ks", "tbl", "c", UTF8Type),
    ("ks", "tbl", "v", MapType.apply_parameters((UTF8Type, Int32Type))),
]


def prepared(
    columns: Any = COLUMNS, pk: Any = (0,), version: int = 4, result: Any = None, result_id: bytes | None = None
) -> PreparedStatement:
    return PreparedStatement(columns, b"\x01\x02", pk, "INSERT ...", "ks", version, result, result_id)


class TestPrepared:
    def test_attributes(self) -> None:
        statement = prepared()
        assert statement.query_id == b"\x01\x02"
        assert statement.query_string == "INSERT ..."
        assert statement.keyspace == "ks"
        assert statement.protocol_version == 4
        assert statement.is_lwt() is False
        assert statement.fetch_size is FETCH_SIZE_UNSET
        assert statement.routing_key_indexes == [0]
        assert statement.is_routing_key_index(0) and not statement.is_routing_key_index(1)

    def test_column_metadata_shows_names_and_types(self) -> None:
        shown = prepared().column_metadata
        assert [(c.keyspace_name, c.table_name, c.name) for c in shown] == [
            ("ks", "tbl", "k"),
            ("ks", "tbl", "c"),
            ("ks", "tbl", "v"),
        ]
        assert shown[0].type is Int32Type
        assert shown[2].type.cql_parameterized_type() == "map<text, int>"

    def test_repr(self) -> None:
        statement = prepared()
        statement.consistency_level = ConsistencyLevel.QUORUM
        assert repr(statement) == str(statement) == '<PreparedStatement query="INSERT ...", consistency=QUORUM>'

    def test_result_metadata_and_id_change_together(self) -> None:
        statement = prepared(result=[("ks", "tbl", "k", Int32Type)], result_id=b"one")
        before = statement.result_metadata_and_id
        statement.update_result_metadata([("ks", "tbl", "z", UTF8Type)], b"two")
        metadata, metadata_id = statement.result_metadata_and_id
        assert metadata is not None
        assert ([c.name for c in metadata], metadata_id) == (["z"], b"two")
        assert statement.result_metadata_id == b"two"
        assert before[1] == b"one"

    def test_a_write_has_no_result_metadata(self) -> None:
        assert prepared().result_metadata is None


class TestRoutingKeyFromSchema:
    """Protocol 3 does not say where the partition key is bound."""

    @staticmethod
    def schema(*key: str) -> Any:
        table = SimpleNamespace(partition_key=[SimpleNamespace(name=name) for name in key])
        return SimpleNamespace(keyspaces={"ks": SimpleNamespace(tables={"tbl": table})})

    def build(self, metadata: Any, columns: Any = COLUMNS) -> PreparedStatement:
        return PreparedStatement.from_message(b"id", columns, None, metadata, "q", "ks", 3, None, None)

    def test_single(self) -> None:
        assert self.build(self.schema("k")).routing_key_indexes == [0]

    def test_composite_in_key_order(self) -> None:
        statement = self.build(self.schema("c", "k"))
        assert statement.routing_key_indexes == [1, 0]
        assert statement.bind((1, "a", None)).routing_key == b"\x00\x01a\x00" + b"\x00\x04\x00\x00\x00\x01\x00"

    def test_not_all_components_bound(self) -> None:
        assert self.build(self.schema("k", "other")).routing_key_indexes is None

    def test_unknown_table_and_no_schema(self) -> None:
        assert self.build(SimpleNamespace(keyspaces={})).routing_key_indexes is None
        assert self.build(None).routing_key_indexes is None

    def test_no_parameters(self) -> None:
        assert self.build(self.schema("k"), []).routing_key_indexes is None


class TestBind:
    def test_positions(self) -> None:
        bound = prepared().bind((7, "x", {"a": 1}))
        assert bound.values[:2] == [b"\x00\x00\x00\x07", b"x"]
        assert bound.raw_values == (7, "x", {"a": 1})
        assert bound.routing_key == b"\x00\x00\x00\x07"

    def test_names(self) -> None:
        by_name = prepared().bind({"v": None, "c": "x", "k": 7})
        assert by_name.values == [b"\x00\x00\x00\x07", b"x", None]

    def test_token_is_that_of_the_key(self) -> None:
        bound = prepared().bind((7,))
        assert bound._bound is not None
        assert bound._bound.token == murmur3(b"\x00\x00\x00\x07")

    def test_missing_values_are_unset(self) -> None:
        assert prepared().bind((7,)).values == [b"\x00\x00\x00\x07", UNSET_VALUE, UNSET_VALUE]
        assert prepared().bind({"k": 7}).values == [b"\x00\x00\x00\x07", UNSET_VALUE, UNSET_VALUE]

    def test_missing_values_on_protocol_3(self) -> None:
        statement = prepared(version=3)
        with pytest.raises(ValueError, match="Too few"):
            statement.bind((7,))
        with pytest.raises(KeyError):
            statement.bind({"k": 7})

    def test_unset_on_protocol_3_is_refused(self) -> None:
        with pytest.raises(ValueError, match="UNSET"):
            prepared(version=3).bind((7, UNSET_VALUE, None))

    def test_too_many(self) -> None:
        with pytest.raises(ValueError, match="Too many"):
            prepared().bind((1, "a", None, 4))

    def test_a_missing_partition_key_is_refused(self) -> None:
        """Not bound at all or UNSET: there is nothing to write to."""
        for values in ((), (UNSET_VALUE, "a"), {"c": "a"}):
            with pytest.raises(ValueError, match="k"):
                prepared().bind(values)

    def test_wrong_type_names_parameter_and_types(self) -> None:
        with pytest.raises(TypeError) as caught:
            prepared().bind(("seven", "x"))
        for part in ("k", "int", "str"):
            assert part in str(caught.value)
        with pytest.raises(TypeError) as caught:
            prepared().bind((7, "x", {"a": "b"}))
        assert "'v'" in str(caught.value) or '"v"' in str(caught.value) or " v" in str(caught.value)

    def test_out_of_range_integer(self) -> None:
        with pytest.raises((TypeError, ValueError, OverflowError), match="k"):
            prepared().bind((2**31, "x"))

    def test_no_parameters_at_all(self) -> None:
        statement = PreparedStatement([], b"id", None, "SELECT", None, 4, None, None)
        assert statement.bind(()).values == []
        assert statement.bind(None).values == []
        with pytest.raises(ValueError):
            statement.bind((1,))


class TestBound:
    def test_bound_statement_inherits_prepared_statement_options(self) -> None:
        statement = prepared()
        policy = RetryPolicy()
        statement.consistency_level = ConsistencyLevel.QUORUM
        statement.serial_consistency_level = ConsistencyLevel.LOCAL_SERIAL
        statement.fetch_size = 11
        statement.retry_policy = policy
        statement.is_idempotent = True
        statement.custom_payload = {"a": b"b"}
        bound = statement.bind((1,))
        assert bound.consistency_level == ConsistencyLevel.QUORUM
        assert bound.serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL
        assert bound.fetch_size == 11
        assert bound.retry_policy is policy
        assert bound.is_idempotent is True
        assert bound.custom_payload == {"a": b"b"}
        assert (bound.keyspace, bound.table) == ("ks", "tbl")

    def test_inherits_class_attributes_of_a_subclass(self) -> None:
        class Quorum(PreparedStatement):
            consistency_level = ConsistencyLevel.QUORUM
            is_idempotent = True

        bound = Quorum(COLUMNS, b"id", (0,), "q", "ks", 4, None, None).bind((1,))
        assert bound.consistency_level == ConsistencyLevel.QUORUM
        assert bound.is_idempotent is True

    def test_own_arguments_win(self) -> None:
        statement = prepared()
        statement.consistency_level = ConsistencyLevel.QUORUM
        bound = BoundStatement(statement, consistency_level=ConsistencyLevel.ONE, fetch_size=3, routing_key=b"mine")
        bound.bind((1,))
        assert bound.consistency_level == ConsistencyLevel.ONE
        assert bound.fetch_size == 3
        assert bound.routing_key == b"mine"

    def test_setting_the_bound_statement_leaves_the_prepared_one(self) -> None:
        statement = prepared()
        bound = statement.bind((1,))
        bound.consistency_level = ConsistencyLevel.ALL
        bound.is_idempotent = True
        assert statement.consistency_level is None
        assert statement.is_idempotent is False

    def test_bind_again_replaces_everything(self) -> None:
        bound = prepared().bind((1, "a"))
        assert bound.bind((2, "b")) is bound
        assert bound.values[:2] == [b"\x00\x00\x00\x02", b"b"]
        assert bound.routing_key == b"\x00\x00\x00\x02"

    def test_not_bound_yet(self) -> None:
        bound = BoundStatement(prepared())
        assert bound.values == []
        assert bound.routing_key is None

    def test_keyspace_without_parameters_is_that_it_was_prepared_in(self) -> None:
        statement = PreparedStatement([], b"id", None, "SELECT", "other", 4, None, None)
        assert statement.bind(()).keyspace == "other"

    def test_repr(self) -> None:
        assert "values=(7,)" in repr(prepared().bind((7,)))
