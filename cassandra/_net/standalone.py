"""Connections without a cluster, for tools that open one to a single node (L3; ``Connection.factory``).

They share one I/O thread, which starts with the first connection and stops with the last. ``_Thread`` counts them under
its lock, a driver lock; no foreign code is called with the lock held. Opening one is a command. A forked child has none
of these connections and starts its own thread.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.locks import driver_lock
from cassandra._base.process import renew
from cassandra._base.threads import command
from cassandra._base.versions import seconds
from cassandra._core.transport import Reactor

from .auth import Authenticator, AuthProvider
from .opening import OpeningWaiter
from .options import MAX_REQUESTS, ConnectionOptions

if TYPE_CHECKING:
    from .connection import Connection
    from .endpoint import EndPoint

#: Keyword arguments of scylla-driver's connections and the options they map to. Its other arguments are ignored.
_OPTIONS = {
    "protocol_version": "protocol_version",
    "allow_beta_protocol_version": "allow_beta",
    "compression": "compression",
    "cql_version": "cql_version",
    "ssl_context": "ssl_context",
    "ssl_options": "ssl_options",
    "ssl_session_cache": "ssl_session_cache",
    "no_compact": "no_compact",
    "application_info": "application_info",
}


class _Thread:
    """The I/O thread of connections without a cluster."""

    def __init__(self) -> None:
        self._lock = driver_lock("Alone")
        self._reactor: Reactor | None = None
        self._users = 0
        self._process = os.getpid()
        self._parents: list[Reactor] = []  # reactors of parent processes; their threads do not exist in this process

    def acquire(self) -> Reactor:
        """Return the reactor for one more connection; start it for the first."""
        if self._process != os.getpid():
            self._renew_in_child()
        with self._lock:
            self._users += 1
            if self._reactor is None:
                self._reactor = Reactor(name="fastcql-alone")
            return self._reactor

    def release(self) -> None:
        """Release the reactor of one connection; stop it after the last."""
        if self._process != os.getpid():
            return
        with self._lock:
            self._users -= 1
            unused, self._reactor = (self._reactor, None) if self._users == 0 else (None, self._reactor)
        if unused is not None:
            unused.stop()

    def _renew_in_child(self) -> None:
        renew(self._lock)
        if self._reactor is not None:
            self._parents.append(self._reactor)
        self._reactor, self._users, self._process = None, 0, os.getpid()


_thread = _Thread()


class _FixedAuthProvider(AuthProvider):
    """Returns the authenticator that the program passed in."""

    def __init__(self, authenticator: Any) -> None:
        self._authenticator = authenticator

    def new_authenticator(self, host: str) -> Authenticator:
        made: Authenticator = self._authenticator
        return made


def options_of(given: dict[str, Any]) -> ConnectionOptions:
    """Return the options for scylla-driver's keyword arguments *given*."""
    known = {ours: given[theirs] for theirs, ours in _OPTIONS.items() if given.get(theirs) is not None}
    authenticator = given.get("authenticator")
    if authenticator is not None:
        known["auth_provider"] = _FixedAuthProvider(authenticator)
    return ConnectionOptions(
        sockopts=tuple(given.get("sockopts") or ()),
        connect_timeout=given.get("connect_timeout"),
        max_requests=given.get("max_in_flight") or MAX_REQUESTS,
        **known,
    )


@command
def open_alone(
    kind: type[Connection], endpoint: EndPoint, timeout: float | None, options: ConnectionOptions
) -> Connection:
    """Open a connection of class *kind* to *endpoint*. Blocks; raises the error of the opening."""
    seconds("timeout", timeout, negative=True)
    reactor = _thread.acquire()
    release = _once(_thread.release)
    waiter = OpeningWaiter()
    options = options if timeout is None else options.replace(connect_timeout=max(timeout, 0.001))
    opening = kind.open(reactor, endpoint, options, waiter, on_closed=lambda connection, error: release())
    try:
        return waiter.wait(opening, options.open_timeout + 1.0)  # the opening enforces its own limit
    except BaseException:
        release()
        raise


def _once(function: Callable[[], None]) -> Callable[[], None]:
    """Return a callable that calls *function* the first time only."""
    release = [function]

    def call() -> None:
        if release:
            release.pop()()

    return call
