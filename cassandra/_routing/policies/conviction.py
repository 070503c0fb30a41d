"""Conviction policies: whether a connection failure means that the host is down (L4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._base.public import public

if TYPE_CHECKING:
    from cassandra._routing.host import Host


@public("cassandra.policies")
class ConvictionPolicy:
    """Judges one host by its connection failures. Subclass it and give the class to ``Cluster``."""

    def __init__(self, host: Host) -> None:
        """*host*: the one to judge."""
        self.host = host

    def add_failure(self, connection_exc: BaseException) -> bool:
        """A connection failed with *connection_exc*; True if the host is to be considered down."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget all failures: the host is up."""
        raise NotImplementedError


@public("cassandra.policies")
class SimpleConvictionPolicy(ConvictionPolicy):
    """The first failure convicts: a connection that was lost, was silent for long, or could not be opened in time.
    (Requests that time out are nobody's failure; no policy is asked about them.)"""

    def add_failure(self, connection_exc: BaseException) -> bool:
        return True

    def reset(self) -> None:
        pass
