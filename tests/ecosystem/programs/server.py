"""Where the server is, and a keyspace of one's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOST, _, _port = os.environ["CASSANDRA_CONTACT"].partition(":")
PORT = int(_port)
KEYSPACE = Path(sys.argv[0]).stem

CREATE = f"CREATE KEYSPACE {KEYSPACE} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}"


def connect(**arguments):
    """A session in an empty keyspace that is called as the program."""
    from cassandra.cluster import Cluster

    session = Cluster([HOST], port=PORT, **arguments).connect()
    session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
    session.execute(CREATE)
    session.set_keyspace(KEYSPACE)
    return session


def reconnect(**arguments):
    """A session in the keyspace as it is."""
    from cassandra.cluster import Cluster

    return Cluster([HOST], port=PORT, **arguments).connect(KEYSPACE)
