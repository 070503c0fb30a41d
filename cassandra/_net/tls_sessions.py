"""Cache of resumable TLS sessions by endpoint (L3; public module ``cassandra.ssl_session_cache``).

Not in ``tls.py``, which imports ``ssl``: a cluster without TLS does not need that.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from time import monotonic
from typing import Any

from cassandra._base.locks import driver_lock
from cassandra._base.objects import public
from cassandra._base.threads import command


@public("cassandra.ssl_session_cache")
class SSLSessionCache:
    """The latest session of each endpoint, at most *max_size* of them; the least recently used is evicted first.

    Safe to share between threads and clusters: it is changed on driver threads.
    A session works only with the SSLContext it came from.
    """

    def __init__(self, max_size: int = 1024) -> None:
        if max_size < 1:
            raise ValueError("max_size must be at least 1")
        self._max_size = max_size
        self._lock = driver_lock("SSLSessionCache")
        self._sessions: OrderedDict[Hashable, tuple[Any, float | None]] = OrderedDict()

    @property
    def max_size(self) -> int:
        """Most sessions."""
        return self._max_size

    @command
    def get(self, key: Hashable) -> Any:
        """Return the session of *key*, None if there is none or it is too old."""
        with self._lock:
            session, expires = self._sessions.get(key, (None, None))
            if session is None:
                return None
            if expires is not None and expires <= monotonic():
                del self._sessions[key]
                return None
            self._sessions.move_to_end(key)
            return session

    @command
    def set(self, key: Hashable, session: Any, lifetime: float | None = None, offered: Any = None) -> None:
        """Store *session* for *lifetime* seconds. With *offered*, only if the current entry is that session or there is
        none: a slower connection does not replace the newer session of a faster one."""
        with self._lock:
            current = self._sessions.get(key, (None, None))[0]
            if offered is not None and current is not None and current is not offered:
                return
            self._sessions[key] = (session, None if lifetime is None else monotonic() + lifetime)
            self._sessions.move_to_end(key)
            while len(self._sessions) > self._max_size:
                self._sessions.popitem(last=False)

    @command
    def discard(self, key: Hashable, session: Any = None) -> None:
        """Remove the session of *key*; with *session*, only if it is that one."""
        with self._lock:
            current = self._sessions.get(key)
            if current is not None and (session is None or current[0] is session):
                del self._sessions[key]

    @command
    def clear(self) -> None:
        """Drop all sessions."""
        with self._lock:
            self._sessions.clear()

    def __len__(self) -> int:
        return len(self._sessions)

    def __repr__(self) -> str:
        return f"<SSLSessionCache: {len(self)} of {self._max_size}>"
