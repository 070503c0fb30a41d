"""Policies of connections: conviction, reconnection, and address translation (L4).

A conviction policy decides if a connection failure means that the host is down. A reconnection policy has the delays
before new attempts to reach a failed host. An address translator maps the address that a node announces to the one that
this client connects to.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from itertools import count, islice, repeat
from random import randint
from typing import TYPE_CHECKING

from cassandra._base.logs import get_logger
from cassandra._base.objects import public

if TYPE_CHECKING:
    from cassandra._routing.host import Host

log = get_logger("cassandra.policies")


# ---- conviction of hosts


@public("cassandra.policies")
class ConvictionPolicy:
    """Judges one host by its connection failures. Subclass it and pass the class to ``Cluster``."""

    def __init__(self, host: Host) -> None:
        """*host*: the host of this policy."""
        self.host = host  #: The host.

    def add_failure(self, connection_exc: BaseException) -> bool:
        """Handle a connection that failed with *connection_exc*; return True to mark the host down."""
        raise NotImplementedError

    def reset(self) -> None:
        """Reset the failures, because the host is up."""
        raise NotImplementedError


@public("cassandra.policies")
class SimpleConvictionPolicy(ConvictionPolicy):
    """Marks a host down after the first failure: a connection was lost, was silent too long, or could not be opened in
    time. (Request timeouts are not failures and are not passed to the policy.)"""

    def add_failure(self, connection_exc: BaseException) -> bool:
        return True

    def reset(self) -> None:
        pass


# ---- delays of reconnection


@public("cassandra.policies")
class ReconnectionPolicy:
    """Makes schedules of delays between attempts to reach a host. Subclass it for your own schedule."""

    def new_schedule(self) -> Iterator[float]:
        """Return an iterator of delays in seconds, one per attempt; its end ends the attempts. One per outage."""
        raise NotImplementedError


@public("cassandra.policies")
class ConstantReconnectionPolicy(ReconnectionPolicy):
    """Waits the same time before every attempt.

    :param delay: seconds.
    :param max_attempts: maximum number of attempts; None or 0: unlimited.
    :raises ValueError: a negative parameter.
    """

    def __init__(self, delay: float, max_attempts: int | None = None) -> None:
        _check_not_negative(delay=delay, max_attempts=max_attempts)
        self.delay = delay  #: Seconds between attempts.
        self.max_attempts = max_attempts  #: Most attempts; None for no limit.

    def new_schedule(self) -> Iterator[float]:
        return repeat(self.delay, self.max_attempts) if self.max_attempts else repeat(self.delay)


@public("cassandra.policies")
class ExponentialReconnectionPolicy(ReconnectionPolicy):
    """Doubles the delay from attempt to attempt; each is jittered by up to 15 %. The driver waits for a random part of
    each delay, so that the clients of a cluster do not reconnect at the same time.

    :param base_delay: seconds before the first attempt; no delay is shorter.
    :param max_delay: no delay is longer.
    :param max_attempts: maximum number of attempts; None: unlimited.
    :raises ValueError: a negative parameter, or *max_delay* below *base_delay*.
    """

    def __init__(self, base_delay: float, max_delay: float, max_attempts: int | None = None) -> None:
        _check_not_negative(base_delay=base_delay, max_delay=max_delay, max_attempts=max_attempts)
        if max_delay < base_delay:
            raise ValueError("max_delay must not be less than base_delay")
        self.base_delay = base_delay  #: Seconds before the first attempt.
        self.max_delay = max_delay  #: Most seconds between attempts.
        self.max_attempts = max_attempts  #: Most attempts; None for no limit.

    def new_schedule(self) -> Iterator[float]:
        # 2 ** 64 exceeds any maximum; larger powers would overflow a float.
        delays = (min(self.base_delay * 2 ** min(attempt, 64), self.max_delay) for attempt in count())
        return islice((self._jittered(delay) for delay in delays), self.max_attempts)

    def _jittered(self, delay: float) -> float:
        return min(max(self.base_delay, delay * randint(85, 115) / 100), self.max_delay)


def _check_not_negative(**values: float | None) -> None:
    for name, value in values.items():
        if value is None and name != "max_attempts":
            raise TypeError(f"{name} must be a number of seconds, not None")
        if value is not None and not value >= 0:
            raise ValueError(f"{name} must not be negative" if value < 0 else f"{name} must not be {value!r}")


# ---- translation of addresses


@public("cassandra.policies")
class AddressTranslator:
    """Maps the addresses found in system tables and events. Subclass it for nodes behind NAT."""

    def translate(self, addr: str) -> str:
        """Return the address to connect to for the node that announces *addr*. May block; not called per request."""
        raise NotImplementedError

    @property
    def _is_identity(self) -> bool:
        return type(self).translate is IdentityTranslator.translate


@public("cassandra.policies")
class IdentityTranslator(AddressTranslator):
    """Returns addresses unchanged; the default."""

    def translate(self, addr: str) -> str:
        """Return *addr*."""
        return addr


@public("cassandra.policies")
class EC2MultiRegionTranslator(AddressTranslator):
    """For clusters in several EC2 regions: translates public addresses to private ones for nodes in this region.

    Looks up the DNS name of the public address; for clients inside the region, EC2 resolves that name to the private
    address.
    """

    def translate(self, addr: str) -> str:
        """Return the private address if DNS has one, else *addr*."""
        name = socket.getfqdn(addr)
        try:
            found = socket.getaddrinfo(name, 0, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except OSError as error:
            log.debug("No address for %s (%s): %s", name, addr, error)
            return addr
        return str(found[0][4][0]) if found else addr
