"""Statements that depend on one another: a generator yields them, and is run in a thread or awaited.

Between two statements the generator reads the metadata of the cluster, which the driver refreshes before a schema
change returns. The generator itself performs no I/O and does not wait.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from itertools import product
from typing import Any, Protocol

from cassandra._base.errors import AlreadyExists, InvalidRequest
from cassandra._base.logs import get_logger
from cassandra._mapper.connections import get_connection_async
from cassandra._mapper.execution.text import by_text_async, execute
from cassandra._session.statements.statement import NOT_SET

log = get_logger("cassandra.cqlengine.management")

#: CQL statements; an error of a statement is thrown into the generator.
Steps = Generator[str, None, None]

#: Error texts of servers for an object that already exists.
_IS_THERE = (
    "already exist",
    "of that name exists",
    "conflicts with an existing",
    "duplicate of existing",
    "duplicates existing",
)


class Planned(Protocol):
    """Steps for one connection and, for tables, one keyspace."""

    def __call__(self, connection: Any) -> Steps: ...


def run(planned: Planned, connection: Any) -> None:
    """Execute the statements of *planned*, one after the other."""
    steps = planned(connection)
    step = next(steps, None)
    while step is not None:
        try:
            execute(step, connection=connection)
        except (AlreadyExists, InvalidRequest) as error:
            step = _told(steps, error)
        else:
            step = next(steps, None)


async def run_async(planned: Planned, connection: Any) -> None:
    """As :func:`run`, without blocking the running loop."""
    session = (await get_connection_async(connection)).session
    steps = planned(connection)
    step = next(steps, None)
    while step is not None:
        try:
            await by_text_async(session, step, None, None, NOT_SET)
        except (AlreadyExists, InvalidRequest) as error:
            step = _told(steps, error)
        else:
            step = next(steps, None)


def _told(steps: Steps, error: Exception) -> str | None:
    try:
        return steps.throw(error)
    except StopIteration:
        return None


def unless_there(statement: str, what: str) -> Generator[str, None, bool]:
    """Yield *statement*; return False, and log *what*, if another program has created the object first."""
    try:
        yield statement
    except (AlreadyExists, InvalidRequest) as error:
        if not isinstance(error, AlreadyExists) and not any(words in str(error) for words in _IS_THERE):
            raise
        log.info(what)
        return False
    return True


def each(*lists: tuple[str, Any]) -> Iterable[tuple[Any, ...]]:
    """Return all combinations of the named lists, None for an empty one; raise ValueError if one is not a list or
    tuple."""
    for name, given in lists:
        if given and not isinstance(given, list | tuple):
            raise ValueError(f"{name} must be a list or a tuple.")
    return product(*(given or (None,) for _, given in lists))
