"""What the driver's threads log in a process that gevent or eventlet has patched (L0).

There the locks of ``logging`` are for greenlets: a real thread that has to wait for one may wait for ever, and the
driver with it. So a record of such a thread is made and handled in the thread of a hub, in a greenlet of its own, with
the time and the thread that it is of. What is left when the process ends is handled then. Records of greenlets go the
usual way.

Owner of each thing: ``_waiting`` is appended to by any thread, and emptied by whoever handles records. *ours* says of
the running thread, and *find_loop* gives a loop; both are ``green.py``'s.
"""

from __future__ import annotations

import atexit
import functools
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

#: Loggers that the driver's threads use.
NAMES = (
    "cassandra.auth",
    "cassandra.cluster",
    "cassandra.column_encryption.policies",
    "cassandra.connection",
    "cassandra.cqlengine.connection",
    "cassandra.cqlengine.management",
    "cassandra.datastax.cloud",
    "cassandra.driver_config",
    "cassandra.memory",
    "cassandra.metadata",
    "cassandra.policies",
    "cassandra.pool",
    "cassandra.protocol",
    "cassandra.protocol_features",
    "cassandra.query",
    "cassandra.slow",
    "cassandra.timestamps",
    "cassandra.util",
)

#: More than this means that no hub has run for long: then the oldest are lost.
MOST = 10_000

_waiting: deque[tuple[logging.Logger, float, str, tuple[Any, ...]]] = deque(maxlen=MOST)


def relay(ours: Callable[[], str | None], find_loop: Callable[[], Any], call: Callable[[Any, Any], Any]) -> None:
    """From now on. *ours*: the name of the running thread if it is one of the driver's; *call*: what a loop wakes to
    carry out a function in a greenlet."""

    @functools.cache
    def relaying(kind: Any) -> Any:
        """Of whatever class the program's loggers are."""

        class Relaying(kind):  # type: ignore[misc]
            def isEnabledFor(self, level: int) -> bool:
                if ours() is None:
                    return bool(super().isEnabledFor(level))
                # As in the standard library, but for the cache, which a lock guards.
                return not self.disabled and self.manager.disable < level and level >= self.getEffectiveLevel()

            def makeRecord(self, *args: Any, **kwargs: Any) -> Any:
                thread = ours()
                if thread is None:
                    return super().makeRecord(*args, **kwargs)
                return self, time.time(), thread, args

            def handle(self, record: Any) -> None:
                if ours() is None:
                    super().handle(record)
                    return
                _waiting.append(record)
                loop = find_loop()
                if loop is not None:
                    loop.wake(call(loop, handle_all))

        for name in ("__name__", "__qualname__", "__module__"):
            setattr(Relaying, name, getattr(kind, name))
        return Relaying

    for name in NAMES:
        logger: Any = logging.getLogger(name)
        kind: Any = type(logger)
        logger.__class__ = relaying(kind)
    atexit.register(handle_all)


def leave_to_parent() -> None:
    """In a forked child: the parent handles them."""
    _waiting.clear()


def handle_all() -> None:
    """What threads have logged until now; in a greenlet."""
    while _waiting:
        try:
            logger, created, thread, args = _waiting.popleft()
        except IndexError:  # another greenlet took it
            return
        record = logger.makeRecord(*args)
        record.created, record.threadName = created, thread
        record.msecs = int((created - int(created)) * 1000)
        logger.handle(record)
