"""feast's online store: features written and served."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pandas
from feast import Entity, FeatureStore, FeatureView, Field, FileSource, RepoConfig, ValueType
from feast.types import Float32, Int64, String
from server import HOST, KEYSPACE, PORT, connect

session = connect()
datacenter = session.execute("SELECT data_center FROM system.local").one().data_center
session.cluster.shutdown()

now = datetime.now(timezone.utc)
frame = pandas.DataFrame(
    {
        "driver": list(range(50)),
        "trips": [n * 10 for n in range(50)],
        "rating": [n / 4 for n in range(50)],
        "town": [f"town {n}" for n in range(50)],
        "event_timestamp": [now] * 50,
        "created": [now] * 50,
    }
)
frame.to_parquet("stats.parquet")
policy = {"local_dc": datacenter, "load_balancing_policy": "TokenAwarePolicy(DCAwareRoundRobinPolicy)"}
store = FeatureStore(
    config=RepoConfig(
        project="shop",
        provider="local",
        registry="registry.db",
        entity_key_serialization_version=3,
        online_store={
            "type": "cassandra",
            "hosts": [HOST],
            "port": PORT,
            "keyspace": KEYSPACE,
            "load_balancing": policy,
        },
    )
)
driver = Entity(name="driver", join_keys=["driver"], value_type=ValueType.INT64)
view = FeatureView(
    name="stats",
    entities=[driver],
    ttl=timedelta(days=3),
    schema=[Field(name="trips", dtype=Int64), Field(name="rating", dtype=Float32), Field(name="town", dtype=String)],
    source=FileSource(path="stats.parquet", timestamp_field="event_timestamp", created_timestamp_column="created"),
)
store.apply([driver, view])
store.write_to_online_store("stats", frame)
features = ["stats:trips", "stats:rating", "stats:town"]
served = store.get_online_features(features, [{"driver": n} for n in (3, 49, 1000)]).to_dict()
assert served == {
    "driver": [3, 49, 1000],
    "trips": [30, 490, None],
    "rating": [0.75, 12.25, None],
    "town": ["town 3", "town 49", None],
}, served
store.materialize(now - timedelta(days=1), now + timedelta(days=1))
assert store.get_online_features(features, [{"driver": 7}]).to_dict()["trips"] == [70]
store.teardown()
print("done")
