"""The application of ``with_celery_*.py``: tasks that wait, fail and return, results in Cassandra."""

from __future__ import annotations

import os
import time
from pathlib import Path

from celery import Celery, group

HOST, _, _port = os.environ["CASSANDRA_CONTACT"].partition(":")
KEYSPACE = os.environ["TASKS_KEYSPACE"]

#: The table as celery's documentation has it.
RESULTS = """CREATE TABLE results (task_id text, status text, result blob, date_done timestamp, traceback blob,
             children blob, PRIMARY KEY ((task_id), date_done)) WITH CLUSTERING ORDER BY (date_done DESC)"""

folder = Path("broker")
for name in ("messages", "processed"):
    (folder / name).mkdir(parents=True, exist_ok=True)

app = Celery("celery_tasks", broker="filesystem://", backend="cassandra://")
app.conf.update(
    broker_transport_options={
        "data_folder_in": str(folder / "messages"),
        "data_folder_out": str(folder / "messages"),
        "processed_folder": str(folder / "processed"),
    },
    cassandra_servers=[HOST],
    cassandra_port=int(_port),
    cassandra_keyspace=KEYSPACE,
    cassandra_table="results",
    cassandra_read_consistency="ONE",
    cassandra_write_consistency="ONE",
    cassandra_entry_ttl=86400,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)


@app.task
def add(x, y):
    return x + y


@app.task
def fail(text):
    raise ValueError(text)


@app.task
def nap(seconds):
    time.sleep(seconds)
    return os.getpid()


def run(pool, concurrency):
    """A worker with this pool, and what it did as its users see it."""
    import subprocess
    import sys

    import server

    session = server.connect()
    session.execute(RESULTS)  # the worker makes it with its first result, too late for a program that asks at once
    session.cluster.shutdown()
    command = [sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "--pool", pool, "-l", "INFO"]
    command += ["--concurrency", str(concurrency), "--without-mingle", "--without-gossip", "--without-heartbeat"]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    with Path("worker.log").open("w") as log:
        worker = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=env)
    try:
        try:
            assert add.delay(2, 3).get(timeout=120) == 5
        except BaseException:
            print(Path("worker.log").read_text())
            raise
        sums = group(add.s(n, n) for n in range(100)).apply_async()
        assert sums.get(timeout=120) == [2 * n for n in range(100)]
        failing = fail.delay("no such luck")
        try:
            failing.get(timeout=120)
        except ValueError as error:
            assert error.args == ("no such luck",)
        else:
            raise AssertionError("the task did not fail")
        assert failing.state == "FAILURE"
        assert "ValueError: no such luck" in failing.traceback
        naps = group(nap.s(0.5) for _ in range(8)).apply_async()
        processes = set(naps.get(timeout=120))
        result = add.delay(1, 1)
        assert result.get(timeout=120) == 2
        assert result.state == "SUCCESS"
    finally:
        worker.terminate()
        code = worker.wait(120)
    assert code == 0, Path("worker.log").read_text()
    session = server.reconnect()
    assert session.execute("SELECT count(*) FROM results").one()[0] >= 111
    session.cluster.shutdown()
    return processes
