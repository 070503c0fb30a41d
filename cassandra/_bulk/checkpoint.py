"""Files that say how far a command has come, and files that appear when they are whole (L6)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import UsageError

VERSION = 1
UNFINISHED = ".part"  # what a file is called until it is whole


def publish(temporary: Path, path: Path) -> None:
    """Let *temporary* be *path*, at once and whatever happens to the machine then."""
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Checkpoint:
    """The state of one command, in *path*. ``what`` has to be the same when it goes on."""

    def __init__(self, path: Path, what: Mapping[str, Any]) -> None:
        self.path = path
        self._what = json.loads(json.dumps(what))
        self.state: dict[str, Any] = {}

    def resume(self) -> bool:
        """Read what there is. False if nothing is. UsageError if it is of another command."""
        try:
            text = self.path.read_text("utf8")
        except FileNotFoundError:
            return False
        try:
            found = json.loads(text)
            version, what, state = found["version"], found["what"], dict(found["state"])
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.path} is no checkpoint of cassandra.bulk") from None
        if version != VERSION:
            raise UsageError(f"{self.path} is of another version of cassandra.bulk: {version}")
        if what != self._what:
            different = sorted(key for key in {*what, *self._what} if what.get(key) != self._what.get(key))
            raise UsageError(
                f"{self.path} is of a command with other options ({', '.join(different)}): repeat these, or do without "
                "--resume"
            )
        self.state = state
        return True

    def save(self) -> None:
        """Write ``state``; the file is the old one or the new one."""
        temporary = self.path.with_name(self.path.name + UNFINISHED)
        content = {"version": VERSION, "what": self._what, "state": self.state}
        temporary.write_text(json.dumps(content, indent=1) + "\n", "utf8")
        publish(temporary, self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
