"""Executing many statements at a time."""

from cassandra._session.concurrent import ExecutionResult, execute_concurrent, execute_concurrent_with_args

__all__ = ["ExecutionResult", "execute_concurrent", "execute_concurrent_with_args"]
