"""celery's Cassandra backend in greenlets of one patched process."""

from __future__ import annotations

import os

os.environ["TASKS_KEYSPACE"] = "with_celery_gevent"

import celery_tasks

processes = celery_tasks.run("gevent", 20)
assert len(processes) == 1, processes
print("done")
