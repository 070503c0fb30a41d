"""Executing many statements at a time."""

from cassandra._session.concurrent import ExecutionResult, execute_concurrent, execute_concurrent_with_args
from cassandra._session.result import ResultSet

__all__ = ["ExecutionResult", "ResultSet", "execute_concurrent", "execute_concurrent_with_args"]
