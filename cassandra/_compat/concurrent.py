"""The executors of scylla-driver's ``execute_concurrent`` (L6), implemented by the function of this driver."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from cassandra._base.objects import public
from cassandra._session.request.concurrent import execute_concurrent


class _Executor:
    results_generator: ClassVar[bool]

    def __init__(self, session: Any, statements_and_params: Iterable[Any], execution_profile: Any) -> None:
        self.session = session
        self._statements = statements_and_params
        self._profile = execution_profile

    def execute(self, concurrency: int, fail_fast: bool) -> Any:
        """Return the result of ``execute_concurrent`` for these statements."""
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
    """Returns results as a generator."""

    results_generator = True


@public("cassandra.concurrent")
class ConcurrentExecutorListResults(_Executor):
    """Returns results as a list."""

    results_generator = False
