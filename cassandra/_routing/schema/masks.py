"""Column masks: conversion of rows of ``system_schema.column_masks`` to CQL (L4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cassandra._base.names import name_as_described, protect_value

from .cqltype import parse_cql_type

#: Literals without quotes: numbers, UUIDs, booleans and durations; the hexadecimal digits of values with elements.
_BARE = re.compile(r"[-+.\w]*")
_QUOTED = frozenset(("ascii", "date", "inet", "text", "time", "timestamp", "varchar"))


def mask_cql(row: Mapping[str, Any]) -> str:
    """Return the function call that masks a column, such as ``system.mask_inner(1, null)``."""
    arguments = zip(
        row["function_argument_types"] or (),
        row["function_argument_values"] or (),
        row["function_argument_nulls"] or (),
        strict=True,
    )
    texts = ["null" if is_null else _literal(cql_type, value) for cql_type, value, is_null in arguments]
    return (
        f"{name_as_described(row['function_keyspace'])}.{name_as_described(row['function_name'])}({', '.join(texts)})"
    )


def _literal(cql_type: str, value: str) -> str:
    """Return the CQL literal of *value*, which is in the server's text form: values with elements are hexadecimal
    digits of their bytes. Values with user types stay in this form."""
    parsed = parse_cql_type(cql_type)
    if parsed.name in _QUOTED and parsed.kind == "native":
        return protect_value(value)
    if parsed.args and not any(part.kind == "user" for part in parsed.walk()):
        from cassandra._routing.ring.keys import codec_of
        from cassandra._wire.encoder import Encoder

        from .keyspace import KeyspaceMetadata

        codec = codec_of(cql_type, KeyspaceMetadata("", True, None, None))
        encoder = Encoder()
        encoder.mapping[tuple] = encoder.cql_encode_tuple
        return str(encoder.cql_encode_all_types(codec.decode(bytes.fromhex(value), 4)))
    if parsed.name == "blob":
        return f"0x{value}"
    return value if _BARE.fullmatch(value) else protect_value(value)
