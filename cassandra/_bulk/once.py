"""Key-value store for keys that may not fit into memory (L6)."""

from __future__ import annotations

import sqlite3


class Once:
    """Keys of completed actions, with a value each. Beyond a few megabytes they are in a temporary file without a name.

    One thread. :meth:`close` removes all data.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE noted (name TEXT, key BLOB, value BLOB, PRIMARY KEY (name, key)) WITHOUT ROWID"
        )
        self._database.execute("BEGIN")

    def get(self, key: tuple[str, bytes]) -> bytes | None:
        """Return the value stored for *key*, or None."""
        found = self._database.execute("SELECT value FROM noted WHERE name = ? AND key = ?", key).fetchone()
        return None if found is None else found[0]

    def note(self, key: tuple[str, bytes], value: bytes) -> None:
        """Store *value* for *key*, which must not be stored yet."""
        self._database.execute("INSERT INTO noted VALUES (?, ?, ?)", (*key, value))

    def close(self) -> None:
        self._database.close()
