"""Results as columns, over scripted pages: when and by which consumer pages are read, and which rows are gone then."""

from __future__ import annotations

import asyncio
import gc
import struct
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cassandra import DriverException
from cassandra._core.columns import debug_counters
from cassandra._core.memory import MemoryPool
from cassandra.cluster import ResultSet
from cassandra.columns import ArrowBatches, ArrowStream, SchemaChanged
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.query import dict_factory, tuple_factory
from tests.packages import duckdb, require
from tests.packages import polars as pl
from tests.patience import eventually
from tests.unit.frames import pandas_frames
from tests.unit.session.harness import RESULT, Answer, Lab, rows, string, value, void

QUERY = "SELECT n FROM tbl"
BIGINT, VARCHAR = 2, 13


@pytest.fixture(autouse=True)
def _nothing_native_is_left() -> Iterator[None]:
    gc.collect()
    before = debug_counters()
    yield

    def is_all_gone() -> bool:  # sessions that are collected are shut down by a command, and collected after that
        gc.collect()
        return debug_counters() == before

    eventually(is_all_gone)


def lab_with(*pages: Any, **profile: Any) -> Lab:
    lab = Lab(**profile)
    lab.session.cluster.memory_pool = MemoryPool(1 << 24)
    lab[0].script = list(pages)
    return lab


def result(*pages: Any, **profile: Any) -> ResultSet:
    return lab_with(*pages, **profile).session.execute(QUERY)


