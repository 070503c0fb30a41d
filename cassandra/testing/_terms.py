"""Compiles terms of a known type to functions of an environment."""

from __future__ import annotations

from typing import Any

from cassandra.testing import _functions as functions
from cassandra.testing._ast import (
    Call,
    Hint,
    ListLiteral,
    Literal,
    MapLiteral,
    Marker,
    Name,
    SetLiteral,
    TupleLiteral,
)
from cassandra.testing._literals import constant
from cassandra.testing._plan import Env, Scope, Term, required
from cassandra.testing._topology import token_of
from cassandra.testing._types import BIGINT, EMPTY, Collection, CqlType, Scalar, Tuple, Udt, Vector
from cassandra.testing._wire import UNSET
from cassandra.testing.errors import InvalidRequest, NotSupported


def compile_term(term: Any, kind: CqlType, name: str, scope: Scope) -> Term:
    """Return a function that returns the value of *term*, for a column *name* of type *kind*."""
    if isinstance(term, Marker):
        return scope.marker(term.index, name, kind)
    if isinstance(term, Literal):
        value = None if term.kind == "null" else constant(term.kind, term.text, kind, name)
        return lambda env: value
    if isinstance(term, Call):
        return _call(term, kind, name, scope)
    if isinstance(term, Hint):
        hinted = scope.schema.type_(term.kind, scope.keyspace or "")
        if hinted.frozen() != kind.frozen():
            raise InvalidRequest(f"Cannot assign value of type {hinted.cql} to {name} of type {kind.cql}")
        return compile_term(term.term, hinted, name, scope)
    return _literal(term, kind, name, scope)


def _call(term: Call, kind: CqlType, name: str, scope: Scope) -> Term:
    if term.name == "token":
        if kind is not BIGINT:
            raise InvalidRequest(f"token() is a bigint, but {name} is a {kind.cql}")
        return compile_token(term, scope)
    given = [functions.find(part.name, [None] * len(part.arguments)).returns if isinstance(part, Call) else None
             for part in term.arguments]  # fmt: skip
    function = functions.find(term.name, given)
    if function.returns != kind:
        message = f"Type error: cannot assign result of function system.{term.name} (type {function.returns.cql}) to"
        raise InvalidRequest(f"{message} {name} (type {kind.cql})")
    arguments = [
        compile_term(part, wanted, f"arg{n}(system.{term.name})", scope)
        for n, (part, wanted) in enumerate(zip(term.arguments, function.parameters, strict=True))
    ]

    def value(env: Env) -> Any:
        values = [argument(env) for argument in arguments]
        return None if any(item in (None, UNSET, EMPTY) for item in values) else function.run(env, *values)

    return value


def compile_token(term: Call, scope: Scope) -> Term:
    """Compile ``token(1, 2)`` with the values of a partition key."""
    table = scope.table
    assert table is not None
    columns = table.partition_key
    if len(term.arguments) != len(columns):
        raise InvalidRequest(f"token() takes the {len(columns)} columns of the partition key")
    parts = [
        compile_term(part, column.type, f"partition key token({column.name})", scope)
        for part, column in zip(term.arguments, columns, strict=True)
    ]

    def value(env: Env) -> int:
        return token_of(table.partition_bytes(tuple(required(part(env), "token()") for part in parts)))

    return value


def _literal(term: Any, kind: CqlType, name: str, scope: Scope) -> Term:
    wrong = InvalidRequest(f"Invalid literal for {name} of type {kind.cql}")
    if isinstance(kind, Scalar) and isinstance(term, TupleLiteral) and len(term.items) == 1:
        return compile_term(term.items[0], kind, name, scope)  # in parentheses
    if isinstance(kind, Collection):
        return _collection(term, kind, name, scope, wrong)
    if isinstance(kind, Tuple) and isinstance(term, TupleLiteral):
        if len(term.items) > len(kind.arguments):
            raise InvalidRequest(f"Invalid tuple literal for {name}: too many elements. Type {kind.cql} expects fewer")
        items = [
            compile_term(item, part, f"{name}[{n}]", scope)
            for n, (item, part) in enumerate(zip(term.items, kind.arguments, strict=False))
        ]
        missing = (None,) * (len(kind.arguments) - len(items))
        return lambda env: tuple(_set(item(env), name) for item in items) + missing
    if isinstance(kind, Vector) and isinstance(term, ListLiteral):
        if len(term.items) != kind.size:
            raise InvalidRequest(f"Invalid vector literal for {name} of type {kind.cql}; expected {kind.size} elements")
        elements = [compile_term(item, kind.element, name, scope) for item in term.items]
        return lambda env: tuple(required(element(env), name) for element in elements)
    if isinstance(kind, Udt) and isinstance(term, MapLiteral) and term.items:
        return _user_type(term, kind, name, scope)
    raise wrong


def _collection(term: Any, kind: Collection, name: str, scope: Scope, wrong: InvalidRequest) -> Term:
    inner = [part.frozen() for part in kind.arguments]
    if kind.name == "map" and isinstance(term, MapLiteral):
        pairs = [
            (compile_term(key, inner[0], f"key({name})", scope), compile_term(value, inner[1], f"value({name})", scope))
            for key, value in term.items
        ]

        def entries(env: Env) -> Any:
            found = [(_inside(key(env)), _inside(value(env))) for key, value in pairs]
            whole = kind.normal(found)
            if len(whole) != len(found):  # the value that a server takes is not predictable
                raise NotSupported(f"a literal for map {name} with a duplicate key")
            return whole

        return entries
    literal = {"list": ListLiteral, "set": SetLiteral}.get(kind.name)
    empty = kind.name == "set" and isinstance(term, MapLiteral) and not term.items
    if literal is None or not (empty or isinstance(term, literal)):
        raise wrong
    items = [compile_term(item, inner[0], f"value({name})", scope) for item in term.items]
    return lambda env: kind.normal([_inside(item(env)) for item in items])


def _inside(value: Any) -> Any:
    if value is None or value is UNSET:
        raise InvalidRequest("null is not supported inside collections")
    return value


def _user_type(term: MapLiteral, kind: Udt, name: str, scope: Scope) -> Term:
    fields = kind.definition.fields
    given: dict[str, Term] = {}
    for key, value in term.items:
        if not isinstance(key, Name) or key.name not in fields:
            shown = key.name if isinstance(key, Name) else key
            raise InvalidRequest(f"Unknown field '{shown}' in value of user defined type {kind.definition.name}")
        given[key.name] = compile_term(value, fields[key.name].frozen(), f"{name}.{key.name}", scope)
    return lambda env: tuple(_set(given[field](env), name) if field in given else None for field in fields)


def _set(value: Any, name: str) -> Any:
    if value is UNSET:
        raise InvalidRequest(f"Invalid unset value inside {name}")
    return value
