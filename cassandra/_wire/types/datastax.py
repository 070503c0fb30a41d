"""Types of DataStax servers: geometry as well-known binary, and date ranges (L2)."""

import struct
from typing import Any, ClassVar

from cassandra._base.datastax_values import (
    OPEN_BOUND,
    DateRange,
    DateRangeBound,
    DateRangePrecision,
    LineString,
    Point,
    Polygon,
)
from cassandra._base.objects import public
from cassandra._core.codec import Codec, custom_codec, is_real
from cassandra._wire.marshal import int8_pack, int64_pack
from cassandra._wire.types.base import _CassandraType


@public("cassandra.cqltypes")
class WKBGeometryType:
    """Type numbers of well-known binary."""

    POINT: ClassVar[int] = 1  #: Number of points.
    LINESTRING: ClassVar[int] = 2  #: Number of lines.
    POLYGON: ClassVar[int] = 3  #: Number of polygons.


class _PythonType(_CassandraType):
    """A type whose values are converted in Python, by ``_unpack`` and ``_pack``."""

    @classmethod
    def _make_native(cls) -> Codec:
        codec = custom_codec(cls.cass_parameterized_type(full=True), cls._unpack, cls._pack)
        codec.py_type = cls
        return codec

    @classmethod
    def _unpack(cls, byts: bytes, protocol_version: int) -> Any:
        raise NotImplementedError

    @classmethod
    def _pack(cls, val: Any, protocol_version: int) -> bytes:
        raise NotImplementedError


class _Reader:
    """Reads well-known binary in the byte order that it declares."""

    def __init__(self, data: bytes, geometry: int) -> None:
        self.order = "<" if data[:1] == b"\x01" else ">"
        self.data, self.at = data, 1
        found = self.number()
        if found != geometry:
            raise ValueError(f"expected geometry {geometry}, got {found}")

    def number(self) -> int:
        value: int = self._take("I", 4)[0]
        return value

    def points(self, count: int) -> list[tuple[float, float]]:
        values = self._take(f"{count * 2}d", count * 16)
        return list(zip(values[::2], values[1::2], strict=True))

    def _take(self, form: str, size: int) -> tuple[Any, ...]:
        if len(self.data) - self.at < size:
            raise ValueError(f"geometry of {len(self.data)} bytes is cut off")
        self.at += size
        return struct.unpack_from(self.order + form, self.data, self.at - size)


def _header(geometry: int, *counts: int) -> bytes:
    return struct.pack(f"<B{len(counts) + 1}I", 1, geometry, *counts)


def _pack_points(points: Any) -> bytes:
    return b"".join(struct.pack("<dd", *map(_coordinate, point)) for point in points)


def _coordinate(value: Any) -> Any:
    if type(value) is not float and not is_real(value):
        raise TypeError(f"a coordinate must be a float, not {type(value).__name__}")
    return value


class PointType(_PythonType):
    """The type ``PointType`` of DSE; values are :class:`~cassandra.util.Point`."""

    typename = "PointType"

    @classmethod
    def _unpack(cls, byts: bytes, protocol_version: int) -> Point:
        return Point(*_Reader(byts, WKBGeometryType.POINT).points(1)[0])

    @classmethod
    def _pack(cls, val: Point, protocol_version: int) -> bytes:
        return _header(WKBGeometryType.POINT) + _pack_points([(val.x, val.y)])


class LineStringType(_PythonType):
    """The type ``LineStringType`` of DSE; values are :class:`~cassandra.util.LineString`."""

    typename = "LineStringType"

    @classmethod
    def _unpack(cls, byts: bytes, protocol_version: int) -> LineString:
        reader = _Reader(byts, WKBGeometryType.LINESTRING)
        return LineString(reader.points(reader.number()))

    @classmethod
    def _pack(cls, val: LineString, protocol_version: int) -> bytes:
        return _header(WKBGeometryType.LINESTRING, len(val.coords)) + _pack_points(val.coords)


class PolygonType(_PythonType):
    """The type ``PolygonType`` of DSE; values are :class:`~cassandra.util.Polygon`."""

    typename = "PolygonType"

    @classmethod
    def _unpack(cls, byts: bytes, protocol_version: int) -> Polygon:
        reader = _Reader(byts, WKBGeometryType.POLYGON)
        count = reader.number()
        if count > len(byts) // 4:
            raise ValueError(f"polygon of {count} rings in {len(byts)} bytes")
        rings = [reader.points(reader.number()) for _ in range(count)]
        return Polygon(rings[0], rings[1:]) if rings else Polygon()

    @classmethod
    def _pack(cls, val: Polygon, protocol_version: int) -> bytes:
        rings = [ring.coords for ring in (val.exterior, *val.interiors) if ring.coords]
        packed = [struct.pack("<I", len(ring)) + _pack_points(ring) for ring in rings]
        return _header(WKBGeometryType.POLYGON, len(rings)) + b"".join(packed)


