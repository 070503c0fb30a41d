"""Built-in reducers: results as rows have them, the columns that they refuse on open, and their reprs."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from cassandra._base.temporal import Date, Time
from cassandra._core.memory import MemoryPool
from cassandra._routing.tokens import FULL_RING
from cassandra._scan.expressions import predicate_of
from cassandra._scan.reducers import fold_batch
from cassandra.scan import (
    Collect,
    Count,
    ForEachBatch,
    FunctionReducer,
    GroupBy,
    Max,
    Mean,
    Min,
    MinMax,
    StopScan,
    Sum,
    TopN,
    col,
)
from tests.unit.core.codec_frames import BOOLEAN, DECIMAL, DOUBLE, INT, TEXT, TIMESTAMP, VARINT
from tests.unit.core.column_pages import ROW, SOME_UUID, WHEN, decoded, everything, page_of

POOL = MemoryPool(1 << 26)
ORDERS = [
    ("NL", 1, 2.5, True),
    ("BE", 2, None, True),
    ("NL", 3, 0.5, None),
    (None, 4, 1.0, False),
    ("NL", None, 4.0, True),
]
COLUMNS = [("country", TEXT), ("n", INT), ("ratio", DOUBLE), ("paid", BOOLEAN)]


def orders(**options: Any) -> Any:
    return decoded(page_of(COLUMNS, ORDERS), POOL, **options)


def folded(reducer: Any, batch: Any, filter: Any = None) -> Any:
    predicate = None if filter is None else predicate_of(filter, batch.plan)
    acc = reducer.open(batch.plan, FULL_RING)
    acc = fold_batch(reducer, acc, batch.slice(0, 2), predicate)
    acc = fold_batch(reducer, acc, batch.slice(2), predicate)
    return reducer.finish(reducer.combine(reducer.open(batch.plan, FULL_RING), acc))


@pytest.mark.parametrize("strings", ["utf8", "view", "dictionary"])
def test_results(strings: str) -> None:
    batch = orders(strings=strings)
    assert folded(Count(), batch) == 5
    assert folded(Count("n"), batch) == 4
    assert folded(Sum("n"), batch) == 10
    assert folded(Mean("n"), batch) == 2.5
    assert folded(Sum("ratio"), batch) == 8.0
    assert folded(MinMax("country"), batch) == ("BE", "NL")
    assert folded(Min("ratio"), batch) == 0.5
    assert folded(Max("paid"), batch) is True
    grouped = GroupBy("country", orders=Count(), total=Sum("n"), mean=Mean("ratio"), ends=MinMax("n"), paid=Max("paid"))
    assert folded(grouped, batch) == {
        "NL": {"orders": 3, "total": 4, "mean": 7 / 3, "ends": (1, 3), "paid": True},
        "BE": {"orders": 1, "total": 2, "mean": None, "ends": (2, 2), "paid": True},
        None: {"orders": 1, "total": 4, "mean": 1.0, "ends": (4, 4), "paid": False},
    }
    assert folded(GroupBy(["country", "paid"]), batch, col("n") > 1) == {
        key: {} for key in [("BE", True), ("NL", None), (None, False)]
    }
    assert pa.table(folded(TopN(2, "ratio", descending=True), batch)).to_pylist() == [
        {"country": "NL", "n": None, "ratio": 4.0, "paid": True},
        {"country": "NL", "n": 1, "ratio": 2.5, "paid": True},
    ]
    assert pa.table(folded(Collect(), batch, col("paid"))).column("n").to_pylist() == [1, 2, None]


def test_of_nothing() -> None:
    empty = orders().slice(0, 0)
    reducers = [Count(), Count("n"), Sum("n"), Sum("ratio"), Mean("n"), MinMax("country"), GroupBy("n", total=Sum("n"))]
    assert [folded(one, empty) for one in reducers] == [0, 0, 0, 0.0, None, (None, None), {}]
    assert pa.table(folded(TopN(3, "n"), empty)).num_rows == pa.table(folded(Collect(), empty)).num_rows == 0
    numbers = decoded(page_of([("d", DECIMAL), ("v", VARINT)], []), POOL)
    assert [type(folded(Sum(name), numbers)) for name in "dv"] == [Decimal, int]
    assert folded(Mean("d"), numbers) is None


def test_values_are_those_of_rows() -> None:
    batch = decoded(everything(5), POOL)
    expected = dict(zip(batch.plan.names, ROW, strict=True))
    for name, _, _, form in batch.plan.fields:
        if form is not None and name != "custom":
            least, greatest = folded(MinMax(name), batch)
            assert least == greatest == expected[name] and type(least) is type(expected[name]), name
            if name != "decimal":
                keys = list(folded(GroupBy(name, n=Count()), batch))
                assert keys == [expected[name], None] and type(keys[0]) is type(expected[name]), name
    assert folded(MinMax("uuid"), batch) == (SOME_UUID, SOME_UUID)
    assert folded(Max("timestamp"), batch) == WHEN
    assert {type(folded(Min(name), batch)) for name in ("date", "time", "timestamp")} == {Date, Time, datetime.datetime}


def test_decimals() -> None:
    values = [Decimal("1.10"), None, Decimal("-2.25"), Decimal("1E+3")]
    page = page_of([("d", DECIMAL), ("v", VARINT)], [(value, i) for i, value in enumerate(values)])
    for batch in (decoded(page, POOL), decoded(page, POOL, decimals=(20, 2)), decoded(page, POOL, decimals=(60, 2))):
        assert folded(Sum("d"), batch) == Decimal("998.85")
        assert folded(Mean("d"), batch) == Decimal("332.95")
        assert folded(MinMax("d"), batch) == (Decimal("-2.25"), Decimal(1000))
        assert folded(GroupBy("v", total=Sum("d")), batch)[1] == {"total": 0}
    for batch in (decoded(page, POOL), decoded(page, POOL, varints="int64"), decoded(page, POOL, varints=40)):
        assert folded(Sum("v"), batch) == 6 and type(folded(Sum("v"), batch)) is int
        assert set(folded(GroupBy("v"), batch)) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("reducer", "error", "why"),
    [
        (Sum("x"), ValueError, "there is no column 'x' in the scan: ascii, "),
        (GroupBy("text", n=Count("x")), ValueError, "there is no column 'x'"),
        (GroupBy(["text", "x"]), ValueError, "there is no column 'x'"),
        (TopN(1, "x"), ValueError, "there is no column 'x'"),
        (Sum("text"), TypeError, r"Sum\('text'\): values of column 'text' \(text\) cannot be summed"),
        (Sum("boolean"), TypeError, "cannot be summed; use Count, Min or Max"),
        (Mean("timestamp"), TypeError, "cannot be summed"),
        (GroupBy("text", total=Sum("date")), TypeError, "cannot be summed"),
        (MinMax("list"), TypeError, r"values of column 'list' \(list<int>\) have no order; use Count"),
        (Min("custom"), TypeError, "have no order"),
        (GroupBy("udt"), TypeError, "cannot be compared, so it cannot be a key"),
        (GroupBy("decimal"), TypeError, r"equal numbers may differ: scan with decimals=\(precision, scale\)"),
        (TopN(1, "decimal"), TypeError, r"has no order of numbers: scan with decimals=\(precision, scale\)"),
        (TopN(1, "varint"), TypeError, 'scan with varints="int64"'),
        (TopN(1, "map"), TypeError, "have no order"),
    ],
    ids=str,
)
def test_columns_that_do_not_fit_are_refused_on_open(reducer: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        reducer.open(decoded(everything(1), POOL).plan, FULL_RING)


def test_arguments_that_are_none() -> None:
    with pytest.raises(TypeError, match="GroupBy needs aggregates, such as total=Sum"):
        GroupBy("a", total=sum)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs at least one column as key"):
        GroupBy([])
    for n in (0, -1, True, 2.5):
        with pytest.raises(ValueError, match="n must be a positive int"):
            TopN(n, "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needs a callable, got 3"):
        ForEachBatch(3)  # type: ignore[arg-type]


def test_reducer_reprs_are_stable_and_survive_pickling() -> None:
    """Checkpoints identify reducers by their reprs."""
    grouped = GroupBy(["a", "b"], n=Count(), total=Sum("c"), ends=MinMax("d"))
    for one in (
        Count(),
        Count("a"),
        Sum("a"),
        Mean("a"),
        Min("a"),
        Max("a"),
        MinMax("a"),
        grouped,
        TopN(2, "a"),
        Collect(),
    ):
        assert repr(pickle.loads(pickle.dumps(one))) == repr(one)
    assert repr(grouped) == "GroupBy(('a', 'b'), n=Count(), total=Sum('c'), ends=MinMax('d'))"
    assert repr(TopN(2, "a", descending=True)) == "TopN(n=2, by='a', descending=True)"


def test_each_batch() -> None:
    seen: list[list[Any]] = []

    def look(batch: Any) -> None:
        seen.append(pa.record_batch(batch).column("n").to_pylist())
        if len(seen) > 1:
            raise StopScan(None)

    batch = orders()
    reducer = ForEachBatch(look)
    assert reducer.stream(0, batch.slice(0, 0)) == 0
    acc = fold_batch(reducer, reducer.open(batch.plan, FULL_RING), batch, predicate_of(col("n") < 3, batch.plan))
    assert (acc, seen) == (2, [[1, 2]])
    with pytest.raises(StopScan) as stopped:
        reducer.stream(acc, batch)
    assert stopped.value.acc == 7


def test_reducers_of_others_get_pieces() -> None:
    """Slices where rows stand together, a copy where they do not, nothing where there are none."""
    rows = 1000
    batch = decoded(page_of([("n", INT)], [(i,) for i in range(rows)]), POOL)
    seen = FunctionReducer(map=lambda part: [(part.offset, len(part))], reduce=lambda acc, more: acc + more, init=list)

    def pieces(filter: Any) -> Any:
        return fold_batch(seen, [], batch, predicate_of(filter, batch.plan))

    n = col("n")
    assert pieces(n >= 0) == [(0, rows)]
    assert pieces(n < 0) == []
    assert pieces((n < 100) | (n >= 900)) == [(0, 100), (900, 100)]
    assert pieces(n.isin(range(0, rows, 2))) == [(0, rows // 2)]


def test_derived_reducers_see_all_rows() -> None:
    class Longer(Count):
        """Counts every row twice."""

        def stream(self, acc: Any, batch: Any) -> Any:
            return super().stream(super().stream(acc, batch), batch)

    assert folded(Longer(), orders(), col("n") > 1) == 6


def test_timestamps_that_no_datetime_has() -> None:
    batch = decoded(page_of([("t", TIMESTAMP)], [(-(10**17),), (10**17,)]), POOL)
    assert folded(MinMax("t"), batch) == (-(10**17), 10**17)
    assert folded(Count("t"), batch, col("t") > 0) == 1
