"""Errors and warnings that say what a program probably means, and which statement they are about."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import pickle
import traceback
import warnings
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import pytest

from cassandra import InvalidRequest
from cassandra._base import logs
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, Session
from cassandra.concurrent import execute_concurrent, execute_concurrent_async
from cassandra.protocol import SyntaxException
from cassandra.query import (
    BatchStatement,
    SimpleStatement,
    class_row,
    dict_factory,
    named_tuple_factory,
    tuple_factory,
)
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect, eventually


@pytest.fixture
def table(session: Session) -> Session:
    session.execute("CREATE TABLE t (id int PRIMARY KEY, v text, tags list<text>, names map<text, int>)")
    session.execute("INSERT INTO t (id, v) VALUES (1, 'one')")
    return session


# ---- the statement of an error


def failing(session: Session, *args: Any, **options: Any) -> Any:
    with pytest.raises(Exception) as caught:
        session.execute(*args, **options)
    return caught.value


def test_an_error_of_the_server_has_the_statement(table: Session) -> None:
    error = failing(table, "SELECT *\n  FROM nothing  WHERE k = %s", ("secret",))
    assert isinstance(error, InvalidRequest)
    assert error.statement == "SELECT * FROM nothing WHERE k = %s"
    assert str(error).endswith("[statement: SELECT * FROM nothing WHERE k = %s]")
    again = pickle.loads(pickle.dumps(error))
    assert (again.statement, str(again)) == (error.statement, str(error))


def test_long_statements_are_shortened(table: Session) -> None:
    error = failing(table, "SELECT * FROM nothing WHERE " + " AND ".join(f"c{i} = 0" for i in range(10_000)))
    assert len(error.statement) < 250 and error.statement.endswith("…")


def test_passwords_are_not_shown(table: Session) -> None:
    error = failing(table, "CREATE ROL bob WITH PASSWORD = 'hunter2'")
    assert error.statement == "CREATE ROL bob WITH PASSWORD = ?"
    assert "hunter2" not in str(error)


def test_a_batch_names_its_first_statement_without_values(table: Session) -> None:
    batch = BatchStatement()
    batch.add("INSERT INTO nothing (id, v) VALUES (%s, %s)", (1, "secret"))
    batch.add("INSERT INTO t (id, v) VALUES (%s, %s)", (1, "secret"))
    error = failing(table, batch)
    assert error.statement == "a batch of 2 statements, the first: INSERT INTO nothing (id, v) VALUES (?, ?)"


def test_an_error_of_a_prepared_statement_has_its_text(table: Session) -> None:
    insert = table.prepare("INSERT INTO t (id, tags) VALUES (?, ?)")
    for _ in range(2):  # compiled or not
        error = failing(table, insert, (1, ["a", None]))
        assert error.statement == "INSERT INTO t (id, tags) VALUES (?, ?)"
        assert error.hint == "None is in the value of 'tags'"
        assert "'tags'" in str(error)


def test_a_failed_prepare_has_its_text(table: Session) -> None:
    with pytest.raises(InvalidRequest) as caught:
        table.prepare("SELECT * FROM nothing")
    assert caught.value.statement == "SELECT * FROM nothing"


def test_an_awaited_error_has_the_statement(table: Session) -> None:
    async def run() -> None:
        with pytest.raises(InvalidRequest) as caught:
            await table.execute_async("SELECT * FROM nothing")
        assert caught.value.statement == "SELECT * FROM nothing"

    asyncio.run(run())


# ---- markers


def test_percent_s_in_prepare(table: Session) -> None:
    for text in ("SELECT * FROM t WHERE id = %s", "SELECT * FROM t WHERE id = %(id)s"):
        with pytest.raises(SyntaxException, match=r"Markers of prepared statements are \? or :name, not %s"):
            table.prepare(text)


def test_percent_s_without_parameters(table: Session) -> None:
    with pytest.raises(SyntaxException, match="%s is replaced only if parameters are passed"):
        table.execute("SELECT * FROM t WHERE id = %s")
    assert failing(table, "SELEC * FROM t WHERE id = %s", (1,)).hint is None


def test_markers_of_prepared_statements_in_text(table: Session) -> None:
    with pytest.raises(TypeError, match=r"\? is for prepared statements"):
        table.execute("SELECT * FROM t WHERE id = ?", (1,))
    for text, parameters in (("SELECT * FROM t WHERE id = :id", {"id": 1}), ("SELECT * FROM t WHERE id = ?", None)):
        with pytest.raises(InvalidRequest, match=r"Markers \(\?, :name\) are for prepared statements"):
            table.execute(text, parameters)


def test_a_list_for_one_value_of_in(table: Session) -> None:
    select = table.prepare("SELECT * FROM t WHERE id IN (?)")
    with pytest.raises(TypeError, match=r"A marker in IN \(\?\) takes one value; IN \? takes a list"):
        table.execute(select, ([1, 2],))


# ---- tracebacks


@pytest.mark.parametrize("values", [("one", "two"), (1, 2), (1, 2, 3)])
def test_tracebacks_of_wrong_values_end_in_the_program(table: Session, values: tuple[Any, ...]) -> None:
    insert = table.prepare("INSERT INTO t (id, v) VALUES (?, ?)")
    for _ in range(2):
        error = failing(table, insert, values)
        assert error.__cause__ is None and (error.__context__ is None or error.__suppress_context__)
        assert len(traceback.extract_tb(error.__traceback__)) <= 4
        assert error.statement == "INSERT INTO t (id, v) VALUES (?, ?)"
        table.execute(insert, (1, "one"))


def test_an_error_of_the_programs_own_code_is_shown(table: Session) -> None:
    class Odd:
        def __index__(self) -> int:
            raise TypeError("an odd number")

    error = failing(table, table.prepare("SELECT * FROM t WHERE id = ?"), (Odd(),))
    assert "an odd number" in "".join(traceback.format_exception(error))


# ---- results and rows


def test_await_of_a_result(table: Session) -> None:
    async def run() -> None:
        result = table.execute("SELECT * FROM t")
        with pytest.raises(TypeError, match=r"await session\.execute_async"):
            await result  # type: ignore[misc]
        assert not inspect.isawaitable(result) and not hasattr(result, "__await__")
        assert result.one().id == 1

    asyncio.run(run())


@pytest.mark.parametrize("name", ["one", "all", "current_rows", "was_applied"])
def test_attributes_of_the_result_of_a_future(table: Session, name: str) -> None:
    future = table.execute_async("SELECT * FROM t")
    with pytest.raises(AttributeError, match=rf"future.result\(\).{name}"):
        getattr(future, name)
    assert not hasattr(future, name)
    future.result()


def test_columns_of_rows(table: Session) -> None:
    for row in (table.execute("SELECT id, v FROM t").one(), named_tuple_factory(["id", "v"], [(1, "one")])[0]):
        with pytest.raises(TypeError, match=r"not 'v': use row\.v; row_factory=dict_factory .*Columns: id, v"):
            row["v"]
        with pytest.raises(TypeError, match="no such column"):
            row["nothing"]
        with pytest.raises(TypeError, match="must be integers or slices, not float"):
            row[1.5]
        with pytest.raises(IndexError):
            row[2]
        with pytest.raises(AttributeError, match=r"'Row' object has no attribute 'w'\. Columns: id, v") as caught:
            _ = row.w
        assert (caught.value.name, caught.value.obj) == ("w", row)
        with pytest.raises(AttributeError, match=r"^'Row' object has no attribute '__json__'$"):
            _ = row.__json__
        assert (row[0], row[-1], row[:1], row.id, row.v) == (1, "one", (1,), 1, "one")
        assert row == (1, "one") and row._asdict() == {"id": 1, "v": "one"}
        assert getattr(row, "w", None) is None and pickle.loads(pickle.dumps(row)) == row


@dataclass
class Pair:
    id: int
    v: str


@dataclass
class Other:
    number: int


@pytest.mark.parametrize("kind", [Pair, Other, namedtuple("Named", "id v"), dict])
def test_class_row_was_forgotten(table: Session, kind: Any) -> None:
    with pytest.raises(TypeError, match=rf"use class_row\({kind.__qualname__}\)"):
        table.execute("SELECT id, v FROM t", row_factory=kind)
    select = table.prepare("SELECT id, v FROM t WHERE id = ?")
    with pytest.raises(TypeError, match=rf"use class_row\({kind.__qualname__}\)"):
        table.execute(select, (1,), row_factory=kind).all()


def test_class_row_without_a_class(table: Session) -> None:
    with pytest.raises(TypeError, match=r"use class_row\(YourClass\)"):
        table.execute("SELECT id, v FROM t", row_factory=class_row)  # type: ignore[arg-type]


def test_a_class_may_be_a_row_factory(table: Session) -> None:
    class Page(list[Any]):
        def __init__(self, names: list[str], rows: list[Any]) -> None:
            super().__init__(rows)

    assert table.execute("SELECT id, v FROM t", row_factory=Page).one() == (1, "one")

    class Broken:
        def __init__(self, names: list[str], rows: list[Any]) -> None:
            raise TypeError("of its own")

    with pytest.raises(TypeError, match=r"^of its own$"):
        table.execute("SELECT id, v FROM t", row_factory=Broken)


@pytest.mark.parametrize("factory", [named_tuple_factory, dict_factory, tuple_factory])
def test_a_condition_that_was_not_met_is_true(table: Session, factory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassandra._session.request.result._warned", False)
    write = "INSERT INTO t (id, v) VALUES (%s, 'x') IF NOT EXISTS"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.execute(write, (2,), row_factory=factory)
        assert table.execute("SELECT * FROM t", row_factory=factory)
    result = table.execute(write, (2,), row_factory=factory)
    with pytest.warns(UserWarning, match=r"use result\.was_applied") as noted:
        assert result
    assert noted[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert table.execute(write, (2,), row_factory=factory)  # once


# ---- execute_concurrent


def test_the_item_that_failed(table: Session) -> None:
    select = table.prepare("SELECT * FROM t WHERE id = ?")
    with pytest.raises(TypeError, match=r"\[item 2\]$") as refused:
        execute_concurrent(table, [(select, (1,)), (select, (2,)), (select, ("three",))])
    assert refused.value.item == 2
    with pytest.raises(InvalidRequest, match=r"\[item 1, statement: SELECT \* FROM nothing\]$") as caught:
        execute_concurrent(table, [(select, (1,)), ("SELECT * FROM nothing", None)])
    assert caught.value.item == 1


def test_the_item_that_failed_in_asyncio(table: Session) -> None:
    async def run() -> None:
        select = table.prepare("SELECT * FROM t WHERE id = ?")
        with pytest.raises(TypeError, match=r"\[item 1\]$"):
            await execute_concurrent_async(table, [(select, (1,)), (select, ("two",))])
        with pytest.raises(InvalidRequest) as caught:
            await execute_concurrent_async(table, [(select, (1,)), ("SELECT * FROM nothing", None)])
        assert caught.value.item == 1

    asyncio.run(run())


def test_statements_without_parameters(table: Session) -> None:
    select = table.prepare("SELECT * FROM t WHERE id = ?")
    for statement in (
        select,
        select.bind((1,)),
        "SELECT * FROM t",
        SimpleStatement("SELECT * FROM t"),
        BatchStatement(),
    ):
        with pytest.raises(TypeError, match=r"item 1 should be a \(statement, parameters\) pair, not a "):
            execute_concurrent(table, [(select, (1,)), statement])

        async def run(one: Any = statement) -> None:
            await execute_concurrent_async(table, [(select, (1,)), one])

        with pytest.raises(TypeError, match=r"item 1 should be a \(statement, parameters\) pair, not a "):
            asyncio.run(run())
    assert execute_concurrent(table, [[select, (1,)]])[0].success  # any pair


# ---- futures that nobody asks


NEVER = "The error of a request was never retrieved"


def never_retrieved(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.getMessage().startswith(NEVER)]


def end(future: Any) -> None:
    """Wait for the end of a request without asking for its outcome."""
    eventually(lambda: "no result yet" not in repr(future))


@pytest.fixture(autouse=True)
def no_errors_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of other tests of the same minute count for the limit."""
    monkeypatch.setattr(logs.unretrieved_errors, "_since", float("-inf"))


