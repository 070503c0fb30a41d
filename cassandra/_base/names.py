"""CQL names and values as text: quoting, literals, and signatures of user functions and aggregates (L0).

The keyword tables are the union of those of Apache Cassandra 5.0, ScyllaDB and DSE, whose keywords scylla-driver
quotes: needless quotes do not change a name, missing quotes are a syntax error.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any
from uuid import UUID

from .objects import public

# ---- quoting and literals


def _words(text: str) -> set[str]:
    return set(text.split())


_reserved_by_servers = _words("""
    add allow alter and apply asc authorize batch begin by columnfamily create default delete desc
    describe drop entries execute from full grant if in index infinity insert into is keyspace limit
    materialized mbean mbeans modify nan norecursive not null of on or order primary rename replace
    revoke schema scylla_clustering_bound scylla_counter_shard_list scylla_timeuuid_list_index select
    set table to token truncate unlogged unset update use using view where with
""")

cql_keywords_reserved: set[str] = _reserved_by_servers | _words("""
    active any application applications authentication call calls cast cluster columns commit config
    delegation executor executors field indices internal java kerberos ldap lowercasestring method no
    node nodes object plan profiles rebuild redact reload remote renew restrict rows scheme schemes
    search std_err std_out submission unrestrict workpool
""")  #: Keywords that cannot be names without quotes.

cql_keywords_unreserved: set[str] = _words("""
    access aggregate all as ascii between bigint blob boolean called cidrs clustering column
    compact contains count counter custom datacenters date decimal deterministic distinct double
    duration exists filtering finalfunc float frozen function functions group hashed identity inet
    initcond input int internals json key keys keyspaces language like list login map mask masked
    maxwritetime monotonic nologin nosuperuser only options partition password per permission
    permissions refer returns role roles select_masked sfunc smallint sql static storage stype superuser
    tables text time timestamp timeuuid tinyint trigger ttl tuple type types unmask user users uuid
    values varchar varint vector writetime
""")  #: Keywords that can be names.

cql_keywords: set[str] = cql_keywords_reserved | cql_keywords_unreserved  #: Keywords of CQL, in lower case.

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")

#: Methods of the base classes, which write the content of a subclass that overrides ``__str__`` or ``__repr__``.
_SCALARS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    (int, int.__repr__),
    (float, float.__repr__),
    (Decimal, Decimal.__str__),
    (UUID, UUID.__str__),
    ((bytes, bytearray, memoryview), lambda value: "0x" + memoryview(value).hex()),
)


@public("cassandra.metadata")
def is_valid_name(name: str | None) -> bool:
    """True if *name* is valid in CQL without quotes and keeps its spelling."""
    return name is not None and _PLAIN_NAME.match(name) is not None and name not in cql_keywords_reserved


@public("cassandra.metadata")
def escape_name(name: str) -> str:
    """Return *name* in double quotes."""
    return '"' + str.replace(name, '"', '""') + '"'


@public("cassandra.metadata")
def maybe_escape_name(name: str) -> str:
    """Return *name*, in double quotes if it needs them."""
    plain = str.__str__(name)  # the content, as a subclass may override __str__
    return plain if is_valid_name(plain) else escape_name(plain)


def name_as_described(name: str) -> str:
    """Return *name* as DESCRIBE of Cassandra and ScyllaDB writes it: in double quotes if the servers need them. Words
    reserved by DSE alone, such as ``columns``, need none."""
    plain = str.__str__(name)
    return plain if _PLAIN_NAME.match(plain) and plain not in _reserved_by_servers else escape_name(plain)


@public("cassandra.metadata")
def protect_name(name: str) -> str:
    """Return the same as :func:`maybe_escape_name`."""
    return maybe_escape_name(name)


@public("cassandra.metadata")
def protect_names(names: Iterable[str]) -> list[str]:
    """Return the names, each in double quotes if it needs them."""
    return [maybe_escape_name(name) for name in names]


@public("cassandra.metadata")
def protect_value(value: Any) -> str:
    """Return a CQL literal of *value* for an option: numbers and booleans without quotes, other values as strings."""
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return int.__repr__(value) if value is not True and value is not False else str(value).lower()
    if isinstance(value, float):
        return float.__repr__(value)
    return quote_text(str(value))


def quote_text(text: str) -> str:
    """Return *text* as a CQL string literal. All string literals of the driver are made here.

    The content of a subclass of ``str`` is written, regardless of overridden methods.
    """
    return "'" + str.replace(text, "'", "''") + "'"


def map_literal(options: Mapping[Any, Any]) -> str:
    """Return *options* as a CQL map of texts."""
    return "{" + ", ".join(f"{quote_text(str(key))}: {quote_text(str(value))}" for key, value in options.items()) + "}"


def integer_literal(value: Any, name: str) -> str:
    """Return a CQL integer literal of an int, of an object with ``__index__``, or of a string of digits.

    :param name: name of the value in the TypeError that is raised for other values.
    """
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    try:
        return int.__repr__(operator.index(value))
    except TypeError:
        raise TypeError(f"{name} should be a whole number, not {value!r}") from None


@public("cassandra.encoder")
def cql_quote(term: Any) -> str:
    """Return *term* as a CQL literal: text in quotes; None, numbers, UUIDs and bytes without.

    Raise TypeError for other types, as their ``str()`` may contain arbitrary CQL.
    """
    if isinstance(term, str):
        return quote_text(term)
    if term is None:
        return "NULL"
    if isinstance(term, bool):
        return str(term)
    for kind, write in _SCALARS:
        if isinstance(term, kind):
            return write(term)
    raise TypeError(f"no CQL literal is known for {type(term).__qualname__}")


@public("cassandra.metadata")
def trim_if_startswith(s: str, prefix: str) -> str:
    """Return *s* without *prefix*."""
    return s.removeprefix(prefix)


# ---- user functions and aggregates


@public("cassandra")
class SignatureDescriptor:
    """A name with the CQL types of its arguments."""

    def __init__(self, name: str, argument_types: Iterable[str]) -> None:
        self.name = name  #: Name of the function or aggregate.
        self.argument_types = argument_types  #: CQL types of its arguments, a list.

    @property
    def signature(self) -> str:
        """``name(type,type)``, the key of the function in keyspace metadata."""
        return self.format_signature(self.name, self.argument_types)

    @staticmethod
    def format_signature(name: str, argument_types: Iterable[str]) -> str:
        """Return ``name(type,type)``."""
        return f"{name}({','.join(argument_types)})"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self.argument_types})"


@public("cassandra")
class UserFunctionDescriptor(SignatureDescriptor):
    """Identifies a user function for metadata refreshes and look-ups.

    ``name`` and ``argument_types`` are the arguments of the constructor.
    """


@public("cassandra")
class UserAggregateDescriptor(SignatureDescriptor):
    """Identifies a user aggregate for metadata refreshes and look-ups."""
