"""Hooks for applications that add CQL to a table's exported schema for its server extensions (L4)."""

from __future__ import annotations

from typing import Any

from cassandra._base.objects import public

_BY_NAME: dict[str, type[TableExtensionInterface]] = {}


@public("cassandra.metadata")
class TableExtensionInterface:
    """Exports an extension of a table as CQL."""

    @classmethod
    def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str | None:
        """Return CQL to add after the table's own, or None."""
        return None


@public("cassandra.metadata")
class RegisteredTableExtension(TableExtensionInterface):
    """Exporter for tables with an extension called :attr:`name`; subclassing registers it."""

    #: Key in the table's ``extensions``.
    name: str | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name is not None:
            _BY_NAME[cls.name] = cls


def extension_cql(table: Any) -> list[str]:
    """Return the CQL that the registered extensions of *table* add to its schema."""
    blobs = table.extensions or {}
    found = (extension.after_table_cql(table, key, blobs[key]) for key, extension in _BY_NAME.items() if key in blobs)
    return [cql for cql in found if cql]
