"""Point reads of five columns through ``Session.execute``, by the API that fastcql and scylla-driver share.

Argument: the responder's port.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from benchmarks.clients.harness import INSERT, SELECT, Client, Work, run
from cassandra.cluster import Cluster


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    logging.disable(logging.WARNING)
    cluster = Cluster(["127.0.0.1"], port=int(arguments[0]), compression=False, protocol_version=4)
    try:
        session = cluster.connect()
        insert = session.prepare(INSERT)
        for key in range(3):
            session.execute(insert, (key, 1 << 40, f"point {key}", key / 3, 1_700_000_000_000))
        select = session.prepare(SELECT)
        row = session.execute(select, (1,)).one()
        assert row.id == 1 and row.name == "point 1", row
        names = {"execute": session.execute, "select": select}
        yield Client({"point read": Work("execute(select, (1,)).one()", names, whole_process=True)})
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    run("benchmarks.clients.points", make)
