"""Keyspace and table name of a model."""

from __future__ import annotations

import re
import warnings
from typing import Any

from cassandra._base.names import protect_name
from cassandra._mapper import defaults
from cassandra._mapper.errors import CQLEngineException

#: Boundary between two words of a camel-case name.
BETWEEN = re.compile("([a-z]|^)([A-Z])")
#: Maximum length of a table name that servers accept.
LENGTH = 48


def name_of_class(name: str) -> str:
    """Return the table name derived from the name of a model class."""
    words = BETWEEN.sub(lambda found: f"{found[1]}_{found[2]}" if found[1] else found[2], name)
    return words.lower()[-LENGTH:].lstrip("_")


def table_of(model: Any) -> str:
    """Return the name of the table, as it is in the schema."""
    name = model.__table_name__
    if name:
        if not model.__table_name_case_sensitive__ and name != name.lower():
            warnings.warn(
                "Model __table_name__ will be case sensitive by default in 4.0. You should fix the __table_name__ value"
                f" of the '{model.__name__}' model.",
                stacklevel=4,
            )
            return str(name.lower())
        if model.__table_name_case_sensitive__:
            warnings.warn(
                "Model __table_name_case_sensitive__ will be removed in 4.0.", PendingDeprecationWarning, stacklevel=4
            )
        return str(name)
    if model._is_polymorphic and not model._is_polymorphic_base:
        return table_of(model._polymorphic_base)
    return name_of_class(model.__name__)


def known_table_of(model: Any) -> str:
    """As :func:`table_of`, computed once per model: it may warn."""
    name = model.__dict__.get("_table_name") or table_of(model)
    if "_table_name" not in model.__dict__:
        type.__setattr__(model, "_table_name", name)
    return str(name)


def keyspace_of(model: Any) -> str | None:
    return model.__keyspace__ or defaults.DEFAULT_KEYSPACE


def full_name_of(model: Any) -> str:
    """Return keyspace and table name in CQL."""
    keyspace = keyspace_of(model)
    if not keyspace:
        raise CQLEngineException(
            "Model keyspace is not set and no default is available. Set model keyspace or setup connection before"
            " attempting to generate a query."
        )
    return f"{protect_name(keyspace)}.{protect_name(known_table_of(model))}"
