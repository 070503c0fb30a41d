"""CQL literals for the parameters of simple statements."""

# fmt: off
# isort: off
import logging

from cassandra._base.collections import OrderedMap, OrderedMapSerializedKey, sortedset
from cassandra._base.datastax_values import LineString, Point, Polygon
from cassandra._base.names import cql_quote
from cassandra._base.temporal import Date, Time
from cassandra._wire.encoder import Encoder, ValueSequence

log = logging.getLogger("cassandra.encoder")

__all__ = [
    "log",
    "Date", "Encoder", "LineString", "OrderedMap", "OrderedMapSerializedKey", "Point", "Polygon", "Time",
    "ValueSequence", "cql_quote", "sortedset",
]
