"""Attributes of public classes that other packages are known to read or wrap (L6).

``cassandra.cluster`` and its like lend them (``_base/lending.py``): the class named as the public one holds what is
lent to it. The public classes know nothing of it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar
from uuid import UUID

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.real import threading

from .internals import _ConfigMode

log = logging.getLogger("cassandra.cluster")


class Session:
    """Of ``cassandra.cluster.Session``."""

    _default_consistency_level = ConsistencyLevel.LOCAL_ONE

    @property
    def _load_balancer(self: Any) -> Any:
        return self.cluster.load_balancing_policy

    @property
    def _metrics(self: Any) -> Any:
        return self.cluster.metrics


class Cluster:
    """Of ``cassandra.cluster.Cluster``."""

    @property
    def _prepared_statements(self: Any) -> Mapping[bytes, Any]:
        """Those that are in use, by id."""
        return {statement.query_id: statement for statement in self.prepared.all()}

    @property
    def _config_mode(self: Any) -> int:
        return int(getattr(_ConfigMode, self.profile_manager.mode.name))


class Metadata:
    """Of ``cassandra.metadata.Metadata``."""

    @property
    def _hosts(self: Any) -> dict[UUID | None, Any]:
        return dict(self.all_hosts_items())


class ControlConnection:
    """Of ``cassandra.cluster.ControlConnection``."""

    @property
    def _connection(self: Any) -> Any:
        return self.connection


class LoadBalancingPolicy:
    """Of ``cassandra.policies.LoadBalancingPolicy``: a lock that nothing of the driver takes, one per policy."""

    _one_at_a_time: ClassVar[Any] = threading.Lock()

    @property
    def _hosts_lock(self: Any) -> Any:
        with LoadBalancingPolicy._one_at_a_time:
            return self.__dict__.setdefault("_lent_hosts_lock", threading.RLock())


class OrderedMapSerializedKey:
    """Of ``cassandra.util.OrderedMapSerializedKey``."""

    def _insert(self: Any, key: Any, value: Any) -> None:
        """``self[key] = value``"""
        self[key] = value

    def _insert_unchecked(self: Any, key: Any, flat_key: Any, value: Any) -> None:
        """The same; *flat_key*, the key's bytes, is worked out when it is needed."""
        self[key] = value


class _Event:
    """Whether a request is over, as a ``threading.Event`` has it."""

    def __init__(self, request: Any) -> None:
        self._request = request

    def is_set(self) -> bool:
        return self._request._outcome is not None

    def wait(self, timeout: float | None = None) -> bool:
        if not self.is_set():
            over = threading.Event()
            self._request.add_callbacks(lambda *_: over.set(), lambda *_: over.set())
            over.wait(timeout)
        return self.is_set()


class _Instrumented:
    """Takes the place of a request's tracking, and calls what was assigned to its ``_set_final_result`` and
    ``_set_final_exception`` when a page is over, once. ``before`` is who heard of it so far, if anybody."""

    def __init__(self, before: Any) -> None:
        self._before = before
        self.assigned: dict[str, Callable[[Any], Any]] = {}
        self._lock = threading.Lock()
        self._told: int | None = None  # the page

    def begin(self, request: Any) -> None:
        if self._before is not None:
            self._before.begin(request)
            request._tracking = self

    def sending(self, request: Any, attempt: Any) -> None:
        if self._before is not None:
            self._before.sending(request, attempt)

    def ended(self, request: Any, attempt: Any, error: BaseException | None) -> None:
        if self._before is not None:
            self._before.ended(request, attempt, error)

    def over(self, request: Any, error: BaseException | None, elapsed: float) -> None:
        if self._before is not None:
            self._before.over(request, error, elapsed)
        self.tell(request)

    def tell(self, request: Any) -> None:
        """Call what was assigned, if the page is over and it was not called for that: by the thread on which the page
        ended, or by the one that assigns it later."""
        outcome = request._outcome
        if outcome is None:
            return
        result, error, _, page = outcome
        name, what = ("_set_final_result", result) if error is None else ("_set_final_exception", error)
        function = self.assigned.get(name)
        with self._lock:
            if function is None or self._told == page:
                return
            self._told = page
        try:
            function(what)
        except Exception:
            log.exception("What was assigned to %s of a request raised", name)


class _Final:
    """A method that ends a request, and that instrumentation wraps: one that was assigned to a request is called when
    the request is over, with its rows or its error. It need not call the method."""

    def __init__(self, name: str, end: Callable[[Any, Any], None]) -> None:
        self._name = name
        self._end = end

    def __get__(self, request: Any, owner: type | None = None) -> Callable[..., Any]:
        if request is None:
            return self._end
        tracking = request._tracking
        assigned = tracking.assigned.get(self._name) if isinstance(tracking, _Instrumented) else None
        return assigned or partial(self._end, request)

    def __set__(self, request: Any, function: Callable[[Any], Any]) -> None:
        if not isinstance(request._tracking, _Instrumented):
            request._tracking = _Instrumented(request._tracking)
        request._tracking.assigned[self._name] = function
        request._add((_nothing, (), {}), (_nothing, (), {}))  # it is told at once, not when somebody asks
        request._tracking.tell(request)


def _nothing(_: Any) -> None:
    pass


def _end_with_result(request: Any, response: Any) -> None:
    """End *request* with these rows, unless it is over."""
    request._conclude(request._page, response)


def _end_with_exception(request: Any, error: BaseException) -> None:
    """End *request* with *error*, unless it is over."""
    request._fail(request._page, error)


class ResponseFuture:
    """Of ``cassandra.cluster.ResponseFuture``."""

    _set_final_result = _Final("_set_final_result", _end_with_result)
    _set_final_exception = _Final("_set_final_exception", _end_with_exception)

    @property
    def _event(self: Any) -> _Event:
        return _Event(self)

    @property
    def _current_host(self: Any) -> Any:
        """The host that was asked last."""
        return self.coordinator_host

    @property
    def _col_names(self: Any) -> list[str] | None:
        """Names of the columns of the answer, None before it came and where it has none."""
        if self._final_result is None:
            return None
        names: list[str] | None = self.result().column_names
        return names

    @property
    def _col_types(self: Any) -> list[Any] | None:
        """Types of the columns."""
        return None if self._final_result is None else self.result().column_types
