"""Pages of rows: every way of making them, slices and batches, visits of the garbage collector, and errors."""

from __future__ import annotations

import datetime
import gc
import sys
import uuid
from collections import OrderedDict, namedtuple
from decimal import Decimal
from typing import Any

import pytest

from cassandra._base.errors import DriverException
from cassandra._base.temporal import Date, Duration, Time
from cassandra._core import codec
from cassandra._core.codec import Codec, ResultPlan, RowPlan, RowsPage, list_codec, tuple_codec
from tests.unit.core.codec_frames import (
    BIGINT,
    BLOB,
    BOOLEAN,
    DATE,
    DECIMAL,
    DOUBLE,
    DURATION,
    INET,
    INT,
    TEXT,
    TIME,
    TIMESTAMP,
    UUID,
    VARINT,
    bytes_,
    decode,
    encoded,
    int_,
    metadata,
    page_of,
    rows_body,
)

COLUMNS = [("a", INT), ("b", TEXT)]
VALUES = [(1, "one"), (2, None), (None, "three")]
Row = namedtuple("Row", "a b")


def page() -> RowsPage:
    return page_of(COLUMNS, VALUES)


def test_tuples() -> None:
    found = page()
    rows = found.decode(RowPlan(found.plan, "tuple"))
    assert rows == VALUES
    assert all(type(row) is tuple for row in rows)


def test_named_tuples() -> None:
    found = page()
    rows = found.decode(RowPlan(found.plan, "named", Row))
    assert rows == VALUES
    assert all(type(row) is Row for row in rows)
    assert (rows[0].a, rows[2].b) == (1, "three")
    assert rows[0]._replace(a=5) == (5, "one") and rows[0]._asdict() == {"a": 1, "b": "one"}
    assert hash(rows[0]) == hash((1, "one"))


def test_named_tuples_need_no_call_of_their_class() -> None:
    cls: Any = namedtuple("cls", "a b")
    found = page()
    how = RowPlan(found.plan, "named", cls)

    def refuse(*args: Any) -> Any:
        raise AssertionError("called")

    cls.__new__ = cls._make = refuse
    assert found.decode(how) == VALUES


def test_dicts_share_their_keys() -> None:
    found = page()
    rows = found.decode(RowPlan(found.plan, "dict"))
    assert rows == [{"a": 1, "b": "one"}, {"a": 2, "b": None}, {"a": None, "b": "three"}]
    assert all(type(row) is dict for row in rows)
    keys = [next(iter(row)) for row in rows]
    assert keys[0] is keys[1] is found.plan.names[0] is sys.intern("a")


def test_ordered_dicts() -> None:
    found = page()
    rows = found.decode(RowPlan(found.plan, "ordered"))
    assert rows == [OrderedDict(a=1, b="one"), OrderedDict(a=2, b=None), OrderedDict(a=None, b="three")]
    assert all(type(row) is OrderedDict and list(row) == ["a", "b"] for row in rows)


def test_of_two_columns_with_one_name_a_dict_has_the_last() -> None:
    found = page_of([("a", INT), ("a", INT)], [(1, 2)])
    assert found.decode(RowPlan(found.plan, "dict")) == [{"a": 2}]
    assert found.decode(RowPlan(found.plan, "tuple")) == [(1, 2)]


def test_empty_pages() -> None:
    found = page_of(COLUMNS, [])
    assert len(found) == 0 and found.nbytes == 0
    for kind in ("tuple", "dict", "ordered"):
        assert found.decode(RowPlan(found.plan, kind)) == []
    assert list(found.batches(RowPlan(found.plan, "tuple"))) == []


def test_row_plans_are_checked() -> None:
    plan = page().plan
    with pytest.raises(ValueError, match="got 'list'"):
        RowPlan(plan, "list")
    with pytest.raises(ValueError, match="row_class must be given"):
        RowPlan(plan, "named")
    with pytest.raises(ValueError, match="and only for it"):
        RowPlan(plan, "tuple", Row)

    class Heavy(Row):
        """Has a ``__dict__``."""

    for cls in (dict, list, Heavy, "Row"):
        with pytest.raises(TypeError, match="not a namedtuple class"):
            RowPlan(plan, "named", cls)  # type: ignore[arg-type]
    how = RowPlan(plan, "named", Row)
    assert (how.plan, how.kind, how.row_class) == (plan, "named", Row)


