"""From contact points to end points: names are looked up, and what they say is kept for TLS.

L5. Blocks; on a worker of the cluster. The order that a user gave is kept in ``Cluster.endpoints_resolved``, by which a
policy without ``local_dc`` chooses the same datacenter in every client. Clients *connect* in an order of their own, or
a whole fleet would come to the first node at once.
"""

from __future__ import annotations

import logging
import random
import socket
from collections.abc import Iterable
from typing import Any

from cassandra._base.errors import UnresolvableContactPoints
from cassandra._net.endpoint import DefaultEndPoint, EndPoint, is_numeric

log = logging.getLogger("cassandra.cluster")

#: Not by ``random.seed``: programs that give all their processes one seed are a fleet, too.
_random = random.SystemRandom()


def resolve(points: Iterable[Any], default_port: int, told: set[str]) -> tuple[list[EndPoint], dict[str, Exception]]:
    """The end points of *points*, each once, and why names have none. UnresolvableContactPoints if nothing is left.
    *told*: names that the log has a warning of; kept up to date, so that there is one until the name is found."""
    endpoints: dict[EndPoint, None] = {}
    failed: dict[str, Exception] = {}
    for point in points:
        if isinstance(point, EndPoint):
            endpoints.setdefault(point)
            continue
        name, port = point if isinstance(point, tuple) else (point, default_port)
        if is_numeric(name):
            endpoints.setdefault(DefaultEndPoint(name, port))
            continue
        try:
            found = socket.getaddrinfo(name, port, socket.AF_UNSPEC, socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            level = logging.DEBUG if name in told else logging.WARNING
            log.log(level, "Could not resolve the contact point %s: %s", name, error)
            told.add(name)
            failed[name] = UnresolvableContactPoints(f"{name!r} could not be resolved: {error}")
        else:
            told.discard(name)
            for entry in found:
                endpoints.setdefault(DefaultEndPoint.named(str(entry[4][0]), port, name))
    if not endpoints:
        reasons = "; ".join(str(error) for error in failed.values())
        raise UnresolvableContactPoints(f"No contact point could be resolved: {reasons or 'there is none'}")
    return list(endpoints), failed


def shuffled(endpoints: Iterable[EndPoint]) -> list[EndPoint]:
    """*endpoints* in random order."""
    mixed = list(endpoints)
    _random.shuffle(mixed)
    return mixed


def as_given(endpoint: EndPoint, given: Iterable[EndPoint]) -> EndPoint:
    """*endpoint*, or the equal one among *given*, which knows the name that the user has for it."""
    return next((known for known in given if known == endpoint), endpoint)
