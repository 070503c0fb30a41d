"""RowUpdate: one look at an instance gives the values to bind; also its prepared statements and cached updates."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._core.models import (
    ConnectionFields,
    FastRequest,
    Instance,
    InstanceLayout,
    KeywordCache,
    Kind,
    Precomputed,
    PreparedEntry,
    ReadyStatements,
    RowUpdate,
    RowUpdates,
    Statements,
    UnmodifiedMethods,
    new_loaded,
)
from cassandra._core.routing import PlanCache, SessionFields
from cassandra._core.transport import Request

UNMODIFIED = InstanceLayout(["id", "a", "b", "c"], [None] * 4)
ROW = (1, 2, "three", 4.0)


class Row(Instance):
    pass


class Connection(ConnectionFields):
    pass


class Statement(PreparedEntry):
    """Its own entry."""

    is_outdated = False

    def is_ready(self) -> bool:
        return not self.is_outdated


def never(value: Any) -> bool:
    return False


class Sent(Request):
    def __init__(self, statement: Any, values: Any) -> None:
        super().__init__()
        self.sent = (statement, values)


class Session(SessionFields):
    """Answers with how it was asked."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        super().__setattr__("_settings_epoch", object())

    def execute_async(self, statement: Any, values: Any) -> Any:
        return Sent(statement, values)


SESSIONS = UnmodifiedMethods(Session, ["execute_async"])


def nowhere() -> ReadyStatements:
    return ReadyStatements(SESSIONS, "prepared", {}, "default", {"execute": len, "executed_by": len, "PREPARING": True})


def update_of(given: Any, key: Any, others: Any, layout: InstanceLayout = UNMODIFIED) -> RowUpdate:
    model = SimpleNamespace(__connection__=None)
    return RowUpdate(model, "shape", "ks", nowhere(), SESSIONS, layout, given, key, others)


def rewrite(takes: Callable[[Any], bool] = never, layout: InstanceLayout = UNMODIFIED) -> RowUpdate:
    """Of ``a`` and ``b``, given in the other order."""
    return update_of([(str, 1, 2), (int, 0, 1)], [(int, 0)], [(float, 3, takes)], layout)


def loaded(row: tuple[Any, ...] = ROW) -> Row:
    return new_loaded(Row, UNMODIFIED, row, ())


@pytest.fixture(params=["usual", "another"], ids=lambda param: f"layout-{param}")
def instance(request: pytest.FixtureRequest) -> Any:
    if request.param == "usual":
        return loaded()
    # read in another order, the key beside the row
    return new_loaded(Row, InstanceLayout(["c", "b", "a", "id"], [None] * 4), (4.0, "three", 2), (1,))


def test_bound_returns_the_bound_values_and_the_new_row(instance: Any) -> None:
    given = {"b": "x", "a": 7}
    assert rewrite().bound(instance, given) == ((7, "x", 1), (1, 7, "x", 4.0))
    assert instance._touched == {} and given == {"b": "x", "a": 7}, "nothing is set before it was sent"


@pytest.mark.parametrize(
    "given",
    [{"b": 5, "a": 7}, {"b": "x", "a": True}, {"b": "x", "a": None}, {"b": "three", "a": 7}, {"b": "x", "a": 2}],
)
def test_values_of_which_there_is_more_to_do(instance: Any, given: dict[str, Any]) -> None:
    assert rewrite().bound(instance, given) is None


def test_nan_is_written_again() -> None:
    nan = float("nan")
    one = update_of([(float, 0, 3)], [(int, 0)], [])
    assert one.bound(loaded((1, 2, "three", nan)), {"c": nan}) == ((nan, 1), (1, 2, "three", nan))


def test_others_are_looked_at() -> None:
    seen: list[Any] = []

    def takes(value: Any) -> bool:
        seen.append(value)
        return value is None

    assert rewrite(takes).bound(loaded(), {"b": "x", "a": 7}) is not None and not seen
    assert rewrite(takes).bound(loaded((1, 2, "three", None)), {"b": "x", "a": 7}) == ((7, "x", 1), (1, 7, "x", None))
    assert rewrite(takes).bound(loaded((1, 2, "three", "no")), {"b": "x", "a": 7}) is None
    assert seen == [None, "no"]


