"""Finding a node for the control connection: candidates, their order, retries, and log lines.

L5. Owner: the control connection's strand. States: *idle* (there is a connection, or none is needed yet), *trying* (one
candidate after the other, in one call on the strand), *waiting* (all candidates failed; ``_retry`` is set). A waiting
search continues by the reconnection schedule, when a host comes up, and when a name resolves to an untried end point.

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

SAY_AGAIN = 60.0  # seconds between lines about one outage
SHOWN = 3  # errors in one line
LONGEST_PLAN = 10_000  # hosts: the plan of a custom policy may never end
PATIENCE_WITH_NAMES = 1.0  # seconds that the first connect waits for names when it has addresses


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
        self._tried: set[EndPoint] = set()  # in this round
        self._avoided: EndPoint | None = None
        self._why = ""
        self._since: float | None = None  # time of the first failed round
        self._told: float | None = None  # time of the last log line about it
        self._errors: Mapping[str, BaseException] = {}
        self.tries = 0  # rounds without success

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
        self._tried = set()
        found.wait(PATIENCE_WITH_NAMES)
        new = self._planned_before()
        if new and found.endpoints():
            cluster.contacts.take(found)  # they are needed even if another host takes the connection
        while not self._first_of(new, errors):
            found.wait_for_another(self._tried)
            if self._closed:
                raise DriverException("The cluster was shut down while it was connecting")
            new = contact.shuffled(one for one in cluster.contacts.take(found) if one not in self._tried)
            if not new:
                raise NoHostAvailable("Unable to connect to any servers", {**errors, **cluster.contacts.unresolved})
        if not found.is_done:
            run_blocking(found.wait, lambda result, error: self._all_looked_up(found))

    def _first_of(self, endpoints: list[EndPoint], errors: dict[Any, Any]) -> bool:
        """Return True if one of them took the connection; if none did, *errors* gets the reasons."""
        try:
            self._connect_any(endpoints, logging.WARNING)
        except NoHostAvailable as error:
            errors.update(error.errors or {})
            return False
        return True

    def _all_looked_up(self, found: contact.LookUp) -> None:
        """Record end points of slow names after the first connect. On the thread that waited for them."""
        if found.is_done and found.endpoints() and not self._closed:
            self._cluster.contacts.take(found)

    def begin(self, why: str = "", avoided: EndPoint | None = None) -> None:
        """Connect to any node, or try again later. *avoided* is tried last: the connection to it was lost."""
        if self._closed:
            return
        self._why = why or self._why
        self._avoided = avoided or self._avoided
        self._tried = set()
        self._look_up()
        self._try(self._known())

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
            self._come_back()
        except DriverException as error:
            log.debug("The search for a control connection ends: %s", error)
        else:
            self._found(endpoint)
        finally:
            self._trying = False

    def _connect_any(self, endpoints: Iterable[EndPoint], level: int) -> EndPoint:
        errors: dict[str, BaseException] = {}
        for endpoint in endpoints:
            if self._closed:
                raise DriverException("The cluster was shut down while it was connecting")
            self._tried.add(endpoint)
            try:
                self._connect_to(endpoint)
                return endpoint
            except Exception as error:
                shown = contact.shown(endpoint)
                log.log(level, "Control connection could not be opened to %s: %s", shown, error)
                errors[shown] = error.with_traceback(None)  # its frames would keep the whole cluster alive
        raise NoHostAvailable("Unable to connect to any servers", errors)

    def _come_back(self) -> None:
        """Try again later. An exhausted schedule starts anew: without a control connection the driver gets no
        updates."""
        if self._closed:
            return
        delay = self._delays.next()
        if delay is None:
            self._delays.reset()
            delay = self._delays.next_or_last()
        self._tell(delay)
        self._retry = self._cluster.scheduler.schedule(delay, self._strand.post, self.begin)

    def _found(self, endpoint: EndPoint) -> None:
        if self._told is not None:
            blind = monotonic() - (self._since or self._told)
            log.warning("The control connection is open again, to %s, after %.1f s without one", endpoint, blind)
        elif self._why:
            log.info("%s; it is open to %s now", self._why, endpoint)
        self._delays.reset()
        self._why, self._avoided, self._since, self._told, self._errors, self.tries = "", None, None, None, {}, 0

    def _tell(self, delay: float) -> None:
        """Log that all candidates failed. The first time is not logged, because it may be the beginning of an outage:
        the membership logs that no host is up."""
        self.tries += 1
        now = monotonic()
        if self._since is None:
            self._since = now
        told = self.tries > 1 and not self._cluster.membership.is_urgent()
        told = told and (self._told is None or now - self._told >= SAY_AGAIN)
        if told:
            self._told = now
        shown = "; ".join(f"{endpoint}: {error}" for endpoint, error in islice(self._errors.items(), SHOWN))
        log.log(
            logging.WARNING if told else logging.DEBUG,
            "%sNo node has taken the control connection for %.0f s, in %d tries, next one in %.1f s. Of %d errors: %s",
            f"{self._why}. " if self._why else "", now - self._since, self.tries, delay, len(self._errors), shown,
        )  # fmt: skip
        self._errors = {}

    # ---- candidates

    def _planned_before(self) -> list[EndPoint]:
        """Return the plan of the default policy before it was populated with hosts. Built-in policies have no hosts
        then and are not called: one that is shared with another cluster would return hosts of that."""
        policy = self._cluster.profile_manager.default.load_balancing_policy
        if is_builtin(policy):
            return []
        try:
            return list(dict.fromkeys(host.endpoint for host in islice(policy.make_query_plan(), LONGEST_PLAN)))
        except Exception:
            log.debug("The load balancing policy has no plan before it is populated with hosts", exc_info=True)
            return []

    def _known(self) -> list[EndPoint]:
        """Return hosts that are up in the order of the default policy, then those that are not, then the resolved
        contact points. Among equals those with a known address are first."""
        cluster = self._cluster
        try:
            policy = cluster.profile_manager.default.load_balancing_policy
            planned = list(islice(policy.make_query_plan(), LONGEST_PLAN))
        except Exception:
            log.exception("The load balancing policy failed to make a plan for the control connection")
            planned = []
        hosts = [*planned, *(host for host in cluster.metadata.all_hosts() if not cluster.membership.is_ignored(host))]
        hosts.sort(key=lambda host: (host.is_up is False, needs_look_up(host.endpoint)))
        endpoints = dict.fromkeys([*(host.endpoint for host in hosts), *cluster.contacts.known])
        if self._avoided in endpoints:
            del endpoints[self._avoided]
            endpoints[self._avoided] = None
        return list(endpoints)

    def _look_up(self) -> None:
        """Resolve the contact points again: their addresses, or the contact points themselves, may have changed."""
        if not any(_is_name(point) for point in self._cluster.contact_points):
            self._resolve()
        elif not self._looking_up:
            self._looking_up = True
            run_blocking(self._resolve, self._looked_up)

    def _resolve(self) -> None:
        try:
            self._cluster.contacts.resolve()
        except Exception as error:
            log.debug("The contact points could not be resolved again: %s", error)

    def _looked_up(self, result: None, error: BaseException | None) -> None:
        """Try new end points. On the thread of the lookup."""
        self._strand.post(self._try_new)

    def _try_new(self) -> None:
        self._looking_up = False
        new = [endpoint for endpoint in self._cluster.contacts.known if endpoint not in self._tried]
        if new and self._retry is not None and not self._closed:
            self._try(new)


def _is_name(point: object) -> bool:
    return not isinstance(point, EndPoint) and not is_numeric(point[0] if isinstance(point, tuple) else str(point))
