"""The package ``cassandra.graph`` under the name that it has in drivers of DSE."""

import sys

from cassandra._base.aliases import add_names
from cassandra._compat.dse import GRAPH_NAMES, QUERY_NAMES, VALUE_NAMES
from cassandra.graph import graphson, query, types

__all__: list[str] = []

add_names(__name__, {
    "cassandra._compat.dse": f"{QUERY_NAMES} {VALUE_NAMES} Result {GRAPH_NAMES}",
})  # fmt: skip
for module in (graphson, query, types):
    sys.modules[module.__name__.replace("cassandra.graph", __name__)] = module
del module, sys