def typed(kind: int, *cells: bytes | None, more: bytes | None = None, names: tuple[str, ...] = ("n",)) -> Answer:
    """Rows of columns of one type."""
    metadata = struct.pack(">ii", 1 | (2 if more is not None else 0), len(names)) + (
        value(more) if more is not None else b""
    )
    metadata += string("ks") + string("tbl") + b"".join(string(name) + struct.pack(">H", kind) for name in names)
    body = struct.pack(">i", len(cells) // len(names)) + b"".join(map(value, cells))
    return Answer(RESULT, struct.pack(">i", 2) + metadata + body)


def numbers(batches: Any) -> list[list[Any]]:
    return [pa.record_batch(batch).column(0).to_pylist() for batch in batches]


class TestConsumers:
    """They take a result as it is."""

    def test_pyarrow(self) -> None:
        assert pa.table(result(rows(1, 2, more=b"1"), rows(3))).to_pydict() == {"n": [1, 2, 3]}
        assert result(rows(1, 2)).to_arrow().to_pydict() == {"n": [1, 2]}

    def test_polars(self) -> None:
        assert pl.DataFrame(result(rows(1, 2, more=b"1"), rows(3))).to_dict(as_series=False) == {"n": [1, 2, 3]}
        assert result(rows(1, 2)).to_polars()["n"].to_list() == [1, 2]

    def test_pandas(self) -> None:
        assert result(rows(1, 2, more=b"1"), rows(3)).to_pandas()["n"].tolist() == [1, 2, 3]
        assert all(frame["n"].tolist() == [4] for frame in pandas_frames(lambda: result(rows(4))))

    def test_duckdb(self) -> None:
        connection = duckdb.connect()
        connection.register("found", result(rows(1, 2, more=b"1"), rows(3)))
        assert connection.sql("SELECT sum(n) FROM found").fetchall() == [(6,)]

    def test_numpy(self) -> None:
        found = result(
            typed(BIGINT, struct.pack(">q", 1), None, more=b"1"), typed(BIGINT, struct.pack(">q", 3))
        ).to_numpy()
        assert found["n"].dtype == np.int64 and found["n"].tolist() == [1, None, 3]
        texts = result(typed(VARCHAR, b"a", None)).to_numpy()["n"]
        assert texts.dtype == object and texts.tolist() == ["a", None]

    def test_schema_without_reading(self) -> None:
        found = result(rows(1))
        assert pa.schema(found).field("n").type == pa.int32()
        assert list(found) == [(1,)]

    @pytest.mark.parametrize(
        ("library", "call"), [("pyarrow", "to_arrow"), ("pandas", "to_pandas"), ("polars", "to_polars")]
    )
    def test_a_library_that_is_missing(self, library: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"this needs {library}: pip install fastcql\["):
            getattr(result(rows(1)), call)()


class TestRowsOrColumns:
    def test_one_page_is_both(self) -> None:
        found = result(rows(1, 2))
        assert pa.table(found).num_rows == 2
        assert pa.table(found).num_rows == 2
        assert list(found) == [(1,), (2,)]
        assert pa.table(found).num_rows == 2

    def test_rows_first(self) -> None:
        found = result(rows(1, 2, more=b"1"), rows(3))
        assert found.current_rows == [(1,), (2,)]
        assert next(found) == (1,)
        assert pa.table(found).num_rows == 3, "the stream begins where the page does"

    def test_rows_of_later_pages_are_the_end_of_columns(self) -> None:
        found = result(rows(1, more=b"1"), rows(2))
        assert len(list(found)) == 2
        with pytest.raises(RuntimeError, match="its first page is gone"):
            found.arrow()
        with pytest.raises(RuntimeError, match="its first page is gone"):
            found.to_numpy()

    def test_columns_of_later_pages_are_read_once(self) -> None:
        found = result(rows(1, more=b"1"), rows(2))
        assert pa.table(found).num_rows == 2
        with pytest.raises(RuntimeError, match="its first page is gone"):
            pa.table(found)

    @pytest.mark.parametrize(
        "factory", [tuple_factory, dict_factory, lambda names, found: [list(row) for row in found]]
    )
    def test_columns_with_any_row_factory(self, factory: Any) -> None:
        found = result(rows(1, 2), row_factory=factory)
        assert pa.table(found).to_pydict() == {"n": [1, 2]}
        assert len(list(found)) == 2

    @pytest.mark.parametrize("count", [0, 1, 500, 5000, 120_000])
    def test_pages_of_any_size(self, count: int) -> None:
        """Those of small ones are made at once, of others when they are asked for."""
        lab = lab_with(rows(*range(count)), rows(*range(count)))
        for _ in range(2):
            found = lab.session.execute(QUERY)
            assert pa.table(found).column("n").to_pylist() == list(range(count))
            assert [row.n for row in found] == list(range(count))
            assert pa.table(found).num_rows == count

    def test_a_prepared_statement(self) -> None:
        from tests.unit.session.harness import prepared, rows_without_metadata

        lab = lab_with(prepared())
        statement = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
        lab[0].script = [rows_without_metadata(*range(3)), rows_without_metadata(*range(3000))]
        assert pa.table(lab.session.execute(statement, (1,))).num_rows == 3
        found = lab.session.execute(statement, (1,))
        assert pa.table(found).column("n").to_pylist() == list(range(3000))
        assert len(found.all()) == 3000

    def test_rows_and_columns_in_turn(self) -> None:
        """Of answers to prepared statements that come one by one, from many at a time, and to a task."""
        from tests.unit.session.harness import prepared, rows_without_metadata

        lab = lab_with(prepared())
        statement = lab.session.prepare("SELECT n FROM tbl WHERE k = ?")
        lab[0].script = [rows_without_metadata(*range(3)) for _ in range(5)]

        async def awaited() -> ResultSet:
            found: ResultSet = await lab.session.execute_async(statement, (1,))
            return found

        many = execute_concurrent_with_args(lab.session, statement, [(1,), (2,)])
        one_by_one = [
            lab.session.execute(statement, (1,)),
            lab.session.execute(statement, (1,), row_factory=dict_factory),
        ]
        for found in [*one_by_one, *(done.result_or_exc for done in many), asyncio.run(awaited())]:
            row = found.one()
            assert row == {"n": 0} if type(row) is dict else row == (0,)
            for _ in range(2):
                assert pa.table(found).to_pydict() == {"n": [0, 1, 2]}
            assert len(list(found)) == 3 and found.to_numpy()["n"].tolist() == [0, 1, 2]

    def test_rows_that_were_changed_are_other_columns(self) -> None:
        found = result(rows(1, 2), row_factory=dict_factory)
        found.one()["n"] = 7
        assert pa.table(found).to_pydict() == {"n": [7, 2]}
        del found.one()["n"]
        with pytest.raises(RuntimeError, match="its rows were changed"):
            pa.table(found)

    def test_callbacks_get_rows_that_no_caller_asked_for_yet(self) -> None:
        lab = lab_with(rows(*range(3000)), rows(*range(3000)))
        told: list[Any] = []
        future = lab.session.execute_async(QUERY)
        assert len(future.result().current_rows) == 3000
        future.add_callback(told.append)
        again = lab.session.execute_async(QUERY)
        again.add_callback(told.append)
        assert [type(found) for found in told] == [list, list] and {len(found) for found in told} == {3000}
        assert again.result().current_rows is told[1]

    def test_a_row_that_cannot_be_decoded_raises_whenever_it_is_asked_for(self) -> None:
        found = result(typed(VARCHAR, b"good", *[b"x" * 100] * 60, b"\xff"))
        for _ in range(2):
            with pytest.raises(DriverException, match="in row 61 of the page"):
                list(found)
            with pytest.raises(DriverException, match="in row 61 of the page: the text is not UTF-8"):
                list(found.arrow())

    def test_results_without_columns_raise(self) -> None:
        with pytest.raises(TypeError, match="cannot be read as columns: it has no rows"):
            result(void()).arrow()
        found = result(rows(1))
        found._kept = None  # as of a handler that decodes rows itself
        with pytest.raises(TypeError, match="a protocol handler has made its rows"):
            found.arrow()

    def test_no_rows(self) -> None:
        table = pa.table(result(rows()))
        assert table.num_rows == 0 and table.schema.names == ["n"]


class TestStream:
    def test_pages_are_coalesced(self) -> None:
        def pages() -> list[Answer]:
            return [rows(*range(i * 10, i * 10 + 10), more=b"%d" % i if i < 6 else None) for i in range(7)]

        assert [len(batch) for batch in result(*pages()).arrow()] == [70]
        assert [len(batch) for batch in result(*pages()).arrow(target_rows=30)] == [30, 30, 10]
        assert [len(batch) for batch in result(*pages()).arrow(target_rows=25)] == [30, 30, 10]
        assert [len(batch) for batch in result(*pages()).arrow(target_rows=1)] == [10] * 7
        assert [n for batch in numbers(result(*pages()).arrow(target_rows=35)) for n in batch] == list(range(70))

    def test_pages_in_the_middle_may_be_empty(self) -> None:
        found = result(rows(more=b"1"), rows(1, more=b"2"), rows(more=b"3"), rows())
        assert numbers(found.arrow()) == [[1]]

    def test_the_next_page_travels_while_one_is_decoded(self) -> None:
        lab = lab_with(rows(1, more=b"1"), rows(2, more=b"2"), rows(3))
        stream = lab.session.execute(QUERY).arrow(target_rows=1)
        assert len(lab[0].sent) == 1
        assert numbers([next(stream)]) == [[1]]
        assert len(lab[0].sent) == 2
        assert numbers([next(stream)]) == [[2]]
        assert len(lab[0].sent) == 3
        assert numbers(stream) == [[3]]

    def test_read_all(self) -> None:
        found = result(rows(1, 2, more=b"1"), rows(3)).arrow(target_rows=1)
        batches = found.read_all()
        assert isinstance(found, ArrowStream) and isinstance(batches, ArrowBatches)
        assert (len(batches), batches.num_rows) == (2, 3)
        assert repr(batches) == "<ArrowBatches: 3 rows in 2 batches>"
        for _ in range(2):
            assert pa.table(batches).to_pydict() == {"n": [1, 2, 3]}
        assert pa.schema(batches) == pa.schema(found) == pa.table(batches).schema
        assert list(found) == []

    def test_options(self) -> None:
        found = result(typed(VARCHAR, b"a", b"b", b"a"))
        assert pa.schema(found.arrow(strings="dictionary")).field("n").type == pa.dictionary(pa.int32(), pa.string())
        assert found.to_arrow(strings="view").column("n").to_pylist() == ["a", "b", "a"]
        assert pa.schema(found.arrow(decimals=[10, 2])).names == ["n"]  # type: ignore[arg-type]
        for options in ({"target_rows": 0}, {"on_schema_change": "ignore"}, {"strings": "x"}, {"decimals": 3}):
            with pytest.raises(ValueError, match=next(iter(options))):
                found.arrow(**options)  # type: ignore[arg-type]

    def test_a_page_that_fails_is_asked_for_again(self) -> None:
        from tests.unit.session.harness import Lost

        lab = lab_with(rows(1, more=b"1"), Lost())
        stream = lab.session.execute(QUERY).arrow(target_rows=1)
        assert numbers([next(stream)]) == [[1]]
        with pytest.raises(Exception, match="connection reset"):
            next(stream)
        lab[0].script = [rows(2)]
        assert numbers(stream) == [[2]]

    def test_a_broken_page_ends_it_after_those_before(self) -> None:
        broken = typed(9, *[b"\x00\x00\x00\x02"] * 1000, b"\x01")
        stream = result(rows(1, more=b"1"), broken).arrow()
        assert numbers([next(stream)]) == [[1]]
        for _ in range(2):
            with pytest.raises(
                DriverException, match=r"column 'n' of ks.tbl as int in row 1000 of the page: int needs 4 bytes"
            ):
                next(stream)

    def test_errors_reach_consumers(self) -> None:
        with pytest.raises(OSError, match="Failed to decode column 'n'"):
            pa.table(result(rows(1, more=b"1"), typed(9, b"\x01")))


class TestSchemaChange:
    def pages(self) -> tuple[Answer, Answer]:
        return typed(BIGINT, struct.pack(">q", 1), more=b"here"), typed(9, struct.pack(">i", 2))

    def test_is_an_error_after_the_rows_before(self) -> None:
        stream = result(*self.pages()).arrow()
        assert numbers([next(stream)]) == [[1]]
        with pytest.raises(
            SchemaChanged, match=r"changed between two pages: they were .*bigint.* and are .*int"
        ) as caught:
            next(stream)
        assert caught.value.paging_state == b"here"

    def test_casts_values_that_fit(self) -> None:
        assert numbers(result(*self.pages()).arrow(on_schema_change="cast")) == [[1, 2]]

    def test_does_not_cast_values_that_do_not_fit(self) -> None:
        wide = typed(BIGINT, struct.pack(">q", 2**40))
        stream = result(rows(1, more=b"p"), wide).arrow(on_schema_change="cast")
        assert numbers([next(stream)]) == [[1]]
        with pytest.raises(SchemaChanged):
            next(stream)

    def test_columns_that_came_and_went(self) -> None:
        one, two = struct.pack(">i", 1), struct.pack(">i", 2)
        first = typed(9, one, two, names=("a", "b"), more=b"p")
        second = typed(9, two, one, names=("b", "c"))
        table = result(first, second).to_arrow(on_schema_change="cast")
        assert table.to_pydict() == {"a": [1, None], "b": [2, 2]}

    def test_the_same_columns_of_another_plan_go_on(self) -> None:
        table = pa.table(result(typed(VARCHAR, b"a", more=b"p"), typed(0x0A, b"b")))
        assert table.to_pydict() == {"n": ["a", "b"]}


class TestAsync:
    def run(self, *pages: Answer, **options: Any) -> Any:
        lab = lab_with(*pages)

        async def main() -> Any:
            found = await lab.session.execute_async(QUERY)
            return await options["use"](found)

        return asyncio.run(main())

    def test_iteration(self) -> None:
        async def use(found: ResultSet) -> list[list[Any]]:
            return numbers([batch async for batch in found.arrow(target_rows=1)])

        assert self.run(rows(1, 2, more=b"1"), rows(3), use=use) == [[1, 2], [3]]

    def test_frames(self) -> None:
        async def use(found: ResultSet) -> Any:
            return await found.to_arrow_async()

        assert self.run(rows(1, more=b"1"), rows(2), use=use).to_pydict() == {"n": [1, 2]}
        assert self.run(rows(1, more=b"1"), rows(2), use=lambda found: found.to_pandas_async())["n"].tolist() == [1, 2]
        assert self.run(rows(1, more=b"1"), rows(2), use=lambda found: found.to_numpy_async())["n"].tolist() == [1, 2]
        require("polars")
        assert self.run(rows(1, more=b"1"), rows(2), use=lambda found: found.to_polars_async())["n"].to_list() == [1, 2]

    def test_read_all(self) -> None:
        assert len(self.run(rows(1, more=b"1"), rows(2), use=lambda found: found.arrow(1).read_all_async())) == 2
