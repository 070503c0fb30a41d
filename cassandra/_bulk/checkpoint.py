"""Checkpoints: files with the progress of a command (L6)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import UsageError
from .private import PendingFile, read_private

VERSION = 1


class Checkpoint:
    """The state of one command, in *path*. A resumed command must have the same ``what``."""

    def __init__(self, path: Path, what: Mapping[str, Any]) -> None:
        self.path = path
        self._what = json.loads(json.dumps(what))
        self.state: dict[str, Any] = {}

    def resume(self) -> bool:
        """Read the state. Return False if there is none. Raise UsageError if it is of another command."""
        try:
            text = read_private(self.path)
        except FileNotFoundError:
            return False
        try:
            found = json.loads(text)
            version, what, state = found["version"], found["what"], dict(found["state"])
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{self.path} is not a checkpoint of cassandra.bulk") from None
        if version != VERSION:
            raise UsageError(f"{self.path} has the format of another version of cassandra.bulk: {version}")
        if what != self._what:
            different = sorted(key for key in {*what, *self._what} if what.get(key) != self._what.get(key))
            raise UsageError(
                f"{self.path} is of a command with other options ({', '.join(different)}): repeat them, or omit "
                "--resume"
            )
        self.state = state
        return True

    def save(self) -> None:
        """Write ``state``. Raise OSError if that fails: then the old file is kept, or no file exists."""
        content = {"version": VERSION, "what": self._what, "state": self.state}
        file = PendingFile(self.path, replaces=True)
        try:
            file.write((json.dumps(content, indent=1) + "\n").encode())
            file.publish()
        except BaseException:
            file.discard()
            raise

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
