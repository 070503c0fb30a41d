"""Statements and options of DSE graph."""

from cassandra._base.aliases import add_names
from cassandra._compat.dse import QUERY_NAMES

__all__: list[str] = []

add_names(__name__, {
    "cassandra._compat.dse": (
        f"{QUERY_NAMES} _graph_options _graph_option_names Edge Path Result Vertex VertexProperty"
        " GraphSON2Reader GraphSON3Reader graph_graphson2_row_factory graph_graphson3_row_factory"
    ),
    "cassandra.query": "ConsistencyLevel SimpleStatement Statement",
})  # fmt: skip