def test_many_errors_that_were_never_retrieved_are_logged_in_part(
    table: Session, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(30):
        table.execute_async("SELEC")
    more = "Errors of more than 20 requests within a minute"
    eventually(lambda: any(more in record.getMessage() for record in caplog.records))
    table.execute("SELECT * FROM system.local")
    assert len(never_retrieved(caplog)) == 20


def test_an_error_that_was_never_retrieved_is_logged(table: Session, caplog: pytest.LogCaptureFixture) -> None:
    future = table.execute_async("SELECT * FROM nothing")
    end(future)
    assert not never_retrieved(caplog)
    del future
    gc.collect()
    eventually(lambda: len(never_retrieved(caplog)) == 1)
    (record,) = never_retrieved(caplog)
    assert record.levelno == logging.ERROR and "SELECT * FROM nothing" in record.getMessage()


def test_an_error_that_was_retrieved_is_not_logged(table: Session, caplog: pytest.LogCaptureFixture) -> None:
    text = "SELECT * FROM nothing"
    failing(table, text)
    late = table.execute_async(text)
    end(late)
    with pytest.raises(InvalidRequest):
        late.result()
    told: list[Any] = []
    for wait in (False, True):
        future = table.execute_async(text)
        if wait:
            end(future)
        future.add_errback(told.append)
        eventually(lambda: len(told) == 1 + wait)  # noqa: B023

    async def ask() -> None:
        with pytest.raises(InvalidRequest):
            await table.execute_async(text)
        future = table.execute_async(text)
        while "no result yet" in repr(future):
            await asyncio.sleep(0.01)
        with pytest.raises(InvalidRequest):
            await future

    asyncio.run(ask())
    cancelled = table.execute_async("SELECT * FROM t")
    cancelled.cancel()
    execute_concurrent(table, [(text, None)] * 3, raise_on_first_error=False)
    del late, future, cancelled
    gc.collect()
    assert not never_retrieved(caplog)


# ---- strict binding

INSERT = "INSERT INTO t (id, v) VALUES (?, ?)"


def binding(session: Session, **options: Any) -> None:
    insert = session.prepare(INSERT)
    for name, value in options.items():
        setattr(insert, name, value)
    for _ in range(2):  # not compiled, and compiled
        with pytest.raises(ValueError, match=r"Too few arguments .*\[statement: INSERT INTO t"):
            session.execute(insert, (5,))
        with pytest.raises(ValueError, match="no parameter of the statement is named 'w'; its parameters: id, v"):
            session.execute(insert, {"id": 5, "v": "five", "w": 0})
        with pytest.raises(KeyError, match="`v` not found"):
            session.execute(insert, {"id": 5})
        session.execute(insert, {"id": 5, "v": "five"})
        session.execute(insert, (5, "five"))


def test_strict_binding_of_a_cluster(simulated: SimulatedCluster, connect: Connect, table: Session) -> None:
    session = connect(simulated, "ks", strict_binding=True)
    binding(session)
    insert = session.prepare(INSERT)
    with pytest.raises(ValueError, match="Too few"):
        insert.bind((1,))
    with pytest.raises(ValueError, match="Too few"):
        BatchStatement().add(insert, (1,))
    insert.strict_binding = False
    session.execute(insert, (1,))
    insert.bind((1,))


def test_strict_binding_of_a_profile(simulated: SimulatedCluster, connect: Connect, table: Session) -> None:
    profiles = {EXEC_PROFILE_DEFAULT: ExecutionProfile(strict_binding=True), "lax": ExecutionProfile()}
    session = connect(simulated, "ks", execution_profiles=profiles)
    binding(session)
    insert = session.prepare(INSERT)
    session.execute(insert, (1,), execution_profile="lax")
    with pytest.raises(ValueError, match="Too few"):
        execute_concurrent(session, [(insert, (1, "one")), (insert, (2,))])


def test_strict_binding_of_a_statement(table: Session) -> None:
    binding(table, strict_binding=True)


def test_strict_binding_can_be_changed(table: Session) -> None:
    insert = table.prepare(INSERT)
    table.execute(insert, (1,))
    table.cluster.strict_binding = True
    with pytest.raises(ValueError, match="Too few"):
        table.execute(insert, (1,))
    table.cluster.strict_binding = False
    table.execute(insert, (1,))


def test_unknown_names_are_warned_of_once_per_statement(table: Session, caplog: pytest.LogCaptureFixture) -> None:
    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.name == "cassandra.query"]

    insert = table.prepare(INSERT)
    for _ in range(3):
        table.execute(insert, {"id": 1, "v": "one"})
        table.execute(insert, {"id": 1})
    assert said() == []
    for _ in range(3):
        table.execute(insert, {"id": 1, "vv": "one"})
    (message,) = said()
    assert "ks.t" in message and "'vv'" in message and "id, v" in message and "strict_binding" in message
    table.prepare("INSERT INTO t (v, id) VALUES (?, ?)").bind({"id": 1, "w": 2})
    assert len(said()) == 2
