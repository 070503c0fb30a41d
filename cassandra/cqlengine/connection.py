"""Which session models use: connections by name, and the default one."""

from cassandra._base.aliases import add_names, share
from cassandra._mapper.connections import (
    DEFAULT_CONNECTION,
    Connection,
    cluster,
    default,
    format_log_context,
    get_cluster,
    get_connection,
    get_session,
    log,
    register_connection,
    register_udt,
    session,
    set_default_connection,
    set_session,
    setup,
    udt_by_keyspace,
    unregister_connection,
)
from cassandra._mapper.errors import CQLEngineException, UndefinedKeyspaceException
from cassandra._mapper.execution import execute
from cassandra._mapper.statements import BaseCQLStatement
from cassandra._session.statements.statement import NOT_SET

__all__ = [
    "DEFAULT_CONNECTION",
    "NOT_SET",
    "BaseCQLStatement",
    "CQLEngineException",
    "Connection",
    "UndefinedKeyspaceException",
    "cluster",
    "default",
    "execute",
    "format_log_context",
    "get_cluster",
    "get_connection",
    "get_session",
    "log",
    "register_connection",
    "register_udt",
    "session",
    "set_default_connection",
    "set_session",
    "setup",
    "udt_by_keyspace",
    "unregister_connection",
]

add_names(
    __name__,
    {
        "cassandra.cluster": "Cluster NoHostAvailable UserTypeDoesNotExist _ConfigMode _NOT_SET",
        "cassandra.query": "SimpleStatement dict_factory",
    },
)
share(
    __name__,
    {
        "cassandra._mapper.connections": "_connections _register_known_types cluster session",
        "cassandra._mapper.execution": "execute=executed_by",
    },
)
