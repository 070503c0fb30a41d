"""Delivery of rows to ``for`` and ``async for``, for all kinds of scans (L5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from cassandra._core.columns import RecordBatch


class Delivery(ABC):
    """One iteration over the results, started by the first request. Belongs to one thread or task."""

    @abstractmethod
    def _next(self) -> Any:
        """Return the next item; None at the end."""

    @abstractmethod
    async def _next_async(self) -> Any:
        """As :meth:`_next`, without blocking the running loop."""

    @abstractmethod
    def close(self) -> None:
        """End it and abandon in-flight requests. May be called again."""

    async def aclose(self) -> None:
        """As :meth:`close`, for ``contextlib.aclosing``."""
        self.close()

    def __enter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self


class BatchDelivery(Delivery):
    """Delivery of record batches."""

    def __next__(self) -> RecordBatch:
        batch: RecordBatch | None = self._next()
        if batch is None:
            raise StopIteration
        return batch

    async def __anext__(self) -> RecordBatch:
        batch: RecordBatch | None = await self._next_async()
        if batch is None:
            raise StopAsyncIteration
        return batch


class RowDelivery(Delivery):
    """Delivery of rows, which are read as lists."""

    _list: Iterator[Any] = iter(())

    def __next__(self) -> Any:
        while True:
            for row in self._list:
                return row
            rows = self._next()
            if rows is None:
                raise StopIteration
            self._list = iter(rows)

    async def __anext__(self) -> Any:
        while True:
            for row in self._list:
                return row
            rows = await self._next_async()
            if rows is None:
                raise StopAsyncIteration
            self._list = iter(rows)
