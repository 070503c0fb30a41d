"""Whether values that were bound for a statement are still what the server takes them for.

L5. Pure. A table that is dropped and created again leaves prepared statements behind whose parameters have other types,
with the same text and so the same id: whatever is bound by the old types would be stored as some value of the new ones.
The server tells the types whenever the statement is prepared again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cassandra._core.codec import BindPlan, Codec


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
