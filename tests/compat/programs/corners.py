"""Errors and corners that public unit tests of drivers look at: factors, strategies, segments, date ranges."""

# mypy: ignore-errors
# ruff: noqa
import io

from cases import case, each, show

from cassandra.cqltypes import DateRangeType, lookup_casstype
from cassandra.metadata import ReplicationFactor, ReplicationStrategy, _UnknownStrategy
from cassandra.segment import Segment, SegmentCodec
from cassandra.util import DateRange, DateRangeBound, Duration, OrderedDict

print(OrderedDict([("b", 1), ("a", 2)]) == {"b": 1, "a": 2}, list(OrderedDict([("b", 1), ("a", 2)])))


def factor(value):
    made = ReplicationFactor.create(value)
    return made.all_replicas, made.full_replicas, made.transient_replicas, str(made)


each("factor", factor, ["3", "3/1", 3, "3/", "a/1", "a", "3/a", "", "/", "3.0"])
for options in (None, {}, {"class": "x", "a": "b"}):
    show(
        "unknown",
        lambda: (
            ReplicationStrategy().create("OldNetworkTopologyStrategy", options)
            == _UnknownStrategy("OldNetworkTopologyStrategy", options)
        ),
    )
    show("unknown", lambda: _UnknownStrategy("other", options).make_token_replica_map({}, []))
show("no strategy", lambda: ReplicationStrategy.create(None, None))
show("export", lambda: ReplicationStrategy().export_for_schema())

for name, codec in (("plain", SegmentCodec()), ("packed", SegmentCodec(bytes, bytes))):
    for size in (0, 1, Segment.MAX_PAYLOAD_LENGTH, Segment.MAX_PAYLOAD_LENGTH + 1, 2**24):
        buffer = io.BytesIO()
        show(f"header {name} {size}", lambda: codec.encode_header(buffer, size, -1 if name == "plain" else 5, False))
        print(buffer.getvalue())


class Bounds:
    value = lower_bound = None


each("precision", DateRangeType._decode_precision, [0, 1, 5, 6, 7, -1])
each("precision", DateRangeType._encode_precision, ["YEAR", "SECOND", "MILLISECOND", "second", "", "INVALID"])
each("no date range", lambda value: DateRangeType.serialize(value, 5), [5, "text", b"bytes", (1, 2)])
show("no upper bound", DateRangeType.serialize, Bounds, 5)
show("date range", lambda: DateRangeType.serialize(DateRange(value=DateRangeBound(1485963732404, "HOUR")), 5))


for parts in ((0, 0, 2**63), (0, 0, -(2**63) - 1), (0, 2**64, 0), (2**64, 0, 0)):
    show(f"duration {parts}", lambda: lookup_casstype("DurationType").serialize(Duration(*parts), 4))


@case("vectors that are too short or too long", caught=ValueError)
def _():
    found = []
    for wanted, given in ((4, 5), (5, 4)):
        kinds = [lookup_casstype(f"VectorType(IntegerType, {size})") for size in (wanted, given)]
        try:
            kinds[0].deserialize(kinds[1].serialize(list(range(given)), 0), 0)
        except ValueError as error:
            found += [
                text for text in ("Additional bytes remaining", "successfully adding 4 elements") if text in str(error)
            ]
    return found
