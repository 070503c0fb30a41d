"""A ``recv_results_rows`` for an application's classes of result messages, based on a parser of rows."""

from cassandra._base.aliases import lend
from cassandra._compat.protocol import make_recv_results_rows

__all__ = ["make_recv_results_rows"]

lend(__name__, {
    "cassandra._compat.protocol": "TupleRowParser make_deserializers",
    "cassandra.policies": "ColDesc",
})  # fmt: skip
