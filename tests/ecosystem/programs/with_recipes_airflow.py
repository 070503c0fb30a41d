"""The recipe of docs/recipes.rst for Airflow: the file defines a DAG, and its task counts the rows."""

from __future__ import annotations

import os
from pathlib import Path

import recipes
from server import reconnect

os.environ["AIRFLOW_HOME"] = str(Path("airflow").absolute())
recipes.prepare()

import shop_dag  # noqa: E402

counting = shop_dag.shop().task_dict["count_items"]
assert counting.python_callable() == 1

session = reconnect()
session.execute("DROP KEYSPACE shop")
session.cluster.shutdown()
print("done")
