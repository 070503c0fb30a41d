"""Statements and options of DSE graph."""

from cassandra._base.aliases import lend
from cassandra._compat.dse import QUERY_NAMES

__all__: list[str] = []

lend(__name__, {
    "cassandra._compat.graph": f"{QUERY_NAMES} _graph_options _graph_option_names",
    "cassandra.query": "ConsistencyLevel SimpleStatement Statement",
    "cassandra._compat.graph_values": "Edge Path Result Vertex VertexProperty",
    "cassandra._compat.dse": "GraphSON2Reader GraphSON3Reader graph_graphson2_row_factory graph_graphson3_row_factory",
})  # fmt: skip
