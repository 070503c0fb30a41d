"""Part of the schema that has changed or is to be read again (L4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from cassandra._base.constants import SchemaChangeType, SchemaTargetType
from cassandra._base.names import SignatureDescriptor

#: Kinds of targets besides those of :class:`~cassandra.SchemaTargetType`.
EVERYTHING = "EVERYTHING"
KEYSPACE_CONTENTS = "KEYSPACE_CONTENTS"

#: Kinds of targets that include the settings of the keyspace.
SETTINGS = (EVERYTHING, SchemaTargetType.KEYSPACE, KEYSPACE_CONTENTS)


class SchemaTarget(NamedTuple):
    """One item of the schema. ``TABLE`` includes views: events and names do not distinguish them."""

    kind: str
    keyspace: str | None = None
    name: str | None = None
    argument_types: tuple[str, ...] = ()
    dropped: bool = False

    @classmethod
    def everything(cls) -> SchemaTarget:
        """Return the target for all keyspaces with their contents."""
        return cls(EVERYTHING)

    @classmethod
    def of_keyspace(cls, keyspace: str, *, contents: bool = False) -> SchemaTarget:
        """Return the target for a keyspace's own settings; with *contents*, for its contents too."""
        return cls(KEYSPACE_CONTENTS if contents else SchemaTargetType.KEYSPACE, keyspace)

    @classmethod
    def of_table(cls, keyspace: str, table: str) -> SchemaTarget:
        """Return the target for a table or view."""
        return cls(SchemaTargetType.TABLE, keyspace, table)

    @classmethod
    def of_type(cls, keyspace: str, name: str) -> SchemaTarget:
        return cls(SchemaTargetType.TYPE, keyspace, name)

    @classmethod
    def of_function(cls, keyspace: str, function: SignatureDescriptor) -> SchemaTarget:
        return cls(SchemaTargetType.FUNCTION, keyspace, function.name, tuple(function.argument_types))

    @classmethod
    def of_aggregate(cls, keyspace: str, aggregate: SignatureDescriptor) -> SchemaTarget:
        return cls(SchemaTargetType.AGGREGATE, keyspace, aggregate.name, tuple(aggregate.argument_types))

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> SchemaTarget:
        """Return the target of a decoded schema change event: ``target_type``, ``change_type``, ``keyspace``, and under
        the lower-cased target type a name or a descriptor. An unknown target type gives the whole schema."""
        kind = event.get("target_type")
        keyspace = event.get("keyspace")
        subject = event.get(str(kind).lower())
        if kind == SchemaTargetType.KEYSPACE and keyspace:
            target = cls.of_keyspace(keyspace)
        elif not keyspace or subject is None:
            return cls.everything()
        elif kind == SchemaTargetType.TABLE:
            target = cls.of_table(keyspace, subject)
        elif kind == SchemaTargetType.TYPE:
            target = cls.of_type(keyspace, subject)
        elif kind == SchemaTargetType.FUNCTION:
            target = cls.of_function(keyspace, subject)
        elif kind == SchemaTargetType.AGGREGATE:
            target = cls.of_aggregate(keyspace, subject)
        else:
            return cls.everything()
        return target._replace(dropped=event.get("change_type") == SchemaChangeType.DROPPED)
