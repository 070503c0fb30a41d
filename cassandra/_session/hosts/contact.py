"""From contact points to endpoints: names are resolved, and kept for TLS.

L5. The order given by the user is kept in ``Cluster.endpoints_resolved``, by which a policy without ``local_dc``
chooses the same datacenter in every client. Clients *connect* in random order; otherwise all clients would connect to
the first node at once.

The state of :class:`ContactPoints` is replaced as a whole, by the control connection's search, and read by any thread.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from cassandra._base import threads
from cassandra._base.errors import NoHostAvailable, UnresolvableContactPoints
from cassandra._base.locks import driver_lock
from cassandra._base.logs import get_logger
from cassandra._base.process import AutoResetEvent
from cassandra._base.randomness import shuffle
from cassandra._base.real import socket, threading
from cassandra._net.endpoint import DefaultEndPoint, EndPoint, is_numeric, unresolvable
from cassandra._net.exchange import run_blocking

if TYPE_CHECKING:
    from cassandra._session.options import ClusterOptions

log = get_logger("cassandra.cluster")


class ContactPoints:
    """Resolution of the contact points of *options*."""

    def __init__(self, options: ClusterOptions) -> None:
        self._options = options
        self._logged_names: set[str] = set()  # names with a logged warning
        self._resolved: list[EndPoint] | None = None  # None before the first lookup
        self._added: EndPoint | None = None  # the one among them that was not looked up
        self.unresolved: Mapping[str, Exception] = {}  # errors by name

    @property
    def endpoints_resolved(self) -> list[EndPoint]:
        """Endpoints of the contact points at the last lookup, in the order given. Before the cluster connects, reading
        it resolves them and blocks the caller; those that cannot be resolved are omitted."""
        if self._resolved is None:
            found = self.look_up()
            threads.run(found.wait)
            return found.endpoints()
        return self._resolved

    @endpoints_resolved.setter
    def endpoints_resolved(self, endpoints: list[EndPoint]) -> None:
        self._resolved = endpoints

    @property
    def known(self) -> list[EndPoint]:
        """The endpoints known so far, without waiting."""
        return self._resolved or []

    def resolve(self) -> list[EndPoint]:
        """Resolve all contact points now, and return their endpoints in random order. Blocks; raises
        UnresolvableContactPoints if there are none."""
        done = AutoResetEvent()
        found = self.look_up()
        if not found.is_done:
            run_blocking(found.wait, done.set)
            done.wait()
        return shuffled(self.take(found))

    def look_up(self) -> LookUp:
        """Begin to resolve the contact points. Does not block."""
        return LookUp(self._options.contact_points, self._options.port, self._logged_names)

    def take(self, found: LookUp) -> list[EndPoint]:
        """Use the endpoints found so far, in the order given. Raise UnresolvableContactPoints if there are none,
        NoHostAvailable if there is no contact point."""
        endpoints, self.unresolved = found.endpoints(), found.unresolved()
        if not endpoints:
            raise found.no_endpoint_error()
        self._resolved = endpoints
        return endpoints

    def add(self, endpoint: EndPoint) -> None:
        """Record that a contact point turned out to be *endpoint*, and not the one recorded before."""
        if endpoint not in self.known:
            self._resolved = [*(one for one in self.known if one is not self._added), endpoint]
            self._added = endpoint


class LookUp:
    """A running lookup of contact points. Each name is looked up on a daemon thread of its own: a name server that does
    not respond delays only waiters for that very name, and no shutdown.

    ``_results`` is guarded by ``_condition``, and nothing is called with it held.
    """

    def __init__(self, points: Iterable[Any], default_port: int, logged_names: set[str]) -> None:
        """*told*: names with a logged warning; updated, so that each name is warned of once until it is resolved."""
        self._points = [point if isinstance(point, (tuple, EndPoint)) else (point, default_port) for point in points]
        self._logged_names = logged_names
        self._condition = threading.Condition(driver_lock("LookUp"))
        self._results: dict[tuple[str, int], list[EndPoint] | Exception] = {}
        self._is_woken = False
        names = dict.fromkeys(one for one in self._points if isinstance(one, tuple) and not is_numeric(one[0]))
        self._remaining = len(names)
        for name in names:
            run_blocking(partial(_addresses, *name), partial(self._on_result, name))

    def _on_result(self, name: tuple[str, int], found: list[EndPoint] | None, error: BaseException | None) -> None:
        """Store the result of a name. On the thread of the lookup."""
        if error is not None:
            level = logging.DEBUG if name[0] in self._logged_names else logging.WARNING
            log.log(level, "Could not resolve the contact point %s: %s", name[0], error)
            self._logged_names.add(name[0])
        else:
            self._logged_names.discard(name[0])
        with self._condition:
            answer = unresolvable(name[0], error) if error else found
            self._results[name] = answer or []
            self._remaining -= 1
            self._condition.notify_all()

    @property
    def is_done(self) -> bool:
        return self._remaining == 0

    def wait(self, timeout: float | None = None) -> None:
        """Wait until all names are looked up, *timeout* seconds have passed, or :meth:`wake` was called."""
        with self._condition:
            self._condition.wait_for(lambda: self.is_done or self._is_woken, timeout)

    def wait_for_another(self, known: set[EndPoint]) -> None:
        """Wait until there is an endpoint that is not *known*, or there will be none, or :meth:`wake` was called."""
        with self._condition:
            self._condition.wait_for(lambda: self.is_done or self._is_woken or not known.issuperset(self.endpoints()))

    def wake(self) -> None:
        """Release all waiters."""
        with self._condition:
            self._is_woken = True
            self._condition.notify_all()

    def endpoints(self) -> list[EndPoint]:
        """Return the endpoints found so far, in the order of the contact points, without duplicates."""
        endpoints: dict[EndPoint, None] = {}
        for point in self._points:
            if isinstance(point, EndPoint):
                endpoints.setdefault(point)
            elif is_numeric(point[0]):
                endpoints.setdefault(DefaultEndPoint(*point))
            else:
                found = self._results.get(point)
                endpoints.update(dict.fromkeys(one for one in _endpoints_of(found) if one not in endpoints))
        return list(endpoints)

    def unresolved(self) -> dict[str, Exception]:
        """Return the errors of names without endpoints."""
        failed = {name: answer for (name, _), answer in self._results.items() if isinstance(answer, Exception)}
        if not self.is_done:
            waiting = (one[0] for one in self._points if isinstance(one, tuple) and not is_numeric(one[0]))
            for name in waiting:
                no_answer = UnresolvableContactPoints(f"{name!r} could not be resolved: no answer so far")
                if all(known != name for known, _ in self._results):
                    failed[name] = no_answer
        return failed

    def no_endpoint_error(self) -> UnresolvableContactPoints | NoHostAvailable:
        """Return the error if there is no endpoint."""
        if not self._points:
            return NoHostAvailable("Unable to connect to any servers: no contact point given", {})
        failed = list(self.unresolved().values())
        error = UnresolvableContactPoints(f"No contact point could be resolved: {'; '.join(map(str, failed))}")
        error.__cause__ = next((one.__cause__ for one in failed if one.__cause__ is not None), None)
        return error


def _addresses(name: str, port: int) -> list[EndPoint]:
    found = socket.getaddrinfo(name, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
    return [DefaultEndPoint.named(str(entry[4][0]), port, name) for entry in found]


def _endpoints_of(answer: list[EndPoint] | Exception | None) -> list[EndPoint]:
    return answer if isinstance(answer, list) else []


def shuffled(endpoints: Iterable[EndPoint]) -> list[EndPoint]:
    """Return *endpoints* in random order."""
    result = list(endpoints)
    shuffle(result)
    return result


def find_given(endpoint: EndPoint, given: Iterable[EndPoint]) -> EndPoint:
    """Return *endpoint*, or the equal one among *given*, which has the name given by the user."""
    return next((known for known in given if known == endpoint), endpoint)


def endpoint_text(endpoint: EndPoint) -> str:
    """Return *endpoint* as text, with the name given by the user if it differs from the address."""
    given = endpoint.server_name != endpoint.address
    return f"{endpoint} ({endpoint.server_name})" if given else str(endpoint)
