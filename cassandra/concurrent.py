"""Concurrent execution of many statements."""

import logging

from cassandra._base.aliases import add_names
from cassandra._session.request.concurrent import (
    ConcurrentResults,
    ExecutionResult,
    execute_concurrent,
    execute_concurrent_async,
    execute_concurrent_with_args,
    execute_concurrent_with_args_async,
)
from cassandra._session.request.result import ResultSet

log = logging.getLogger("cassandra.concurrent")

__all__ = [
    "log",
    "ConcurrentResults",
    "ExecutionResult",
    "ResultSet",
    "execute_concurrent",
    "execute_concurrent_async",
    "execute_concurrent_with_args",
    "execute_concurrent_with_args_async",
]

add_names(__name__, {
    "cassandra._session.profiles": "EXEC_PROFILE_DEFAULT",
    "cassandra._compat.names": "ConcurrentExecutorGenResults ConcurrentExecutorListResults",
})  # fmt: skip
