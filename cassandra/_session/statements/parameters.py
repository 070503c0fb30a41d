"""Whether values that were bound for a statement are still what the server takes them for.

L5. Pure. A table that is dropped and created again leaves prepared statements behind whose parameters have other types,
with the same text and so the same id: whatever is bound by the old types would be stored as some value of the new ones.
The server tells the types whenever the statement is prepared again; its schema tables tell them for parameters that are
columns, without that.
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
    """What to ask for the types of the columns that its parameters are; None if its text does not make sure that they
    are columns: a named marker may have the name of another one."""
    specs = statement._bind_plan.specs
    tables = {spec[:2] for spec in specs}
    if len(tables) != 1 or ":" in statement.query_string:
        return None
    return COLUMNS.format(*map(protect_value, specs[0][:2]))


def has_types_of(statement: PreparedStatement, columns: Iterable[Mapping[str, Any]]) -> bool:
    """Whether *columns*, rows of the schema tables, show that each of its parameters is of the type it was. False also
    for what they do not tell: the fields of user types, parameters that are no columns."""
    types = {row["column_name"]: parse_cql_type(row["type"]) for row in columns}
    for _, _, name, codec in statement._bind_plan.specs:
        if name not in FIXED and (name not in types or not _is(codec, types[name])):
            return False
    return True


#: Parameters whose types are the server's.
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
    """Which parameters are of other types, in words; None while values bound for *before* are right for *now*."""
    differences = []
    for old, new in zip(before.specs, () if now is None else now.specs, strict=False):  # of one text: as many
        if not holds(new[3], old[3]):
            types = f"{_spelled(new[3], old[3])}, where it was {_spelled(old[3], new[3])}"
            differences.append(f"{new[2]!r} of {new[0]}.{new[1]} is of type {types}")
    return "; ".join(differences) or None


def _spelled(codec: Codec, other: Codec) -> str:
    """In CQL; with the fields of user types where *other* has the same name."""
    return codec.cql() if codec.cql() != other.cql() else _in_full(codec)


def _in_full(codec: Codec) -> str:
    if codec.field_names:
        fields = (f"{name} {_in_full(child)}" for name, child in zip(codec.field_names, codec.children, strict=True))
        return f"{codec.keyspace}.{codec.type_name} ({', '.join(fields)})"
    return f"{codec.name}<{', '.join(map(_in_full, codec.children))}>" if codec.children else codec.cql()


def holds(new: Codec, old: Codec) -> bool:
    """Whether the bytes of every value of *old* are that value of *new*. So it is with the same type, and with a user
    type that was given further fields, or whose fields were renamed."""
    if new is old:
        return True
    mine, others = (new.kind, new.name, new.dimensions), (old.kind, old.name, old.dimensions)
    further = len(new.children) - len(old.children)
    if mine != others or further < 0 or (further and not new.field_names):
        return False
    if (new.keyspace, new.type_name) != (old.keyspace, old.type_name):
        return False
    return all(map(holds, new.children, old.children))  # the further fields have no counterpart
