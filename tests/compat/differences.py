"""Where the public API differs from scylla-driver's on purpose, and why. ``*`` stands for any one name."""

from __future__ import annotations

GRAPH = "DSE graph is not included"
NO_REACTORS = "there is one native transport; the name is accepted as connection_class and makes no connections itself"

DIFFERENCES: dict[str, str] = {
    "cassandra.cluster.EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT": GRAPH,
    "cassandra.cluster.EXEC_PROFILE_GRAPH_DEFAULT": GRAPH,
    "cassandra.cluster.EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT": GRAPH,
    "cassandra.cluster.GraphAnalyticsExecutionProfile": GRAPH,
    "cassandra.cluster.GraphExecutionProfile": GRAPH,
    "cassandra.cqltypes.*.serialize": "the parameter has one name in all classes (theirs: var, byts, truth, ...)",
    "cassandra.cqltypes.MapType.serialize_safe": "the parameter has one name in all classes",
    "cassandra.io.asyncioreactor.AsyncioConnection": NO_REACTORS,
    "cassandra.io.asyncorereactor.AsyncoreConnection": NO_REACTORS,
    "cassandra.io.libevreactor.LibevConnection": NO_REACTORS,
    "cassandra.metadata.EdgeMetadata": GRAPH,
    "cassandra.metadata.TableMetadataDSE68": GRAPH,
    "cassandra.metadata.VertexMetadata": GRAPH,
    "cassandra.policies.DSELoadBalancingPolicy": "policies for DSE alone are not included",
}
