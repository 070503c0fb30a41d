"""Hooks of programs in requests, results, sessions and modules of the driver (L6).

Completion hooks are ``_set_final_result`` and ``_set_final_exception``, which tracers wrap. In scylla-driver these
methods end a request. Here an unmodified request ends without them. If one of them is assigned to a request, or
replaced in the class (``mock.patch.object``, ``wrapt``; ``_base/aliases.py`` calls :func:`replaced`), the native engine
calls :func:`ending` instead of ``Request._end``: it calls the replacement, which calls the original method, which ends
the request. If the replacement does not, :func:`ending` ends the request.

A :class:`_CompletionHooks` belongs to its request. Callers assign hooks, and driver threads end pages: the first thread
that enters a page into ``begun_pages`` ends it, and the first that enters it into ``notified_pages`` calls the assigned
hook. Both are one ``dict.setdefault``, which is atomic.

``unittest.mock.patch("cassandra.cluster.log")`` and similar calls set an attribute of a facade; the value is then also
set in the modules that use it: ``_base/aliases.py`` calls :func:`replaced_in_facade`.

A ``ResultSet`` of ``cassandra.cluster`` that is created with any object other than the driver's own futures, such as a
mock or a future of the program, has the class defined here. It uses ``has_more_pages``, ``start_fetching_next_page``
and ``result`` of that object, as scylla-driver does. Sessions that programs create themselves, by
``Session(cluster, hosts, keyspace)`` or as a subclass, are initialised by :func:`make`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import MethodType, ModuleType
from typing import Any

from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.process import AutoResetEvent
from cassandra._core.transport import set_default_ending
from cassandra._session import scheduler
from cassandra._session.cluster import Cluster, await_pools
from cassandra._session.request import result
from cassandra._session.request.result import NOTHING
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator

log = get_logger("cassandra.cluster")

# ---- completion hooks

RESULT, EXCEPTION = "_set_final_result", "_set_final_exception"


class _CompletionHooks:
    """The hook state of one request: the assigned hooks, and the page that is being ended."""

    def __init__(self) -> None:
        self.assigned: dict[str, Callable[[Any], Any]] = {}
        self.ending: tuple[int | None, Any] = (None, NOTHING)  # the page that is being ended, and its response data
        self.begun_pages: dict[int, object] = {}  # the last page that was ended, or is being ended
        self.notified_pages: dict[int, object] = {}  # the last page that an assigned hook was called for


def _is_first(entered: dict[int, object], page: int) -> bool:
    """Enter *page*; True if it was not entered before."""
    mine = object()
    if entered.setdefault(page, mine) is not mine:
        return False
    entered.pop(page - 1, None)
    return True


def _hooks_of(request: Any) -> _CompletionHooks:
    hooks: _CompletionHooks = request.__dict__.setdefault("_completion_hooks", _CompletionHooks())
    return hooks


def ending(request: Any, page: int, result: Any, error: BaseException | None, page_info: Any) -> bool:
    """End *request* as ``request._end`` does, by way of the hooks. Called instead of ``request._end``."""
    hooks = _hooks_of(request)
    name, what = (RESULT, result) if error is None else (EXCEPTION, error)
    if request._is_over(page) or not _is_first(hooks.begun_pages, page):
        return False  # another thread ends it
    hooks.ending = (page, page_info)
    request._coming = None if error is not None else page_info  # tracers read has_more_pages
    function = getattr(request, name)
    if function is hooks.assigned.get(name):
        _is_first(hooks.notified_pages, page)
    _call(function, what)
    request._coming = None
    request._end(page, result, error, page_info)
    return True


def _call(function: Callable[[Any], Any], what: Any) -> None:
    try:
        function(what)
    except Exception:
        log.exception("What was put in the place of a method that ends requests raised: %r", function)


def end_with_result(request: Any, response: Any) -> None:
    """End *request* with these rows, unless it is over."""
    page, page_info = _page_being_ended(request)
    request._end(page, response, None, page_info)


def end_with_exception(request: Any, error: BaseException) -> None:
    """End *request* with *error*, unless it is over."""
    page, page_info = _page_being_ended(request)
    request._end(page, None, error, page_info)


def _page_being_ended(request: Any) -> tuple[int, Any]:
    """Return the page that is being ended, and its response data."""
    hooks = request.__dict__.get("_completion_hooks")
    page = request._page
    return hooks.ending if hooks is not None and hooks.ending[0] == page else (page, NOTHING)


class Final:
    """One of the two methods. A hook that is assigned to a request is called once per page, even if the page has
    already ended."""

    def __init__(self, name: str, end: Callable[[Any, Any], None]) -> None:
        self._name = name
        self._end = end

    def __get__(self, request: Any, owner: type | None = None) -> Callable[..., Any]:
        if request is None:
            return self._end
        assigned = _hooks_of(request).assigned.get(self._name) if "_completion_hooks" in request.__dict__ else None
        return assigned or MethodType(self._end, request)  # wrapt reads its __self__

    def __set__(self, request: Any, function: Callable[[Any], Any]) -> None:
        hooks = _hooks_of(request)
        hooks.assigned[self._name] = function
        request._ending = ending
        request._set_eager()  # decode the response on arrival, not when the caller reads it
        outcome = request._outcome
        if outcome is None:
            return  # ``ending`` calls the hook
        result, error, _, page = outcome
        name, what = (RESULT, result) if error is None else (EXCEPTION, error)
        if name == self._name and _is_first(hooks.notified_pages, page):
            _is_first(hooks.begun_pages, page)
            _call(function, what)


def replaced(are: bool) -> None:
    """Set the hook state of new requests: *are* is True if one of the two methods is replaced in the class, False if
    both are the driver's again."""
    set_default_ending(ending if are else None)


# ---- names replaced in a facade

_called = MonotonicTimestampGenerator.__call__


def replaced_in_facade(facade: ModuleType, name: str, before: Any, now: Any) -> None:
    """Replace *before* by *now* under that *name* in all modules of the driver, as it was replaced in *facade*."""
    if name == "time":
        _set_clock(now)
        return
    for home, module in sys.modules.copy().items():
        if home.startswith("cassandra._") and vars(module).get(name) is before:
            setattr(module, name, now)


def _set_clock(clock: Any) -> None:
    """Make timestamp generators use the ``time()`` of *clock*."""
    generator: Any = MonotonicTimestampGenerator
    if clock is sys.modules["time"]:
        generator.__call__ = _called
        return

    def __call__(self: Any) -> int:
        with self.lock:
            return int(self._next_timestamp(int(clock.time() * 1_000_000), self.last))

    generator.__call__ = __call__


# ---- results with a future of the program


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
                self._end(self._page_iter)
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


# ---- sessions that programs create


def make(session: Any, init: Callable[..., None], cluster: Any, hosts: Any, keyspace: str | None = None) -> None:
    """Initialise *session* as ``Cluster.connect`` does: pass the hosts, and open its pools. Raise NoHostAvailable if
    none opens.

    With a cluster that is not connected, or that is a mock, the session has no pools."""
    is_ours = issubclass(type(cluster), Cluster)
    if is_ours:
        scheduler.run(cluster.life.prepare)
    init(session, cluster, hosts, keyspace)
    if not is_ours or not cluster.life.is_started:
        return
    scheduler.run(_open, session, cluster)


def _open(session: Any, cluster: Cluster) -> None:
    cluster.sessions.add(session)
    opened = AutoResetEvent()
    try:
        await_pools(session, session.update_created_pools(), False, opened)
    except BaseException:
        session.shutdown()
        raise
