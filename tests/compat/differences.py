"""Where the public API differs from scylla-driver's on purpose, and why. ``*`` stands for any one name."""

from __future__ import annotations

GRAPH = "DSE graph is not included: the name imports and says so when it is used"
NO_REACTORS = "there is one native transport; the name is accepted as connection_class and makes no connections itself"


DIFFERENCES: dict[str, str] = {
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
}

#: Attributes of live objects whose values are of another type.
LIVE: dict[str, str] = {
    "BoundStatement.raw_values": "values are kept as they were given",
    "Cluster.executor": "its submit() is a ThreadPoolExecutor's; what runs behind it is the driver's scheduler",
    "Cluster.scheduler": "one scheduler runs what is to be done now and what is to be done later",
    "Cluster.sessions": "a set that holds its sessions weakly and is safe to iterate while others connect",
    "Function.monotonic_on": "a list, as argument_names and argument_types are",
    "IndexMetadata.index_options": "a plain dict: keys are text",
    "Metadata.refresh": "read by Cluster.refresh_schema_metadata() and its like, on the control connection alone",
    "QueryTrace.events": "a list, to be sorted and filtered",
    "TableMetadata.columns": "a plain dict: every dict keeps its order",
    "TableMetadata.extensions": "a plain dict: keys are text",
    "TableMetadata.triggers": "a plain dict: every dict keeps its order",
}
