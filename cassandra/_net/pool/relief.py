"""Opens a connection beside one that is silent (L3). Owned by one pool; everything here is the I/O thread's.

While a connection of the pool is silent an attempt for its shard begins about every second, whether or not the one
before has ended: what the network has lost of that is repeated only after seconds. The first one that works takes the
place of the silent one, and shows that others can be opened at once. A node that refuses is not silent: its process is
gone, and so is what was connected to it.
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

PAUSE = (0.75, 1.25)  # seconds between the beginnings of two attempts


class Relief:
    """See above."""

    def __init__(self, pool: HostPool) -> None:
        self._pool = pool
        self._silent: list[Connection] = []
        self._at_it = False

    def begin(self, connection: Connection) -> None:
        """*connection* is silent."""
        with self._pool._lock:
            self._pool._slots.wear(connection)
        self._silent.append(connection)
        if not self._at_it:
            self._at_it = True
            self._attempt()

    def end(self, connection: Connection) -> None:
        """It answers: it need not be replaced."""
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
        log.debug("%s: no connection beside the silent one: %s", pool.host, error)
        with pool._lock:
            pool._failing = True
        if isinstance(error, ConnectionRefusedError):
            for connection in list(self._silent):
                connection.defunct(error)
