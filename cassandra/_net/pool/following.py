"""USE on every connection of a pool (L3). Runs on driver threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cassandra._base.errors import ConnectionShutdown
from cassandra._base.locks import driver_lock
from cassandra._net.exchange import guarded

if TYPE_CHECKING:
    from cassandra._net.connection import Connection
    from cassandra._net.pool.pool import HostPool


def follow(pool: HostPool, errors: list[BaseException], on_done: Callable[[list[BaseException]], None]) -> None:
    """Make every connection use the pool's keyspace, also with concurrent calls: when the last of them ends, all
    connections use the keyspace that was set last."""
    keyspace, waiting = pool.keyspace, pool._taking
    if not waiting:
        guarded(on_done, errors)
        return
    left = len(waiting)
    lock = driver_lock("follow")

    def used(connection: Connection, error: BaseException | None) -> None:
        nonlocal left
        if error is not None:
            connection.defunct(error)
        with lock:
            if error is not None and not isinstance(error, ConnectionShutdown):
                errors.append(error)
            left -= 1
            last = left == 0
        if last and any(not one.is_closed and one.keyspace != pool.keyspace for one in pool._taking):
            follow(pool, errors, on_done)
        elif last:
            guarded(on_done, errors)

    for connection in waiting:
        connection.set_keyspace_async(keyspace, used)
