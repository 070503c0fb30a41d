"""Kernels over record batches: arguments that they accept and refuse, and batches that are large enough for threads."""

from __future__ import annotations

import gc
import pickle
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cassandra._core.codec import Codec, ResultPlan
from cassandra._core.columns import (
    ColumnPlan,
    ColumnTest,
    Groups,
    Mask,
    RecordBatch,
    debug_counters,
    decode,
    select,
    top,
    uuid_place,
)
from cassandra._core.memory import MemoryPool
from tests.packages import polars as pl
from tests.unit.core.codec_frames import BIGINT, DECIMAL, DOUBLE, NO_METADATA, TEXT, encoded, rows_body
from tests.unit.core.codec_frames import decode as decode_body
from tests.unit.core.column_pages import COLUMNS, decoded, everything

MANY = 20_000
POOL = MemoryPool(1 << 30)


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    gc.collect()
    before = debug_counters(), POOL.stats().in_use
    yield
    gc.collect()
    assert (debug_counters(), POOL.stats().in_use) == before


def batch_of(codec: Codec, values: list[Any], **options: Any) -> RecordBatch:
    columns = [("v", codec)]
    plan = ResultPlan([("ks", "t", "v", codec)])
    body = rows_body(columns, encoded(columns, [(value,) for value in values]), NO_METADATA)
    page = decode_body(body, plan=plan).page
    assert page is not None
    return decode(ColumnPlan(columns, POOL, **options), page)


def rows_of(batch: Any) -> list[Any]:
    return list(pa.record_batch(batch).column(0).to_pylist())


class TestMasks:
    @pytest.mark.parametrize(
        "values",
        [
            [True, False, True],
            b"\x01\x00\x02",
            bytearray(b"\x01\x00\x01"),
            np.array([True, False, True]),
            np.array([True, True, False, False, True])[::2],
            pa.array([True, False, True]),
            pa.array([False, True, False, True])[1:],
            pl.Series([True, False, True]),
            (one == 1 for one in (1, 0, 1)),
        ],
        ids=[
            "list",
            "bytes",
            "bytearray",
            "NumPy",
            "NumPy, stepping",
            "PyArrow",
            "PyArrow, sliced",
            "Polars",
            "generator",
        ],
    )
    def test_of_anything(self, values: Any) -> None:
        assert Mask.of(values, 3).tolist() == [True, False, True]

    def test_of_slices_and_nulls(self) -> None:
        assert Mask.of(pa.array([None, True, None, False])[1:], 3).tolist() == [True, None, False]
        assert Mask.of([None, True], 2).tolist() == [None, True]
        assert Mask.of(pa.array([], pa.bool_()), 0).tolist() == []
        mask = Mask.of([True], 1)
        assert Mask.of(mask, 1) is mask

    @pytest.mark.parametrize("values", [[1, 2], ["x"], np.array([1.5]), np.zeros((1, 1), bool), pa.array([1]), 7])
    def test_of_values_that_are_no_mask_is_refused(self, values: Any) -> None:
        with pytest.raises(TypeError):
            Mask.of(values, 1)

    def test_of_another_length(self) -> None:
        for values in ([True], b"\x01", pa.array([True])):
            with pytest.raises(ValueError, match="a mask of 1 rows does not fit a batch of 2"):
                Mask.of(values, 2)
        with pytest.raises(ValueError, match="of different batches"):
            Mask.of([True], 1) & Mask.of([True, True], 2)
        with pytest.raises(ValueError, match="does not fit a batch of 1"):
            select(batch_of(BIGINT, [1]), Mask.of([True, True], 2))

    def test_logic_of_three_values(self) -> None:
        three = [True, False, None]
        a = Mask.of([one for one in three for _ in three], 9)
        b = Mask.of(three * 3, 9)
        assert (a & b).tolist() == [True, False, None, False, False, False, None, False, None]
        assert (a | b).tolist() == [True, True, True, True, False, None, True, None, None]
        assert (~a).tolist() == [False] * 3 + [True] * 3 + [None] * 3
        assert repr(a) == "<Mask: 3 of 9 rows>"
        with pytest.raises(TypeError, match="has no truth value"):
            bool(a)

    def test_runs_at_the_edges_of_words(self) -> None:
        for size in (0, 1, 63, 64, 65, 128, 200):
            for runs in ([], [(0, size)], [(0, 1), (size - 1, 1)], [(63, 2)], [(64, 64)], [(1, size - 2)]):
                bits = bytearray(size)
                for first, count in runs:
                    for i in range(max(first, 0), min(first + count, size)):
                        bits[i] = 1
                mask = Mask.of(bits, size)
                found = mask.runs()
                assert [i for first, count in found for i in range(first, first + count)] == [
                    i for i, bit in enumerate(bits) if bit
                ]
                assert len(found) == mask.run_count and mask.count == sum(bits)
                assert all(a + n < b for (a, n), (b, _) in pairwise(found))


