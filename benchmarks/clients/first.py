"""The costs of a fresh process: the import, connecting with the first request, and the memory resident after it.

Arguments: the driver (a name of ``PROGRAMS``) and the server. Each figure is a median over fresh interpreters that have
imported nothing before. A program connects, prepares a statement, reads one row, and prints its seconds by the wall
clock and of CPU, and the bytes that are resident then.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.clients.harness import SELECT, Client, contact, run
from benchmarks.clients.start import fresh

PROCESSES = 5
BARE = """
import resource
with open("/proc/self/statm") as statm:
    print(int(statm.read().split()[1]) * resource.getpagesize())
"""
IMPORT = """
import time
begun = time.process_time()
{imported}
print(time.process_time() - begun)
"""
FIRST = """
import asyncio, logging, resource, sys, time
{imported}

host, port, SELECT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
logging.disable(logging.WARNING)

def main(connected):
    begun, cpu = time.perf_counter(), time.process_time()
    found = connected()
    took = time.perf_counter() - begun, time.process_time() - cpu
    with open("/proc/self/statm") as statm:
        print(*took, int(statm.read().split()[1]) * resource.getpagesize())
    return found

{connected}
"""


class Program(NamedTuple):
    imported: str
    connected: str


SHARED = Program(
    "from cassandra.cluster import Cluster",
    """
def connected():
    cluster = Cluster([host], port=port, compression=False, protocol_version=4)
    session = cluster.connect()
    assert session.execute(session.prepare(SELECT), (1,)).one().id == 1
    return cluster

main(connected).shutdown()
""",
)
PROGRAMS = {
    "shared": SHARED,
    "acsylla": Program(
        "import acsylla",
        """
async def connect():
    cluster = acsylla.create_cluster(
        [host], port=port, protocol_version=4, use_schema=False, monitor_reporting_interval_sec=0
    )
    session = await cluster.create_session()
    select = await session.create_prepared(SELECT)
    result = await session.execute(select.bind((1,)))
    assert result.first().as_dict()["id"] == 1
    return session

loop = asyncio.new_event_loop()
session = main(lambda: loop.run_until_complete(connect()))
loop.run_until_complete(session.close())
""",
    ),
    "scylla_rs": Program(
        "from scylla.session_builder import SessionBuilder",
        """
def connected():
    session = SessionBuilder().contact_points([(host, port)]).connect().result()
    result = session.execute(session.prepare(SELECT).result(), (1,)).result()
    assert next(iter(result.iter_current_page()))["id"] == 1
    return session

main(connected)
""",
    ),
    "scyllapy": Program(
        "import scyllapy",
        """
async def connect():
    session = scyllapy.Scylla([f"{host}:{port}"])
    await session.startup()
    select = await session.prepare(SELECT)
    result = await session.execute(select, [1])
    assert result.first()["id"] == 1
    return session

async def stop(session):
    await session.shutdown()

loop = asyncio.new_event_loop()
session = main(lambda: loop.run_until_complete(connect()))
loop.run_until_complete(stop(session))
""",
    ),
}


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    driver, server = arguments
    program = PROGRAMS[driver]
    imported = IMPORT.format(imported=program.imported)
    first = FIRST.format(imported=program.imported, connected=program.connected)
    fresh(imported)  # compiles
    imports = [fresh(imported)[0][0] for _ in range(PROCESSES)]
    host, port = contact(server)
    lines = [fresh(first, host, str(port), SELECT)[0] for _ in range(PROCESSES)]
    wall, cpu, resident = (statistics.median(column) for column in zip(*lines, strict=True))
    bare = statistics.median(fresh(BARE)[0][0] for _ in range(PROCESSES))
    facts = {"import": statistics.median(imports), "first wall": wall, "first": cpu, "resident": resident, "bare": bare}
    yield Client({}, facts)


if __name__ == "__main__":
    run("benchmarks.clients.first", make)
