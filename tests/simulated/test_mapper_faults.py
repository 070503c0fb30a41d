"""Faults around models: nodes go down, tables change, tasks are cancelled, processes fork; two clusters."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cassandra import InvalidRequest, OperationTimedOut
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.cqlengine import CQLEngineException, columns, connection, models
from cassandra.cqlengine.management import drop_table, sync_table, sync_table_async
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.query import BatchQuery, ContextQuery
from cassandra.cqlengine.usertype import UserType
from cassandra.testing import SimulatedCluster
from cassandra.testing.faults import Close, Drop, EmptyPage, Hold

pytestmark = pytest.mark.long

ROWS = 60


class Row(Model):
    part = columns.Integer(partition_key=True)
    at = columns.Integer(primary_key=True)
    name = columns.Text()


class Place(UserType):
    town = columns.Text()


class Person(Model):
    id = columns.Integer(primary_key=True)
    home = columns.UserDefinedType(Place)


TABLE = "CREATE TABLE app.row (part int, at int, name text, PRIMARY KEY (part, at))"


@pytest.fixture
def servers() -> Iterator[list[SimulatedCluster]]:
    """Two clusters, the first of three nodes that have every row."""
    with SimulatedCluster(nodes=3, shards=2, name="first") as first, SimulatedCluster(nodes=1, name="second") as second:
        for server, copies in ((first, 3), (second, 1)):
            for keyspace in ("app", "other"):
                server.execute(
                    f"CREATE KEYSPACE {keyspace} WITH replication = "
                    f"{{'class': 'SimpleStrategy', 'replication_factor': {copies}}}"
                )
                server.execute(TABLE.replace("app.", keyspace + "."))
        yield [first, second]


@pytest.fixture
def both(servers: list[SimulatedCluster], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[SimulatedCluster]]:
    """Connections ``first``, which is the default one, and ``second``."""
    monkeypatch.setattr(models, "DEFAULT_KEYSPACE", "app")
    for server, name in zip(servers, ("first", "second"), strict=True):
        windows = {"topology_event_refresh_window": 0, "status_event_refresh_window": 0}
        connection.register_connection(
            name,
            server.contact_points,
            cluster_options={"port": server.port, **windows},
            default=name == "first",
        )
    yield servers
    for name in ("first", "second"):
        connection.unregister_connection(name)
    connection._connections.clear()
    connection.udt_by_keyspace.clear()


@pytest.fixture
def first(both: list[SimulatedCluster]) -> SimulatedCluster:
    for at in range(ROWS):
        both[0].execute(f"INSERT INTO app.row (part, at, name) VALUES (1, {at}, 'row {at}')")
    return both[0]


def stored(server: SimulatedCluster, keyspace: str = "app") -> list[int]:
    return sorted(row["at"] for row in server.execute(f"SELECT at FROM {keyspace}.row"))


class TestSeveral:
    def test_rows_go_where_their_connection_is(self, both: list[SimulatedCluster]) -> None:
        for at in range(3):
            Row.create(part=1, at=at, name="default")
            Row.using(connection="second").create(part=1, at=at + 10, name="second")
            Row.using(keyspace="other").create(part=1, at=at + 20, name="other")
        assert stored(both[0]) == [0, 1, 2] and stored(both[1]) == [10, 11, 12]
        assert stored(both[0], "other") == [20, 21, 22] and stored(both[1], "other") == []

    def test_instances_created_by_a_connection_are_updated_by_it(self, both: list[SimulatedCluster]) -> None:
        Row.using(connection="second").create(part=1, at=1, name="x").update(name="y")
        assert both[1].execute("SELECT name FROM app.row") == [{"name": "y"}] and stored(both[0]) == []

    def test_rows_read_by_a_connection_are_updated_by_the_models_connection(self, both: list[SimulatedCluster]) -> None:
        """Unless the caller names a connection. As in scylla-driver: programs copy rows so."""
        Row.using(connection="second").create(part=1, at=1, name="x")
        found = Row.objects.using(connection="second").get(part=1, at=1)
        found.update(name="y")
        assert both[0].execute("SELECT name FROM app.row") == [{"name": "y"}]
        found.using(connection="second").update(name="z")
        assert both[1].execute("SELECT name FROM app.row") == [{"name": "z"}]

    def test_rows_read_from_another_keyspace_are_updated_there(self, both: list[SimulatedCluster]) -> None:
        Row.using(keyspace="other").create(part=1, at=1, name="x")
        Row.objects.using(keyspace="other").get(part=1, at=1).update(name="y")
        assert both[0].execute("SELECT name FROM other.row") == [{"name": "y"}]
        assert stored(both[0]) == []

    def test_contexts(self, both: list[SimulatedCluster]) -> None:
        for name in ("first", "second", "first"):
            with ContextQuery(Row, keyspace="other", connection=name) as Elsewhere:
                Elsewhere.create(part=1, at=len(name), name=name)
                assert [row.name for row in Elsewhere.objects] == [name]

    def test_a_batch_is_of_one_connection(self, both: list[SimulatedCluster]) -> None:
        with BatchQuery(connection="second") as batch:
            Row.batch(batch).create(part=1, at=1)
        assert stored(both[1]) == [1] and stored(both[0]) == []
        First, Second = (ContextQuery(Row, connection=name).models[0] for name in ("first", "second"))
        for one, other in ((Row, Second), (Second, Row), (First, Second), (Second, First)):
            with pytest.raises(CQLEngineException, match="same connection"), BatchQuery() as batch:
                one.batch(batch).create(part=1, at=2)
                other.batch(batch).create(part=1, at=3)
        assert stored(both[1]) == [1] and stored(both[0]) == []
        for at, pair in enumerate(((Row, First), (First, Row))):  # that is the default one
            with BatchQuery() as batch:
                for number, model in enumerate(pair):
                    model.batch(batch).create(part=1, at=at * 10 + number)
        assert stored(both[0]) == [0, 1, 10, 11]

    def test_tasks_use_both_at_a_time(self, both: list[SimulatedCluster]) -> None:
        async def main() -> None:
            names = ("first", "second")
            await asyncio.gather(
                *(Row.using(connection=names[at % 2]).acreate(part=1, at=at) for at in range(100))  # type: ignore[attr-defined]
            )
            for number, name in enumerate(names):
                rows = Row.objects.using(connection=name).filter(part=1).fetch_size(7)
                assert [row.at async for row in rows] == list(range(number, 100, 2))

        asyncio.run(main())

    def test_one_that_was_unregistered(self, both: list[SimulatedCluster]) -> None:
        Row.using(connection="second").create(part=1, at=1)
        connection.unregister_connection("second")
        with pytest.raises(CQLEngineException, match="'second' doesn't exist"):
            Row.using(connection="second").create(part=1, at=2)
        Row.create(part=1, at=3)
        connection.register_connection(
            "second", both[1].contact_points, cluster_options={"port": both[1].port}, lazy_connect=True
        )
        assert [row.at for row in Row.objects.using(connection="second")] == [1]


class TestNodes:
    def test_one_goes_down_while_rows_are_read(self, first: SimulatedCluster) -> None:
        """Page after page comes from a node that is up, and no row twice."""

        async def main() -> None:
            seen = []
            async for row in Row.objects(part=1).fetch_size(5):
                seen.append(row.at)
                if row.at in (7, 31):
                    first.nodes[row.at // 16].kill()
            assert seen == list(range(ROWS))

        asyncio.run(main())

    def test_the_same_for_threads(self, first: SimulatedCluster) -> None:
        seen = []
        for row in Row.objects(part=1).fetch_size(5):
            seen.append(row.at)
            if row.at in (7, 31):
                first.nodes[row.at // 16].kill()
        assert seen == list(range(ROWS))

    @pytest.mark.parametrize("how", ["kill", "stop"])
    def test_all_go_down_and_come_back(self, first: SimulatedCluster, how: str) -> None:
        """The loop over the rows ends with an error, and the query set goes on where it was once there is a node."""
        rows = Row.objects(part=1).fetch_size(5)
        session = connection.get_session()

        async def main() -> None:
            seen = []
            with pytest.raises((NoHostAvailable, ConnectionException)):  # whose connection was lost under it
                async for row in rows:
                    seen.append(row.at)
                    if row.at == 7:
                        for node in first.nodes:
                            getattr(node, how)()
            assert seen == list(range(len(seen))) and 8 <= len(seen) < ROWS
            for node in first.nodes:
                node.start()
            while not any(host.is_up for host in session.cluster.metadata.all_hosts()):
                await asyncio.sleep(0.05)
            for _ in range(200):
                try:
                    assert [row.at async for row in rows] == list(range(ROWS))
                except NoHostAvailable:
                    await asyncio.sleep(0.1)
                else:
                    break
            else:
                pytest.fail("the nodes are up")

        asyncio.run(main())

    def test_pages_without_rows(self, first: SimulatedCluster) -> None:
        """Rows that do not meet a condition are read, too."""
        all_rows = list(range(ROWS))

        def rows() -> Any:
            return Row.objects(part=1).fetch_size(10)

        async def main() -> None:
            inject()
            assert [row.at async for row in rows()] == all_rows
            inject()
            assert [row.at for row in await rows().aall()] == all_rows
            inject()
            found = await rows().afirst()
            assert found is not None and found.at == 0

        def inject() -> None:
            for number in range(3):
                first.inject(EmptyPage(), opcode="EXECUTE", query="row", after=number, times=1)

        asyncio.run(main())
        inject()
        assert [row.at for row in rows()] == all_rows
        inject()
        assert rows()[12].at == 12
        inject()
        found = rows().first()
        assert found is not None and found.at == 0

    def test_a_write_whose_answer_is_lost_is_not_repeated(self, first: SimulatedCluster) -> None:
        Row.create(part=2, at=0)
        close = Close(executed=True)
        with first.inject(close, opcode="EXECUTE", times=1) as rule, pytest.raises(ConnectionException) as caught:
            Row.create(part=2, at=1)
        assert rule.hits == 1
        assert caught.value.maybe_executed is True

    def test_timeouts(self, first: SimulatedCluster) -> None:
        Row.objects(part=1, at=1).first()
        Row.get(part=1, at=1)
        with first.inject(Drop(), opcode="EXECUTE"), first.inject(Drop(), opcode="BATCH"):
            with pytest.raises(OperationTimedOut):
                Row.objects(part=1, at=1).timeout(0.2).first()
            with pytest.raises(OperationTimedOut):
                asyncio.run(Row.objects(part=1, at=1).timeout(0.2).afirst())  # type: ignore[arg-type]
            with pytest.raises(OperationTimedOut), BatchQuery(timeout=0.2) as batch:
                Row.batch(batch).create(part=1, at=1)
        assert Row.get(part=1, at=1).name == "row 1"


class TestCancelled:
    def test_in_the_middle_of_a_batch(self, first: SimulatedCluster) -> None:
        called: list[int] = []
        batch = BatchQuery()
        batch.warn_multiple_exec = False
        batch.add_callback(called.append, 1)
        for at in range(2):
            Row.batch(batch).create(part=3, at=at)

        async def main() -> None:
            hold = Hold()
            with first.inject(hold, opcode="BATCH") as rule:
                task = asyncio.ensure_future(batch.aexecute())
                while not rule.hits:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            hold.release()
            assert called == []
            await batch.aexecute()  # nothing was lost
            assert called == [1]
            assert [row.at async for row in Row.objects(part=3)] == [0, 1]

        asyncio.run(main())

    def test_a_block_that_is_cancelled_executes_nothing(self, first: SimulatedCluster) -> None:
        async def block() -> None:
            async with BatchQuery() as batch:
                Row.batch(batch).create(part=4, at=1)
                await asyncio.sleep(60)

        async def main() -> None:
            task = asyncio.ensure_future(block())
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await Row.objects(part=4).acount() == 0

        asyncio.run(main())

    def test_while_statements_are_prepared(self, first: SimulatedCluster) -> None:
        async def main() -> None:
            hold = Hold()
            with first.inject(hold, opcode="PREPARE", query="other.row") as rule:
                task = asyncio.ensure_future(Row.using(keyspace="other").acreate(part=1, at=1))  # type: ignore[attr-defined]
                while not rule.hits:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            hold.release()
            await Row.using(keyspace="other").acreate(part=1, at=2)  # type: ignore[attr-defined]
            assert [row.at async for row in Row.objects.using(keyspace="other")] == [2]

        asyncio.run(main())

    def test_between_two_pages(self, first: SimulatedCluster) -> None:
        rows = Row.objects(part=1).fetch_size(10)

        async def some() -> list[int]:
            return [row.at async for row in rows]

        async def main() -> None:
            hold = Hold()
            with first.inject(hold, opcode="EXECUTE", after=2) as rule:
                task = asyncio.ensure_future(some())
                while not rule.hits:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            hold.release()
            assert await some() == list(range(ROWS))

        asyncio.run(main())

    def test_two_tasks_read_one_query_set(self, first: SimulatedCluster) -> None:
        rows = Row.objects(part=1).fetch_size(5)

        async def read() -> list[int]:
            found = []
            async for row in rows:
                found.append(row.at)
                await asyncio.sleep(0)
            return found

        async def main() -> None:
            assert await asyncio.gather(*(read() for _ in range(5))) == [list(range(ROWS))] * 5

        asyncio.run(main())

    def test_two_threads_read_one_query_set(self, first: SimulatedCluster) -> None:
        for _ in range(5):
            rows, found = Row.objects(part=1).fetch_size(3), []
            together = threading.Barrier(4)

            def read() -> None:
                together.wait(60)  # noqa: B023
                found.append([row.at for row in rows])  # noqa: B023

            threads = [threading.Thread(target=read) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert found == [list(range(ROWS))] * 4

    def test_one_that_was_read_is_pickled_and_copied(self, first: SimulatedCluster) -> None:
        rows = Row.objects(part=1)
        assert len(rows) == ROWS
        assert [row.at for row in pickle.loads(pickle.dumps(rows))] == list(range(ROWS))
        assert len(copy.deepcopy(rows)) == ROWS


class TestAltered:
    def test_a_column_more(self, first: SimulatedCluster) -> None:
        session = connection.get_session()
        found = []
        for row in Row.objects(part=1).fetch_size(7):
            found.append((row.at, row.name))
            if row.at == 10:
                session.execute("ALTER TABLE app.row ADD extra int")
            if row.at == 30:
                session.execute("ALTER TABLE app.row DROP extra")
        assert found == [(at, f"row {at}") for at in range(ROWS)]
        Row.create(part=1, at=100, name="x")
        assert Row.get(part=1, at=100).name == "x"

    def test_a_column_less(self, first: SimulatedCluster) -> None:
        session = connection.get_session()
        assert Row.get(part=1, at=1).name == "row 1"
        Row.create(part=1, at=1, name="x")
        session.execute("ALTER TABLE app.row DROP name")
        for _ in range(2):
            with pytest.raises(InvalidRequest, match="name"):
                Row.objects(part=1, at=1).first()
            with pytest.raises(InvalidRequest, match="name"):
                Row.get(part=1, at=1)
            with pytest.raises(InvalidRequest, match="name"):
                Row.create(part=1, at=2, name="x")
            with pytest.raises(InvalidRequest, match="name"), BatchQuery() as batch:
                Row.batch(batch).create(part=1, at=2, name="x")
        session.execute("ALTER TABLE app.row ADD name text")
        Row.create(part=1, at=1, name="again")
        assert Row.get(part=1, at=1).name == Row.objects(part=1, at=1).first().name == "again"

    def test_a_field_more(self, first: SimulatedCluster) -> None:
        session = connection.get_session()
        session.execute("CREATE TYPE app.place (town text)")
        session.execute("CREATE TABLE app.person (id int PRIMARY KEY, home frozen<place>)")
        Place.register_for_keyspace("app")
        Person.create(id=1, home=Place(town="Paris"))
        assert Person.get(id=1).home == Place(town="Paris")
        session.execute("ALTER TYPE app.place ADD street text")
        assert Person.get(id=1).home.town == "Paris"
        Person.create(id=2, home=Place(town="Rome"))
        assert [Person.get(id=at).home.town for at in (1, 2)] == ["Paris", "Rome"]
        session.execute("INSERT INTO app.person (id, home) VALUES (3, {town: 'Oslo', street: 'x'})")
        assert Person.get(id=3).home.town == "Oslo"

    def test_a_table_that_is_gone(self, first: SimulatedCluster) -> None:
        session = connection.get_session()
        rows = Row.objects(part=1).fetch_size(7)
        assert Row.get(part=1, at=1).name == "row 1"
        with pytest.raises(InvalidRequest):
            for row in rows:
                if row.at == 3:
                    session.execute("DROP TABLE app.row")
        with pytest.raises(InvalidRequest):
            Row.get(part=1, at=1)
        with pytest.raises(InvalidRequest):
            Row.create(part=1, at=1)
        session.execute(TABLE)
        Row.create(part=1, at=1, name="new")
        assert [row.name for row in Row.objects(part=1)] == ["new"] == [Row.get(part=1, at=1).name]


class Fresh(Model):
    __keyspace__ = "app"
    id = columns.Integer(primary_key=True)
    home = columns.UserDefinedType(Place)
    name = columns.Text(index=True)


class TestSyncing:
    @pytest.fixture(autouse=True)
    def _allowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")

    def check(self) -> None:
        Fresh.create(id=1, home=Place(town="Paris"), name="x")
        assert Fresh.get(id=1).home == Place(town="Paris")
        assert Fresh.objects(name="x").first().id == 1  # type: ignore[union-attr]

    @pytest.mark.parametrize("what", ["CREATE TYPE", "CREATE TABLE", "CREATE INDEX"])
    @pytest.mark.parametrize("executed", [False, True])
    def test_a_task_that_is_cancelled(self, first: SimulatedCluster, what: str, executed: bool) -> None:
        """The next sync creates the missing schema elements."""

        async def main() -> None:
            reaction = Drop(executed=executed)
            with first.inject(reaction, query=what, times=1) as rule:
                task = asyncio.ensure_future(sync_table_async(Fresh))
                while not rule.hits:
                    await asyncio.sleep(0.01)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await sync_table_async(Fresh)

        asyncio.run(main())
        self.check()

    @pytest.mark.parametrize("what", ["CREATE TYPE", "CREATE TABLE", "CREATE INDEX"])
    def test_an_answer_that_is_lost(self, first: SimulatedCluster, what: str) -> None:
        close = Close(executed=True)
        with first.inject(close, query=what, times=1), pytest.raises(ConnectionException):
            sync_table(Fresh)
        sync_table(Fresh)
        self.check()

    def test_tasks_and_threads_at_a_time(self, first: SimulatedCluster) -> None:
        async def main() -> None:
            await asyncio.gather(*(sync_table_async(Fresh) for _ in range(4)))

        threads = [threading.Thread(target=sync_table, args=(Fresh,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        asyncio.run(main())
        for thread in threads:
            thread.join(60)
        self.check()

    def test_on_both(self, both: list[SimulatedCluster]) -> None:
        sync_table(Fresh, connections=["first", "second"])
        self.check()
        Fresh.using(connection="second").create(id=2, home=Place(town="Rome"))
        assert Fresh.objects.using(connection="second").get(id=2).home == Place(town="Rome")
        drop_table(Fresh, connections=["first", "second"])
        with pytest.raises(InvalidRequest):
            Fresh.get(id=1)


class TestForked:
    def test_child_and_parent_go_on(self, first: SimulatedCluster) -> None:
        assert Row.get(part=1, at=1).name == "row 1"
        rows = Row.objects(part=1).fetch_size(10)
        iterator = iter(rows)
        assert next(iterator).at == 0

        def child() -> int:
            connection.register_connection(
                "first", first.contact_points, cluster_options={"port": first.port}, default=True
            )
            assert Row.get(part=1, at=1).name == "row 1"
            Row.create(part=5, at=1)
            with BatchQuery() as batch:
                Row.batch(batch).create(part=5, at=2)
            assert [row.at for row in Row.objects(part=5)] == [1, 2]
            asyncio.run(Row.acreate(part=5, at=3))  # type: ignore[arg-type]
            return 0

        assert exit_of(child) == 0
        assert [row.at for row in iterator] == list(range(1, ROWS))
        assert [row.at for row in Row.objects(part=5)] == [1, 2, 3]

    def test_a_child_that_was_told_nothing(self, first: SimulatedCluster) -> None:
        """With the sessions of its parent, as with those of a driver alone."""
        assert Row.get(part=1, at=1).name == "row 1"

        def child() -> int:
            assert Row.get(part=1, at=1).name == "row 1"
            Row.create(part=5, at=1)
            assert asyncio.run(Row.aget(part=5, at=1)).at == 1  # type: ignore[arg-type]
            return 0

        assert exit_of(child) == 0
        assert Row.get(part=5, at=1).at == 1


def exit_of(work: Any) -> int:
    """The exit status of a forked child that runs *work*."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(work())
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