def test_a_key_of_another_class() -> None:
    assert rewrite().bound(loaded(("1", 2, "three", 4.0)), {"b": "x", "a": 7}) is None


def test_instances_of_which_there_is_more_to_do() -> None:
    def bound(one: Any) -> Any:
        return rewrite().bound(one, {"b": "x", "a": 7})

    fresh: Any = Row()
    assert bound(fresh) is None
    for change in "_is_persisted", "option", "touched", "given":
        one: Any = loaded()
        assert bound(one) is not None
        if change == "touched":
            one._touched["c"] = 1.0
        elif change == "given":
            one._given.add("c")
        else:
            setattr(one, change, False)
        assert bound(one) is None, change
    missing = InstanceLayout(["id", "a", "b"], [None] * 3)
    assert bound(new_loaded(Row, missing, (1, 2, "three"), ())) is None
    made_anew = InstanceLayout(["id", "a", "b", "c"], [None, None, None, list])
    assert bound(new_loaded(Row, made_anew, ROW, ())) is None


def test_a_container_beside_the_values() -> None:
    layout = InstanceLayout(UNMODIFIED.names, [None, None, None, Kind(list, str)])
    update = update_of([(str, 1, 2), (int, 0, 1)], [(int, 0)], [], layout)
    given, row = {"b": "x", "a": 7}, (1, 2, "three", ["c"])
    for loaded_as in (layout, InstanceLayout(UNMODIFIED.names, [None, None, None, Kind(list, str)])):
        one: Any = new_loaded(Row, loaded_as, row, ())
        assert update.bound(one, given) == ((7, "x", 1), (1, 7, "x", ["c"]))
        one._touched["c"] = ["c"]  # it was read
        assert update.bound(one, given) == ((7, "x", 1), (1, 7, "x", ["c"]))
        one._touched["c"].append("d")
        assert update.bound(one, given) is None


def test_an_instance_that_was_kept_is_as_loaded() -> None:
    one = loaded()
    one._set_all({"b": "x", "a": 7})
    assert rewrite().bound(one, {"b": "y", "a": 8}) is None
    one._keep(UNMODIFIED, (1, 7, "x", 4.0))
    assert rewrite().bound(one, {"b": "y", "a": 8}) == ((8, "y", 1), (1, 8, "y", 4.0))
    assert one._touched == {} and one._given == set()


def test_mismatched_value_counts_and_places_are_refused() -> None:
    two = InstanceLayout(["a", "b"], [None, None])
    with pytest.raises(ValueError, match="1 values for 2 names"):
        rewrite().bound(loaded(), {"a": 1})
    for given in [(int, 1, 0)], [(int, 0, 0), (int, 0, 1)]:
        with pytest.raises(ValueError, match="among the bound values"):
            update_of(given, [], [], two)
    for place in -1, 2:
        with pytest.raises(ValueError, match="places in a row of 2"):
            update_of([(int, 0, place)], [], [], two)
        with pytest.raises(ValueError, match="places in a row of 2"):
            update_of([], [(int, place)], [], two)
        with pytest.raises(ValueError, match="places in a row of 2"):
            update_of([], [], [(int, place, never)], two)


def test_kinds_are_classes() -> None:
    with pytest.raises(TypeError, match="expected a class, got"):
        update_of([(int, 0, 0)], [(7, 0)], [])


def test_nothing_is_kept_of_rows() -> None:
    value, one = object(), update_of([(int, 0, 1)], [(int, 0)], [])
    instance = loaded((1, 2, value, value))
    before = sys.getrefcount(value)
    for _ in range(100):
        one.bound(instance, {"a": 7})
        one.bound(instance, {"a": 2})
    assert sys.getrefcount(value) == before


