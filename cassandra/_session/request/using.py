"""USE: the keyspace of a session changes on the I/O thread, and no other request is sent meanwhile.

L5. In one native section, a caller's thread holds all connections of the session, including those opened later, and
posts the request. The I/O thread, which no handler of a signal interrupts, sends the USE and processes its response
(``completing.follow``); the hold ends when the request has succeeded or failed. Requests made meanwhile find the
connections busy and wait for room: they are sent when every connection is in the keyspace of the session. So if a
program is interrupted while it waits for a USE, all its threads continue in one definite keyspace.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._core.transport import DRIVER, Hold, Reactor

if TYPE_CHECKING:
    from ..session import Session
    from .future import ResponseFuture


def hand_over(request: ResponseFuture, page: int) -> bool:
    """Hold the connections, and let the I/O thread send *request*, a USE. Return False if the caller is to send it: on
    the I/O thread (the connections are held from then on), and if the session has no I/O thread any more."""
    session = request.session
    if session.is_shutdown:
        return False
    reactor: Any = session.cluster.reactor
    if not isinstance(reactor, Reactor):
        return False
    if reactor.in_reactor():
        if not any(isinstance(timer, Hold) for timer in request._timers or ()):
            hold = _hold_of(session)
            hold.begin()
            _send_held(request, page, hold)
        return False
    hold = _hold_of(session)
    return hold.begin(reactor, partial(_send, request, page, hold))


def _hold_of(session: Session) -> Hold:
    return Hold(session._pool_set.channels)


def _send_held(request: ResponseFuture, page: int, hold: Hold) -> None:
    request._right = DRIVER  # its hold does not apply to itself
    request._add_timer(page, hold)


def _send(request: ResponseFuture, page: int, hold: Hold) -> None:
    _send_held(request, page, hold)
    if not request._is_over(page):
        try:
            request._execution.sending.send(request, page)
        except Exception as error:  # of a user's policy
            request._fail(page, error)
