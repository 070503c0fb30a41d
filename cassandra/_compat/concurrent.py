"""The executors behind scylla-driver's ``execute_concurrent`` (L6): the same as the function, in their form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from cassandra._base.public import public
from cassandra._session.concurrent.concurrent import execute_concurrent


class _Executor:
    results_generator: ClassVar[bool]

    def __init__(self, session: Any, statements_and_params: Iterable[Any], execution_profile: Any) -> None:
        self.session = session
        self._statements = statements_and_params
        self._profile = execution_profile

    def execute(self, concurrency: int, fail_fast: bool) -> Any:
        """What ``execute_concurrent`` gives for these statements."""
        return execute_concurrent(
            self.session,
            self._statements,
            concurrency=concurrency,
            raise_on_first_error=fail_fast,
            results_generator=self.results_generator,
            execution_profile=self._profile,
        )


@public("cassandra.concurrent")
class ConcurrentExecutorGenResults(_Executor):
    """Results as a generator."""

    results_generator = True


@public("cassandra.concurrent")
class ConcurrentExecutorListResults(_Executor):
    """Results as a list."""

    results_generator = False
