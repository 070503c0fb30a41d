"""Completion hooks of requests: ``_set_final_result`` and ``_set_final_exception``, which tracers wrap (L6).

In scylla-driver these methods end a request. Here an unmodified request ends without them. If one of them is assigned
to a request, or replaced in the class (``mock.patch.object``, ``wrapt``), the native engine calls :func:`ending`
instead of ``Request._end``: it calls the replacement, which calls the original method, which ends the request. If the
replacement does not, :func:`ending` ends the request.

A :class:`_Finals` belongs to its request. Callers assign hooks, and driver threads end pages: the first thread that
enters a page into ``begun`` ends it, and the first that enters it into ``told`` calls the assigned hook. Both are one
``dict.setdefault``, which is atomic.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from cassandra._base.logs import get_logger
from cassandra._core.transport import set_default_ending
from cassandra._session.request.result import NOTHING

log = get_logger("cassandra.cluster")

RESULT, EXCEPTION = "_set_final_result", "_set_final_exception"


class _Finals:
    """The hook state of one request: the assigned hooks, and the page that is being ended."""

    def __init__(self) -> None:
        self.assigned: dict[str, Callable[[Any], Any]] = {}
        self.ending: tuple[int | None, Any] = (None, NOTHING)  # the page that is being ended, and its response data
        self.begun: dict[int, object] = {}  # the last page that was ended, or is being ended
        self.told: dict[int, object] = {}  # the last page that an assigned hook was called for


def _is_first(entered: dict[int, object], page: int) -> bool:
    """Enter *page*; True if it was not entered before."""
    mine = object()
    if entered.setdefault(page, mine) is not mine:
        return False
    entered.pop(page - 1, None)
    return True


def _finals_of(request: Any) -> _Finals:
    finals: _Finals = request.__dict__.setdefault("_lent_finals", _Finals())
    return finals


def ending(request: Any, page: int, result: Any, error: BaseException | None, came: Any) -> bool:
    """End *request* as ``request._end`` does, by way of the hooks. Called instead of ``request._end``."""
    finals = _finals_of(request)
    name, what = (RESULT, result) if error is None else (EXCEPTION, error)
    if request._is_over(page) or not _is_first(finals.begun, page):
        return False  # another thread ends it
    finals.ending = (page, came)
    request._coming = None if error is not None else came  # tracers read has_more_pages
    function = getattr(request, name)
    if function is finals.assigned.get(name):
        _is_first(finals.told, page)
    _call(function, what)
    request._coming = None
    request._end(page, result, error, came)
    return True


def _call(function: Callable[[Any], Any], what: Any) -> None:
    try:
        function(what)
    except Exception:
        log.exception("What was put in the place of a method that ends requests raised: %r", function)


def end_with_result(request: Any, response: Any) -> None:
    """End *request* with these rows, unless it is over."""
    page, came = _being_ended(request)
    request._end(page, response, None, came)


def end_with_exception(request: Any, error: BaseException) -> None:
    """End *request* with *error*, unless it is over."""
    page, came = _being_ended(request)
    request._end(page, None, error, came)


def _being_ended(request: Any) -> tuple[int, Any]:
    """Return the page that is being ended, and its response data."""
    finals = request.__dict__.get("_lent_finals")
    page = request._page
    return finals.ending if finals is not None and finals.ending[0] == page else (page, NOTHING)


class Final:
    """One of the two methods. A hook that is assigned to a request is called once per page, even if the page has
    already ended."""

    def __init__(self, name: str, end: Callable[[Any, Any], None]) -> None:
        self._name = name
        self._end = end

    def __get__(self, request: Any, owner: type | None = None) -> Callable[..., Any]:
        if request is None:
            return self._end
        assigned = _finals_of(request).assigned.get(self._name) if "_lent_finals" in request.__dict__ else None
        return assigned or MethodType(self._end, request)  # wrapt reads its __self__

    def __set__(self, request: Any, function: Callable[[Any], Any]) -> None:
        finals = _finals_of(request)
        finals.assigned[self._name] = function
        request._ending = ending
        request._set_eager()  # decode the response on arrival, not when the caller reads it
        outcome = request._outcome
        if outcome is None:
            return  # ``ending`` calls the hook
        result, error, _, page = outcome
        name, what = (RESULT, result) if error is None else (EXCEPTION, error)
        if name == self._name and _is_first(finals.told, page):
            _is_first(finals.begun, page)
            _call(function, what)


def replaced(are: bool) -> None:
    """Set the hook state of new requests: *are* is True if one of the two methods is replaced in the class, False if
    both are the driver's again."""
    set_default_ending(ending if are else None)
