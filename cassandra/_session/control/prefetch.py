"""Reading all tablets of a table at once, from ``system.tablets`` of a ScyllaDB node.

L5. Reading is a command; the queries and their order are a generator. The rows are read over the control connection, a
page at a time, in token order: each tablet begins where the previous one ends, even if some were split or merged
between two pages.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException, InvalidRequest, repeated_paging_state
from cassandra._base.names import cql_quote, protect_value
from cassandra._routing.tablets import Tablet
from cassandra._wire.rows import decode_page, tuple_factory
from cassandra._wire.types.base import with_own_functions

from ..background import commands
from .queries import gather, query

if TYPE_CHECKING:
    from uuid import UUID

    from cassandra._wire.messages.requests import QueryMessage

    from ..cluster.cluster import Cluster

PAGE = 2000
MIN_TOKEN = -(2**63)

Answers = list[Any]
Steps = Generator["list[QueryMessage]", Answers, "list[Tablet] | None"]


def tablets_of(cluster: Cluster, keyspace: str, table: str) -> int:
    """Implement :meth:`Session.prefetch_tablets`."""
    return commands.run(_tablets_of, cluster, keyspace, table)


def _tablets_of(cluster: Cluster, keyspace: str, table: str) -> int:
    cluster.refreshing.check_connected()
    connection = cluster.control_connection.connection or cluster.control_connection.settled()
    steps = _reading(keyspace, table)
    messages = next(steps)
    while True:
        answers = gather(connection, messages, cluster.options.control_connection_timeout)
        try:
            messages = steps.send(answers)
        except StopIteration as end:
            return _take(cluster, keyspace, table, end.value)


async def tablets_of_async(cluster: Cluster, keyspace: str, table: str) -> int:
    """Implement :meth:`Session.prefetch_tablets_async`."""
    return await commands.run_async(_tablets_of, cluster, keyspace, table)


def _take(cluster: Cluster, keyspace: str, table: str, tablets: list[Tablet] | None) -> int:
    if tablets is None:
        return 0
    cluster.metadata._tablets.replace_tablets(keyspace, table, tablets)
    return len(tablets)


def _reading(keyspace: str, table: str) -> Steps:
    """Read the tablets of a table or view; return None where servers have no tablets at all."""
    table_id = yield from _id_of(keyspace, table)
    (answer,) = yield [query(f"SELECT base_table FROM system.tablets WHERE table_id = {cql_quote(table_id)} LIMIT 1")]
    if not isinstance(answer, InvalidRequest):  # the answer of servers without co-located tables
        table_id = next((base for (base,) in _rows(answer) if base is not None), table_id)
    tablets: list[Tablet] = []
    first, paging_state = MIN_TOKEN, None
    while True:
        text = f"SELECT last_token, replicas FROM system.tablets WHERE table_id = {cql_quote(table_id)}"
        (answer,) = yield [query(text, PAGE, paging_state)]
        if isinstance(answer, InvalidRequest):
            return None
        for last, replicas in _rows(answer):
            if last is None:  # the table has only static columns
                continue
            tablet = Tablet.from_row(first, last, replicas)
            first = last
            if tablet is not None:
                tablets.append(tablet)
        asked, paging_state = paging_state, answer.paging_state
        if not paging_state:
            return tablets
        if paging_state == asked:
            raise repeated_paging_state("The server")


def _id_of(keyspace: str, table: str) -> Generator[list[QueryMessage], Answers, UUID]:
    where = f"WHERE keyspace_name = {protect_value(keyspace)} AND"
    name = protect_value(table)
    answers = yield [
        query(f"SELECT id FROM system_schema.tables {where} table_name = {name}"),
        query(f"SELECT id FROM system_schema.views {where} view_name = {name}"),
    ]
    for answer in answers:
        for (table_id,) in _rows(answer):
            found: UUID = table_id
            return found
    raise DriverException(f"Table or view {keyspace}.{table} does not exist, so its tablets cannot be read")


def _rows(answer: Any) -> Any:
    """Return the rows of a response; raise an error response."""
    if isinstance(answer, BaseException):
        raise answer
    return decode_page(with_own_functions(answer.page), tuple_factory)
