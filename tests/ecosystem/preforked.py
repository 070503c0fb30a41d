"""An application that connects before its server forks, as gunicorn --preload and uWSGI load it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from cassandra.cluster import Cluster

#: Seconds. CPython itself is not up to a fork of uWSGI's while one of its threads is busy, see docs/processes.rst.
QUIET = 1.0

cluster = Cluster([os.environ["CQL_HOST"]], port=int(os.environ["CQL_PORT"]))
session = cluster.connect(wait_for_all_pools=True)
statement = session.prepare("SELECT key FROM system.local WHERE key = ?")
session.execute(statement, ["local"])  # the parent's connections are in use
time.sleep(QUIET)
loaded_in = os.getpid()


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    key = session.execute(statement, ["local"]).one().key
    (text,) = session.execute("SELECT key FROM system.local WHERE key = 'local'").one()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [f"{key} {text} {os.getpid() != loaded_in}".encode()]
