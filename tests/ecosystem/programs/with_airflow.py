"""Airflow's hook and sensors on a connection of the environment."""

from __future__ import annotations

import os
from pathlib import Path

from server import HOST, KEYSPACE, PORT, connect

os.environ["AIRFLOW_HOME"] = str(Path("airflow").absolute())
os.environ["AIRFLOW_CONN_CASSANDRA_DEFAULT"] = f"cassandra://{HOST}:{PORT}/{KEYSPACE}"

from airflow.providers.apache.cassandra.hooks.cassandra import CassandraHook
from airflow.providers.apache.cassandra.sensors.record import CassandraRecordSensor
from airflow.providers.apache.cassandra.sensors.table import CassandraTableSensor

session = connect()
session.execute("CREATE TABLE t (k int, c text, v text, PRIMARY KEY (k, c))")
session.execute("INSERT INTO t (k, c, v) VALUES (1, 'a', 'one')")
session.cluster.shutdown()

hook = CassandraHook()
assert hook.get_conn().execute("SELECT v FROM t").one().v == "one"
assert hook.table_exists("t")
assert hook.table_exists(f"{KEYSPACE}.t")
assert not hook.table_exists("nothing")
assert hook.record_exists("t", {"k": 1, "c": "a"})
assert not hook.record_exists("t", {"k": 1, "c": "b"})
hook.shutdown_cluster()

assert CassandraTableSensor(task_id="table", table="t").poke({})
assert CassandraRecordSensor(task_id="record", table="t", keys={"k": 1, "c": "a"}).poke({})
assert not CassandraRecordSensor(task_id="record", table="t", keys={"k": 2, "c": "a"}).poke({})
print("done")
