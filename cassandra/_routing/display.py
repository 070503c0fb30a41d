"""Tables of hosts and schema objects for their ``repr`` and ``_repr_html_`` (L4).

The functions read the attributes of their objects, which need not be complete, and send nothing. Any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from cassandra._base.display import Table, bracketed

if TYPE_CHECKING:
    from .host import Host
    from .metadata import Metadata

TYPE_CHARACTERS = 100  # of a CQL type or a list of names
MOST_IN_TITLE = 8  # columns
MOST_DESCRIBED = 50  # hosts, tables, columns

_COLUMN = (("column", ""), ("type", ""), ("key", ""))


def count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


# ---- hosts


def host_state(host: Host) -> str:
    return "unknown" if host.is_up is None else "up" if host.is_up else "down"


def hosts_table(title: str, hosts: Iterable[Host]) -> Table:
    columns = [(name, "") for name in ("host", "datacenter", "rack", "state", "version", "shards")]
    rows = [
        (
            str(host.endpoint),
            host.datacenter,
            host.rack,
            host_state(host),
            host.release_version,
            None if host.sharding_info is None else host.sharding_info.shards_count,
        )
        for host in hosts
    ]
    return Table(title, columns, rows, (), TYPE_CHARACTERS, MOST_DESCRIBED)


def host_table(host: Host) -> Table:
    return hosts_table("Host", [host])


def metadata_text(metadata: Metadata) -> str:
    return bracketed(_metadata_title(metadata))


def metadata_tables(metadata: Metadata) -> list[Table]:
    return [hosts_table(_metadata_title(metadata), metadata.all_hosts()), keyspaces_table(metadata.keyspaces)]


def _metadata_title(metadata: Metadata) -> str:
    name = f" of {metadata.cluster_name!r}" if metadata.cluster_name else ""
    return f"Metadata{name}: {count(len(metadata.all_hosts()), 'host')}, {count(len(metadata.keyspaces), 'keyspace')}"


# ---- schema


def keyspaces_table(keyspaces: Mapping[str, Any]) -> Table:
    """Return names and replication: the contents of keyspaces are parsed on first use."""
    columns = [("keyspace", ""), ("replication", ""), ("durable writes", "")]
    known = dict(keyspaces.items())
    rows = [(name, replication(one), one.durable_writes) for name, one in known.items()]
    return Table(count(len(known), "keyspace"), columns, rows, (), TYPE_CHARACTERS, MOST_DESCRIBED)


def replication(keyspace: Any) -> str:
    strategy = keyspace.replication_strategy
    if strategy is None:
        return "none"
    options = ", ".join(f"{name}: {value}" for name, value in (strategy.options_map or {}).items() if name != "class")
    return f"{strategy.name} {options}".rstrip()


def keyspace_text(keyspace: Any) -> str:
    return bracketed(f"{type(keyspace).__name__} {keyspace.name}: {replication(keyspace)}")


def keyspace_table(keyspace: Any) -> Table:
    """Return tables and views, with the numbers of other objects."""
    found = [(name, table, "table") for name, table in keyspace.tables.items()]
    found += [(name, view, "view") for name, view in keyspace.views.items()]
    rows = [(name, kind, _key(table), len(table.columns), _names(table.columns)) for name, table, kind in found]
    parts = {"user types": keyspace.user_types, "functions": keyspace.functions, "aggregates": keyspace.aggregates}
    notes = [f"{what}: {_names(part)}" for what, part in parts.items() if part]
    columns = [(name, "") for name in ("name", "kind", "primary key", "columns", "names")]
    return Table(
        f"Keyspace {keyspace.name}: {replication(keyspace)}", columns, rows, notes, TYPE_CHARACTERS, MOST_DESCRIBED
    )


def table_text(table: Any) -> str:
    """Return the name, the first columns and the primary key of a table or view."""
    columns = [f"{one.name} {one.cql_type}" for one in islice(table.columns.values(), MOST_IN_TITLE)]
    if len(table.columns) > len(columns):
        columns.append(f"{len(table.columns) - len(columns)} more columns")
    name = f"{type(table).__name__} {table.keyspace_name}.{table.name}"
    return bracketed(f"{name}: PRIMARY KEY ({_key(table)}), {', '.join(columns)}")


def table_columns(table: Any) -> Table:
    """Return the columns of a table or view."""
    rows = [(column.name, column.cql_type, _role(table, column)) for column in table.columns.values()]
    name = f"{table.keyspace_name}.{table.name}"
    base = getattr(table, "base_table_name", None)
    kind = f"Table {name}" if base is None else f"View {name} of {base}"
    title = f"{kind}: PRIMARY KEY ({_key(table)})"
    return Table(title, _COLUMN, rows, (), TYPE_CHARACTERS, MOST_DESCRIBED)


def _role(table: Any, column: Any) -> str:
    if any(one.name == column.name for one in table.partition_key):
        return "partition key"
    if any(one.name == column.name for one in table.clustering_key):
        return f"clustering key {'DESC' if column.is_reversed else 'ASC'}"
    return "static" if column.is_static else ""


def column_text(column: Any) -> str:
    return bracketed(f"{type(column).__name__} {column.name} {column.cql_type}")


def column_table(column: Any) -> Table:
    role = "" if column.table is None else _role(column.table, column)
    return Table(f"Column {column.name}", _COLUMN, [(column.name, column.cql_type, role)], (), TYPE_CHARACTERS)


def type_text(user_type: Any) -> str:
    pairs = list(islice(zip(user_type.field_names, user_type.field_types, strict=False), MOST_IN_TITLE))
    fields = [f"{name} {kind}" for name, kind in pairs]
    if len(user_type.field_names) > len(fields):
        fields.append(f"{len(user_type.field_names) - len(fields)} more fields")
    return bracketed(f"{type(user_type).__name__} {user_type.keyspace}.{user_type.name}: {', '.join(fields)}")


def type_fields(user_type: Any) -> Table:
    rows = list(zip(user_type.field_names, user_type.field_types, strict=False))
    title = f"User type {user_type.keyspace}.{user_type.name}"
    return Table(title, [("field", ""), ("type", "")], rows, (), TYPE_CHARACTERS, MOST_DESCRIBED)


def _key(table: Any) -> str:
    partition = ", ".join(one.name for one in table.partition_key)
    if len(table.partition_key) > 1:
        partition = f"({partition})"
    return ", ".join([partition, *(one.name for one in table.clustering_key)])


def _names(names: Iterable[str]) -> str:
    return ", ".join(islice(names, 2 * MOST_IN_TITLE))
