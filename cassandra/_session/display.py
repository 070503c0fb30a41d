"""Tables of clusters, sessions and prepared statements for their ``repr`` and ``_repr_html_`` (L5).

They show names, addresses and states: no options, which may have credentials. Nothing is sent, and no lock is acquired.
Any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import TYPE_CHECKING, Any

from cassandra._base.display import HIDDEN, MOST_ROWS, Table, bracketed, text
from cassandra._base.errors import DriverException
from cassandra._core.codec import LazyRows, ResultPlan, RowsPage, retained_page
from cassandra._routing.display import MOST_DESCRIBED, TYPE_CHARACTERS, count, host_state, hosts_table, keyspaces_table
from cassandra._wire.rows import PageRows, row_plan

if TYPE_CHECKING:
    from .cluster import Cluster
    from .request.result import ResultSet
    from .session import Session
    from .statements.prepared import PreparedStatement


CQL_CHARACTERS = 1000


def cluster_text(cluster: Cluster) -> str:
    return bracketed(_cluster_title(cluster))


def cluster_tables(cluster: Cluster) -> list[Table]:
    metadata = cluster.metadata
    hosts = hosts_table(_cluster_title(cluster), metadata.all_hosts())
    return [hosts, keyspaces_table(metadata.keyspaces)] if metadata.keyspaces else [hosts]


def _cluster_title(cluster: Cluster) -> str:
    metadata = cluster.metadata
    hosts = metadata.all_hosts()
    if cluster.is_shutdown:
        state = "shut down"
    elif not hosts:
        state = "not connected"
    else:
        state = f"{_up(hosts)}, {count(len(cluster.sessions), 'session')}"
    return f"Cluster{_named(metadata.cluster_name)}: {state}"


def _named(name: str | None) -> str:
    return f" {name!r}" if name else ""


def _up(hosts: Iterable[Any]) -> str:
    known = list(hosts)
    return f"{sum(host.is_up is True for host in known)} of {count(len(known), 'host')} up"


def session_text(session: Session) -> str:
    return bracketed(_session_title(session))


def session_table(session: Session) -> Table:
    """Return the hosts with open pools: their connections and requests in flight."""
    columns = [(name, "") for name in ("host", "datacenter", "state", "connections", "in flight")]
    rows = [
        (str(host.endpoint), host.datacenter, host_state(host), pool.open_count, pool.in_flight)
        for host, pool in dict(session._pools).items()
    ]
    return Table(_session_title(session), columns, rows, (), TYPE_CHARACTERS, MOST_DESCRIBED)


def _session_title(session: Session) -> str:
    title = f"Session of cluster{_named(session.cluster.metadata.cluster_name)}"
    if session.keyspace:
        title += f", keyspace {session.keyspace}"
    if session.is_shutdown:
        return f"{title}: shut down"
    return f"{title}: {count(len(session._pools), 'connected host')}"


def prepared_tables(prepared: PreparedStatement) -> list[Table]:
    """Return the parameters and the columns of the result. A prepared statement has no values."""
    plan, (result, _) = prepared._bind_plan, prepared._snapshot
    keys = set(plan.pk_indexes or ())
    parameters = [
        (name, codec.cql(), "partition key" if at in keys else "") for at, (_, _, name, codec) in enumerate(plan.specs)
    ]
    columns = (("parameter", ""), ("type", ""), ("key", ""))
    tables = [
        Table("PreparedStatement", (("query", ""),), [(prepared.query_string,)], (), CQL_CHARACTERS),
        Table(count(len(parameters), "parameter"), columns, parameters, (), TYPE_CHARACTERS, MOST_DESCRIBED),
    ]
    if result is not None:
        selected = [(name, codec.cql()) for name, codec in zip(result.names, result.codecs, strict=True)]
        title = count(len(selected), "column")
        tables.append(Table(title, (("column", ""), ("type", "")), selected, (), TYPE_CHARACTERS, MOST_DESCRIBED))
    return tables


# ---- the first rows of a result for its ``repr`` and ``_repr_html_``
#
# Reads the current page only, without consuming it, and from any thread: rows that were made already are used as they
# are, of others only the first few are decoded. The page of a result that another thread turns meanwhile may be shown
# with the columns of the next one.


MOST_BYTES = 256 << 10  # that are decoded, apart from one larger row
MORE = "there are more pages"


def table_of(result: ResultSet[Any]) -> Table:
    """Return the columns and first rows of the current page of *result*."""
    rows, plan, kept, names = result._undecoded_rows, result._plan, result._kept, result.column_names
    page = _page_of(rows, plan, kept)
    notes: list[str] = []
    shown: Sequence[Any] = ()
    if page is not None:
        shown = _first_of_page(page, notes)
        plan = page.plan
    elif isinstance(rows, (list, tuple)):
        first = rows[:MOST_ROWS]
        if all(isinstance(row, (tuple, Mapping)) for row in first):
            shown = [_cells(row, names) for row in first]
        else:  # of a class of the program: of several pages, or not one for each row
            notes.append(f"the rows are objects of {', '.join(sorted({type(row).__name__ for row in first}))}")
    hidden = set() if plan is None else {at for at, codec in enumerate(plan.codecs) if codec.stored is not None}
    if hidden:
        shown = [_hide(row, hidden) for row in shown]
    count = len(rows) if isinstance(rows, Sized) else len(shown)
    if shown and count > len(shown):
        notes.insert(0, f"{count - len(shown):,} more row{'s' if count - len(shown) > 1 else ''} in this page")
    more = ""
    if result.has_more_pages:
        more = ", and there are more"
        notes.append(MORE)
    elif not count and result._page_iter is not None:
        notes.append("all rows were read")
    return Table(f"ResultSet: {size_text(rows)}{more}", _columns(names, plan), shown, notes)


def text_of(result: ResultSet[Any]) -> str:
    return text(table_of(result))


def size_text(result: Any) -> str:
    """Return the size of *result*, of a page, as text."""
    if result is None:
        return "no rows"
    if not isinstance(result, Sized):
        return f"a {type(result).__name__}"
    return f"{len(result)} row{'' if len(result) == 1 else 's'}"


def _columns(names: Sequence[str] | None, plan: ResultPlan | None) -> list[tuple[str, str]]:
    if not names:
        return []
    if plan is None or len(plan.codecs) != len(names):
        return [(name, "") for name in names]
    return [(name, codec.cql()) for name, codec in zip(names, plan.codecs, strict=True)]


def _page_of(rows: Any, plan: ResultPlan | None, kept: Any) -> RowsPage | None:
    """Return the page of rows that are not made yet, or that are of a class or a row factory of the program: their
    attributes might do anything. None for tuples and dicts."""
    if isinstance(rows, LazyRows):
        return rows.page
    if isinstance(rows, PageRows):
        return rows._page
    is_plain = isinstance(rows, (list, tuple)) and all(isinstance(row, (tuple, Mapping)) for row in rows[:MOST_ROWS])
    if is_plain or plan is None or kept is None or isinstance(kept, list):
        return None
    page = retained_page(plan, kept)
    has_all = len(page) == len(rows) or not isinstance(rows, (list, tuple))  # not after a row factory has dropped some
    return page if has_all else None


def _first_of_page(page: RowsPage, notes: list[str]) -> list[Any]:
    if any(codec.stored is not None for codec in page.plan.codecs):
        notes.append("rows with encrypted columns are shown when they have been read")
        return []
    tuples = row_plan(page.plan, None)
    assert tuples is not None
    try:
        return next(page.batches(tuples, MOST_ROWS, MOST_BYTES), [])
    except DriverException as error:
        notes.append(str(error))
        return []


def _hide(row: Sequence[Any], hidden: set[int]) -> list[Any]:
    return [HIDDEN if at in hidden and cell is not None else cell for at, cell in enumerate(row)]


def _cells(row: Any, names: Sequence[str] | None) -> Sequence[Any]:
    """Return the values of a row in the order of the columns."""
    if isinstance(row, tuple):
        return row
    return list(row.values()) if names is None else [row.get(name) for name in names]
