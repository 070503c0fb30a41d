"""The driver's own communication with the cluster: :class:`~.control.ControlConnection`, the events that servers push,
the queries that make a new ``ClusterState`` from system tables, schema agreement, prefetched tablets."""
