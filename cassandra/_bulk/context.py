"""Context of a command (L6): its arguments, sessions and output."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from cassandra._base.constants import ConsistencyLevel

from .connecting import Wanted, level_of
from .cqlshrc import CqlshFiles
from .errors import UsageError
from .interrupts import Interrupts
from .showing import Showing
from .tables import Table

_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^",\s][^",]*?))\s*(?=,|$)')


class Context:
    """One command. Its clusters are shut down when it ends."""

    def __init__(
        self, arguments: argparse.Namespace, files: CqlshFiles, wanted: Wanted, interrupts: Interrupts
    ) -> None:
        self.arguments = arguments
        self.files = files
        self.held = interrupts.held
        self._wanted = wanted
        self._stack = ExitStack()

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def session(self, host: str | None = None) -> Any:
        """Return a session of the cluster, or of another one at *host*."""
        wanted = self._wanted if host is None else self._wanted.to(host)
        cluster = wanted.cluster()
        self._stack.callback(cluster.shutdown)
        session = cluster.connect(wait_for_all_pools=True)  # a scan sends requests to all shards
        if wanted.request_timeout is not None:
            session.default_timeout = wanted.request_timeout
        return session

    def showing(self, title: str) -> Showing:
        return self._stack.enter_context(Showing(title, self.arguments.quiet))

    @property
    def reads(self) -> int:
        return level_of(self.arguments.consistency, ConsistencyLevel.LOCAL_ONE)

    @property
    def writes(self) -> int:
        return level_of(self.arguments.consistency, ConsistencyLevel.LOCAL_QUORUM)

    @property
    def compares(self) -> int:
        """Consistency level of reads that are compared: a single replica may return stale data."""
        return level_of(self.arguments.consistency, ConsistencyLevel.LOCAL_QUORUM)

    def copy_options(self, direction: str, table: Table) -> Mapping[str, Any]:
        from .copy_options import read_options

        return read_options(self.arguments, self.files.copy_options(direction, table.file_name), direction)

    def checkpoint(self, usual: str) -> Path:
        """Return the path of the checkpoint."""
        return Path(self.arguments.checkpoint or usual)


def columns_of(text: str | None) -> list[str] | None:
    """Return column names as CQL spells them: comma-separated, quoted or not."""
    if text is None:
        return None
    found, at = [], 0
    while at <= len(text):
        match = _NAME.match(text, at)
        if match is None:
            raise UsageError(f"expected comma-separated column names, got {text!r}")
        quoted, plain = match.groups()
        found.append(quoted.replace('""', '"') if quoted else plain.lower())
        at = match.end() + 1
    return found
