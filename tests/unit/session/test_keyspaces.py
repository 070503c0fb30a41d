"""The keyspace that goes into a request: nothing is executed in another one than its statements say."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import UnsupportedOperation
from cassandra.cqltypes import Int32Type
from cassandra.query import BatchStatement, BoundStatement, PreparedStatement, SimpleStatement
from tests.unit.session.harness import Lab

VERSIONS = [3, 4, 5]
OLD = [3, 4]


def lab_in(keyspace: str | None, version: int) -> Lab:
    lab = Lab(protocol_version=version)
    lab.session.keyspace = keyspace
    return lab


def bound_to(of: str, **given: Any) -> BoundStatement:
    statement = PreparedStatement([(of, "t", "k", Int32Type)], of[::-1].encode(), (0,), "INSERT", of, 4, None, b"m")
    return BoundStatement(statement, **given).bind((1,))


def sent_keyspace(lab: Lab, statement: Any) -> str | None:
    """The keyspace of the message, which its bytes have too."""
    future = lab.session.execute_async(statement)
    keyspace: str | None = future.message.keyspace
    assert (keyspace is not None) is (b"\0\x05mine_" in lab[0].sent[-1].body)
    future.cancel()
    return keyspace


class TestText:
    def test_says_it_on_protocol_5(self) -> None:
        assert sent_keyspace(lab_in("other", 5), SimpleStatement("SELECT 1", keyspace="mine_")) == "mine_"
        assert sent_keyspace(lab_in("mine_", 5), SimpleStatement("SELECT 1", keyspace="mine_")) == "mine_"
        assert sent_keyspace(lab_in("mine_", 5), SimpleStatement("SELECT 1")) is None

    @pytest.mark.parametrize("version", OLD)
    @pytest.mark.parametrize("current", [None, "other"])
    def test_is_refused_where_it_cannot_be_said(self, version: int, current: str | None) -> None:
        lab = lab_in(current, version)
        with pytest.raises(UnsupportedOperation, match=f"'mine_'.* version 5.*this is {version}.*{current or 'no'}"):
            lab.session.execute(SimpleStatement("SELECT 1", keyspace="mine_"))
        assert lab[0].sent == []

    @pytest.mark.parametrize("version", OLD)
    def test_needs_nothing_said_in_a_session_of_it(self, version: int) -> None:
        assert sent_keyspace(lab_in("mine_", version), SimpleStatement("SELECT 1", keyspace="mine_")) is None


@pytest.mark.parametrize("version", VERSIONS)
class TestBound:
    def test_is_of_the_keyspace_it_was_prepared_in(self, version: int) -> None:
        lab = lab_in("other", version)
        lab.session.execute_async(bound_to("mine_"))
        lab.session.execute_async(bound_to("mine_", keyspace="mine_"))
        assert len(lab[0].sent) == 2

    def test_is_refused_if_it_says_another(self, version: int) -> None:
        lab = lab_in("other", version)
        with pytest.raises(UnsupportedOperation, match=r"'other'.*'mine_'.*prepare\(keyspace='other'\)"):
            lab.session.execute(bound_to("mine_", keyspace="other"))
        with pytest.raises(UnsupportedOperation, match="'other'"):
            BatchStatement().add(bound_to("mine_", keyspace="other"))
        assert lab[0].sent == []

    def test_without_parameters(self, version: int) -> None:
        """Where it was prepared, which may not be where its table is; its columns tell."""
        lab = lab_in("now", version)
        columns = [("ks", "tbl", "n", Int32Type)]
        statement = PreparedStatement([], b"id", None, "SELECT n FROM ks.tbl", "now", version, columns, b"m")
        for keyspace in (None, "now", "ks"):
            assert lab.session.execute_async(BoundStatement(statement, keyspace=keyspace)).message is not None
        with pytest.raises(UnsupportedOperation, match=r"'other'.*'ks' or 'now'"):
            lab.session.execute(BoundStatement(statement, keyspace="other"))


class TestBatch:
    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("current", [None, "other"])
    def test_text_is_of_the_session(self, version: int, current: str | None) -> None:
        """The keyspaces of the bound statements around it do not matter."""
        batch = BatchStatement().add(bound_to("mine_")).add("INSERT 1").add(bound_to("third"))
        assert sent_keyspace(lab_in(current, version), batch) is None
        assert batch.keyspace == "mine_"  # it is routed by that

    @pytest.mark.parametrize("version", VERSIONS)
    def test_of_bound_statements_only(self, version: int) -> None:
        batch = BatchStatement().add(bound_to("mine_")).add(bound_to("third"))
        assert sent_keyspace(lab_in("other", version), batch) is None

    def test_text_that_says_it(self) -> None:
        batch = BatchStatement().add(SimpleStatement("INSERT 1", keyspace="mine_")).add(bound_to("third"))
        assert sent_keyspace(lab_in("other", 5), batch) == "mine_"
        assert sent_keyspace(lab_in(None, 5), batch) == "mine_"

    @pytest.mark.parametrize("version", OLD)
    def test_another_keyspace_of_text_is_refused_before_protocol_5(self, version: int) -> None:
        batch = BatchStatement().add(SimpleStatement("INSERT 1", keyspace="mine_"))
        with pytest.raises(UnsupportedOperation, match=r"'mine_' of a batch.*protocol version 5"):
            lab_in("other", version).session.execute(batch)
        assert sent_keyspace(lab_in("mine_", version), batch) is None

    @pytest.mark.parametrize("version", VERSIONS)
    def test_texts_that_agree_with_the_session(self, version: int) -> None:
        batch = BatchStatement().add("INSERT 1").add(SimpleStatement("INSERT 2", keyspace="mine_"))
        assert sent_keyspace(lab_in("mine_", version), batch) == ("mine_" if version == 5 else None)

    @pytest.mark.parametrize("version", VERSIONS)
    @pytest.mark.parametrize("current", [None, "other"])
    def test_texts_that_do_not_agree(self, version: int, current: str | None) -> None:
        lab = lab_in(current, version)
        batch = BatchStatement().add("INSERT 1").add(SimpleStatement("INSERT 2", keyspace="mine_"))
        with pytest.raises(UnsupportedOperation, match=f"{current or 'no keyspace'}.*INSERT 1.*'mine_': INSERT 2"):
            lab.session.execute(batch)
        two = BatchStatement().add(SimpleStatement("INSERT " + "3" * 500, keyspace="a"))
        with pytest.raises(UnsupportedOperation, match=r"'a': INSERT 3+…; keyspace 'mine_'"):
            lab.session.execute(two.add(SimpleStatement("INSERT 2", keyspace="mine_")))
        assert lab[0].sent == []

    def test_a_keyspace_that_was_set(self) -> None:
        """It is the keyspace of text that names none itself."""
        batch = BatchStatement().add(bound_to("third")).add("INSERT 1")
        batch.add(SimpleStatement("INSERT 2", keyspace="mine_"))
        batch.keyspace = "mine_"
        assert sent_keyspace(lab_in("other", 5), batch) == "mine_"
        with pytest.raises(UnsupportedOperation, match="'mine_'"):
            lab_in("other", 4).session.execute(batch)
        batch.add(SimpleStatement("INSERT 3", keyspace="fourth"))
        with pytest.raises(UnsupportedOperation, match=r"'mine_'.*'fourth'"):
            lab_in("other", 5).session.execute(batch)

    def test_cleared(self) -> None:
        batch = BatchStatement().add(SimpleStatement("INSERT 1", keyspace="mine_"))
        batch.keyspace = "mine_"
        batch.clear()
        assert sent_keyspace(lab_in("other", 4), batch.add("INSERT 2")) is None
