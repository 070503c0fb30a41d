"""Names of DSE graph: values and statements can be made; executing one, or decoding GraphSON, raises an error."""

from cassandra._base.aliases import lend
from cassandra._compat.dse import GRAPH_NAMES, QUERY_NAMES, VALUE_NAMES

__all__: list[str] = []

lend(__name__, {
    "cassandra._compat.graph": QUERY_NAMES,
    "cassandra._compat.graph_values": VALUE_NAMES + " Result",
    "cassandra._compat.dse": GRAPH_NAMES,
})  # fmt: skip