def test_a_row_plan_of_another_result_is_refused() -> None:
    other = ResultPlan([("ks", "t", "a", TEXT)])
    with pytest.raises(ValueError, match="another result"):
        page().decode(RowPlan(other, "tuple"))
    alike = ResultPlan([("ks", "u", "x", INT), ("ks", "u", "y", TEXT)])
    assert page().decode(RowPlan(alike, "dict"))[0] == {"x": 1, "y": "one"}


def test_slices() -> None:
    found = page_of([("a", INT)], [(i,) for i in range(100)])
    how = RowPlan(found.plan, "tuple")

    def part(*bounds: Any) -> list[int]:
        return [row[0] for row in found.decode(how, *bounds)]

    assert part(0, 10) == list(range(10))
    assert part(10, 20) == list(range(10, 20))
    assert part(50, 60) == list(range(50, 60)), "leaping ahead"
    assert part(5, 8) == [5, 6, 7], "going back"
    assert part(8) == list(range(8, 100))
    assert part(95, 200) == [95, 96, 97, 98, 99]
    assert part(100) == part(200, 300) == part(7, 7) == part(7, 3) == []
    assert part() == list(range(100))


@pytest.mark.parametrize("size", [1, 3, 99, 100, 1000])
def test_batches(size: int) -> None:
    found = page_of([("a", INT)], [(i,) for i in range(100)])
    how = RowPlan(found.plan, "tuple")
    parts = list(found.batches(how, size))
    assert [row[0] for part in parts for row in part] == list(range(100))
    assert all(len(part) == size for part in parts[:-1])
    # two iterations at once do not disturb each other
    twice = list(zip(found.batches(how, 7), found.batches(how, 7), strict=True))
    assert all(left == right for left, right in twice)


def test_batches_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="must be positive"):
        page().batches(RowPlan(page().plan, "tuple"), 0)


ATOMIC: list[tuple[Codec, Any]] = [
    (INT, 70000),
    (TEXT, "text"),
    (BIGINT, 2**40),
    (DOUBLE, 1.5),
    (BOOLEAN, True),
    (BLOB, b"xy"),
    (UUID, uuid.UUID(int=5)),
    (TIMESTAMP, datetime.datetime(2024, 1, 1)),
    (DECIMAL, Decimal("1.5")),
    (VARINT, 2**80),
    (INET, "10.0.0.1"),
    (DATE, Date(5)),
    (TIME, Time(5)),
    (DURATION, Duration(1, 2, 3)),
    (tuple_codec((INT, TEXT)), (1, "x")),
]


@pytest.mark.parametrize("kind", ["tuple", "named"])
def test_rows_of_atomic_values_do_not_burden_the_collector(kind: str) -> None:
    columns = [(f"c{i}", one) for i, (one, _) in enumerate(ATOMIC)]
    found = page_of(columns, [[value for _, value in ATOMIC]])
    cls = namedtuple("cls", [name for name, _ in columns]) if kind == "named" else None
    (row,) = found.decode(RowPlan(found.plan, kind, cls))
    assert tuple(row) == tuple(value for _, value in ATOMIC)
    assert not gc.is_tracked(row)


@pytest.mark.parametrize("kind", ["tuple", "named"])
def test_rows_that_could_be_part_of_a_cycle_are_tracked(kind: str) -> None:
    found = page_of([("a", list_codec(INT))], [([1],)])
    (row,) = found.decode(RowPlan(found.plan, kind, namedtuple("cls", "a") if kind == "named" else None))
    assert gc.is_tracked(row)
    row[0].append(row)
    del row
    assert gc.collect() > 0


def test_decoding_survives_collections_in_its_middle() -> None:
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        columns = [("a", INT), ("b", list_codec(TEXT)), ("c", tuple_codec((INT, list_codec(INT))))]
        values = [(i, ["x", "y"], (i, [i])) for i in range(300)]
        found = page_of(columns, values)
        cls = namedtuple("cls", "a b c")
        for how in (RowPlan(found.plan, "tuple"), RowPlan(found.plan, "named", cls), RowPlan(found.plan, "dict")):
            assert len(found.decode(how)) == 300
    finally:
        gc.set_threshold(*threshold)


def test_no_references_leak() -> None:
    columns = [("a", INT), ("b", TEXT), ("c", list_codec(UUID))]
    found = page_of(columns, [(1000 + i, f"text {i}", [uuid.uuid4()]) for i in range(50)])
    cls = namedtuple("cls", "a b c")
    plans = [
        RowPlan(found.plan, kind, cls if kind == "named" else None) for kind in ("tuple", "named", "dict", "ordered")
    ]

    def work() -> None:
        for how in plans:
            for part in found.batches(how, 7):
                assert part

    work()
    gc.collect()
    marker, cls_count, none_count = len(gc.get_objects()), sys.getrefcount(cls), sys.getrefcount(None)
    for _ in range(20):
        work()
    gc.collect()
    assert abs(len(gc.get_objects()) - marker) < 50
    assert sys.getrefcount(cls) == cls_count
    assert abs(sys.getrefcount(None) - none_count) < 1000


