"""Results that programs create with a mock or with a future of their own (L6).

A ``ResultSet`` of ``cassandra.cluster`` that is created with any object other than the driver's own futures has this
class. It uses ``has_more_pages``, ``start_fetching_next_page`` and ``result`` of that object, as scylla-driver does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cassandra._base.objects import public
from cassandra._session.request import result


@public("cassandra.cluster")
class ResultSet(result.ResultSet):
    """Rows of *response_future*, which may be None."""

    def __init__(self, response_future: Any, initial_response: Any) -> None:
        self.response_future = response_future
        self._given_names = getattr(response_future, "_col_names", None)
        self._given_types = getattr(response_future, "_col_types", None)
        self._turn_to_rows(initial_response)

    def _set_current_rows(self, result: Any) -> None:
        self._turn_to_rows(result)

    @property
    def column_types(self) -> Any:
        return self._given_types

    @column_types.setter
    def column_types(self, types: Any) -> None:
        self._given_types = types

    @property
    def has_more_pages(self) -> bool:
        future: Any = self.response_future
        return future is not None and future.has_more_pages

    @property
    def paging_state(self) -> Any:
        return getattr(self.response_future, "_paging_state", None)

    def fetch_next_page(self) -> None:
        if not self.has_more_pages:
            self._no_page()
            return
        future: Any = self.response_future
        future.start_fetching_next_page()
        page = future.result()
        self._turn_to_rows(page._current_rows if isinstance(page, result.ResultSet) else page)

    async def fetch_next_page_async(self) -> None:
        import asyncio

        await asyncio.to_thread(self.fetch_next_page)

    def _gather(self) -> list[Any]:
        return list(self)

    async def all_async(self) -> list[Any]:
        return [row async for row in self]

    def all(self) -> list[Any]:
        return list(self)

    def _pass_over_empty_pages(self) -> None:
        """Do nothing: empty pages are not skipped."""

    def __iter__(self) -> Iterator[Any]:
        if not self._stepped:
            if self._list_mode:
                return iter(self._current_rows)
            self._page_iter = iter(self._current_rows or ())
        return self

    def next(self) -> Any:
        if not self._stepped:
            self._step()
        while True:
            for row in self._page_iter or ():
                return row
            if not self.has_more_pages:
                self._end()
                raise StopIteration
            self.fetch_next_page()
            self._page_iter = iter(self._current_rows or ())

    __next__ = next

    async def __anext__(self) -> Any:
        import asyncio

        end = object()
        row = await asyncio.to_thread(next, self, end)
        if row is end:
            raise StopAsyncIteration
        return row
