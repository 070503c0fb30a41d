"""GraphSON, the format of DSE graph: the names import, and raise one error when they are used."""

from cassandra._base.aliases import add_names
from cassandra._compat.dse import GRAPHSON_NAMES

__all__: list[str] = []

add_names(__name__, {
    "cassandra._compat.dse": f"{GRAPHSON_NAMES} Edge Path T Vertex VertexProperty",
    "cassandra.util": "Duration LineString OrderedDict Point Polygon",
    "cassandra.cqltypes": "UserType",
})  # fmt: skip
