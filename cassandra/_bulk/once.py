"""What was done once already (L6): keys with a value each, more of them than fit into memory."""

from __future__ import annotations

import sqlite3


class Once:
    """Keys that were noted, with their values. Beyond some megabytes they are in a temporary file, which has no name.

    One thread. Nothing of it outlives :meth:`close`.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE noted (name TEXT, key BLOB, value BLOB, PRIMARY KEY (name, key)) WITHOUT ROWID"
        )
        self._database.execute("BEGIN")

    def get(self, key: tuple[str, bytes]) -> bytes | None:
        """The value that was noted for *key*, or None."""
        found = self._database.execute("SELECT value FROM noted WHERE name = ? AND key = ?", key).fetchone()
        return None if found is None else found[0]

    def note(self, key: tuple[str, bytes], value: bytes) -> None:
        """*key*, which was not noted before, with *value*."""
        self._database.execute("INSERT INTO noted VALUES (?, ?, ?)", (*key, value))

    def close(self) -> None:
        self._database.close()