def test_unsent_update_leaves_the_instance_unchanged() -> None:
    one = loaded()
    assert rewrite().send(one, {"b": "x", "a": 7}) is None
    updates = RowUpdates("kind", {"DEFAULT_KEYSPACE": "ks"}, lambda model, given: rewrite())
    known = KeywordCache(8)
    Row._shapes = {"kind": known}  # type: ignore[attr-defined]
    updates.keep(known, {"b": "x", "a": 7}, rewrite())
    assert updates.write(one, {"b": "x", "a": 7}) is False
    assert one._touched == {}


# ---- prepared statements


def ready() -> tuple[ReadyStatements, Any, Any, dict[str, Any]]:
    """And a connection, a statement that is ready, and settings."""
    statement = Statement("statement", PlanCache())
    connection = Connection()
    connection._ready = Session()
    connection._ready.prepared = Statements()
    connection._ready.prepared.statements["shape"] = statement
    settings = {"execute": len, "executed_by": len, "PREPARING": True}
    connections = {"one": connection, "default": connection}
    return ReadyStatements(SESSIONS, "prepared", connections, "default", settings), connection, statement, settings


def test_send_executes_the_prepared_statement() -> None:
    statements, _, _, _ = ready()
    for name in "one", None, "default":
        future = statements.send(name, "shape", (1,))
        assert future.sent == ("statement", (1,)) and future.row_factory is None
        assert statements.send(name, "shape", (1,), tuple).row_factory is tuple


@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError])
def test_values_that_cannot_be_bound(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Any, statement: Any, values: Any) -> Any:
        raise error

    monkeypatch.setattr(Session, "execute_async", refuse)
    statements, connection, _, settings = ready()
    unmodified = UnmodifiedMethods(Session, ["execute_async"])
    statements = ReadyStatements(unmodified, "prepared", {"default": connection}, "default", settings)
    assert statements.send(None, "shape", (1,)) is None


@pytest.mark.parametrize(
    "what", ["name", "shape", "not connected", "other", "replaced", "unprepared", "outdated", "seen", "by text"]
)
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_send_returns_none_when_statement_or_session_is_not_ready(what: str, again: bool) -> None:
    statements, connection, statement, settings = ready()
    name = "two" if what == "name" else "one"
    shape = "another" if what == "shape" else "shape"
    if again:
        assert statements.send("one", "shape", ()) is not None
    if what == "not connected":
        connection._ready = None
    elif what == "other":
        connection._ready = type("Sub", (Session,), {})()
    elif what == "replaced":
        connection._ready.execute_async = None
    elif what == "unprepared":
        del connection._ready.__dict__["prepared"]
        connection._ready._keep(None)
    elif what == "outdated":
        statement.is_outdated = True
    elif what == "seen":
        settings["executed_by"] = print
    elif what == "by text":
        settings["PREPARING"] = False
    assert statements.send(name, shape, ()) is None


# ---- cached updates


def test_it_is_worked_out_once() -> None:
    model = SimpleNamespace(_shapes={})
    settings = {"DEFAULT_KEYSPACE": "ks"}
    asked: list[Any] = []
    nothing = False

    def compute(of: Any, given: dict[str, Any]) -> Any:
        asked.append(tuple(given))
        known = model._shapes.setdefault("kind", KeywordCache(8))
        found = None if nothing else FastRequest(of, "shape", settings["DEFAULT_KEYSPACE"], nowhere())
        return worked.keep(known, given, found)

    worked = Precomputed("kind", settings, compute)
    first = worked.find(model, {"a": 1})
    assert first.keyspace == "ks" and worked.find(model, {"a": 2}) is first and asked == [("a",)]
    nothing = True
    assert worked.find(model, {"b": 1}) is None and worked.find(model, {"b": 2}) is None and asked == [("a",), ("b",)]
    assert worked.find(model, {"a": 3}) is first
    settings["DEFAULT_KEYSPACE"], nothing = "another", False
    assert worked.find(model, {"a": 1}).keyspace == "another" and len(asked) == 3
    model._shapes.clear()
    worked.find(model, {"a": 1})
    assert len(asked) == 4
