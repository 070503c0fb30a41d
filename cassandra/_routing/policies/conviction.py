"""Conviction policies: decide if a connection failure means that the host is down (L4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._base.objects import public

if TYPE_CHECKING:
    from cassandra._routing.host import Host


@public("cassandra.policies")
class ConvictionPolicy:
    """Judges one host by its connection failures. Subclass it and pass the class to ``Cluster``."""

    def __init__(self, host: Host) -> None:
        """*host*: the host of this policy."""
        self.host = host

    def add_failure(self, connection_exc: BaseException) -> bool:
        """Handle a connection that failed with *connection_exc*; return True if the host is to be marked down."""
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