class TestTests:
    def test_every_type_can_be_asked_for_null(self) -> None:
        batch = decoded(everything(70), POOL)
        for i in range(len(COLUMNS)):
            assert ColumnTest(batch.plan, i)(batch).tolist() == [row % 2 == 1 for row in range(70)]

    def test_columns_of_types_without_comparison_are_refused(self) -> None:
        plan = decoded(everything(1), POOL).plan
        for name, _, _, form in plan.fields:
            if form is None:
                with pytest.raises(TypeError, match=f"values of '{name}' cannot be compared"):
                    ColumnTest(plan, plan.names.index(name), among=[1])
        assert {name for name, _, _, form in plan.fields if form is None} == {
            *("duration", "list", "map", "set", "tuple", "udt", "vector", "texts", "nested")
        }
        with pytest.raises(IndexError):
            ColumnTest(plan, 99)

    def test_other_batches_are_refused(self) -> None:
        numbers, texts = batch_of(BIGINT, [1]), batch_of(TEXT, ["x"])
        with pytest.raises(ValueError, match="compiled for batches of"):
            ColumnTest(numbers.plan, 0, within=(1, 2))(texts)
        with pytest.raises(ValueError, match="compiled for batches of"):
            Groups(numbers.plan, (), [("sum", 0)]).add(texts)
        with pytest.raises(ValueError, match="compiled for batches of"):
            top([(numbers, None), (texts, None)], 0, 1, False)

    def test_values_of_another_type_are_refused(self) -> None:
        with pytest.raises((TypeError, OverflowError)):
            ColumnTest(batch_of(BIGINT, [1]).plan, 0, within=(1 << 64, 1 << 65))
        with pytest.raises(TypeError):
            ColumnTest(batch_of(TEXT, ["x"]).plan, 0, among=["x"])
        with pytest.raises(ValueError, match="16 bytes"):
            uuid_place(b"x", True)


class TestGroups:
    def test_sums_are_exact(self) -> None:
        huge = [2**63 - 1, -(2**63), 2**63 - 1] * 1000
        groups = Groups(batch_of(BIGINT, huge).plan, (), [("sum", 0)])
        for _ in range(3):
            groups.add(batch_of(BIGINT, huge))
        assert groups.results() == [((), (sum(huge) * 3,))]
        wide = [Decimal("9" * 75), Decimal("-1" + "0" * 75)]
        batch = batch_of(DECIMAL, wide * 500, decimals=(76, 0))
        groups = Groups(batch.plan, (), [("sum", 0), ("min", 0), ("max", 0)])
        groups.add(batch)
        assert groups.results() == [((), (-500, -(10**75), 10**75 - 1))]

    def test_sums_of_floats_have_no_rounding_loss(self) -> None:
        values = [1e16, 1.0, -1e16, 2**-40] * MANY
        batch = batch_of(DOUBLE, values)
        groups = Groups(batch.plan, (), [("sum", 0)])
        groups.add(batch)
        assert groups.results() == [((), (MANY + MANY * 2**-40,))]
        infinite = batch_of(DOUBLE, [1.0, float("inf"), 2.0])
        groups.add(infinite)
        assert groups.results() == [((), (float("inf"),))]

    def test_large_batches_in_many_threads(self) -> None:
        batch = batch_of(BIGINT, list(range(MANY)))
        test = ColumnTest(batch.plan, 0, within=(10, MANY - 11))

        def fold(_: int) -> Any:
            groups = Groups(batch.plan, (0,), [("count", -1), ("sum", 0)])
            groups.add(batch, test(batch))
            return len(groups), sum(total for _, (_, total) in groups.results())

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(fold, range(8))) == {(MANY - 20, sum(range(10, MANY - 10)))}

    def test_numbers_that_are_text(self) -> None:
        values = [Decimal("1E+40"), Decimal("0.1"), None, Decimal("-2.50")]
        batch = batch_of(DECIMAL, values)
        groups = Groups(batch.plan, (), [("sum", 0), ("min", 0), ("max", 0), ("count", 0)])
        groups.add(batch, Mask.of([True, True, True, False], 4))
        groups.add(batch.slice(3))
        groups = pickle.loads(pickle.dumps(groups))
        groups.merge(pickle.loads(pickle.dumps(groups)))
        ((_, found),) = groups.results()
        assert found == (Decimal("19999999999999999999999999999999999999995.20"), values[3], values[0], 6)
        with pytest.raises(OverflowError, match="more than 100000 digits"):
            groups.add(batch_of(DECIMAL, [Decimal("1E+200000"), Decimal(1)]))

    def test_unpickled_groups_accept_batches_of_the_same_plan(self) -> None:
        batch = batch_of(BIGINT, [1, 2])
        groups = Groups(batch.plan, (0,), [("sum", 0)])
        groups.add(batch)
        groups = pickle.loads(pickle.dumps(groups))
        with pytest.raises(ValueError, match="do not fit batches of"):
            groups.add(batch_of(TEXT, ["x"]))
        groups.add(batch)
        assert groups.results() == [((1,), (2,)), ((2,), (4,))]

    def test_groups_that_cannot_be_merged_or_made_are_refused(self) -> None:
        plan = batch_of(BIGINT, []).plan
        groups = Groups(plan, (0,), [("sum", 0)])
        with pytest.raises(ValueError, match="different keys or measures"):
            groups.merge(Groups(plan, (), [("sum", 0)]))
        with pytest.raises(RuntimeError, match="in use"):
            groups.merge(groups)
        with pytest.raises(TypeError):
            Groups(batch_of(TEXT, []).plan, (), [("sum", 0)])
        with pytest.raises(IndexError):
            Groups(plan, (1,), [])
        with pytest.raises(KeyError):
            Groups(plan, (), [("median", 0)])  # type: ignore[list-item]

    def test_many_groups(self) -> None:
        names = [f"name {i % 5000}" for i in range(MANY)]
        batch = batch_of(TEXT, names)
        one, two = (Groups(batch.plan, (0,), [("count", -1), ("max", 0)]) for _ in range(2))
        one.add(batch.slice(0, 7000))
        two.add(batch.slice(7000))
        one.merge(two)
        assert len(one) == 5000
        assert {key: found for (key,), found in one.results()} == {
            name.encode(): (4, name.encode()) for name in set(names)
        }