@public("cassandra.cqltypes")
class BoundKind:
    """Kinds of date ranges by their bounds."""

    SINGLE_DATE: ClassVar[str] = "SINGLE_DATE"  #: One date.
    CLOSED_RANGE: ClassVar[str] = "CLOSED_RANGE"  #: From a date to a date.
    OPEN_RANGE_HIGH: ClassVar[str] = "OPEN_RANGE_HIGH"  #: From a date on.
    OPEN_RANGE_LOW: ClassVar[str] = "OPEN_RANGE_LOW"  #: Up to a date.
    BOTH_OPEN_RANGE: ClassVar[str] = "BOTH_OPEN_RANGE"  #: All time.
    SINGLE_DATE_OPEN: ClassVar[str] = "SINGLE_DATE_OPEN"  #: A single open bound.
    VALID_RANGE_BOUNDS: ClassVar[tuple[str, ...]] = (
        SINGLE_DATE,
        CLOSED_RANGE,
        OPEN_RANGE_HIGH,
        OPEN_RANGE_LOW,
        BOTH_OPEN_RANGE,
        SINGLE_DATE_OPEN,
    )  #: All of these.

    @classmethod
    def to_int(cls, bound_str: str) -> int:
        """Return the number on the wire."""
        return cls.VALID_RANGE_BOUNDS.index(bound_str)

    @classmethod
    def to_str(cls, bound_int: int) -> str:
        """Return the name of a number."""
        return cls.VALID_RANGE_BOUNDS[bound_int]


class DateRangeType(_PythonType):
    """The type ``DateRangeType`` of DSE; values are :class:`~cassandra.util.DateRange`."""

    typename = "daterange"

    @classmethod
    def _unpack(cls, byts: bytes, protocol_version: int) -> DateRange:
        sizes = {BoundKind.BOTH_OPEN_RANGE: 1, BoundKind.SINGLE_DATE_OPEN: 1, BoundKind.CLOSED_RANGE: 19}
        if not byts or byts[0] >= len(BoundKind.VALID_RANGE_BOUNDS):
            raise ValueError(f"unknown kind of date range: {byts[:1]!r}")
        kind = BoundKind.to_str(byts[0])
        if len(byts) != sizes.get(kind, 10):
            raise ValueError(f"wrong length of a date range of kind {kind}: {len(byts)} bytes")
        bounds = [_bound(byts[at : at + 9]) for at in range(1, len(byts), 9)]
        if kind == BoundKind.SINGLE_DATE:
            return DateRange(value=bounds[0])
        if kind == BoundKind.SINGLE_DATE_OPEN:
            return DateRange(value=OPEN_BOUND)
        if kind == BoundKind.BOTH_OPEN_RANGE:
            return DateRange(OPEN_BOUND, OPEN_BOUND)
        if kind == BoundKind.OPEN_RANGE_HIGH:
            return DateRange(bounds[0], OPEN_BOUND)
        if kind == BoundKind.OPEN_RANGE_LOW:
            return DateRange(OPEN_BOUND, bounds[0].round_up())
        return DateRange(bounds[0], bounds[1].round_up())

    @staticmethod
    def _decode_precision(precision: int) -> str:
        """Return the name of a precision, from its byte. Raise ValueError for an invalid byte."""
        if not 0 <= precision < len(DateRangePrecision.PRECISIONS):
            raise ValueError(f"invalid precision of a date range: {precision!r}, expected 0 to 6")
        return DateRangePrecision.PRECISIONS[precision]

    @staticmethod
    def _encode_precision(precision: str) -> int:
        """Return the byte of a precision, from its name. Raise ValueError for an invalid name."""
        if precision.upper() not in DateRangePrecision.PRECISIONS:
            known = ", ".join(DateRangePrecision.PRECISIONS)
            raise ValueError(f"invalid precision of a date range: {precision!r}, expected one of {known}")
        return DateRangePrecision.PRECISIONS.index(precision.upper())

    @classmethod
    def _pack(cls, val: DateRange, protocol_version: int) -> bytes:
        try:
            return cls._pack_bounds(val)
        except AttributeError as error:
            raise ValueError(f"expected a DateRange, got {val!r}: {error}") from error

    @staticmethod
    def _pack_bounds(val: DateRange) -> bytes:
        if val.value is not None:
            single = val.value != OPEN_BOUND
            kind = BoundKind.SINGLE_DATE if single else BoundKind.SINGLE_DATE_OPEN
            bounds = [val.value]
        else:
            low, high = (bound or OPEN_BOUND for bound in (val.lower_bound, val.upper_bound))
            bounds = [low, high]
            if low != OPEN_BOUND:
                kind = BoundKind.CLOSED_RANGE if high != OPEN_BOUND else BoundKind.OPEN_RANGE_HIGH
            else:
                kind = BoundKind.OPEN_RANGE_LOW if high != OPEN_BOUND else BoundKind.BOTH_OPEN_RANGE
        return int8_pack(BoundKind.to_int(kind)) + b"".join(map(_pack_bound, bounds))


def _bound(byts: bytes) -> DateRangeBound:
    return DateRangeBound(int.from_bytes(byts[:8], "big", signed=True), DateRangePrecision.PRECISIONS[byts[8]])


def _pack_bound(bound: DateRangeBound) -> bytes:
    if bound.milliseconds is None or bound.precision is None:
        return b""
    return int64_pack(bound.milliseconds) + int8_pack(DateRangePrecision.PRECISIONS.index(bound.precision))
