"""Geometric values and their text."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra.util import Distance, LineString, Point, Polygon

NUMBER = st.floats(allow_nan=False, allow_infinity=False)
PAIR = st.tuples(NUMBER, NUMBER)
LINES = st.lists(PAIR, max_size=4).map(LineString)


@given(
    st.one_of(
        st.builds(Point, NUMBER, NUMBER),
        LINES,
        st.builds(Polygon, st.lists(PAIR, min_size=1, max_size=4), st.lists(st.lists(PAIR, min_size=1), max_size=2)),
        st.builds(Distance, NUMBER, NUMBER, NUMBER),
    )
)
def test_text_is_read_back(shape: Any) -> None:
    twin = type(shape).from_wkt(str(shape))
    assert twin == shape and hash(twin) == hash(shape) and pickle.loads(pickle.dumps(shape)) == shape


def test_text() -> None:
    assert str(Point(1.0, 2.5)) == "POINT (1.0 2.5)" and repr(Point(1.0, 2.5)) == "Point(1.0, 2.5)"
    assert str(LineString()) == "LINESTRING EMPTY" and str(Polygon()) == "POLYGON EMPTY"
    assert str(LineString([(0.0, 1.0), Point(2.0, 3.0)])) == "LINESTRING (0.0 1.0, 2.0 3.0)"
    square = Polygon([(0.0, 0.0), (9.0, 0.0)], [[(1.0, 1.0), (2.0, 2.0)]])
    assert str(square) == "POLYGON ((0.0 0.0, 9.0 0.0), (1.0 1.0, 2.0 2.0))"
    assert str(Distance(1.0, 2.0, 3.0)) == "DISTANCE ((1.0 2.0) 3.0)"
    for shape in (LineString([(1, 2)]), square, Distance(1, 2, 3)):
        assert repr(shape).startswith(type(shape).__name__)


@pytest.mark.parametrize("text", ["point(1 2)", "  POINT ( 1   2e0 ) "])
def test_text_in_other_shapes(text: str) -> None:
    assert Point.from_wkt(text) == Point(1.0, 2.0)


def test_empty_text() -> None:
    assert LineString.from_wkt("LINESTRING EMPTY") == LineString()
    assert Polygon.from_wkt("POLYGON EMPTY") == Polygon()


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (Point, "POINT (a b)"),
        (Point, "POINT (1 2) x"),
        (Point, "LINESTRING (1 2)"),
        (LineString, "LINESTRING (1 2, 3)"),
        (LineString, "LINESTRING (a b)"),
        (Polygon, "POLYGON (1 2)"),
        (Distance, "DISTANCE (1 2 3)"),
    ],
)
def test_other_text(shape: Any, text: str) -> None:
    with pytest.raises(ValueError, match="Invalid WKT"):
        shape.from_wkt(text)


def test_kinds_differ() -> None:
    assert Point(1, 2) != (1, 2) and LineString([(1, 2)]) != Polygon([(1, 2)]) and Distance(1, 2, 3) != Point(1, 2)
    line = LineString([(1, 2), (3, 4)])
    assert LineString(line) == line and Polygon(Polygon(line)) == Polygon(line)
    assert Polygon(line).exterior == line and Polygon(line).interiors == ()
