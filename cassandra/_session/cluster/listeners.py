"""Registered objects that are notified of host changes (HostStateListener).

L5. Listeners are called on a strand of their own: in order, one at a time, never with a lock held, and free to call
anything of cluster and session. An exception of a listener is logged and does not affect others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.logs import get_logger

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from ..background.scheduler import Scheduler

log = get_logger("cassandra.cluster")


class Listeners:
    """The listeners of one cluster. ``registered`` is replaced as a whole."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._strand = scheduler.strand()
        self.registered: tuple[Any, ...] = ()

    @property
    def listeners(self) -> set[Any]:
        """The registered listeners."""
        return set(self.registered)

    def add(self, listener: Any) -> None:
        """Notify *listener* (a :class:`cassandra.policies.HostStateListener`) when hosts are added, removed, or change
        state; adding it twice changes nothing.

        Its methods are called one at a time on a background thread and may use the cluster.
        """
        if listener not in self.registered:
            self.registered = (*self.registered, listener)

    def remove(self, listener: Any) -> None:
        """Remove *listener*; raise KeyError if it was not registered."""
        if listener not in self.registered:
            raise KeyError(listener)
        self.registered = tuple(other for other in self.registered if other is not listener and other != listener)

    def tell(self, event: str, host: Host) -> None:
        """Call the method *event* (``on_up``, ``on_down``, ``on_add``, ``on_remove``) of every listener. Never
        blocks."""
        if self.registered:
            self._strand.post(self._tell, event, host)

    def settle(self, timeout: float) -> None:
        """Wait until all notifications so far were delivered, at most *timeout* seconds."""
        if self.registered and not self._strand.held():
            try:
                self._strand.call(lambda: None, timeout=timeout)
            except TimeoutError:
                log.warning("Host state listeners took longer than %s s", timeout)

    def _tell(self, event: str, host: Host) -> None:
        for listener in self.registered:
            try:
                getattr(listener, event)(host)
            except Exception:
                log.exception("%s of the host state listener %r failed for %s", event, listener, host)
