"""CQL names: which need quotes, and how to quote names and values (L0).

The keyword tables unite those of Apache Cassandra 5.0, ScyllaDB and DSE, whose words scylla-driver quotes: a name
quoted without need is still the same name, one that needs quotes and has none is a syntax error.
"""

import re
from collections.abc import Iterable
from typing import Any

from cassandra._base.public import public


def _words(text: str) -> set[str]:
    return set(text.split())


cql_keywords_reserved: set[str] = _words("""
    add allow alter and apply asc authorize batch begin by columnfamily create default delete desc
    describe drop entries execute from full grant if in index infinity insert into is keyspace limit
    materialized mbean mbeans modify nan norecursive not null of on or order primary rename replace
    revoke schema scylla_clustering_bound scylla_counter_shard_list scylla_timeuuid_list_index select
    set table to token truncate unlogged unset update use using view where with
""") | _words("""
    active any application applications authentication call calls cast cluster columns commit config
    delegation executor executors field indices internal java kerberos ldap lowercasestring method no
    node nodes object plan profiles rebuild redact reload remote renew restrict rows scheme schemes
    search std_err std_out submission unrestrict workpool
""")

cql_keywords_unreserved: set[str] = _words("""
    access aggregate all as ascii between bigint blob boolean called cidrs clustering column
    compact contains count counter custom datacenters date decimal deterministic distinct double
    duration exists filtering finalfunc float frozen function functions group hashed identity inet
    initcond input int internals json key keys keyspaces language like list login map mask masked
    maxwritetime monotonic nologin nosuperuser only options partition password per permission
    permissions refer returns role roles select_masked sfunc smallint sql static storage stype superuser
    tables text time timestamp timeuuid tinyint trigger ttl tuple type types unmask user users uuid
    values varchar varint vector writetime
""")

cql_keywords: set[str] = cql_keywords_reserved | cql_keywords_unreserved

_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


@public("cassandra.metadata")
def is_valid_name(name: str | None) -> bool:
    """Whether *name* can stand in CQL without quotes and keep its spelling."""
    return name is not None and _PLAIN_NAME.match(name) is not None and name not in cql_keywords_reserved


@public("cassandra.metadata")
def escape_name(name: str) -> str:
    """*name* in double quotes."""
    return '"' + name.replace('"', '""') + '"'


@public("cassandra.metadata")
def maybe_escape_name(name: str) -> str:
    """*name* in double quotes if it needs them."""
    return name if is_valid_name(name) else escape_name(name)


@public("cassandra.metadata")
def protect_name(name: str) -> str:
    """The same as :func:`maybe_escape_name`."""
    return maybe_escape_name(name)


@public("cassandra.metadata")
def protect_names(names: Iterable[str]) -> list[str]:
    """Each name quoted if it needs it."""
    return [maybe_escape_name(name) for name in names]


@public("cassandra.metadata")
def protect_value(value: Any) -> str:
    """A CQL literal of *value* as options use them: numbers and booleans bare, the rest as strings."""
    if value is None:
        return "NULL"
    if isinstance(value, (int, float, bool)):
        return str(value).lower()
    return "'{}'".format(str(value).replace("'", "''"))


@public("cassandra.encoder")
def cql_quote(term: Any) -> str:
    """*term* as a CQL string literal if it is a string, else its ``str()``."""
    if isinstance(term, str):
        return "'{}'".format(term.replace("'", "''"))
    return str(term)


@public("cassandra.metadata")
def trim_if_startswith(s: str, prefix: str) -> str:
    """*s* without *prefix*."""
    return s.removeprefix(prefix)
