"""Schema metadata: what connecting, looking at one table, and changes by another client cost. Arguments: the
responder's port, and the number of tables (0: without the large keyspace).

Each figure is of fresh interpreters: CPU time of the whole process, and memory.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator

from benchmarks.clients.harness import Client, run

PROCESSES = 3
KEYSPACE, CREATED = "large", "CREATED"
EVENTS, WARM = 20, 5  # events that are measured in each of two rounds, and before

PROGRAM = """
import gc, json, logging, resource, sys, time, tracemalloc
from cassandra.cluster import Cluster

logging.disable(logging.WARNING)
mode = sys.argv[1]
port, tables, events, warm, traced = map(int, sys.argv[2:])
found = {}

def make():
    return Cluster(["127.0.0.1"], port=port, compression=False, protocol_version=4, schema_event_refresh_window=0)

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

def measured(name, work):
    gc.collect()
    before, cpu = tracemalloc.get_traced_memory()[0] if traced else resident(), time.process_time()
    kept = work()
    found[name] = time.process_time() - cpu
    gc.collect()
    now = tracemalloc.get_traced_memory()[0] if traced else resident()
    found[name + (", memory" if traced else ", RSS")] = now - before
    return kept

with make() as first:  # imports, and caches of the process
    first.connect()
if traced:
    tracemalloc.start()
cluster = make()
session = measured("connect", cluster.connect)

def changes(name, start, count):
    def push(text, index):
        session.execute(text.format(index))
        time.sleep(0.1)
    cpu = time.process_time()
    for index in range(count):
        push("SELECT * FROM system_schema.types", index)
    base = time.process_time() - cpu
    cpu = time.process_time()
    for index in range(start, start + count):
        push("CREATED fresh_{}", index)
    found[name] = (time.process_time() - cpu - base) / count

if tables:
    if mode == "change":
        changes("warm", 0, warm)
        changes("change", warm, events)
    if mode == "look":
        table = measured("look", lambda: cluster.metadata.keyspaces["large"].tables["table_001234"])
        assert len(table.columns) == 20
        if not traced:
            changes("warm", 0, warm)
            changes("change after a look", warm, events)
            assert cluster.metadata.keyspaces["large"].tables[f"fresh_{warm + events - 1}"].columns
        assert measured("names", lambda: len(list(cluster.metadata.keyspaces["large"].tables))) >= tables
        assert len(measured("all", lambda: list(cluster.metadata.keyspaces["large"].tables.values()))) >= tables
cluster.shutdown()
print(json.dumps(found))
"""


def fresh(*arguments: object) -> dict[str, float]:
    """What the program prints."""
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, float] = json.loads(printed)
    return found


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    arguments = [*arguments, str(EVENTS), str(WARM)]
    timed = [{**fresh("change", *arguments, 0), **fresh("look", *arguments, 0)} for _ in range(PROCESSES)]
    facts = {name: statistics.median(one[name] for one in timed) for name in timed[0]}
    facts |= {name: value for name, value in fresh("look", *arguments, 1).items() if name.endswith(", memory")}
    yield Client({}, facts)


if __name__ == "__main__":
    run("benchmarks.clients.schema", make)
