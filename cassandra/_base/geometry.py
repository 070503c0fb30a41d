"""Geometric values of DataStax servers and their well-known text (L0)."""

import re
from collections.abc import Iterable
from typing import Any

from cassandra._base.public import public

_NUMBER = r"([-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity))"
# Patterns are compiled at first use, as few applications use these types. ``re`` caches them.
_POINT = r"\s*POINT\s*(?:EMPTY|\(([^()]*)\))\s*\Z"
_LINE = r"\s*LINESTRING\s*(?:EMPTY|\(([^()]*)\))\s*\Z"
_POLYGON = r"\s*POLYGON\s*(?:EMPTY|\(((?:\s*(?:,\s*)?\([^()]*\))*)\s*\))\s*\Z"
_RING = r"\(([^()]*)\)"
_DISTANCE = rf"\s*DISTANCE\s*\(\s*\(\s*{_NUMBER}\s+{_NUMBER}\s*\)\s+{_NUMBER}\s*\)\s*\Z"

Coords = tuple[tuple[float, ...], ...]


@public("cassandra.util")
class Point:
    """A point of a plane."""

    __slots__ = ("x", "y")

    def __init__(self, x: float = float("nan"), y: float = float("nan")) -> None:
        self.x = x
        self.y = y

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and bool(self.x == other.x and self.y == other.y)

    def __hash__(self) -> int:
        return hash((self.x, self.y))

    def __str__(self) -> str:
        return f"POINT ({self.x!r} {self.y!r})"

    def __repr__(self) -> str:
        return f"Point({self.x!r}, {self.y!r})"

    @staticmethod
    def from_wkt(s: str) -> "Point":
        """Parse well-known text, such as ``POINT (1.0 2.0)``. Fewer than two coordinates give the empty point;
        further coordinates are ignored."""
        numbers = _numbers(_match(_POINT, s).group(1) or "", s)
        return Point(*numbers[:2]) if len(numbers) > 1 else Point()


@public("cassandra.util")
class LineString:
    """A line of points, given as pairs or :class:`Point`."""

    __slots__ = ("coords",)

    coords: Coords

    def __init__(self, coords: Iterable[Any] = ()) -> None:
        if isinstance(coords, LineString):
            self.coords = coords.coords
        else:
            self.coords = tuple((p.x, p.y) if isinstance(p, Point) else tuple(p) for p in coords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LineString) and self.coords == other.coords

    def __hash__(self) -> int:
        return hash(self.coords)

    def __str__(self) -> str:
        return f"LINESTRING {_text(self)}"

    def __repr__(self) -> str:
        return f"LineString({self.coords!r})"

    @staticmethod
    def from_wkt(s: str) -> "LineString":
        """Parse well-known text, such as ``LINESTRING (0.0 1.0, 2.0 3.0)``."""
        return LineString(_coords(_match(_LINE, s).group(1) or "", s))


@public("cassandra.util")
class Polygon:
    """A ring with holes; every ring is a :class:`LineString` or an argument of its constructor."""

    __slots__ = ("exterior", "interiors")

    exterior: LineString
    interiors: tuple[LineString, ...]

    def __init__(self, exterior: Iterable[Any] = (), interiors: Iterable[Iterable[Any]] | None = None) -> None:
        if isinstance(exterior, Polygon):
            self.exterior, self.interiors = exterior.exterior, exterior.interiors
        else:
            self.exterior = LineString(exterior)
            self.interiors = tuple(LineString(ring) for ring in interiors or ())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polygon):
            return False
        return (self.exterior, self.interiors) == (other.exterior, other.interiors)

    def __hash__(self) -> int:
        return hash((self.exterior, self.interiors))

    def __str__(self) -> str:
        if not self.exterior.coords:
            return "POLYGON EMPTY"
        return f"POLYGON ({', '.join(map(_text, (self.exterior, *self.interiors)))})"

    def __repr__(self) -> str:
        return f"Polygon({self.exterior.coords!r}, {[ring.coords for ring in self.interiors]!r})"

    @staticmethod
    def from_wkt(s: str) -> "Polygon":
        """Parse well-known text, such as ``POLYGON ((0.0 0.0, 1.0 0.0, 1.0 1.0, 0.0 0.0))``."""
        rings = [_coords(ring, s) for ring in re.findall(_RING, _match(_POLYGON, s).group(1) or "")]
        return Polygon(rings[0], rings[1:]) if rings else Polygon()


@public("cassandra.util")
class Distance:
    """A circle: a centre and a radius."""

    __slots__ = ("radius", "x", "y")

    def __init__(self, x: float = float("nan"), y: float = float("nan"), radius: float = float("nan")) -> None:
        self.x = x
        self.y = y
        self.radius = radius

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distance):
            return False
        return bool(self.x == other.x and self.y == other.y and self.radius == other.radius)

    def __hash__(self) -> int:
        return hash((self.x, self.y, self.radius))

    def __str__(self) -> str:
        return f"DISTANCE (({self.x!r} {self.y!r}) {self.radius!r})"

    def __repr__(self) -> str:
        return f"Distance({self.x!r}, {self.y!r}, {self.radius!r})"

    @staticmethod
    def from_wkt(s: str) -> "Distance":
        """Parse text such as ``DISTANCE ((1.0 2.0) 3.0)``."""
        match = _match(_DISTANCE, s)
        return Distance(*(float(number) for number in match.groups()))


def _text(line: LineString) -> str:
    return f"({', '.join(' '.join(map(repr, point)) for point in line.coords)})" if line.coords else "EMPTY"


def _match(pattern: str, text: str) -> re.Match[str]:
    match = re.match(pattern, text, re.IGNORECASE)
    if match is None:
        raise ValueError(f"Invalid WKT geometry: {text!r}")
    return match


def _coords(text: str, whole: str) -> tuple[tuple[float, ...], ...]:
    """Parse points; raise ValueError if one has fewer than two coordinates."""
    points = tuple(_numbers(point, whole) for point in text.split(",") if point.strip())
    if any(len(point) < 2 for point in points):
        raise ValueError(f"Invalid WKT geometry: {whole!r}")
    return points


def _numbers(text: str, whole: str) -> tuple[float, ...]:
    try:
        return tuple(float(number) for number in text.split())
    except ValueError:
        raise ValueError(f"Invalid WKT geometry: {whole!r}") from None
