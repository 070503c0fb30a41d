"""The client that ``bench_execute`` measures, with whichever driver is installed: ``execute_client.py PORT NUMBER``.

Connects, prepares, and reads NUMBER points of five columns; prints the figures as JSON. It knows nothing of either
driver but the API they share.
"""

from __future__ import annotations

import json
import logging
import sys
import time

from cassandra.cluster import Cluster

SELECT = "SELECT id, score, name, ratio, at FROM bench.points WHERE id = ?"
INSERT = "INSERT INTO bench.points (id, score, name, ratio, at) VALUES (?, ?, ?, ?, ?)"
WARM_UP = 500


def main(port: int, number: int) -> dict[str, float]:
    logging.disable(logging.WARNING)
    cluster = Cluster(["127.0.0.1"], port=port, compression=False, protocol_version=4)
    session = cluster.connect()
    insert = session.prepare(INSERT)
    for key in range(3):
        session.execute(insert, (key, 1 << 40, f"point {key}", key / 3, 1_700_000_000_000))
    select = session.prepare(SELECT)
    for _ in range(min(WARM_UP, number)):
        session.execute(select, (1,)).one()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(number):
        row = session.execute(select, (1,)).one()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    assert row.id == 1 and row.name == "point 1", row
    cluster.shutdown()
    return {"cpu": cpu / number * 1e6, "wall": wall / number * 1e6}


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), int(sys.argv[2]))))
