"""Hooks by which applications add CQL to a table's exported schema for its server extensions (L4)."""

from __future__ import annotations

from typing import Any

from cassandra._base.public import public

_BY_NAME: dict[str, type[TableExtensionInterface]] = {}


@public("cassandra.metadata")
class TableExtensionInterface:
    """Prints an extension of a table."""

    @classmethod
    def after_table_cql(cls, table_meta: Any, ext_key: str, ext_blob: bytes) -> str | None:
        """CQL to put after the table's own, or None."""
        return None


@public("cassandra.metadata")
class RegisteredTableExtension(TableExtensionInterface):
    """An extension that is used for tables having an extension called :attr:`name`; subclassing registers it."""

    #: Key in the table's ``extensions``.
    name: str | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.name is not None:
            _BY_NAME[cls.name] = cls


def extension_cql(table: Any) -> list[str]:
    """What the registered extensions of *table* add to its schema."""
    blobs = table.extensions or {}
    found = (extension.after_table_cql(table, key, blobs[key]) for key, extension in _BY_NAME.items() if key in blobs)
    return [cql for cql in found if cql]
