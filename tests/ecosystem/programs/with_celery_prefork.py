"""celery's Cassandra backend in processes that are forked."""

from __future__ import annotations

import os

os.environ["TASKS_KEYSPACE"] = "with_celery_prefork"

import celery_tasks

processes = celery_tasks.run("prefork", 2)
assert len(processes) == 2, processes
print("done")
