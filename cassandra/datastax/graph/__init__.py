"""Names of DSE graph: values and statements can be made; executing one, or decoding GraphSON, raises an error."""

from cassandra._base.aliases import add_names
from cassandra._compat.dse import GRAPH_NAMES, QUERY_NAMES, VALUE_NAMES

__all__: list[str] = []

add_names(__name__, {
    "cassandra._compat.dse": f"{QUERY_NAMES} {VALUE_NAMES} Result {GRAPH_NAMES}",
})  # fmt: skip