class TestTop:
    def test_equal_rows_come_as_they_arrive(self) -> None:
        batch = batch_of(DOUBLE, [2.0, None, 1.0, 2.0, float("nan"), 1.0])
        assert rows_of(top([(batch, None)], 0, 10, False))[:4] == [1.0, 1.0, 2.0, 2.0]
        assert str(rows_of(top([(batch, None)], 0, 4, True))) == "[nan, 2.0, 2.0, 1.0]"
        assert rows_of(top([(batch, Mask.of([True, True, False, False, False, False], 6))], 0, 3, False)) == [2.0, None]

    def test_top_is_unchanged_by_batches_without_better_rows(self) -> None:
        best = top([(batch_of(BIGINT, [5, 1, 3]), None)], 0, 2, False)
        assert rows_of(best) == [1, 3]
        assert top([(best, None), (batch_of(BIGINT, [3, 9]), None)], 0, 2, False) is best
        assert rows_of(top([(best, None), (batch_of(BIGINT, [2, 9]), None)], 0, 2, False)) == [1, 2]

    def test_top_of_a_type_without_order_is_refused(self) -> None:
        batch = decoded(everything(1), POOL)
        with pytest.raises(TypeError, match="values of 'list' have no order"):
            top([(batch, None)], batch.plan.names.index("list"), 1, False)
        with pytest.raises(ValueError, match="at least one batch"):
            top([], 0, 1, False)


@pytest.mark.parametrize("strings", ["utf8", "view", "dictionary"])
def test_pickle_of_a_sliced_batch_holds_only_its_rows(strings: str) -> None:
    """A slice does not take the whole with it."""
    batch = batch_of(TEXT, [f"a text that is longer than a view: {i}" for i in range(MANY)], strings=strings)
    small = pickle.dumps(batch.slice(7, 2))
    assert len(small) < 2000 < len(pickle.dumps(batch))
    found = pickle.loads(small)
    arrow = pa.record_batch(found)
    arrow.validate(full=True)
    assert rows_of(found) == rows_of(batch.slice(7, 2))
    assert sys.getsizeof(found) > 0 and found.plan == batch.plan
    with pytest.raises(ValueError, match="damaged"):
        call, (plan, data) = batch.slice(0, 1).__reduce__()  # type: ignore[misc]
        call(plan, data + struct.pack("q", 1))
