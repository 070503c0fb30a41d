"""Names of DSE graph: they import, and raise one error when they are used."""

from cassandra._base.lending import lend
from cassandra._compat.dse import GRAPH_NAMES

__all__: list[str] = []

lend(__name__, {"cassandra._compat.dse": " ".join(GRAPH_NAMES)})
