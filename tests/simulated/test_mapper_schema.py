"""Keyspaces, tables and types made from models: by threads and by tasks, twice, and by several programs at a time."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster
from cassandra.cqlengine import CQLEngineException, columns, connection, management, models
from cassandra.cqlengine.models import Model
from cassandra.cqlengine.usertype import UserType
from cassandra.testing import SimulatedCluster

KEYSPACE = "app"
REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': 1}"


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=1) as simulated:
        yield simulated


@pytest.fixture(autouse=True)
def keyspace(server: SimulatedCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A new one, and a default connection to it."""
    monkeypatch.setenv(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT, "1")
    monkeypatch.setattr(models, "DEFAULT_KEYSPACE", KEYSPACE)
    server.execute(f"CREATE KEYSPACE {KEYSPACE} WITH replication = {REPLICATION}")
    with Cluster(server.contact_points, port=server.port) as cluster:
        connection.set_session(cluster.connect(KEYSPACE))
        yield
    connection.unregister_connection("default")
    connection.udt_by_keyspace.clear()
    server.execute(f"DROP KEYSPACE {KEYSPACE}")


@pytest.fixture(params=["thread", "task"])
def sync_table(request: pytest.FixtureRequest) -> Callable[..., None]:
    if request.param == "thread":
        return management.sync_table
    return lambda *args, **kwargs: asyncio.run(management.sync_table_async(*args, **kwargs))


@pytest.fixture
def sent() -> Iterator[list[str]]:
    """Statements that are sent, in order."""
    seen: list[str] = []
    session: Any = connection.get_session()
    session.add_request_init_listener(lambda future: seen.append(getattr(future.query, "query_string", "")))
    yield seen


def model(name: str, **attributes: Any) -> Any:
    return type(name, (Model,), {"__table_name__": "things", "id": columns.Integer(primary_key=True), **attributes})


def table() -> Any:
    return connection.get_cluster().metadata.keyspaces[KEYSPACE].tables["things"]


