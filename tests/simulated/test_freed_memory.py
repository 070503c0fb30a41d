"""Memory of pages of rows that a program has dropped: kept for the next pages, given back when none come.

In fresh processes, as what a process did before decides on what its malloc keeps.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

PAGES = """
import gc, os, resource, struct, sys, threading, time
from cassandra.protocol import ProtocolHandler

def body(rows, columns, size):
    parts = [struct.pack(">iii", 2, 1, columns), b"\\0\\2ks\\0\\1t"]
    parts += [b"\\0\\3c%02d" % number + struct.pack(">H", 3) for number in range(columns)]
    cell = struct.pack(">i", size) + b"x" * size
    return b"".join([*parts, struct.pack(">i", rows), *[cell] * (rows * columns)])

def read(page):
    message = ProtocolHandler.decode_message(4, None, {}, 0, 0, 8, page, None, None)
    return len(message.parsed_rows)

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def faults_of_pages(page, pages=10):
    before = faults()
    for _ in range(pages):
        read(page)
    return (faults() - before) / pages

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()

def threads():
    return len(os.listdir("/proc/self/task"))

KEYSPACE = "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"

def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()
"""
MIB = 1 << 20


def run(program: str, **environment: str) -> list[str]:
    """What *program* prints, with the functions above."""
    cleared = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_TUNABLES"))}
    done = subprocess.run(
        [sys.executable, "-c", PAGES + program],
        capture_output=True,
        text=True,
        timeout=300,
        env={**cleared, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("rows", "columns", "size"),
    [(1_000, 1, 16_384), (10, 1, MIB), (2_000, 2, 1_000), (5_000, 15, 300), (20_000, 5, 100)],
)
def test_pages_of_a_fresh_process_are_not_faulted_in_anew(rows: int, columns: int, size: int) -> None:
    printed = run(f"page = body({rows}, {columns}, {size})\nfaults_of_pages(page)\nprint(faults_of_pages(page))")
    assert float(printed[0]) < 5


def test_pages_of_threads_are_not_faulted_in_anew() -> None:
    printed = run(
        "page = body(1_000, 1, 16_384)\n"
        "found = []\n"
        "def work():\n"
        "    faults_of_pages(page)\n"
        "    found.append(faults_of_pages(page))\n"
        "for _ in range(2):\n"
        "    thread = threading.Thread(target=work)\n"
        "    thread.start()\n"
        "    thread.join()\n"
        "print(*found)"
    )
    assert all(float(figure) < 5 for figure in printed)


def test_pages_of_a_session_are_not_faulted_in_anew() -> None:
    printed = run(
        "from cassandra.testing import SimulatedCluster\n"
        "from cassandra.cluster import Cluster\n"
        "with SimulatedCluster() as simulated:\n"
        "    session = Cluster(simulated.contact_points, port=simulated.port).connect()\n"
        "    session.execute(KEYSPACE)\n"
        "    session.execute('CREATE TABLE k.t (p int, c int, v blob, PRIMARY KEY (p, c))')\n"
        "    insert = session.prepare('INSERT INTO k.t (p, c, v) VALUES (1, ?, ?)')\n"
        "    for number in range(1_000):\n"
        "        session.execute(insert, (number, b'x' * 1_024))\n"
        "    select = session.prepare('SELECT v FROM k.t WHERE p = 1')\n"
        "    def pages(count):\n"
        "        before = faults()\n"
        "        for _ in range(count):\n"
        "            assert len(session.execute(select).all()) == 1_000\n"
        "        return (faults() - before) / count\n"
        "    pages(20)\n"
        "    print(pages(20))\n"
        "    session.cluster.shutdown()\n"
    )
    assert float(printed[0]) < 25  # of 1,030; the server is in the same process


def test_memory_is_given_back_when_no_pages_come() -> None:
    printed = run(
        "large, small = body(1_000, 1, 16_384), body(5_000, 15, 300)\n"
        "before = resident()\n"
        "def work():\n"
        "    read(large), read(small)\n"
        "work()\n"
        "several = [threading.Thread(target=work) for _ in range(3)]\n"
        "[thread.start() for thread in several]\n"
        "[thread.join() for thread in several]\n"
        "kept = resident() - before\n"
        "gc.collect()  # Python keeps some tuples for new rows, and with them the arenas that they are in\n"
        "until(lambda: threads() == 1)\n"
        "left = resident() - before\n"
        "again = faults_of_pages(large), faults_of_pages(large)\n"
        "print(kept, left, threads(), again[1])",
        FASTCQL_KEEP_FREED="1",
    )
    kept, left, threads, again = (float(figure) for figure in printed)
    assert kept > 32 * MIB
    assert left < kept / 4
    assert (threads, again < 5) == (2, True)


def test_a_forked_child_keeps_and_gives_back_for_itself() -> None:
    printed = run(
        "page = body(1_000, 1, 16_384)\n"
        "read(page)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    faults_of_pages(page)\n"
        "    kept = faults_of_pages(page)\n"
        "    while_kept = threads()\n"
        "    print(kept, while_kept, until(lambda: threads() == 1), flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)",
        FASTCQL_KEEP_FREED="1",
    )
    assert (float(printed[0]) < 5, *printed[1:]) == (True, "2", "True")


def test_small_pages_change_nothing() -> None:
    printed = run("page = body(10, 1, 300)\n[read(page) for _ in range(2_000)]\nprint(threads())")
    assert printed == ["1"]


def test_malloc_is_left_alone_when_asked() -> None:
    printed = run(
        "page = body(1_000, 1, 16_384)\nfaults_of_pages(page)\nprint(faults_of_pages(page), threads())",
        FASTCQL_KEEP_FREED="0",
    )
    assert (float(printed[0]) > 1_000, printed[1]) == (True, "1")


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES"])
def test_thresholds_of_the_environment_stay(name: str) -> None:
    value = "131072" if name == "MALLOC_TRIM_THRESHOLD_" else "glibc.malloc.trim_threshold=131072"
    printed = run("page = body(1_000, 1, 16_384)\nfaults_of_pages(page)\nprint(faults_of_pages(page))", **{name: value})
    assert float(printed[0]) > 1_000
