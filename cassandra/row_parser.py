"""A ``recv_results_rows`` for an application's classes of result messages, based on a parser of rows."""

from cassandra._base.aliases import add_names
from cassandra._compat.protocol import make_recv_results_rows

__all__ = ["make_recv_results_rows"]

add_names(__name__, {
    "cassandra._compat.protocol": "TupleRowParser make_deserializers",
    "cassandra.policies": "ColDesc",
})  # fmt: skip
