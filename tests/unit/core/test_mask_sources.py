"""Masks of the boolean types of libraries: a masked, NA or None value is unknown, so its row is not selected."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from cassandra._core.columns import Mask
from tests.packages import polars as pl

T, F, N = True, False, None
VALUES = [T, F, N, T, N, F, T]
TWICE = [value for value in VALUES for _ in (0, 1)]

UNKNOWN: dict[str, Any] = {
    "list": VALUES,
    "tuple": tuple(VALUES),
    "generator": (value for value in VALUES),
    "masked array": np.ma.masked_array([T, F, T, T, F, F, T], [0, 0, 1, 0, 1, 0, 0]),
    "masked bytes": np.ma.masked_array(np.array([1, 0, 1, 2, 0, 0, 255], np.uint8), [0, 0, 1, 0, 1, 0, 0]),
    "masked, stepping": np.ma.masked_array(TWICE, [value is None for value in TWICE], dtype=bool)[::2],
    "masked objects": np.ma.masked_array(np.array([T, F, "x", T, None, F, T], object), [0, 0, 1, 0, 0, 0, 0]),
    "objects": np.array(VALUES, object),
    "objects, stepping": np.array(TWICE, object)[::2],
    "objects with NaN": np.array([float("nan") if value is None else value for value in VALUES], object),
    "PyArrow": pa.array(VALUES),
    "PyArrow, sliced": pa.array([N, *VALUES, T])[1:8],
    "PyArrow, chunked": pa.chunked_array([VALUES[:3], [], VALUES[3:4], VALUES[4:]]),
    "PyArrow, chunks sliced": pa.chunked_array([[T, *VALUES[:5]], VALUES[5:]])[1:],
    "pandas, nullable": pd.Series(VALUES, dtype="boolean"),
    "pandas, nullable array": pd.array(VALUES, dtype="boolean"),
    "pandas, objects": pd.Series(VALUES, dtype=object),
    "pandas, PyArrow": pd.Series(VALUES, dtype="bool[pyarrow]"),
    "pandas, with NA": [pd.NA if value is None else value for value in VALUES],
    "polars": pl.Series(VALUES),
    "polars, chunked": pl.concat([pl.Series(VALUES[:2]), pl.Series(VALUES[2:])], rechunk=False),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_values(name: str) -> None:
    mask = Mask.of(UNKNOWN[name], len(VALUES))
    assert mask.tolist() == VALUES
    assert mask.count == 3
    assert (~mask).tolist() == [None if value is None else not value for value in VALUES]


KNOWN: dict[str, Any] = {
    "masked array without a mask": np.ma.masked_array([T, F, T]),
    "masked array, nothing masked": np.ma.masked_array([T, F, T], [0, 0, 0]),
    "chunked": pa.chunked_array([[T], [F, T]]),
    "pandas": pd.Series([T, F, T]),
    "pandas, not in order": pd.Series([T, T, F], index=[2, 0, 1])[[0, 1, 2]],
    "pandas, nullable": pd.Series([T, F, T], dtype="boolean"),
    "pandas, integers": pd.Series([1, 0, 1]),
    "polars, integers": pl.Series([1, 0, 1]),
    "objects": np.array([T, F, T], object),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_values(name: str) -> None:
    assert Mask.of(KNOWN[name], 3).tolist() == [T, F, T]


def test_nothing_is_known() -> None:
    for values in (pa.nulls(3), pa.chunked_array([pa.nulls(1), pa.nulls(2)]), np.ma.masked_all(3, bool), [None] * 3):
        assert Mask.of(values, 3).tolist() == [None] * 3
    for values in (pa.chunked_array([], pa.bool_()), np.ma.masked_array([], dtype=bool), pd.array([], "boolean")):
        assert Mask.of(values, 0).tolist() == []


def test_series_of_pandas_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert Mask.of(pd.Series(VALUES, dtype="boolean"), len(VALUES)).tolist() == VALUES


@pytest.mark.parametrize(
    "values",
    [
        np.ma.masked_array([1.5], [1]),
        np.ma.masked_array([[T]], [[0]]),
        np.array(["x"], object),
        np.array(T),
        pd.Series([1.5]),
        pd.Series(["x"]),
        pl.Series(["x"]),
        pa.chunked_array([[1]]),
        pa.chunked_array([["x"]]),
        pa.array(["true"]),
        pa.table({"a": [T]}),
        pd.DataFrame({"a": [T]}),
        [pd.NaT],
    ],
    ids=lambda values: f"{type(values).__name__} {getattr(values, 'dtype', '')}",
)
def test_values_that_are_no_booleans(values: Any) -> None:
    with pytest.raises(TypeError):
        Mask.of(values, 1)


def test_chunks_of_all_sizes() -> None:
    source = random.Random(3)
    for _ in range(200):
        chunks = []
        for _ in range(source.randrange(5)):
            known = source.choice(([T, F], [T, F, N]))
            front, size = source.randrange(70), source.choice((0, 1, 7, 63, 64, 65, 200))
            chunks.append(pa.array([source.choice(known) for _ in range(front + size)], pa.bool_())[front:])
        values = pa.chunked_array(chunks, pa.bool_())
        mask = Mask.of(values, len(values))
        assert mask.tolist() == values.to_pylist()
        assert mask.count == values.to_pylist().count(True)
