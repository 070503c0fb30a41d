"""Statements: what they override, how routing keys are packed, parameters as literals."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from cassandra import ConsistencyLevel
from cassandra._session.statements.statement import NOT_SET
from cassandra.cluster import EXEC_PROFILE_DEFAULT
from cassandra.encoder import Encoder
from cassandra.policies import RetryPolicy
from cassandra.query import (
    FETCH_SIZE_UNSET,
    BatchType,
    HostTargetingStatement,
    SimpleStatement,
    Statement,
    ValueSequence,
    bind_params,
)


class TestOverrides:
    def test_a_plain_statement_overrides_nothing(self) -> None:
        statement = SimpleStatement("SELECT 1")
        assert statement.query_string == "SELECT 1"
        assert statement.consistency_level is None
        assert statement.serial_consistency_level is None
        assert statement.retry_policy is None
        assert statement.routing_key is None
        assert statement.keyspace is None
        assert statement.table is None
        assert statement.custom_payload is None
        assert statement.is_idempotent is False
        assert statement.fetch_size is FETCH_SIZE_UNSET
        assert statement.is_lwt() is False

    def test_every_argument_is_kept(self) -> None:
        policy = RetryPolicy()
        statement = Statement(
            policy,
            ConsistencyLevel.QUORUM,
            b"key",
            ConsistencyLevel.LOCAL_SERIAL,
            100,
            "ks",
            {"a": b"b"},
            True,
            "tbl",
        )
        assert statement.retry_policy is policy
        assert statement.consistency_level == ConsistencyLevel.QUORUM
        assert statement.routing_key == b"key"
        assert statement.serial_consistency_level == ConsistencyLevel.LOCAL_SERIAL
        assert statement.fetch_size == 100
        assert (statement.keyspace, statement.table) == ("ks", "tbl")
        assert statement.custom_payload == {"a": b"b"}
        assert statement.is_idempotent is True

    def test_consistency_any_is_a_level_not_an_absence(self) -> None:
        """ANY is 0, which is false."""
        statement = SimpleStatement("x", consistency_level=ConsistencyLevel.ANY)
        assert statement.consistency_level == 0
        assert "consistency=ANY" in repr(statement)

    def test_fetch_size_none_means_one_page(self) -> None:
        assert SimpleStatement("x", fetch_size=None).fetch_size is None

    def test_statements_do_not_share_state(self) -> None:
        first, second = SimpleStatement("a"), SimpleStatement("b")
        first.consistency_level = ConsistencyLevel.ALL
        first.is_idempotent = True
        assert second.consistency_level is None
        assert second.is_idempotent is False

    @pytest.mark.parametrize("level", [ConsistencyLevel.QUORUM, ConsistencyLevel.ANY, 99])
    def test_serial_consistency_is_checked(self, level: int) -> None:
        with pytest.raises(ValueError, match="serial_consistency_level must be"):
            SimpleStatement("x", serial_consistency_level=level)
        statement = SimpleStatement("x")
        with pytest.raises(ValueError, match="serial_consistency_level must be"):
            statement.serial_consistency_level = level

    def test_serial_consistency_can_be_taken_back(self) -> None:
        statement = SimpleStatement("x", serial_consistency_level=ConsistencyLevel.SERIAL)
        del statement.serial_consistency_level
        assert statement.serial_consistency_level is None

    def test_something_that_is_no_retry_policy_is_refused(self) -> None:
        with pytest.raises(ValueError, match="retry_policy"):
            SimpleStatement("x", retry_policy=object())  # type: ignore[arg-type]

    def test_repr_shows_query_and_consistency(self) -> None:
        statement = SimpleStatement("SELECT 1", consistency_level=ConsistencyLevel.ONE)
        assert repr(statement) == str(statement) == '<SimpleStatement query="SELECT 1", consistency=ONE>'
        assert "consistency=Not Set" in repr(SimpleStatement("SELECT 1"))

    def test_classes_show_their_public_path(self) -> None:
        assert {cls.__module__ for cls in (Statement, SimpleStatement, BatchType)} == {"cassandra.query"}


class TestRoutingKey:
    def test_bytes(self) -> None:
        assert SimpleStatement("x", routing_key=b"k").routing_key == b"k"

    def test_bytearray_is_shown_as_bytes(self) -> None:
        assert type(SimpleStatement("x", routing_key=bytearray(b"k")).routing_key) is bytes

    def test_one_component_is_the_key_itself(self) -> None:
        assert SimpleStatement("x", routing_key=[b"k"]).routing_key == b"k"

    def test_components_are_packed_with_length_and_zero(self) -> None:
        statement = SimpleStatement("x", routing_key=[b"ab", b"", b"c"])
        assert statement.routing_key == b"\x00\x02ab\x00" + b"\x00\x00\x00" + b"\x00\x01c\x00"

    def test_text_is_utf_8_and_stays_text(self) -> None:
        statement = SimpleStatement("x", routing_key="k\u00e9")
        assert statement.routing_key == "k\u00e9"
        statement.routing_key = ["a", b"b"]
        assert statement.routing_key == b"\x00\x01a\x00\x00\x01b\x00"

    def test_set_and_delete(self) -> None:
        statement = SimpleStatement("x")
        statement.routing_key = [b"a", b"b"]
        assert statement.routing_key == b"\x00\x01a\x00\x00\x01b\x00"
        del statement.routing_key
        assert statement.routing_key is None


class TestBindParams:
    def test_sequence(self) -> None:
        assert bind_params("INSERT (%s, %s)", ("O'Hara", 3), Encoder()) == "INSERT ('O''Hara', 3)"

    def test_names(self) -> None:
        assert bind_params("%(b)s %(a)s %(b)s", {"a": 1, "b": "x"}, Encoder()) == "'x' 1 'x'"

    def test_any_mapping_is_by_name(self) -> None:
        class Lazy(Mapping[str, Any]):
            def __getitem__(self, key: str) -> Any:
                return {"a": 1}[key]

            def __iter__(self) -> Any:
                return iter(["a"])

            def __len__(self) -> int:
                return 1

        assert bind_params("%(a)s", Lazy(), Encoder()) == "1"

    def test_null_uuid_bytes_collections(self) -> None:
        uuid = UUID(int=1)
        text = bind_params("%s %s %s %s %s", (None, uuid, b"\x01\xff", [1, None], {"k": 1.5}), Encoder())
        assert text == f"NULL {uuid} 0x01ff [1, NULL] {{'k': 1.5}}"

    def test_value_sequence_for_in(self) -> None:
        assert bind_params("IN %s", (ValueSequence((1, "a")),), Encoder()) == "IN (1, 'a')"

    def test_percent_sign_is_doubled_only_with_parameters(self) -> None:
        assert bind_params("LIKE '%%x' AND a = %s", (1,), Encoder()) == "LIKE '%x' AND a = 1"

    @pytest.mark.parametrize(
        ("query", "params", "error", "text"),
        [
            (
                "a = %s AND b = %s",
                (1,),
                TypeError,
                "1 parameter(s) do not match the placeholders of 'a = %s AND b = %s'",
            ),
            ("%s", (1, 2), TypeError, "2 parameter(s) do not match"),
            ("a = ?", (1,), TypeError, "? is for prepared statements"),
            ("%(a)s", {"b": 1}, KeyError, "parameters ['b'] do not match the placeholders of '%(a)s' ('a')"),
            ("b LIKE '%y' AND a = %s", (1,), ValueError, "a percent sign is %%"),
            ("%s", 1, TypeError, "parameters must be a sequence or a mapping, not int; one value is given as (value,)"),
            ("%s", "ab", TypeError, "2 parameter(s) (text counts as one per character: put it into a tuple) do not"),
        ],
        ids=["few", "many", "prepared", "unknown", "percent", "scalar", "text"],
    )
    def test_that_do_not_fit(self, query: str, params: Any, error: type[Exception], text: str) -> None:
        with pytest.raises(error) as caught:
            bind_params(query, params, Encoder())
        assert type(caught.value) is error and text in caught.value.args[0]


class TestBatchType:
    def test_values_of_the_protocol(self) -> None:
        assert [kind.value for kind in (BatchType.LOGGED, BatchType.UNLOGGED, BatchType.COUNTER)] == [0, 1, 2]
        assert str(BatchType.COUNTER) == "COUNTER"
        assert repr(BatchType.UNLOGGED) == "BatchType.UNLOGGED"


class TestHostTargeting:
    def test_reads_through_to_the_inner_statement(self) -> None:
        inner = SimpleStatement("SELECT 1", consistency_level=ConsistencyLevel.TWO)
        pinned = HostTargetingStatement(inner, "host1")
        assert isinstance(pinned, SimpleStatement)
        assert isinstance(pinned, HostTargetingStatement)
        assert pinned.target_host == "host1"
        assert pinned.query_string == "SELECT 1"
        assert pinned.consistency_level == ConsistencyLevel.TWO

    def test_leaves_the_inner_statement_alone(self) -> None:
        inner = SimpleStatement("SELECT 1")
        one, two = (HostTargetingStatement(inner, host) for host in ("host1", "host2"))
        assert (one.target_host, two.target_host) == ("host1", "host2")
        assert not hasattr(inner, "target_host")


@pytest.mark.parametrize("marker", [EXEC_PROFILE_DEFAULT, FETCH_SIZE_UNSET, NOT_SET], ids=repr)
def test_markers_keep_their_identity_when_pickled(marker: object) -> None:
    assert pickle.loads(pickle.dumps(marker)) is marker
