"""Checks that values bound for a statement still have the types that the server expects.

L5. Pure. When a table is dropped and created again, prepared statements may have parameters of other types, with the
same text and so the same id: values bound by the old types would be stored as other values of the new ones. The server
returns the types whenever the statement is prepared again; for parameters that are columns its schema tables have them,
without that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.names import protect_value
from cassandra._routing.schema.cqltype import CqlType, parse_cql_type

if TYPE_CHECKING:
    from cassandra._core.codec import BindPlan, Codec

    from .prepared import PreparedStatement

COLUMNS = "SELECT column_name, type FROM system_schema.columns WHERE keyspace_name = {} AND table_name = {}"


def columns_query(statement: PreparedStatement) -> str | None:
    """Return the query for the types of the columns that are parameters; None if its text does not ensure that they are
    columns: a named marker may have the name of another one."""
    specs = statement._bind_plan.specs
    tables = {spec[:2] for spec in specs}
    if len(tables) != 1 or ":" in statement.query_string:
        return None
    return COLUMNS.format(*map(protect_value, specs[0][:2]))


def has_types_of(statement: PreparedStatement, columns: Iterable[Mapping[str, Any]]) -> bool:
    """True if *columns*, rows of the schema tables, prove that each parameter still has its type. False also where they
    do not: for fields of user types, and for parameters that are not columns."""
    types = {row["column_name"]: parse_cql_type(row["type"]) for row in columns}
    for _, _, name, codec in statement._bind_plan.specs:
        if name not in FIXED and (name not in types or not _is(codec, types[name])):
            return False
    return True


#: Parameters with types fixed by the server.
FIXED = frozenset(("[ttl]", "[timestamp]", "[limit]", "[per_partition_limit]", "[timeout]"))


def _is(codec: Codec, cql: CqlType) -> bool:
    if cql.name == "frozen" and cql.args:
        return _is(codec, cql.args[0])
    if cql.kind != "native":
        return False
    if codec.name == "vector":
        sizes = [part.name for part in cql.args[1:]]
        return cql.name == "vector" and sizes == [str(codec.dimensions)] and _is(codec.children[0], cql.args[0])
    if not codec.children:
        return not cql.args and codec.name == ("text" if cql.name == "varchar" else cql.name)
    return codec.name == cql.name and len(codec.children) == len(cql.args) and all(map(_is, codec.children, cql.args))


def changed(before: BindPlan, now: BindPlan | None) -> str | None:
    """Return a description of the parameters that have other types; None while values bound for *before* are valid for
    *now*."""
    differences = []
    for old, new in zip(before.specs, () if now is None else now.specs, strict=False):  # of one text: same length
        if not holds(new[3], old[3]):
            types = f"{_spelled(new[3], old[3])}, where it was {_spelled(old[3], new[3])}"
            differences.append(f"{new[2]!r} of {new[0]}.{new[1]} is of type {types}")
    return "; ".join(differences) or None


def _spelled(codec: Codec, other: Codec) -> str:
    """Return the type in CQL; with the fields of user types where *other* has the same name."""
    return codec.cql() if codec.cql() != other.cql() else _in_full(codec)


def _in_full(codec: Codec) -> str:
    if codec.field_names:
        fields = (f"{name} {_in_full(child)}" for name, child in zip(codec.field_names, codec.children, strict=True))
        return f"{codec.keyspace}.{codec.type_name} ({', '.join(fields)})"
    return f"{codec.name}<{', '.join(map(_in_full, codec.children))}>" if codec.children else codec.cql()


def holds(new: Codec, old: Codec) -> bool:
    """True if the bytes of every value of *old* are the same value of *new*: for the same type, and for a user type
    that was extended by fields, or whose fields were renamed."""
    if new is old:
        return True
    mine, others = (new.kind, new.name, new.dimensions), (old.kind, old.name, old.dimensions)
    further = len(new.children) - len(old.children)
    if mine != others or further < 0 or (further and not new.field_names):
        return False
    if (new.keyspace, new.type_name) != (old.keyspace, old.type_name):
        return False
    return all(map(holds, new.children, old.children))  # additional fields have no counterpart
