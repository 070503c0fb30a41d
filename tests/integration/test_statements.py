"""Every kind of statement on a real server, and what comes back with the answer."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Any
from uuid import uuid4

import pytest

from cassandra import ConsistencyLevel, InvalidRequest, OperationTimedOut, Unavailable
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResponseFuture,
    ResultSet,
    Session,
)
from cassandra.protocol import LazyProtocolHandler, ProtocolHandler, ResultMessage
from cassandra.query import (
    BatchStatement,
    HostTargetingStatement,
    SimpleStatement,
    ValueSequence,
    dict_factory,
    named_tuple_factory,
    ordered_dict_factory,
    tuple_factory,
)
from tests.integration.conftest import Connect, create_keyspace
from tests.patience import PATIENCE


@pytest.fixture(scope="module", autouse=True)
def tables(session: Session) -> None:
    session.execute("CREATE TABLE kv (k int PRIMARY KEY, v text)")
    session.execute("CREATE TABLE wide (p int, c int, v text, PRIMARY KEY (p, c))")
    for c in range(5):
        session.execute("INSERT INTO wide (p, c, v) VALUES (1, %s, %s)", (c, f"v{c}"))


class TestSimple:
    def test_no_parameters(self, session: Session) -> None:
        result = session.execute("SELECT release_version FROM system.local")
        assert isinstance(result, ResultSet)
        assert result.one().release_version.count(".") == 2

    def test_positional(self, session: Session) -> None:
        session.execute("INSERT INTO kv (k, v) VALUES (%s, %s)", (1, "it's"))
        assert session.execute("SELECT v FROM kv WHERE k = %s", [1]).one() == ("it's",)

    def test_named(self, session: Session) -> None:
        session.execute("INSERT INTO kv (k, v) VALUES (%(key)s, %(value)s)", {"key": 2, "value": None})
        assert session.execute("SELECT v FROM kv WHERE k = %(key)s", {"key": 2}).one().v is None

    def test_text_is_data_not_cql(self, session: Session) -> None:
        evil = "'); DROP TABLE kv; --%s \\ \" \U0001f600"
        session.execute("INSERT INTO kv (k, v) VALUES (3, %s)", (evil,))
        assert session.execute("SELECT v FROM kv WHERE k = 3").one().v == evil

    def test_in_with_value_sequence(self, session: Session) -> None:
        rows = session.execute("SELECT c FROM wide WHERE p = 1 AND c IN %s", (ValueSequence([1, 3]),))
        assert [row.c for row in rows] == [1, 3]

    def test_wrong_number_of_parameters_is_raised_before_anything_is_sent(self, session: Session) -> None:
        with pytest.raises(TypeError):
            session.execute("SELECT v FROM kv WHERE k = %s", (1, 2))
        with pytest.raises(TypeError):
            session.execute_async("SELECT v FROM kv WHERE k = %s AND v = %s", (1,))

    @pytest.mark.parametrize("wrong", [None, 1, b"SELECT 1", object()])
    def test_something_that_is_no_statement(self, session: Session, wrong: Any) -> None:
        with pytest.raises(TypeError):
            session.execute(wrong)

    def test_statement_object_with_parameters(self, session: Session) -> None:
        statement = SimpleStatement("SELECT v FROM wide WHERE p = %s AND c = %s", is_idempotent=True)
        assert session.execute(statement, (1, 2)).one().v == "v2"
        assert session.execute(statement, (1, 3)).one().v == "v3"


class TestResults:
    def test_columns(self, session: Session) -> None:
        result = session.execute("SELECT p, v FROM wide WHERE p = 1 AND c = 0")
        assert result.column_names == ["p", "v"]
        assert [typ.typename for typ in result.column_types or ()] == ["int", "varchar"]

    def test_a_write_has_no_rows(self, session: Session) -> None:
        result = session.execute("INSERT INTO kv (k) VALUES (10)")
        assert result.one() is None
        assert list(result) == []
        assert result.all() == []
        assert not result
        assert result.column_names is None
        assert not result.has_more_pages

    def test_no_match(self, session: Session) -> None:
        result = session.execute("SELECT * FROM kv WHERE k = -1")
        assert result.one() is None
        assert result.current_rows == []
        assert result.column_names == ["k", "v"]

    def test_index_and_equality(self, session: Session) -> None:
        result = session.execute("SELECT c FROM wide WHERE p = 1 LIMIT 2")
        assert result[0] == (0,)
        assert result[1].c == 1
        assert result == [(0,), (1,)]

    def test_index_after_iteration_is_refused(self, session: Session) -> None:
        result = session.execute("SELECT c FROM wide WHERE p = 1")
        next(iter(result))
        with pytest.raises(RuntimeError, match="iterated"):
            result[1]

    def test_result_knows_its_future_and_coordinator(self, session: Session) -> None:
        result = session.execute("SELECT c FROM wide WHERE p = 1")
        assert isinstance(result.response_future, ResponseFuture)
        assert result.response_future.coordinator_host in session.cluster.metadata.all_hosts()
        assert result.response_future.request_encoded_size > 20

    def test_text_of_any_length(self, session: Session) -> None:
        """Across slabs, sockets buffers and pages."""
        for size in (0, 1, 4_000, 70_000, 3_000_000):
            text = "é" * size
            session.execute("INSERT INTO kv (k, v) VALUES (20, %s)", (text,))
            assert session.execute("SELECT v FROM kv WHERE k = 20").one().v == text


class TestRowFactories:
    QUERY = "SELECT p, v FROM wide WHERE p = 1 AND c < 2"

    def run(self, session: Session, factory: Any, query: str = QUERY) -> ResultSet:
        profile = session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=factory)
        return session.execute(query, execution_profile=profile)

    def test_default_is_named_tuples(self, session: Session) -> None:
        rows = session.execute(self.QUERY).all()
        assert rows == [(1, "v0"), (1, "v1")]
        assert rows[0]._asdict() == {"p": 1, "v": "v0"}
        assert type(rows[0]) is type(session.execute(self.QUERY).one())

    def test_tuple(self, session: Session) -> None:
        rows = self.run(session, tuple_factory).all()
        assert rows == [(1, "v0"), (1, "v1")]
        assert type(rows[0]) is tuple

    def test_dict(self, session: Session) -> None:
        rows = self.run(session, dict_factory).all()
        assert rows == [{"p": 1, "v": "v0"}, {"p": 1, "v": "v1"}]
        assert type(rows[0]) is dict

    def test_ordered_dict(self, session: Session) -> None:
        row = self.run(session, ordered_dict_factory).one()
        assert type(row) is OrderedDict
        assert list(row.items()) == [("p", 1), ("v", "v0")]

    def test_user_callable_gets_names_and_rows(self, session: Session) -> None:
        seen: list[Any] = []

        def factory(names: Any, rows: Any) -> Any:
            seen.append(list(names))
            return [f"{row[0]}/{row[1]}" for row in rows]

        assert self.run(session, factory).all() == ["1/v0", "1/v1"]
        assert seen == [["p", "v"]]

    def test_user_callable_may_give_any_iterable(self, session: Session) -> None:
        result = self.run(session, lambda names, rows: (row[1] for row in rows))
        assert list(result) == ["v0", "v1"]
        assert set(self.run(session, lambda names, rows: {row[1] for row in rows})) == {"v0", "v1"}

    def test_user_callable_that_raises_fails_its_request_only(self, session: Session) -> None:
        def factory(names: Any, rows: Any) -> Any:
            raise LookupError("from the factory")

        with pytest.raises(LookupError, match="from the factory"):
            self.run(session, factory)
        assert session.execute(self.QUERY).one() == (1, "v0")

    def test_weird_column_names(self, session: Session) -> None:
        session.execute('CREATE TABLE weird (k int PRIMARY KEY, "a b" int, "class" int, "_x" int, "1st" int, "É" int)')
        session.execute('INSERT INTO weird (k, "a b", "class", "_x", "1st", "É") VALUES (1, 2, 3, 4, 5, 6)')
        query = 'SELECT "a b", "class", "_x", "1st", "É", count(*), max(k), token(k), writetime("_x") FROM weird'
        row = session.execute(query).one()
        assert row[:7] == (2, 3, 4, 5, 6, 1, 1)
        assert len(row._fields) == 9
        assert all(name.isidentifier() for name in row._fields)
        assert row.a_b == 2
        as_dict = self.run(session, dict_factory, query).one()
        assert (as_dict["a b"], as_dict["class"], as_dict["É"]) == (2, 3, 6)
        assert as_dict["system.max(k)"] == 1

    def test_duplicate_column_names(self, session: Session) -> None:
        query = "SELECT p, p, c AS p FROM wide WHERE p = 1 AND c = 3"
        assert session.execute(query).one()[:3] == (1, 1, 3)
        assert self.run(session, tuple_factory, query).one() == (1, 1, 3)

    def test_hundreds_of_columns(self, session: Session) -> None:
        names = [f"c{i}" for i in range(300)]
        session.execute(f"CREATE TABLE many (k int PRIMARY KEY, {', '.join(f'{n} int' for n in names)})")
        marks = ", ".join(["%s"] * 301)
        session.execute(f"INSERT INTO many (k, {', '.join(names)}) VALUES ({marks})", [0, *range(300)])
        row = session.execute("SELECT * FROM many").one()
        assert sorted(row) == sorted([0, *range(300)])
        assert row.c299 == 299

    def test_session_row_factory(self, cluster_to: Connect, cassandra_node: Any) -> None:
        session = cluster_to(cassandra_node).connect()
        assert session.row_factory is named_tuple_factory
        session.row_factory = dict_factory
        assert set(session.execute("SELECT key FROM system.local").one()) == {"key"}


class TestLightweightTransactions:
    def test_was_applied(self, session: Session) -> None:
        insert = "INSERT INTO kv (k, v) VALUES (%s, 'lwt') IF NOT EXISTS"
        key = uuid4().int & 0x7FFFFFFF
        assert session.execute(insert, (key,)).was_applied is True
        second = session.execute(insert, (key,))
        assert second.was_applied is False
        assert second.one().v == "lwt"

    @pytest.mark.parametrize("factory", [tuple_factory, dict_factory, named_tuple_factory])
    def test_was_applied_with_every_row_factory(self, session: Session, factory: Any) -> None:
        profile = session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=factory)
        key = uuid4().int & 0x7FFFFFFF
        session.execute("INSERT INTO kv (k, v) VALUES (%s, 'old') IF NOT EXISTS", (key,))
        update = "UPDATE kv SET v = 'new' WHERE k = %s IF v = 'old'"
        assert session.execute(update, (key,), execution_profile=profile).was_applied is True
        assert session.execute(update, (key,), execution_profile=profile).was_applied is False

    def test_was_applied_with_a_foreign_row_factory(self, session: Session) -> None:
        profile = session.execution_profile_clone_update(EXEC_PROFILE_DEFAULT, row_factory=lambda names, rows: rows)
        result = session.execute("INSERT INTO kv (k) VALUES (32) IF NOT EXISTS", execution_profile=profile)
        with pytest.raises(RuntimeError, match="row factory"):
            _ = result.was_applied

    def test_was_applied_of_a_read(self, session: Session) -> None:
        with pytest.raises(RuntimeError, match="exactly one row"):
            _ = session.execute("SELECT * FROM wide WHERE p = 1").was_applied

    def test_serial_consistency(self, session: Session) -> None:
        statement = SimpleStatement(
            "UPDATE kv SET v = 'x' WHERE k = 33 IF EXISTS", serial_consistency_level=ConsistencyLevel.LOCAL_SERIAL
        )
        assert session.execute(statement).was_applied is False

    @pytest.mark.parametrize("version", [3, 4, 5])
    def test_prepared(self, cluster_to: Connect, cassandra_node: Any, keyspace: str, version: int) -> None:
        """What it answers with is not known when it is prepared, and differs from answer to answer."""
        session = cluster_to(cassandra_node, protocol_version=version).connect(keyspace)
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?) IF NOT EXISTS")
        key = uuid4().int & 0x7FFFFFFF
        for _ in range(2):
            assert session.execute(insert, (key, "a")).was_applied is True
            refused = session.execute(insert, (key, "b"))
            assert refused.was_applied is False
            assert (refused.one().k, refused.one().v) == (key, "a")
            key += 1

    def test_conditional_batch(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO wide (p, c, v) VALUES (?, ?, ?) IF NOT EXISTS")
        partition = uuid4().int & 0x7FFFFFFF

        def run(*rows: int) -> bool:
            batch = BatchStatement()
            for row in rows:
                batch.add(insert, (partition, row, "x"))
            return session.execute(batch).was_applied

        assert run(1, 2) is True
        assert run(2, 3) is False
        assert [row.c for row in session.execute("SELECT c FROM wide WHERE p = %s", (partition,))] == [1, 2]

    def test_conditional_batch_as_text(self, session: Session) -> None:
        key = uuid4().int & 0x7FFFFFFF
        query = f"BEGIN BATCH INSERT INTO wide (p, c) VALUES ({key}, 1) IF NOT EXISTS; APPLY BATCH"
        assert session.execute(query).was_applied is True
        assert session.execute(query).was_applied is False

    def test_batch_without_conditions(self, session: Session) -> None:
        batch = BatchStatement().add("INSERT INTO kv (k) VALUES (1)")
        with pytest.raises(RuntimeError, match="No LWT"):
            _ = session.execute(batch).was_applied


class TestOptions:
    def test_consistency_reaches_the_server(self, session: Session) -> None:
        """One replica: TWO cannot be had, and the server says which level it was asked for."""
        with pytest.raises(NoHostAvailable) as caught:  # the default retry policy asks the next host, if there is one
            session.execute(SimpleStatement("SELECT * FROM kv", consistency_level=ConsistencyLevel.TWO))
        (error,) = caught.value.errors.values()
        assert isinstance(error, Unavailable)
        assert error.consistency == ConsistencyLevel.TWO
        assert (error.required_replicas, error.alive_replicas) == (2, 1)

    @pytest.mark.parametrize("level", ["ONE", "QUORUM", "ALL", "LOCAL_QUORUM", "LOCAL_ONE", "EACH_QUORUM"])
    def test_levels_one_replica_can_give(self, session: Session, level: str) -> None:
        consistency = ConsistencyLevel.name_to_value[level]
        session.execute(SimpleStatement("INSERT INTO kv (k, v) VALUES (40, 'x')", consistency_level=consistency))

    def test_consistency_any_is_not_taken_for_unset(self, session: Session) -> None:
        """ANY is 0. It is for writes only, so a read tells whether it was sent."""
        session.execute(SimpleStatement("INSERT INTO kv (k) VALUES (41)", consistency_level=ConsistencyLevel.ANY))
        with pytest.raises(InvalidRequest, match="ANY"):
            session.execute(SimpleStatement("SELECT * FROM kv", consistency_level=ConsistencyLevel.ANY))

    def test_client_timestamp(self, session: Session) -> None:
        before = int(time.time() * 1e6)
        session.execute("INSERT INTO kv (k, v) VALUES (42, 'x')")
        written = session.execute("SELECT writetime(v) FROM kv WHERE k = 42").one()[0]
        assert before - 1_000_000 <= written <= int(time.time() * 1e6) + 1_000_000

    def test_timestamp_generator(self, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> None:
        session = cluster_to(cassandra_node, timestamp_generator=lambda: 12345).connect(keyspace)
        session.execute("INSERT INTO kv (k, v) VALUES (4300, 'x')")
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, 'x')")
        session.execute(insert, (4301,))
        session.execute(BatchStatement().add(insert, (4302,)))
        for key in (4300, 4301, 4302):
            assert session.execute("SELECT writetime(v) FROM kv WHERE k = %s", (key,)).one() == (12345,)

    def test_no_client_timestamp(self, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> None:
        session = cluster_to(cassandra_node, timestamp_generator=lambda: 12345).connect(keyspace)
        session.use_client_timestamp = False
        session.execute("INSERT INTO kv (k, v) VALUES (44, 'x')")
        assert session.execute("SELECT writetime(v) FROM kv WHERE k = 44").one()[0] > 12345

    def test_using_timestamp_in_cql_wins(self, session: Session) -> None:
        session.execute("INSERT INTO kv (k, v) VALUES (45, 'x') USING TIMESTAMP 777")
        assert session.execute("SELECT writetime(v) FROM kv WHERE k = 45").one() == (777,)

    def test_warnings(self, session: Session) -> None:
        future = session.execute_async("SELECT count(*) FROM kv")
        assert any("Aggregation query" in warning for warning in future.warnings or ())
        assert future.result().one()[0] > 0
        assert not session.execute_async("SELECT * FROM kv WHERE k = 1").warnings

    def test_custom_payload_is_accepted(self, session: Session) -> None:
        future = session.execute_async("SELECT key FROM system.local", custom_payload={"a": b"b", "n": None})
        assert future.result().one() == ("local",)
        assert future.custom_payload is None
        prepared = session.prepare("SELECT key FROM system.local", custom_payload={"a": b"b"})
        assert session.execute(prepared, custom_payload={"c": b"d"}).one() == ("local",)

    def test_request_timeout(self, session: Session) -> None:
        statement = "SELECT * FROM wide WHERE p = 1"
        with pytest.raises(OperationTimedOut) as caught:
            session.execute(statement, timeout=0.0)
        assert caught.value.errors is not None
        assert session.execute(statement, timeout=None).one()
        assert session.execute(statement, timeout=30).one()

    def test_host(self, session: Session) -> None:
        (host,) = session.cluster.metadata.all_hosts()
        assert session.execute("SELECT key FROM system.local", host=host).one()
        pinned = HostTargetingStatement(SimpleStatement("SELECT key FROM system.local"), host)
        future = session.execute_async(pinned)
        assert future.result().one()
        assert future.attempted_hosts == [host]


@pytest.fixture(scope="module")
def profiled(cassandra_node: Any, keyspace: str) -> Any:
    profiles = {
        EXEC_PROFILE_DEFAULT: ExecutionProfile(row_factory=tuple_factory),
        "two": ExecutionProfile(consistency_level=ConsistencyLevel.TWO),
        "dict": ExecutionProfile(row_factory=dict_factory, request_timeout=20),
    }
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port, execution_profiles=profiles) as cluster:
        yield cluster.connect(keyspace)


class TestProfiles:
    def test_default_and_named(self, profiled: Session) -> None:
        query = "SELECT c FROM wide WHERE p = 1 AND c = 1"
        assert type(profiled.execute(query).one()) is tuple
        assert profiled.execute(query, execution_profile="dict").one() == {"c": 1}
        with pytest.raises(NoHostAvailable, match="TWO"):
            profiled.execute(query, execution_profile="two")

    def test_statement_wins_over_profile(self, profiled: Session) -> None:
        statement = SimpleStatement("SELECT c FROM wide", consistency_level=ConsistencyLevel.ONE)
        assert profiled.execute(statement, execution_profile="two").one()

    def test_clone(self, profiled: Session) -> None:
        profile = profiled.execution_profile_clone_update("dict", row_factory=ordered_dict_factory)
        future = profiled.execute_async("SELECT c FROM wide", execution_profile=profile)
        assert type(future.result().one()) is OrderedDict
        assert future.timeout == 20

    def test_timeout_of_the_profile(self, profiled: Session) -> None:
        assert profiled.execute_async("SELECT c FROM wide", execution_profile="dict").timeout == 20
        assert profiled.execute_async("SELECT c FROM wide", execution_profile="dict", timeout=3).timeout == 3
        assert profiled.execute_async("SELECT c FROM wide", execution_profile="dict", timeout=None).timeout is None

    def test_unknown(self, profiled: Session) -> None:
        with pytest.raises(ValueError, match="nope"):
            profiled.execute("SELECT c FROM wide", execution_profile="nope")

    def test_added_later(self, profiled: Session) -> None:
        profiled.cluster.add_execution_profile("later", ExecutionProfile(row_factory=dict_factory))
        assert profiled.execute("SELECT c FROM wide WHERE p = 1", execution_profile="later").one() == {"c": 0}

    def test_legacy_settings_are_refused_with_profiles(self, profiled: Session) -> None:
        with pytest.raises(ValueError):
            profiled.default_timeout = 3


class TestLegacySettings:
    def test_session_defaults(self, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> None:
        session = cluster_to(cassandra_node).connect(keyspace)
        assert session.default_timeout == PATIENCE
        assert session.default_consistency_level == ConsistencyLevel.LOCAL_ONE
        assert session.default_serial_consistency_level is None
        session.default_timeout = 7.5
        with pytest.warns(DeprecationWarning, match="session level"):
            session.default_consistency_level = ConsistencyLevel.TWO
        assert session.execute_async("SELECT key FROM system.local").timeout == 7.5
        with pytest.raises(NoHostAvailable, match="TWO"):
            session.execute("SELECT * FROM kv")
        with pytest.warns(DeprecationWarning, match="session level"):
            session.default_consistency_level = ConsistencyLevel.ONE
        session.execute("SELECT * FROM kv")

    def test_profiles_are_refused_with_legacy_settings(self, cluster_to: Connect, cassandra_node: Any) -> None:
        cluster = cluster_to(cassandra_node)
        session = cluster.connect()
        session.default_timeout = 5
        with pytest.raises(ValueError):
            cluster.add_execution_profile("p", ExecutionProfile())

    def test_fetch_size(self, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> None:
        session = cluster_to(cassandra_node).connect(keyspace)
        session.default_fetch_size = 2
        result = session.execute("SELECT c FROM wide WHERE p = 1")
        assert len(result.current_rows) == 2
        assert result.has_more_pages
        assert len(result.all()) == 5


class TestProtocolHandlers:
    """The seam where applications change how messages become bytes and back."""

    def test_sees_every_request_and_answer(self, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> None:
        seen: list[str] = []

        class Counting(ProtocolHandler):
            @classmethod
            def encode_message(cls, msg: Any, *args: Any, **kwargs: Any) -> bytes:
                seen.append(f"> {type(msg).__name__}")
                return super().encode_message(msg, *args, **kwargs)

            @classmethod
            def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
                message = super().decode_message(*args, **kwargs)
                seen.append(f"< {type(message).__name__}")
                return message

        session = cluster_to(cassandra_node).connect(keyspace)
        session.client_protocol_handler = Counting
        assert session.execute("SELECT c FROM wide WHERE p = 1 AND c = 2").one() == (2,)
        assert seen == ["> QueryMessage", "< ResultMessage"]
        with pytest.raises(InvalidRequest):
            session.execute("SELECT * FROM nothing_there")
        select = session.prepare("SELECT c FROM wide WHERE p = ?")
        assert len(session.execute(select, (1,)).all()) == 5

    def test_may_make_the_rows_itself(self, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> None:
        class Shouting(ResultMessage):
            @classmethod
            def recv_body(cls, f: Any, *args: Any) -> Any:
                message = super().recv_body(f, *args)
                if message.kind == 2:
                    message.parsed_rows = [tuple(str(v).upper() for v in row) for row in message.parsed_rows]
                    message.page = None
                return message

        class Handler(ProtocolHandler):
            message_types_by_opcode = {**ProtocolHandler.message_types_by_opcode, ResultMessage.opcode: Shouting}

        session = cluster_to(cassandra_node).connect(keyspace)
        session.client_protocol_handler = Handler
        result = session.execute("SELECT v, c FROM wide WHERE p = 1 AND c < 2")
        assert result.column_names == ["v", "c"]
        assert [tuple(row) for row in result] == [("V0", "0"), ("V1", "1")]
        assert result.response_future.result().one().v == "V0"

    def test_that_raises(self, cluster_to: Connect, cassandra_node: Any, keyspace: str) -> None:
        class Broken(ProtocolHandler):
            @classmethod
            def decode_message(cls, *args: Any, **kwargs: Any) -> Any:
                raise LookupError("broken handler")

        session = cluster_to(cassandra_node).connect(keyspace)
        session.client_protocol_handler = Broken
        with pytest.raises(LookupError, match="broken handler"):
            session.execute("SELECT c FROM wide")
        session.client_protocol_handler = LazyProtocolHandler
        assert session.execute("SELECT c FROM wide WHERE p = 1").one() == (0,)


class TestListeners:
    def test_called_before_sending_with_its_arguments(self, session: Session) -> None:
        seen: list[Any] = []

        def listener(future: ResponseFuture, *args: Any, **kwargs: Any) -> None:
            seen.append((future, args, kwargs, list(future.attempted_hosts), threading.current_thread()))

        session.add_request_init_listener(listener, 1, a=2)
        try:
            future = session.execute_async("SELECT key FROM system.local")
            future.result()
        finally:
            session.remove_request_init_listener(listener, 1, a=2)
        session.execute("SELECT key FROM system.local")
        assert seen == [(future, (1,), {"a": 2}, [], threading.current_thread())]

    def test_a_listener_may_add_callbacks(self, session: Session) -> None:
        done = threading.Event()

        def listener(future: ResponseFuture) -> None:
            future.add_callback(lambda rows: done.set())

        session.add_request_init_listener(listener)
        try:
            for _ in range(50):
                done.clear()
                assert session.execute("SELECT key FROM system.local").one()
                assert done.wait(10)
        finally:
            session.remove_request_init_listener(listener)

    def test_removing_an_unknown_one(self, session: Session) -> None:
        with pytest.raises(ValueError):
            session.remove_request_init_listener(print)


class TestSchemaStatements:
    def test_metadata_is_there_when_execute_returns(self, session: Session, keyspace: str) -> None:
        session.execute("CREATE TABLE ddl (k int PRIMARY KEY, v int)")
        tables = session.cluster.metadata.keyspaces[keyspace].tables
        assert list(tables["ddl"].columns) == ["k", "v"]
        session.execute("ALTER TABLE ddl ADD w text")
        assert "w" in session.cluster.metadata.keyspaces[keyspace].tables["ddl"].columns
        session.execute("DROP TABLE ddl")
        assert "ddl" not in session.cluster.metadata.keyspaces[keyspace].tables

    def test_agreement(self, session: Session) -> None:
        future = session.execute_async("CREATE TABLE IF NOT EXISTS agreed (k int PRIMARY KEY)")
        assert future.result().one() is None
        assert future.is_schema_agreed is True
        assert session.wait_for_schema_agreement() is True

    def test_functions_and_types(self, session: Session, keyspace: str) -> None:
        session.execute("CREATE TYPE point (x int, y int)")
        session.execute(
            "CREATE FUNCTION twice (n int) RETURNS NULL ON NULL INPUT RETURNS int LANGUAGE java AS 'return n * 2;'"
        )
        schema = session.cluster.metadata.keyspaces[keyspace]
        assert schema.user_types["point"].field_names == ["x", "y"]
        assert any(function.name == "twice" for function in schema.functions.values())
        assert session.execute("SELECT twice(c) FROM wide WHERE p = 1 AND c = 3").one() == (6,)
        session.execute("DROP FUNCTION twice")
        assert not any(
            function.name == "twice" for function in session.cluster.metadata.keyspaces[keyspace].functions.values()
        )

    def test_truncate(self, session: Session) -> None:
        session.execute("CREATE TABLE trunc (k int PRIMARY KEY)")
        session.execute("INSERT INTO trunc (k) VALUES (1)")
        session.execute("TRUNCATE trunc", timeout=60)
        assert session.execute("SELECT * FROM trunc").one() is None


class TestClosed:
    def test_closed_session(self, cluster_to: Connect, cassandra_node: Any) -> None:
        session = cluster_to(cassandra_node).connect()
        prepared = session.prepare("SELECT key FROM system.local")
        session.shutdown()
        session.shutdown()
        assert session.is_shutdown
        for query in ("SELECT key FROM system.local", prepared):
            with pytest.raises(Exception, match="shut down"):
                session.execute(query)
        with pytest.raises(Exception, match="shut down"):
            session.prepare("SELECT key FROM system.local")

    def test_closing_the_cluster_closes_its_sessions(self, cluster_to: Connect, cassandra_node: Any) -> None:
        cluster = cluster_to(cassandra_node)
        session = cluster.connect()
        cluster.shutdown()
        assert session.is_shutdown
        with pytest.raises(Exception, match="shut"):
            session.execute("SELECT key FROM system.local")
        with pytest.raises(Exception, match="shut"):
            cluster.connect()

    def test_other_sessions_live_on(self, cluster_to: Connect, cassandra_node: Any) -> None:
        cluster = cluster_to(cassandra_node)
        first, second = cluster.connect(), cluster.connect()
        first.shutdown()
        assert second.execute("SELECT key FROM system.local").one()

    def test_context_managers(self, cassandra_node: Any) -> None:
        with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
            with cluster.connect() as session:
                session.execute("SELECT key FROM system.local")
            assert session.is_shutdown
            assert not cluster.is_shutdown
        assert cluster.is_shutdown


def test_unknown_keyspace_at_connect(cluster_to: Connect, cassandra_node: Any) -> None:
    with pytest.raises((InvalidRequest, NoHostAvailable), match="nothing_like_this"):
        cluster_to(cassandra_node).connect("nothing_like_this")


def test_threads_share_a_session(session: Session) -> None:
    """No answer reaches another request: each thread reads what it alone wrote."""
    insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
    select = session.prepare("SELECT k, v FROM kv WHERE k = ?")
    wrong: list[Any] = []

    def work(base: int) -> None:
        try:
            for number in range(base, base + 150):
                session.execute(insert, (number, f"value {number}"))
                row = session.execute(select, (number,)).one()
                if row != (number, f"value {number}"):
                    wrong.append(row)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(1_000_000 * n,)) for n in range(1, 17)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_keyspace_of_another_name(cluster_to: Connect, cassandra_node: Any, session: Session) -> None:
    """create_keyspace of the fixtures quotes nothing; applications may need to."""
    create_keyspace(session, '"MixedCase"')
    try:
        other = cluster_to(cassandra_node).connect("MixedCase")
        other.execute("CREATE TABLE t (k int PRIMARY KEY)")
        assert other.execute("SELECT * FROM t").one() is None
        assert other.keyspace == "MixedCase"
    finally:
        session.execute('DROP KEYSPACE "MixedCase"', timeout=30)
