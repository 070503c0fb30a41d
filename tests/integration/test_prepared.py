"""Prepared statements over their life: schema changes, restarts, keyspaces, many threads, memory."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import pytest

from cassandra import DriverException, InvalidRequest
from cassandra.cluster import Cluster, Session
from cassandra.protocol import ServerError
from cassandra.query import UNSET_VALUE, BatchStatement, BoundStatement, tuple_factory
from tests.integration.conftest import Connect, create_keyspace


@pytest.fixture(scope="module", autouse=True)
def table(session: Session) -> None:
    session.execute("CREATE TABLE kv (k int PRIMARY KEY, v text)")
    session.execute("CREATE TABLE multi (a int, b text, c int, v int, PRIMARY KEY ((a, b), c))")


class TestExecute:
    def test_positional_and_named(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
        session.execute(insert, (1, "one"))
        session.execute(insert, [2, "two"])
        session.execute(insert, {"v": "three", "k": 3})
        select = session.prepare("SELECT v FROM kv WHERE k = :key")
        assert session.execute(select, {"key": 1}).one() == ("one",)
        assert session.execute(select, (3,)).one() == ("three",)

    def test_bound(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
        bound = insert.bind((4, "four"))
        session.execute(bound)
        session.execute(bound.bind((5, "five")))
        assert {row.k for row in session.execute("SELECT k FROM kv WHERE k IN (4, 5)")} == {4, 5}

    def test_bound_by_hand(self, session: Session) -> None:
        bound = BoundStatement(session.prepare("SELECT * FROM kv WHERE k = ?")).bind((1,))
        assert session.execute(bound).one().v == "one"

    def test_no_parameters(self, session: Session) -> None:
        select = session.prepare("SELECT key FROM system.local")
        assert session.execute(select).one() == ("local",)
        assert session.execute(select, ()).one() == ("local",)
        assert session.execute(select, None).one() == ("local",)
        with pytest.raises(ValueError):
            session.execute(select, (1,))

    def test_the_same_marker_twice(self, session: Session) -> None:
        select = session.prepare("SELECT (int) :x AS a, (int) :x AS b FROM system.local")
        assert session.execute(select, {"x": 7}).one() == (7, 7)

    def test_wrong_values_are_raised_at_once(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
        for wrong, kind in (
            (("one", "x"), TypeError),
            ((1, 2), TypeError),
            ((1, "x", 3), ValueError),
            ((UNSET_VALUE, "x"), ValueError),
            ({"nothing": 1}, (KeyError, ValueError)),
        ):
            with pytest.raises(kind):
                session.execute_async(insert, wrong)

    def test_null_partition_key_is_the_servers_error(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
        with pytest.raises(InvalidRequest, match=r"(?i)null"):
            session.execute(insert, (None, "x"))

    def test_unknown_name(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?)")
        session.execute(insert, {"k": 6, "v": "x", "other": 1})
        assert session.execute("SELECT v FROM kv WHERE k = 6").one() == ("x",)

    def test_in_list(self, session: Session) -> None:
        select = session.prepare("SELECT k FROM kv WHERE k IN ?")
        assert {row.k for row in session.execute(select, ([1, 2, 99],))} == {1, 2}

    def test_limits_and_timestamps_bind(self, session: Session) -> None:
        insert = session.prepare("INSERT INTO kv (k, v) VALUES (?, ?) USING TIMESTAMP ? AND TTL ?")
        session.execute(insert, (7, "x", 1234, 1000))
        row = session.execute("SELECT writetime(v), ttl(v) FROM kv WHERE k = 7").one()
        assert row[0] == 1234 and 0 < row[1] <= 1000

    def test_rows_of_every_factory(self, session: Session) -> None:
        select = session.prepare("SELECT k, v FROM kv WHERE k = ?")
        profile = session.execution_profile_clone_update(
            session.cluster.profile_manager.default, row_factory=tuple_factory
        )
        assert session.execute(select, (1,)).one()._fields == ("k", "v")
        assert type(session.execute(select, (1,), execution_profile=profile).one()) is tuple


class TestMetadata:
    def test_columns(self, session: Session, keyspace: str) -> None:
        insert = session.prepare("INSERT INTO multi (a, b, c, v) VALUES (?, ?, ?, ?)")
        shown = [(c.keyspace_name, c.table_name, c.name, c.type.typename) for c in insert.column_metadata]
        assert shown == [
            (keyspace, "multi", "a", "int"),
            (keyspace, "multi", "b", "varchar"),
            (keyspace, "multi", "c", "int"),
            (keyspace, "multi", "v", "int"),
        ]
        assert insert.routing_key_indexes == [0, 1]
        assert insert.result_metadata is None
        select = session.prepare("SELECT v, b FROM multi WHERE a = ? AND b = ?")
        assert [column.name for column in select.result_metadata or ()] == ["v", "b"]

    def test_key_components_in_any_order(self, session: Session) -> None:
        """The routing key is in the order of the key, not of the markers."""
        one = session.prepare("SELECT v FROM multi WHERE a = ? AND b = ?").bind((1, "x"))
        two = session.prepare("SELECT v FROM multi WHERE b = ? AND a = ?").bind(("x", 1))
        assert one.routing_key == two.routing_key == b"\x00\x04\x00\x00\x00\x01\x00\x00\x01x\x00"

    def test_routing_token_is_the_servers(self, session: Session) -> None:
        from cassandra.murmur3 import murmur3

        insert = session.prepare("INSERT INTO multi (a, b, c) VALUES (?, ?, 0)")
        for a in range(20):
            bound = insert.bind((a, f"b{a}"))
            session.execute(bound)
            token = session.execute("SELECT token(a, b) FROM multi WHERE a = %s AND b = %s", (a, f"b{a}")).one()[0]
            assert murmur3(bound.routing_key) == token

    def test_partly_bound_key_has_no_token(self, session: Session) -> None:
        bound = session.prepare("INSERT INTO multi (a, b, c) VALUES (1, ?, 0)").bind(("x",))
        assert bound.routing_key is None
        session.execute(bound)


class TestSchemaChanges:
    @pytest.mark.parametrize("version", [3, 4, 5])
    def test_added_column_appears(
        self, cluster_to: Connect, cassandra_node: Any, session: Session, keyspace: str, version: int
    ) -> None:
        name = f"growing{version}"
        session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY, b text)")
        session.execute(f"INSERT INTO {name} (k, b) VALUES (1, 'b')")
        other = cluster_to(cassandra_node, protocol_version=version).connect(keyspace)
        select = other.prepare(f"SELECT * FROM {name} WHERE k = ?")
        assert other.execute(select, (1,)).one()._asdict() == {"k": 1, "b": "b"}
        session.execute(f"ALTER TABLE {name} ADD a int")
        session.execute(f"UPDATE {name} SET a = 5 WHERE k = 1")
        for _ in range(3):
            row = other.execute(select, (1,)).one()
            assert row.k == 1 and row.b == "b"
        assert other.execute(select, (1,)).one()._asdict() == {"k": 1, "a": 5, "b": "b"}
        session.execute(f"ALTER TABLE {name} DROP b")
        for _ in range(3):
            assert other.execute(select, (1,)).one()._asdict() == {"k": 1, "a": 5}

    def test_dropped_table(self, session: Session) -> None:
        session.execute("CREATE TABLE dropped (k int PRIMARY KEY)")
        insert = session.prepare("INSERT INTO dropped (k) VALUES (?)")
        session.execute("DROP TABLE dropped")
        with pytest.raises(InvalidRequest):
            session.execute(insert, (1,))

    def test_recreated_table_works_again(self, session: Session) -> None:
        session.execute("CREATE TABLE recreated (k int PRIMARY KEY, v int)")
        insert = session.prepare("INSERT INTO recreated (k, v) VALUES (?, ?)")
        session.execute("DROP TABLE recreated")
        session.execute("CREATE TABLE recreated (k int PRIMARY KEY, v int)")
        session.execute(insert, (1, 2))
        assert session.execute("SELECT * FROM recreated").one() == (1, 2)

    @pytest.mark.parametrize("version", [4, 5])
    def test_recreated_table_with_other_types(
        self, cluster_to: Connect, cassandra_node: Any, keyspace: str, version: int
    ) -> None:
        """What was bound as an int would be stored as the text 'ABCD'."""
        session = cluster_to(cassandra_node, protocol_version=version).connect(keyspace)
        name = f"retyped{version}"
        session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY, v int)")
        insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)")
        session.execute(insert, (1, 1094861636))
        session.execute(f"DROP TABLE {name}")
        session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY, v text)")
        refused = rf"'v' of {keyspace}.{name} is of type text, where it was int.*prepare it again"
        for statement in (insert.bind((2, 1094861636)), BatchStatement().add(insert, (3, 1094861636))):
            with pytest.raises(DriverException, match=refused):
                session.execute(statement)
        with pytest.raises(DriverException, match=refused):
            session.execute(insert, (4, 1094861636))
        assert list(session.execute(f"SELECT * FROM {name}")) == []
        session.execute(session.prepare(f"INSERT INTO {name} (k, v) VALUES (?, ?)"), (1, "ABCD"))
        assert list(session.execute(f"SELECT v FROM {name}")) == [("ABCD",)]

    @pytest.mark.parametrize("markers", ["?, ?", ":k, :v"])
    def test_recreated_table_with_other_types_under_load(self, session: Session, keyspace: str, markers: str) -> None:
        """Of what is on its way while the statement is looked at nothing is stored, either."""
        for number in range(5):
            name = f"busy{number}_{len(markers)}"
            session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY, v int)")
            insert = session.prepare(f"INSERT INTO {name} (k, v) VALUES ({markers})")
            ended: list[DriverException] = []

            def write(insert: Any = insert, ended: list[DriverException] = ended) -> None:
                key = 0
                while not ended:
                    key += 1
                    try:
                        futures = [session.execute_async(insert, (key * 20 + n, 1094861636)) for n in range(20)]
                    except DriverException as error:
                        ended.append(error)
                        return
                    for future in futures:
                        try:
                            future.result()
                        except (InvalidRequest, ServerError):  # while there is no table
                            pass
                        except DriverException as error:
                            ended.append(error)

            writers = [threading.Thread(target=write) for _ in range(4)]
            for writer in writers:
                writer.start()
            session.execute(f"DROP TABLE {name}")
            session.execute(f"CREATE TABLE {name} (k int PRIMARY KEY, v text)")
            for writer in writers:
                writer.join(60)
            assert "of type text, where it was int" in str(ended[0])
            assert session.execute(f"SELECT count(*) FROM {name}").one() == (0,)

    def test_altered_user_type(self, session: Session) -> None:
        """A further field changes nothing about values that were bound without it."""
        session.execute("CREATE TYPE place (street text)")
        session.execute("CREATE TABLE places (k int PRIMARY KEY, v frozen<place>)")
        insert = session.prepare("INSERT INTO places (k, v) VALUES (?, ?)")
        session.execute(insert, (1, ("one",)))
        session.execute("ALTER TYPE place ADD zip int")
        session.execute(insert, (2, ("two",)))
        assert sorted(tuple(row.v) for row in session.execute("SELECT v FROM places")) == [("one", None), ("two", None)]

    def test_rows_in_flight_around_an_alter(self, session: Session) -> None:
        """Answers of before and after never mix: every row has the values of its own columns."""
        session.execute("CREATE TABLE moving (k int PRIMARY KEY, z text)")
        insert = session.prepare("INSERT INTO moving (k, z) VALUES (?, ?)")
        for key in range(20):
            session.execute(insert, (key, f"z{key}"))
        select = session.prepare("SELECT * FROM moving WHERE k = ?")
        wrong: list[Any] = []
        stop = threading.Event()

        def read() -> None:
            key = 0
            while not stop.is_set():
                key = (key + 1) % 20
                try:
                    row = session.execute(select, (key,)).one()._asdict()
                except Exception as error:
                    wrong.append(error)
                    return
                if row["k"] != key or row.get("z") != f"z{key}":
                    wrong.append(row)

        readers = [threading.Thread(target=read) for _ in range(4)]
        for reader in readers:
            reader.start()
        for number in range(4):
            session.execute(f"ALTER TABLE moving ADD a{number} int")
        stop.set()
        for reader in readers:
            reader.join(30)
        assert wrong == []


class TestKeyspaces:
    @pytest.fixture
    def two(self, session: Session) -> Any:
        for name in ("it_prepared_a", "it_prepared_b"):
            create_keyspace(session, name)
            session.execute(f"CREATE TABLE {name}.t (k int PRIMARY KEY, v text)")
            session.execute(f"INSERT INTO {name}.t (k, v) VALUES (1, '{name[-1]}')")
        yield
        for name in ("it_prepared_a", "it_prepared_b"):
            session.execute(f"DROP KEYSPACE {name}", timeout=30)

    def test_per_statement_on_protocol_5(self, cluster_to: Connect, cassandra_node: Any, two: None) -> None:
        other = cluster_to(cassandra_node, protocol_version=5).connect("it_prepared_a")
        in_a = other.prepare("SELECT v FROM t WHERE k = ?")
        in_b = other.prepare("SELECT v FROM t WHERE k = ?", keyspace="it_prepared_b")
        assert (in_a.keyspace, in_b.keyspace) == (None, "it_prepared_b")
        assert other.execute(in_a, (1,)).one() == ("a",)
        assert other.execute(in_b, (1,)).one() == ("b",)

    def test_stays_where_it_was_prepared(self, cluster_to: Connect, cassandra_node: Any, two: None) -> None:
        other = cluster_to(cassandra_node).connect("it_prepared_a")
        select = other.prepare("SELECT v FROM t WHERE k = ?")
        other.set_keyspace("it_prepared_b")
        assert other.execute(select, (1,)).one() == ("a",)
        assert other.execute(other.prepare("SELECT v FROM t WHERE k = ?"), (1,)).one() == ("b",)


class TestRegistry:
    def test_a_dropped_statement_is_forgotten(self, session: Session) -> None:
        select = session.prepare("SELECT key FROM system.local WHERE key = 'local'")
        query_id = select.query_id
        assert session.cluster.get_prepared(query_id) is select
        del select
        gc.collect()
        assert session.cluster.get_prepared(query_id) is None

    def test_the_same_query_twice_is_two_objects_of_one_id(self, session: Session) -> None:
        one = session.prepare("SELECT v FROM kv WHERE k = ?")
        two = session.prepare("SELECT v FROM kv WHERE k = ?")
        one.fetch_size = 1
        assert one.query_id == two.query_id
        assert one is not two
        assert two.fetch_size != 1
        del two
        gc.collect()
        assert session.execute(one, (1,)).one()

    def test_another_session_of_the_cluster(self, cluster: Cluster, session: Session, keyspace: str) -> None:
        select = session.prepare("SELECT v FROM kv WHERE k = ?")
        with cluster.connect() as other:
            assert other.execute(select, (1,)).one() == ("one",)

    def test_a_session_of_another_cluster(self, cluster_to: Connect, cassandra_node: Any, session: Session) -> None:
        """The id is known to the server; the plans travel with the statement."""
        select = session.prepare("SELECT v FROM kv WHERE k = ?")
        other = cluster_to(cassandra_node).connect()
        assert other.execute(select, (1,)).one() == ("one",)


class TestAsync:
    def test_prepare_async(self, session: Session) -> None:
        async def main() -> Any:
            selects = await asyncio.gather(*(session.prepare_async("SELECT v FROM kv WHERE k = ?") for _ in range(5)))
            return [(await session.execute_async(select, (1,))).one() for select in selects]

        assert asyncio.run(main()) == [("one",)] * 5

    def test_prepare_async_error(self, session: Session) -> None:
        async def main() -> None:
            await session.prepare_async("SELECT nothing FROM kv")

        with pytest.raises(InvalidRequest):
            asyncio.run(main())


def test_prepared_by_many_threads_at_once(session: Session) -> None:
    results: list[Any] = []

    def work(number: int) -> None:
        try:
            select = session.prepare(f"SELECT v, {number} AS n FROM kv WHERE k = ?".replace(f"{number} AS n", "k"))
            results.append(session.execute(select, (1,)).one())
        except DriverException as error:
            results.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [("one", 1)] * 16
