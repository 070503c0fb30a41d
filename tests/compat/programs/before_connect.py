"""What a cluster tells before it is connected. Runs with any driver; the output of scylla-driver is beside it."""

# mypy: ignore-errors
from cases import show

from cassandra.cluster import Cluster
from cassandra.connection import DefaultEndPoint

for what, contacts in (
    ("none", None),
    ("addresses", ["127.0.0.1", "127.0.0.2"]),
    ("ports", [("127.0.0.1", 9999)]),
    ("endpoints", [DefaultEndPoint("127.0.0.1", 9043)]),
):
    cluster = Cluster(contacts) if contacts else Cluster()
    metadata = cluster.metadata
    show(f"{what} contact points", lambda: cluster.contact_points)
    show(f"{what} endpoints_resolved", lambda: cluster.endpoints_resolved)
    show(f"{what} hosts", lambda: sorted(metadata.all_hosts()))
    show(f"{what} hosts items", lambda: [(type(key).__name__, host) for key, host in metadata.all_hosts_items()])
    show(f"{what} get_host", lambda: metadata.get_host("127.0.0.1"))
    show(f"{what} get_host by endpoint", lambda: metadata.get_host(DefaultEndPoint("127.0.0.1")))
    show(f"{what} replicas", lambda: metadata.get_replicas("ks", b"a"))
    show(f"{what} token map", lambda: metadata.token_map)
    show(f"{what} keyspaces", lambda: metadata.keyspaces)
    show(f"{what} names", lambda: (metadata.cluster_name, metadata.partitioner))
    show(f"{what} export", metadata.export_schema_as_string)
    show(f"{what} sessions", lambda: len(cluster.sessions))
    show(f"{what} refresh", cluster.refresh_schema_metadata)
    show(f"{what} refresh table", cluster.refresh_table_metadata, "a", "b")
    show(f"{what} refresh nodes", cluster.refresh_nodes)
    show(f"{what} control host", cluster.get_control_connection_host)
    show(f"{what} metrics", lambda: cluster.metrics)
    show(f"{what} is_shutdown", lambda: cluster.is_shutdown)
    show(f"{what} shard aware", lambda: (cluster.is_shard_aware(), cluster.shard_aware_stats()))
    show(f"{what} shutdown", cluster.shutdown)
    show(f"{what} is_shutdown after", lambda: cluster.is_shutdown)
    show(f"{what} hosts after", lambda: sorted(metadata.all_hosts()))


def error_of(cluster):
    try:
        cluster.connect()
    except Exception as error:
        return type(error).__name__, error.errors


nobody = Cluster([])
show("no contact points", lambda: nobody.contact_points)
show("connect to nobody", error_of, nobody)
