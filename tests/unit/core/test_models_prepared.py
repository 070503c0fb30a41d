"""Statements that are prepared in their session, and reads by them."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._core.models import (
    ConnectionFields,
    PreparedEntry,
    ReadyStatements,
    Statements,
    UnmodifiedMethods,
)
from cassandra._core.routing import PlanCache, SessionFields
from cassandra._core.transport import Request


class Connection(ConnectionFields):
    pass


class Statement(PreparedEntry):
    """Its own entry."""

    is_outdated = False

    def is_ready(self) -> bool:
        return not self.is_outdated


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
