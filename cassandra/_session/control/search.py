"""Finding a node for the control connection: candidates, their order, retries, and log lines.

L5. Owner: the control connection's strand. States: *idle* (there is a connection, or none is needed yet), *trying* (one
candidate after the other, in one call on the strand), *waiting* (all candidates failed; ``_retry`` is set). A waiting
search continues by the reconnection schedule, when a host comes up, and when a name resolves to an untried endpoint.

Names of contact points are looked up in parallel, on a thread of its own and once at a time: a slow name server, as is
common when a network breaks, does not delay the use of known addresses.

While all candidates fail, though hosts are up, one line is logged when that is certain, at most one a minute, and one
when it ends. (``hosts/membership.py`` logs the case that no host is up.)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException, NoHostAvailable
from cassandra._base.logs import get_logger
from cassandra._net.backoff import Delays
from cassandra._net.endpoint import EndPoint, is_numeric, needs_look_up
from cassandra._net.exchange import run_blocking
from cassandra._routing.policies.router import is_builtin
from cassandra._session.hosts import contact

if TYPE_CHECKING:
    from cassandra._session.cluster import Cluster
    from cassandra._session.scheduler import Strand, Task

log = get_logger("cassandra.cluster")

LOG_INTERVAL = 60.0  # seconds between lines about one outage
MAX_LOGGED_ERRORS = 3  # errors in one line
MAX_PLAN_LENGTH = 10_000  # hosts: the plan of a custom policy may never end
NAME_LOOKUP_WAIT = 1.0  # seconds that the first connect waits for names when it has addresses


class Search:
    """Connects *cluster*'s control connection by *connect_to*, which blocks and raises."""

    def __init__(self, cluster: Cluster, strand: Strand, connect_to: Callable[[EndPoint], None]) -> None:
        self._cluster = cluster
        self._strand = strand
        self._connect_to = connect_to
        self._delays = Delays(cluster.membership.new_schedule)
        self._retry: Task | None = None
        self._trying = False
        self._looking_up = False
        self._closed = False
        self._first_look_up: contact.LookUp | None = None
        self._tried_endpoints: set[EndPoint] = set()  # in this round
        self._last_endpoint: EndPoint | None = None
        self._reason = ""
        self._failing_since: float | None = None  # time of the first failed round
        self._last_logged_at: float | None = None  # time of the last log line about it
        self._errors: Mapping[str, BaseException] = {}
        self.failed_rounds = 0  # rounds without success

    @property
    def is_under_way(self) -> bool:
        """True if there is no control connection because none was found yet. For any thread."""
        return self._trying or self._retry is not None

    def first(self) -> None:
        """Connect to a host of the application's own policy, or else to a contact point. Blocks; raises NoHostAvailable
        with an error for each."""
        cluster = self._cluster
        found = self._first_look_up = cluster.contacts.look_up()
        if self._closed:
            found.wake()
        errors: dict[Any, Any] = {}
        self._tried_endpoints = set()
        found.wait(NAME_LOOKUP_WAIT)
        new = self._initial_plan()
        if new and found.endpoints():
            cluster.contacts.take(found)  # they are needed even if another host takes the connection
        while not self._connect_first_of(new, errors):
            found.wait_for_another(self._tried_endpoints)
            if self._closed:
                raise DriverException("The cluster was shut down while it was connecting")
            new = contact.shuffled(one for one in cluster.contacts.take(found) if one not in self._tried_endpoints)
            if not new:
                raise NoHostAvailable("Unable to connect to any servers", {**errors, **cluster.contacts.unresolved})
        if not found.is_done:
            run_blocking(found.wait, lambda result, error: self._on_all_resolved(found))

    def _connect_first_of(self, endpoints: list[EndPoint], errors: dict[Any, Any]) -> bool:
        """Return True if one of them took the connection; if none did, *errors* gets the reasons."""
        try:
            self._connect_any(endpoints, logging.WARNING)
        except NoHostAvailable as error:
            errors.update(error.errors or {})
            return False
        return True

    def _on_all_resolved(self, found: contact.LookUp) -> None:
        """Record endpoints of slow names after the first connect. On the thread that waited for them."""
        if found.is_done and found.endpoints() and not self._closed:
            self._cluster.contacts.take(found)

    def begin(self, reason: str = "", last_endpoint: EndPoint | None = None) -> None:
        """Connect to any node, or try again later. *avoided* is tried last: the connection to it was lost."""
        if self._closed:
            return
        self._reason = reason or self._reason
        self._last_endpoint = last_endpoint or self._last_endpoint
        self._tried_endpoints = set()
        self._start_look_up()
        self._try(self._candidates())

    def stop(self) -> None:
        """Stop, because the cluster is shut down. From any thread."""
        self._closed = True
        if self._first_look_up is not None:
            self._first_look_up.wake()

    # ---- trying

    def _try(self, endpoints: list[EndPoint]) -> None:
        if self._retry is not None:
            self._retry.cancel()
        self._trying, self._retry = True, None
        try:
            endpoint = self._connect_any(endpoints, logging.DEBUG)
        except NoHostAvailable as error:
            self._errors = {**self._errors, **(error.errors or {})}
            self._schedule_retry()
        except DriverException as error:
            log.debug("The search for a control connection ends: %s", error)
        else:
            self._on_connected(endpoint)
        finally:
            self._trying = False

    def _connect_any(self, endpoints: Iterable[EndPoint], level: int) -> EndPoint:
        errors: dict[str, BaseException] = {}
        for endpoint in endpoints:
            if self._closed:
                raise DriverException("The cluster was shut down while it was connecting")
            self._tried_endpoints.add(endpoint)
            try:
                self._connect_to(endpoint)
                return endpoint
            except Exception as error:
                endpoint_text = contact.endpoint_text(endpoint)
                log.log(level, "Control connection could not be opened to %s: %s", endpoint_text, error)
                errors[endpoint_text] = error.with_traceback(None)  # its frames would keep the whole cluster alive
        raise NoHostAvailable("Unable to connect to any servers", errors)

    def _schedule_retry(self) -> None:
        """Try again later. An exhausted schedule starts anew: without a control connection the driver gets no
        updates."""
        if self._closed:
            return
        delay = self._delays.next()
        if delay is None:
            self._delays.reset()
            delay = self._delays.next_or_last()
        self._log_failure(delay)
        self._retry = self._cluster.scheduler.schedule(delay, self._strand.post, self.begin)

    def _on_connected(self, endpoint: EndPoint) -> None:
        if self._last_logged_at is not None:
            seconds = monotonic() - (self._failing_since or self._last_logged_at)
            log.warning("The control connection is open again, to %s, after %.1f s without one", endpoint, seconds)
        elif self._reason:
            log.info("%s; it is open to %s now", self._reason, endpoint)
        self._delays.reset()
        (
            self._reason,
            self._last_endpoint,
            self._failing_since,
            self._last_logged_at,
            self._errors,
            self.failed_rounds,
        ) = "", None, None, None, {}, 0

    def _log_failure(self, delay: float) -> None:
        """Log that all candidates failed. The first time is not logged, because it may be the beginning of an outage:
        the membership logs that no host is up."""
        self.failed_rounds += 1
        now = monotonic()
        if self._failing_since is None:
            self._failing_since = now
        is_logged = self.failed_rounds > 1 and not self._cluster.membership.is_urgent()
        is_logged = is_logged and (self._last_logged_at is None or now - self._last_logged_at >= LOG_INTERVAL)
        if is_logged:
            self._last_logged_at = now
        errors_text = "; ".join(
            f"{endpoint}: {error}" for endpoint, error in islice(self._errors.items(), MAX_LOGGED_ERRORS)
        )
        log.log(
            logging.WARNING if is_logged else logging.DEBUG,
            "%sNo node has taken the control connection for %.0f s, in %d tries, next one in %.1f s. Of %d errors: %s",
            f"{self._reason}. " if self._reason else "", now - self._failing_since, self.failed_rounds, delay,
            len(self._errors), errors_text,
        )  # fmt: skip
        self._errors = {}

    # ---- candidates

    def _initial_plan(self) -> list[EndPoint]:
        """Return the plan of the default policy before it was populated with hosts. Built-in policies have no hosts
        then and are not called: one that is shared with another cluster would return hosts of that."""
        policy = self._cluster.profile_manager.default.load_balancing_policy
        if is_builtin(policy):
            return []
        try:
            return list(dict.fromkeys(host.endpoint for host in islice(policy.make_query_plan(), MAX_PLAN_LENGTH)))
        except Exception:
            log.debug("The load balancing policy has no plan before it is populated with hosts", exc_info=True)
            return []

    def _candidates(self) -> list[EndPoint]:
        """Return hosts that are up in the order of the default policy, then those that are not, then the resolved
        contact points. Among equals those with a known address are first."""
        cluster = self._cluster
        try:
            policy = cluster.profile_manager.default.load_balancing_policy
            planned = list(islice(policy.make_query_plan(), MAX_PLAN_LENGTH))
        except Exception:
            log.exception("The load balancing policy failed to make a plan for the control connection")
            planned = []
        hosts = [*planned, *(host for host in cluster.metadata.all_hosts() if not cluster.membership.is_ignored(host))]
        hosts.sort(key=lambda host: (host.is_up is False, needs_look_up(host.endpoint)))
        endpoints = dict.fromkeys([*(host.endpoint for host in hosts), *cluster.contacts.known])
        if self._last_endpoint in endpoints:
            del endpoints[self._last_endpoint]
            endpoints[self._last_endpoint] = None
        return list(endpoints)

    def _start_look_up(self) -> None:
        """Resolve the contact points again: their addresses, or the contact points themselves, may have changed."""
        if not any(_is_name(point) for point in self._cluster.contact_points):
            self._resolve()
        elif not self._looking_up:
            self._looking_up = True
            run_blocking(self._resolve, self._on_look_up_done)

    def _resolve(self) -> None:
        try:
            self._cluster.contacts.resolve()
        except Exception as error:
            log.debug("The contact points could not be resolved again: %s", error)

    def _on_look_up_done(self, result: None, error: BaseException | None) -> None:
        """Try new endpoints. On the thread of the lookup."""
        self._strand.post(self._try_new_endpoints)

    def _try_new_endpoints(self) -> None:
        self._looking_up = False
        new = [endpoint for endpoint in self._cluster.contacts.known if endpoint not in self._tried_endpoints]
        if new and self._retry is not None and not self._closed:
            self._try(new)


def _is_name(point: object) -> bool:
    return not isinstance(point, EndPoint) and not is_numeric(point[0] if isinstance(point, tuple) else str(point))
