"""scylla-driver's readers of the schema (L6): they can be named; the schema is read by the control connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra._base.public import public
from cassandra._routing.ring.replication import ReplicationStrategyTypeType, _UnknownStrategy
from cassandra._routing.schema.extensions import _BY_NAME
from cassandra._wire.encoder import Encoder
from cassandra._wire.types.collections import ReversedType

from .unsupported import finder

READERS = "reads the schema in scylla-driver; here cluster.metadata and cluster.refresh_schema_metadata() do that"


@public("cassandra.metadata")
class _RegisteredExtensionType(type):
    """The registry of table extensions, by name; as a metaclass it notes its classes there."""

    _extension_registry = _BY_NAME

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        super().__init__(name, bases, dct)
        if dct.get("name") is not None:
            cls._extension_registry[dct["name"]] = cls  # type: ignore[assignment]


_encoder = Encoder()

#: Strategies by name, without their package.
_replication_strategies = ReplicationStrategyTypeType.registry


@public("cassandra.metadata")
class _UnknownStrategyBuilder:
    """Makes the strategies of a name that nobody knows."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, options_map: Mapping[str, Any]) -> _UnknownStrategy:
        return _UnknownStrategy(self.name, options_map)


def _cql_from_cass_type(cass_type: Any) -> str:
    """How CQL spells a type; the order of a clustering column is no part of it."""
    if issubclass(cass_type, ReversedType):
        return str(cass_type.subtypes[0].cql_parameterized_type())
    return str(cass_type.cql_parameterized_type())


__getattr__ = finder(
    "cassandra.metadata", {READERS: "SchemaParserV22 SchemaParserV3 SchemaParserV4"}, {READERS: "get_schema_parser"}
)
