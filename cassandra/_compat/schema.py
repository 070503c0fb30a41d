"""scylla-driver's readers of the schema (L6): they can be named; the schema is read by the control connection."""

from __future__ import annotations

from typing import Any

from cassandra._base.public import public
from cassandra._routing.schema.extensions import _BY_NAME

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


__getattr__ = finder(
    "cassandra.metadata", {READERS: "SchemaParserV22 SchemaParserV3 SchemaParserV4"}, {READERS: "get_schema_parser"}
)
