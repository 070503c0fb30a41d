"""New Relic's agent: a database metric per operation and table."""

from __future__ import annotations

import newrelic.agent
import newrelic.core.agent

settings = newrelic.agent.global_settings()
settings.developer_mode = True  # nothing is sent
settings.app_name = "shop"
settings.transaction_tracer.record_sql = "raw"
newrelic.agent.initialize()

from server import connect  # noqa: E402

from cassandra.concurrent import execute_concurrent_with_args  # noqa: E402

application = newrelic.agent.register_application(timeout=10)
session = connect()
session.execute("CREATE TABLE orders (id int PRIMARY KEY, what text)")

with newrelic.agent.BackgroundTask(application, name="buy") as transaction:
    session.execute("INSERT INTO orders (id, what) VALUES (1, 'tea')")
    assert session.execute("SELECT * FROM orders WHERE id = %s", (1,)).one() == (1, "tea")
    insert = session.prepare("INSERT INTO orders (id, what) VALUES (?, ?)")
    session.execute(insert, (2, "coffee"))
    execute_concurrent_with_args(session, insert, [(n, str(n)) for n in range(10)])

collected = newrelic.core.agent.agent_instance().application("shop")._stats_engine.stats_table
metrics = {
    name: stats.call_count for (name, scope), stats in collected.items() if not scope and name.startswith("Datastore/")
}
assert metrics["Datastore/statement/Cassandra/orders/insert"] == 12
assert metrics["Datastore/statement/Cassandra/orders/select"] == 1
session.cluster.shutdown()
print("done")
