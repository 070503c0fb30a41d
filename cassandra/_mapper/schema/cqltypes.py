"""Comparison of types that are spelled differently in a model and in the metadata of a cluster."""

from __future__ import annotations

from cassandra._routing.schema.cqltype import CqlType, parse_cql_type

_OTHER_NAMES = {"varchar": "text"}


def same_type(one: str, other: str) -> bool:
    """True if both spellings denote the same type. ``tuple<int>`` equals ``frozen<tuple<int>>``: servers report tuples
    as frozen, which they always are. Quotes and spaces make no difference."""
    if one == other:
        return True
    try:
        return _normal(parse_cql_type(one)) == _normal(parse_cql_type(other))
    except ValueError:
        return False


def _normal(parsed: CqlType) -> CqlType:
    if parsed.name == "frozen" and parsed.args and parsed.args[0].name == "tuple":
        return _normal(parsed.args[0])
    name = _OTHER_NAMES.get(parsed.name, parsed.name) if parsed.kind == "native" else parsed.name
    return CqlType(name, parsed.kind, tuple(map(_normal, parsed.args)))