def broken_page(data: bytes, count: int) -> RowsPage:
    found = decode(int_(2) + metadata(COLUMNS) + int_(count) + data).page
    assert found is not None
    return found


GOOD = bytes_(b"\0\0\0\1") + bytes_(b"x")


@pytest.mark.parametrize("kind", ["tuple", "named", "dict", "ordered"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (GOOD + bytes_(b"\0") + bytes_(b"x"), "column 'a' of ks.t as int in row 1 of the page: int needs 4 bytes"),
        (GOOD + bytes_(None) + bytes_(b"\xff"), "column 'b' of ks.t as text in row 1 .*invalid start byte"),
        (GOOD + bytes_(None) + int_(5) + b"abcd", "'b' .* row 1 .*a value of 5 bytes where the response has 4 left"),
        (GOOD + int_(2**31 - 1) + b"abcdefgh", "'a' .* row 1 .*2147483647 bytes where the response has 8 left"),
        (GOOD + bytes_(b"\0\0\0\1xxxx"), "'a' .* row 1 .*int needs 4 bytes, the value has 8"),
        (GOOD + bytes_(b"\0\0\0\1") + b"\0", "'b' .* row 1 .*the response ends before the length"),
    ],
)
def test_a_broken_cell_is_named(kind: str, data: bytes, message: str) -> None:
    found = broken_page(data, 2)
    how = RowPlan(found.plan, kind, Row if kind == "named" else None)
    with pytest.raises(DriverException, match=message) as caught:
        found.decode(how)
    assert isinstance(caught.value.__cause__, ValueError)
    assert len(found.decode(how, 0, 1)) == 1, "the rows before it can still be had"
    with pytest.raises(DriverException, match="row 1 of the page"):
        found.decode(how, 1)


def test_skipping_over_a_broken_length_is_an_error_too() -> None:
    found = broken_page(GOOD + int_(1000) + b"x" * 8 + b"y" * 8, 3)
    with pytest.raises(DriverException, match=r"column 'a' of ks.t as int in row 1 .*1000 bytes where"):
        found.decode(RowPlan(found.plan, "tuple"), 2)


def test_a_page_keeps_its_bytes_alive() -> None:
    body = bytearray(rows_body(COLUMNS, encoded(COLUMNS, VALUES)))
    found = decode(body).page  # type: ignore[arg-type]
    assert found is not None
    with pytest.raises(BufferError):
        body.append(0)
    assert found.decode(RowPlan(found.plan, "tuple")) == VALUES
    del found
    gc.collect()
    body.append(0)


def test_an_empty_page_holds_nothing() -> None:
    body = bytearray(rows_body(COLUMNS, []))
    found = decode(body).page  # type: ignore[arg-type]
    body.append(0)
    assert found is not None and len(found) == 0


def test_pages_are_not_made_by_hand() -> None:
    with pytest.raises(TypeError, match="decode_result"):
        RowsPage()


def test_many_columns() -> None:
    columns = [(f"column_{i}", INT) for i in range(500)]
    found = page_of(columns, [list(range(500))] * 3)
    assert found.decode(RowPlan(found.plan, "tuple")) == [tuple(range(500))] * 3
    assert found.decode(RowPlan(found.plan, "dict"))[2]["column_499"] == 499


def test_result_plans() -> None:
    plan = ResultPlan([("ks", "t", "a", INT), ("ks", "t", "b", list_codec(TEXT))])
    assert (plan.names, plan.keyspace, plan.table, len(plan), plan.extra) == (("a", "b"), "ks", "t", 2, None)
    assert plan.codecs[0] is INT and plan.specs[0] == ("ks", "t", "a", INT)
    assert repr(plan) == "<ResultPlan a int, b list<text>>"
    plan.extra = marker = object()
    assert plan.extra is marker
    empty = ResultPlan([])
    assert (empty.keyspace, empty.table, len(empty)) == (None, None, 0)
    with pytest.raises(TypeError, match="expected a Codec"):
        ResultPlan([("ks", "t", "a", "int")])  # type: ignore[list-item]
    assert codec.Result().parsed_rows is None


