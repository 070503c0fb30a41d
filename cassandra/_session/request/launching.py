"""Launching: compiled requests, from their frame to the first connection that takes it.

L5. A request of a prepared statement usually is a *compiled* one (compiled.py): its frame was made at once, and is what
every attempt sends. What other requests are made of (message, query and so on) it has only when somebody asks. Where
anything is in the way of its first attempt it is sent as every other one, see sending.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..statements.prepared import BoundStatement
from .conclusion import Conclusion

if TYPE_CHECKING:
    from cassandra._core.routing import Place
    from cassandra._core.transport import Lane
    from cassandra._routing.policies import RetryPolicy
    from cassandra._routing.policies.router import Router

    from ..statements.prepared import PreparedStatement


class _OnDemand:
    """An attribute that compiled requests have only when somebody asks. What is asked for may be changed: from then on
    the request is sent by its message, no longer by its frame."""

    def __init__(self, make: Callable[[Launching], Any]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, request: Launching | None, owner: type) -> Any:
        if request is None:
            return self
        return request.__dict__.setdefault(self._name, self._make(request))  # two threads may ask at a time


def _on_demand(make: Callable[[Launching], Any]) -> Any:
    return _OnDemand(make)


def _from_compiled(name: str) -> Any:
    return _OnDemand(lambda request: getattr(request._compiled, name))


def _message_of(request: Launching) -> Any:
    assert request._compiled is not None and request._frame is not None
    return request._compiled.message(request._frame, request._token)


class Launching(Conclusion):
    """What a request is made of, and how a compiled one is sent."""

    __slots__ = ("__dict__", "__weakref__")

    _picked: Place | None
    prepared_statement: PreparedStatement | None = _from_compiled("prepared")
    _retry_policy: RetryPolicy | None = _from_compiled("retry_policy")
    _router: Router = _from_compiled("router")
    _errors: dict[Any, Any] = _on_demand(lambda request: {})
    message: Any = _on_demand(_message_of)
    query: Any = _on_demand(lambda request: request._bound_query())

    def _bound_query(self) -> Any:
        """The statement of a compiled request."""
        assert self.prepared_statement is not None
        statement = BoundStatement(self.prepared_statement)
        statement._bound = self.message.query_params
        statement.raw_values = self._values
        return statement

    def _launch(self) -> bool:
        """The first attempt of a compiled request, where nothing is in the way. False if something is: then nothing was
        sent, and :meth:`_send_page` begins again."""
        compiled, session = self._compiled, self.session
        if compiled is None or session.is_shutdown or self._tracking is not None:
            return False
        if session._listeners and (self._outcome is not None or "message" in self.__dict__):
            return False  # one of them concluded it, or may have changed the message
        lane: Lane | None = compiled.lane(session)
        return lane is not None and lane.try_launch(self)
