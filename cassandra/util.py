"""Classes for CQL values without a Python type, and helpers for timestamps and time UUIDs."""

# fmt: off
# isort: off
import logging
import sys
from weakref import WeakSet

from cassandra._base.collections import OrderedMap, OrderedMapSerializedKey, SortedSet, sortedset
from cassandra._base.datastax_values import (
    DateRange, DateRangeBound, DateRangePrecision, Distance, LineString, OPEN_BOUND, Point, Polygon,
)
from cassandra._base.errors import DriverException
from cassandra._base.aliases import add_names, add_attributes
from cassandra._base.temporal import (
    EPOCH, HIGHEST_TIME_UUID, LOWEST_TIME_UUID, Date, Duration, Time, datetime_from_ms_timestamp,
    datetime_from_timestamp, datetime_from_uuid1, max_uuid_from_time, min_uuid_from_time, ms_timestamp_from_datetime,
    unix_time_from_uuid1, utc_datetime_from_ms_timestamp, uuid_from_time,
)
from cassandra._base.versions import Version, list_contents_to_tuple, maybe_add_timeout_to_query

DATETIME_EPOC = UTC_DATETIME_EPOC = EPOCH  #: 1970-01-01 in UTC, without a time zone.
is_little_endian = sys.byteorder == "little"  #: True if the machine stores the lowest byte first.

log = logging.getLogger("cassandra.util")

__all__ = [
    "log",
    "DATETIME_EPOC", "HIGHEST_TIME_UUID", "LOWEST_TIME_UUID", "OPEN_BOUND", "UTC_DATETIME_EPOC", "Date", "DateRange",
    "DateRangeBound", "DateRangePrecision", "Distance", "DriverException", "Duration", "LineString", "OrderedMap",
    "OrderedMapSerializedKey", "Point", "Polygon", "SortedSet", "Time", "Version", "WeakSet",
    "datetime_from_ms_timestamp", "datetime_from_timestamp", "datetime_from_uuid1", "is_little_endian",
    "list_contents_to_tuple", "max_uuid_from_time", "maybe_add_timeout_to_query", "min_uuid_from_time",
    "ms_timestamp_from_datetime", "sortedset", "unix_time_from_uuid1", "utc_datetime_from_ms_timestamp",
    "uuid_from_time",
]

add_names(__name__, {
    "collections": "OrderedDict",
    "socket": "inet_ntop inet_pton",
    "cassandra._compat.names": (
        "_HAS_GEOMET _nan _positional_rename_invalid_identifiers _sanitize_identifiers _addrinfo_or_none"
        " _addrinfo_to_ip_strings _resolve_contact_points_to_string_map _LinearRing"
    ),
})  # fmt: skip
add_attributes(OrderedMapSerializedKey, "cassandra._compat.attributes", "_insert _insert_unchecked")