def test_row_plans_by_factory() -> None:
    def one() -> None: ...

    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    plan = ResultPlan([("ks", "t", "a", INT)])
    assert plan.row_plan(one) is plan.row_plan(None) is None
    tuples, dicts = RowPlan(plan, "tuple"), RowPlan(plan, "dict")
    assert plan.note_row_plan(one, tuples) is tuples and plan.note_row_plan(None, dicts) is dicts
    assert plan.row_plan(one) is tuples and plan.row_plan(None) is dicts
    assert plan.note_row_plan(one, RowPlan(plan, "dict")) is tuples, "the first plan stays"
    assert plan.row_plan(Equal()) is None, "the very same factory, not an equal one"
    with pytest.raises(ValueError, match="another result"):
        plan.note_row_plan("more", RowPlan(ResultPlan([("ks", "t", "a", INT)]), "tuple"))


def test_rows_made_by_the_plan_of_a_factory() -> None:
    found = page()
    assert found.made_by("factory") is None, "nothing noted yet"
    found.plan.note_row_plan("factory", RowPlan(found.plan, "dict"))
    assert found.made_by("factory") == [{"a": 1, "b": "one"}, {"a": 2, "b": None}, {"a": None, "b": "three"}]
    large = page_of([("a", BLOB)], [(b"x" * codec.LARGE_PAGE,)])
    large.plan.note_row_plan(None, RowPlan(large.plan, "tuple"))
    assert large.made_by(None) is None


def test_a_row_class_has_a_field_for_every_column() -> None:
    for fields in ("a", "a b c"):
        with pytest.raises(ValueError, match=f"has {len(fields.split())} fields, the result has 2 columns"):
            RowPlan(page().plan, "named", namedtuple("Other", fields))


def test_batches_give_the_rows_before_a_broken_one() -> None:
    found = broken_page(GOOD * 5 + bytes_(b"\0") + bytes_(b"x"), 6)
    for kind in ("tuple", "dict", "ordered"):
        batches = found.batches(RowPlan(found.plan, kind), 4)
        assert [len(next(batches)), len(next(batches))] == [4, 1]
        with pytest.raises(DriverException, match="row 5 of the page") as caught:
            next(batches)
        assert isinstance(caught.value.__cause__, ValueError)
        assert list(batches) == []


def test_a_broken_first_row_fails_at_once() -> None:
    batches = (found := broken_page(bytes_(b"\0") + bytes_(b"x"), 1)).batches(RowPlan(found.plan, "tuple"))
    with pytest.raises(DriverException, match="row 0 of the page"):
        next(batches)
    assert list(batches) == []


def test_batches_are_not_made_by_hand() -> None:
    with pytest.raises(TypeError, match="to make batches"):
        codec.RowBatches()
    with pytest.raises(ValueError, match="another result"):
        page().batches(RowPlan(ResultPlan([("ks", "t", "a", INT)]), "tuple"))


def test_a_page_lives_on_without_the_message_it_came_in() -> None:
    body = bytearray(rows_body(COLUMNS, encoded(COLUMNS, VALUES)))
    found = decode(memoryview(bytes(body))).page  # type: ignore[arg-type]
    assert found is not None
    gc.collect()
    assert found.decode(RowPlan(found.plan, "tuple")) == VALUES
    batches = (held := decode(body).page).batches(RowPlan(held.plan, "tuple"), 1)  # type: ignore[union-attr, arg-type]
    assert next(batches) == VALUES[:1]
    del held, found
    with pytest.raises(BufferError):
        body.append(0)
    assert list(batches) == [[row] for row in VALUES[1:]]
    del batches
    gc.collect()
    body.append(0)


def test_a_detached_page_has_the_same_rows_and_lets_go_of_its_frame() -> None:
    body = bytearray(rows_body(COLUMNS, encoded(COLUMNS, VALUES)))
    found = decode(body).page  # type: ignore[arg-type]
    assert found is not None
    kept = found.detached()
    assert len(kept) == len(found) and kept.nbytes == found.nbytes and kept.plan is found.plan
    del found
    gc.collect()
    body.clear()  # no buffer is exported from it
    plan = RowPlan(kept.plan, "tuple")
    assert kept.decode(plan) == VALUES and kept.decode(plan, 1, 2) == VALUES[1:2] and kept.decode(plan, 2) == VALUES[2:]
    del plan


def test_a_detached_page_without_rows() -> None:
    kept = page_of(COLUMNS, []).detached()
    assert not len(kept) and kept.decode(RowPlan(kept.plan, "dict")) == []