class TestTables:
    def test_names_with_quotes(self, sync_table: Callable[..., None]) -> None:
        made = model("Quoted", c=columns.Integer(primary_key=True, db_field='c"1'), text=columns.Text(db_field='a"b'))
        sync_table(made)
        assert table().columns.keys() == {"id", 'c"1', 'a"b'}
        extended = model(
            "Quoted",
            c=columns.Integer(primary_key=True, db_field='c"1'),
            text=columns.Text(db_field='a"b'),
            more=columns.Text(db_field='"'),
        )
        sync_table(extended)
        extended.create(id=1, c=2, text="a", more="b")
        row = extended.objects.get(id=1, c=2)
        assert (row.text, row.more) == ("a", "b") and table().columns.keys() == {"id", 'c"1', 'a"b', '"'}

    def test_created_and_extended(self, sync_table: Callable[..., None], sent: list[str]) -> None:
        sync_table(model("One", text=columns.Text()))
        assert table().columns.keys() == {"id", "text"}
        sync_table(model("Two", text=columns.Text(), more=columns.Set(columns.Text, index=True)))
        assert table().columns.keys() == {"id", "text", "more"}
        assert len(table().indexes) == 1
        del sent[:]
        sync_table(model("Two", text=columns.Text(), more=columns.Set(columns.Text, index=True)))
        sync_table(model("One", text=columns.Text()))
        assert not sent

    def test_nothing_is_dropped_or_altered(
        self, sync_table: Callable[..., None], recwarn: pytest.WarningsRecorder
    ) -> None:
        sync_table(model("One", text=columns.Text(), more=columns.Integer()))
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            sync_table(model("Other", text=columns.Integer()))
        assert table().columns["text"].cql_type == "text"
        assert "more" in table().columns
        (warning,) = recwarn
        assert 'has column "text" with a type (text) differing from the model type (int)' in str(warning.message)

    def test_tuples_are_the_same_type(self, sync_table: Callable[..., None]) -> None:
        """Servers say that they are frozen; no warning, which would be an error here."""
        both = model("Both", both=columns.Tuple(columns.Integer, columns.Set(columns.Text)))
        sync_table(both)
        sync_table(both)

    def test_another_primary_key(self, sync_table: Callable[..., None]) -> None:
        sync_table(model("One", text=columns.Text()))
        with pytest.raises(CQLEngineException, match=r"Model: PRIMARY KEY \(\(more\), id\); Table: PRIMARY KEY"):
            sync_table(model("Other", more=columns.Text(primary_key=True)))

    def test_another_program_is_faster(
        self, server: SimulatedCluster, sync_table: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        """This one has not heard of it yet."""
        caplog.set_level(logging.INFO, "cassandra.cqlengine.management")
        address = type("Address", (UserType,), {"street": columns.Text()})
        with Cluster(server.contact_points, port=server.port, schema_event_refresh_window=-1) as late:
            connection.register_connection("late", session=late.connect())
            server.execute(f"CREATE TYPE {KEYSPACE}.address (street text)")
            server.execute(f"CREATE TABLE {KEYSPACE}.things (id int PRIMARY KEY, home frozen<address>)")
            sync_table(model("One", home=columns.UserDefinedType(address)), connections=["late"])
            late.refresh_schema_metadata()
            server.execute(f"ALTER TYPE {KEYSPACE}.address ADD number int")
            server.execute(f"ALTER TABLE {KEYSPACE}.things ADD more int")
            server.execute(f"CREATE INDEX ON {KEYSPACE}.things (more)")
            longer = type(
                "Longer",
                (UserType,),
                {"__type_name__": "address", "street": columns.Text(), "number": columns.Integer()},
            )
            more = model("More", home=columns.UserDefinedType(longer), more=columns.Integer(index=True))
            sync_table(more, connections=["late"])
        connection.unregister_connection("late")
        assert "Another program has created type app.address meanwhile" in caplog.text
        assert "Another program has created table app.things meanwhile" in caplog.text
        assert "Another program has added field number to type app.address meanwhile" in caplog.text
        assert "Another program has added column more to table app.things meanwhile" in caplog.text

    def test_in_several_keyspaces(self, server: SimulatedCluster, sync_table: Callable[..., None]) -> None:
        management.create_keyspace_simple("other", 1)
        sync_table(model("One"), keyspaces=["other", KEYSPACE])
        keyspaces = connection.get_cluster().metadata.keyspaces
        assert "things" in keyspaces["other"].tables
        assert "things" in keyspaces[KEYSPACE].tables
        management.drop_table(model("One"), keyspaces=["other"])
        assert "things" not in keyspaces["other"].tables
        management.drop_keyspace("other")

    def test_a_keyspace_that_is_not_there(self, sync_table: Callable[..., None]) -> None:
        with pytest.raises(CQLEngineException, match=r"Keyspace 'nothing' for model .* does not exist"):
            sync_table(model("One"), keyspaces=["nothing"])


class TestOptions:
    """Statements for equal and for different table options; simulations have none, so the metadata are given."""

    EXISTING = {
        "comment": "x",
        "gc_grace_seconds": 10,
        "bloom_filter_fp_chance": 1.0,
        "speculative_retry": "99p",
        "read_repair": "BLOCKING",
        "compaction": {"class": "org.apache.cassandra.db.compaction.LeveledCompactionStrategy", "max_threshold": "32"},
    }

    def test_equal_options_are_no_change(self) -> None:
        from cassandra._mapper.schema import changed_options

        same = {
            "comment": "x",
            "gc_grace_seconds": "10",
            "bloom_filter_fp_chance": 1,
            "speculative_retry": "99PERCENTILE",
            "read_repair": "blocking",
            "compaction": {"class": "LeveledCompactionStrategy", "max_threshold": 32},
        }
        assert changed_options(same, self.EXISTING, "") == {}
        assert changed_options(dict.fromkeys(same), self.EXISTING, "") == {}

    @pytest.mark.parametrize(
        "wanted",
        [
            {"comment": "X"},
            {"gc_grace_seconds": 11},
            {"speculative_retry": "95p"},
            {"compaction": {"class": "SizeTieredCompactionStrategy"}},
            {"compaction": {"class": "LeveledCompactionStrategy", "min_threshold": 4}},
            {"cdc": True},
        ],
    )
    def test_different_options_are_a_change(self, wanted: dict[str, Any]) -> None:
        from cassandra._mapper.schema import changed_options

        assert changed_options(wanted, self.EXISTING, "") == wanted

    def test_no_option(self) -> None:
        from cassandra._mapper.schema import changed_options

        with pytest.raises(KeyError, match="here: Invalid table option: 'nothing'; known options"):
            changed_options({"nothing": 1}, self.EXISTING, "here: ")

    def test_how_they_are_written(self, sent: list[str]) -> None:
        optioned = model("One")
        management.sync_table(optioned)
        table().options.update(comment="x", gc_grace_seconds=10)
        optioned.__options__ = {"comment": "it's", "gc_grace_seconds": 5}
        steps = management._update_options
        assert steps(optioned) is True
        assert sent[-1] == f"ALTER TABLE {KEYSPACE}.things WITH comment = 'it''s' AND gc_grace_seconds = 5"

    def test_sync_table_calls_a_patched_update_options(self) -> None:
        from unittest import mock

        optioned = model("One")
        management.sync_table(optioned)
        with mock.patch("cassandra.cqlengine.management._update_options") as watching:
            management.sync_table(optioned)
        watching.assert_called_once_with(optioned, connection=None)


class TestTypes:
    def types(self, *more: str) -> tuple[Any, Any]:
        """A user type with *more* fields, and a model with a column of it."""
        fields = {"street": columns.Text(), **{name: columns.Integer() for name in more}}
        address = type("Address", (UserType,), {"__type_name__": "address", **fields})
        return address, model("Person", home=columns.UserDefinedType(address))

    def test_nested_types_are_created_first(self, sync_table: Callable[..., None], sent: list[str]) -> None:
        address, _ = self.types()
        outer = type("Outer", (UserType,), {"all": columns.List(columns.UserDefinedType(address))})
        sync_table(model("Person", home=columns.UserDefinedType(outer), other=columns.UserDefinedType(address)))
        assert [" ".join(statement.split()[:3]) for statement in sent] == [
            "CREATE TYPE app.address",
            "CREATE TYPE app.outer",
            "CREATE TABLE app.things",
        ]

    def test_a_name_that_needs_quotes(self, sync_table: Callable[..., None]) -> None:
        quoted = type("Quoted", (UserType,), {"__type_name__": "order", "a": columns.Integer()})
        sync_table(model("Person", home=columns.List(columns.UserDefinedType(quoted))))
        longer = type("Longer", (UserType,), {"__type_name__": "order", "a": columns.Integer(), "b": columns.Text()})
        sync_table(model("Person", home=columns.List(columns.UserDefinedType(longer))))
        known = connection.get_cluster().metadata.keyspaces[KEYSPACE].user_types["order"]
        assert known.field_names == ["a", "b"]

    def test_values_of_a_new_type_field_are_stored(
        self, server: SimulatedCluster, sync_table: Callable[..., None]
    ) -> None:
        """Though the statement was prepared when the type did not have it yet."""
        address, person = self.types()
        sync_table(person)
        person.create(id=1, home=address(street="x"))
        address, person = self.types("number")
        sync_table(person)
        person.create(id=2, home=address(street="y", number=5))
        assert person.get(id=2).home.number == 5
        assert server.execute("SELECT home FROM app.things WHERE id = 2") == [{"home": ("y", 5)}]

    def test_values_of_a_type_field_added_by_another_program_are_stored(
        self, server: SimulatedCluster, sync_table: Callable[..., None]
    ) -> None:
        address, person = self.types()
        sync_table(person)
        person.create(id=1, home=address(street="x"))
        connection.get_session().execute("ALTER TYPE app.address ADD number int")
        address, person = self.types("number")
        sync_table(person)
        person.create(id=2, home=address(street="y", number=5))
        assert server.execute("SELECT home FROM app.things WHERE id = 2") == [{"home": ("y", 5)}]

    def test_no_keyspace(self) -> None:
        address, _ = self.types()
        with pytest.raises(CQLEngineException, match="Keyspace 'nothing' does not exist"):
            management.sync_type("nothing", address)


class TestAsync:
    """Each of them as tasks."""

    def test_all(self) -> None:
        address = type("Address", (UserType,), {"street": columns.Text()})

        def keyspaces() -> Any:
            return connection.get_cluster().metadata.keyspaces

        async def use() -> None:
            await management.create_keyspace_simple_async("other", 1)
            assert "other" in keyspaces()
            await management.create_keyspace_network_topology_async("third", {"dc1": 1}, durable_writes=False)
            await management.sync_type_async("other", address)
            assert "address" in keyspaces()["other"].user_types
            await management.sync_table_async(model("One"), keyspaces=["other"])
            await management.drop_table_async(model("One"), keyspaces=["other"])
            assert "things" not in keyspaces()["other"].tables
            for name in ("other", "third", "other"):
                await management.drop_keyspace_async(name)
            assert not {"other", "third"} & set(keyspaces())

        asyncio.run(use())

    def test_over_a_lazy_connection(self, server: SimulatedCluster) -> None:
        options = {"port": server.port}
        lazy = connection.register_connection("lazy", server.contact_points, lazy_connect=True, cluster_options=options)
        asyncio.run(management.sync_table_async(model("One"), connections=["lazy"]))
        assert lazy.session is not None
        connection.unregister_connection("lazy")


def test_it_has_to_be_allowed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.delenv(management.CQLENG_ALLOW_SCHEMA_MANAGEMENT)
    with pytest.warns(UserWarning, match="CQLENG_ALLOW_SCHEMA_MANAGEMENT environment variable is not set"):
        management.sync_table(model("One"))
    assert "CQLENG_ALLOW_SCHEMA_MANAGEMENT environment variable is not set" in caplog.text
    assert "things" in connection.get_cluster().metadata.keyspaces[KEYSPACE].tables
