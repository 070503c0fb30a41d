"""Opens standby connections for silent ones (L3). Owned by one pool; used by the I/O thread only.

While a connection of the pool is silent, an attempt for its shard starts about every second, even if the previous one
is still running: TCP retransmits lost packets only after seconds. The first successful one replaces the silent
connection, and then the other shards are tried at once. A node that refuses connections is not silent: its process has
ended, and the silent connections are closed.
"""

from __future__ import annotations

from random import uniform
from typing import TYPE_CHECKING

from cassandra._base.logs import get_logger
from cassandra._net.pool.filling import Arrival

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._net.pool.pool import HostPool

log = get_logger("cassandra.pool")

PAUSE = (0.75, 1.25)  # seconds between the starts of two attempts


class Relief:
    """Opens standby connections for one pool."""

    def __init__(self, pool: HostPool) -> None:
        self._pool = pool
        self._silent: list[Connection] = []
        self._at_it = False

    def begin(self, connection: Connection) -> None:
        """Start attempts for *connection*, which is silent."""
        with self._pool._lock:
            self._pool._slots.wear(connection)
        self._silent.append(connection)
        if not self._at_it:
            self._at_it = True
            self._attempt()

    def end(self, connection: Connection) -> None:
        """Keep *connection*, which receives data again."""
        with self._pool._lock:
            self._pool._slots.mend(connection)
        if connection in self._silent:
            self._silent.remove(connection)

    def _attempt(self) -> None:
        pool = self._pool
        taking = pool._slots.taking
        self._silent = [one for one in self._silent if one in taking and not one.is_closed]
        if not self._silent or pool.is_shutdown:
            self._at_it = False
            return
        silent = self._silent[0]
        pool._connect(self._ended, pool._filling.aim_beside(silent))
        pool._later(uniform(*PAUSE), self._attempt)

    def _ended(self, arrival: Arrival) -> None:
        pool, error = self._pool, arrival.error
        if error is None:
            pool._filling.look()  # for the other shards
            return
        if pool.is_shutdown or not self._silent:
            return
        log.debug("%s: could not open a standby connection: %s", pool.host, error)
        with pool._lock:
            pool._failing = True
        if isinstance(error, ConnectionRefusedError):
            for connection in list(self._silent):
                connection.defunct(error)
