"""ResultSet over scripted pages."""

from __future__ import annotations

import asyncio
import gc
import struct
from typing import Any

import pytest

from cassandra import DriverException, UnsupportedOperation
from cassandra._core.transport import RowsOfPages
from cassandra._wire.rows import PageRows
from cassandra.cluster import ResultSet
from cassandra.query import BatchStatement, SimpleStatement, dict_factory, ordered_dict_factory, tuple_factory
from tests.unit.session.harness import Answer, Lab, rows, void

QUERY = "SELECT n FROM tbl"


def result(*pages: Any, query: Any = QUERY, **profile: Any) -> ResultSet:
    lab = Lab(**profile)
    lab[0].script = list(pages)
    return lab.session.execute(query)


class TestIteration:
    def test_one_page(self) -> None:
        assert [row.n for row in result(rows(1, 2))] == [1, 2]

    def test_pages_with_empty_ones(self) -> None:
        made = result(rows(more=b"1"), rows(1, more=b"2"), rows(more=b"3"), rows(more=b"4"), rows(2), query=QUERY)
        assert [row.n for row in made] == [1, 2]
        assert not made.has_more_pages

    def test_next(self) -> None:
        made = result(rows(1, more=b"1"), rows(2))
        assert (made.next(), next(made)) == ((1,), (2,))
        with pytest.raises(StopIteration):
            next(made)
        with pytest.raises(StopIteration):
            next(made)

    def test_only_once(self) -> None:
        made = result(rows(1, 2))
        assert len(list(made)) == 2
        assert list(made) == []

    def test_a_page_may_be_read_again_before_its_end(self) -> None:
        made = result(rows(1, 2))
        next(iter(made))
        assert [row.n for row in made] == [1, 2]

    def test_all(self) -> None:
        made = result(rows(1, more=b"1"), rows(2))
        assert made.all() == [(1,), (2,)]

    def test_all_of_a_write(self) -> None:
        assert result(void()).all() == []


class TestOne:
    def test_first(self) -> None:
        made = result(rows(5, 6))
        assert made.one() == made.one() == (5,)
        assert len(list(made)) == 2

    def test_none(self) -> None:
        assert result(rows()).one() is None
        assert result(void()).one() is None

    def test_of_a_generator(self) -> None:
        assert result(rows(1, 2), row_factory=lambda names, got: (row for row in got)).one() == (1,)

    def test_of_a_mapping(self) -> None:
        assert result(rows(1), row_factory=lambda names, got: {"whole": got}).one() == {"whole": [(1,)]}

    def test_of_a_scalar(self) -> None:
        assert result(rows(1, 2), row_factory=lambda names, got: len(got)).one() == 2


class TestPages:
    def test_current_rows(self) -> None:
        made = result(rows(1, 2, more=b"x"), rows(3))
        assert made.current_rows == [(1,), (2,)]
        assert made.has_more_pages and made.paging_state == b"x"
        made.fetch_next_page()
        assert made.current_rows == [(3,)]
        assert not made.has_more_pages and made.paging_state is None
        made.fetch_next_page()
        assert made.current_rows == []

    def test_names_and_types(self) -> None:
        made = result(rows(1))
        assert made.column_names == ["n"]
        assert [typ.typename for typ in made.column_types or ()] == ["int"]
        write = result(void())
        assert write.column_names is None and write.column_types is None


class TestList:
    def test_index(self) -> None:
        made = result(rows(1, 2, more=b"x"), rows(3))
        assert made[2] == (3,)
        assert made[0] == (1,)
        assert made[-1] == (3,)
        assert made[1:] == [(2,), (3,)]
        assert list(made) == list(made) == [(1,), (2,), (3,)]

    def test_first_of_one_page(self) -> None:
        """As in scylla-driver, an indexed result can be iterated repeatedly."""
        made = result(rows(1, 2))
        page = made.current_rows
        assert made[0] == (1,)
        assert list(made) == list(made) == [(1,), (2,)]
        assert made.current_rows is page

    def test_equality(self) -> None:
        assert result(rows(1)) == [(1,)]
        assert result(rows(1)) != [(2,)]
        assert result(void()) == []

    def test_index_of_nothing(self) -> None:
        with pytest.raises(IndexError):
            result(rows())[0]
        with pytest.raises(IndexError):
            result(void())[0]

    def test_after_iteration(self) -> None:
        made = result(rows(1, 2))
        next(made)
        with pytest.raises(RuntimeError, match="iterated"):
            made[1]
        with pytest.raises(RuntimeError, match="iterated"):
            _ = made == []

    def test_unhashable(self) -> None:
        with pytest.raises(TypeError):
            hash(result(rows(1)))

    def test_truth(self) -> None:
        assert result(rows(1))
        assert not result(rows())
        assert not result(void())


class TestWasApplied:
    @pytest.mark.parametrize("factory", [tuple_factory, None, dict_factory])
    def test_first_column(self, factory: Any) -> None:
        profile = {} if factory is None else {"row_factory": factory}
        for value in (0, 1):
            assert result(rows(value, column="[applied]"), **profile).was_applied is bool(value)

    def test_other_factories(self) -> None:
        with pytest.raises(RuntimeError, match="row factory"):
            _ = result(rows(1, column="[applied]"), row_factory=ordered_dict_factory).was_applied

    def test_not_one_row(self) -> None:
        for page in (rows(), rows(1, 1)):
            with pytest.raises(RuntimeError, match="exactly one row"):
                _ = result(page).was_applied

    def test_batches_may_have_more_rows(self) -> None:
        batch = BatchStatement().add("x")
        assert result(rows(1, 1, column="[applied]"), query=batch).was_applied is True
        text = SimpleStatement("  begin unlogged Batch x; apply batch")
        assert result(rows(0, 0, column="[applied]"), query=text).was_applied is False

    def test_a_batch_without_conditions(self) -> None:
        with pytest.raises(RuntimeError, match="No LWT"):
            _ = result(void(), query=BatchStatement().add("x")).was_applied


def test_continuous_paging_is_for_dse() -> None:
    with pytest.raises(UnsupportedOperation):
        result(rows(1)).cancel_continuous_paging()


def test_applications_may_subclass() -> None:
    class Mine(ResultSet):
        def first_number(self) -> int:
            return int(self.one().n)

    lab = Lab()
    lab[0].script = [rows(9)]
    future = lab.session.execute_async(QUERY)
    assert Mine(future, future._wait_for_result()).first_number() == 9


def test_public_path() -> None:
    assert ResultSet.__module__ == "cassandra.cluster"


COUNT = 140_000  # of 8 bytes each: more than a page that is decoded at once


def large(first: int, more: bytes | None = None, broken_at: int | None = None) -> Answer:
    """Rows *first* … *first* + COUNT - 1; the value of one of them may be no int."""
    cells = bytearray(b"".join(struct.pack(">ii", 4, n) for n in range(first, first + COUNT)))
    if broken_at is not None:
        at = (broken_at - first) * 8
        cells[at : at + 8] = struct.pack(">i", 3) + b"abc"
    head = rows(more=more).body[:-4]
    return Answer(8, head + struct.pack(">i", COUNT) + bytes(cells))


class TestLargePages:
    """Their rows are decoded as they are consumed; everything else is as ever."""

    def result(self) -> ResultSet:
        return result(large(0, more=b"2"), large(COUNT, more=b"3"), rows(2 * COUNT), row_factory=tuple_factory)

    def test_are_not_decoded_at_once(self) -> None:
        made = self.result()
        assert isinstance(made.current_rows, PageRows)
        assert made and made.one() == made.current_rows[0] == (0,)
        assert len(made.current_rows) == COUNT

    def test_iteration(self) -> None:
        made = self.result()
        assert all(row == (number,) for number, row in enumerate(made))
        assert (made.current_rows, made.has_more_pages, list(made)) == ([], False, [])

    def test_next_and_an_iterator_share_the_page(self) -> None:
        made = self.result()
        iterator = iter(made)
        assert [next(iterator), next(made), next(iterator)] == [(0,), (1,), (2,)]

    def test_all(self) -> None:
        assert self.result().all() == [(number,) for number in range(2 * COUNT + 1)]

    def test_indexes(self) -> None:
        made = self.result()
        assert (made[COUNT], made[-1], made[0]) == ((COUNT,), (2 * COUNT,), (0,))
        assert len(list(made)) == len(list(made)) == 2 * COUNT + 1

    def test_async(self) -> None:
        made = self.result()

        async def main() -> int:
            count = 0
            async for row in made:
                assert row == (count,)
                count += 1
            return count

        assert asyncio.run(main()) == 2 * COUNT + 1

    @pytest.mark.parametrize("how", ["iter", "next"])
    def test_a_row_that_cannot_be_decoded(self, how: str) -> None:
        """Is an error each time; the rows after it are not taken for the whole result."""
        made = result(large(0, more=b"2", broken_at=70_000), rows(COUNT), row_factory=tuple_factory)
        iterator: Any = iter(made) if how == "iter" else made
        for number in range(70_000):
            assert next(iterator) == (number,)
        for _ in range(2):
            with pytest.raises(DriverException, match="row 70000"):
                next(iterator)
        made.fetch_next_page()
        assert made.current_rows == [(COUNT,)]

    def test_their_bytes_go_with_them(self) -> None:
        """While a page is read, none of those before it is there."""

        def pages() -> int:
            return sum(type(found) is PageRows for found in gc.get_objects())

        gc.collect()
        before = pages()
        made = result(*(large(0, more=b"%d" % n) for n in range(3)), rows(1), row_factory=tuple_factory)
        alive = [pages() - before for position, _ in enumerate(made) if position % COUNT == 1]
        assert alive == [1, 1, 1]


class TestSubclasses:
    def test_new_attributes(self) -> None:
        class Mine(ResultSet):
            def __init__(self, future: Any, page: Any) -> None:
                super().__init__(future, page)
                self.seen = 0

        lab = Lab()
        lab[0].script = [rows(1, more=b"x"), rows(2)]
        future = lab.session.execute_async(QUERY)
        made = Mine(future, future._wait_for_result())
        made.seen += sum(1 for _ in made)
        assert made.seen == 2

    def test_own_rows(self) -> None:
        """An overridden ``next`` is called for every row, however rows are read."""

        class Doubled(ResultSet):
            def next(self) -> Any:
                return 2 * super().next().n

            __next__ = next

        def made() -> Doubled:
            lab = Lab()
            lab[0].script = [rows(1, more=b"x"), rows(2)]
            future = lab.session.execute_async(QUERY)
            return Doubled(future, future._wait_for_result())

        assert list(made()) == made().all() == [2, 4]
        assert made()[1] == 4
        assert made() == [2, 4]

    def test_own_pages(self) -> None:
        class Counting(ResultSet):
            fetched = 0

            def fetch_next_page(self) -> None:
                self.fetched += 1
                super().fetch_next_page()

        lab = Lab()
        lab[0].script = [rows(1, more=b"x"), rows(2, more=b"y"), rows(3)]
        future = lab.session.execute_async(QUERY)
        made = Counting(future, future._wait_for_result())
        assert len(list(made)) == 3
        assert made.fetched == 2


def test_pages_make_one_result(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    lab[0].script = [rows(1, more=b"x"), rows(2, more=b"y"), rows(3)]
    made = lab.session.execute(QUERY)

    def another(*args: Any) -> Any:
        raise AssertionError("one is enough")

    monkeypatch.setattr(ResultSet, "_of", another)
    monkeypatch.setattr(ResultSet, "__init__", another)
    assert [row.n for row in made] == [1, 2, 3]


class TestSharedPosition:
    def test_a_page_that_is_fetched_by_hand(self) -> None:
        """An iterator first ends the page it is in, then goes on with the one that is there."""
        made = result(rows(1, 2, more=b"x"), rows(3, more=b"y"), rows(4))
        iterator = iter(made)
        assert next(iterator) == (1,)
        made.fetch_next_page()
        assert [row.n for row in iterator] == [2, 3, 4]

    def test_two_iterators(self) -> None:
        made = result(rows(1, 2, more=b"x"), rows(3, 4))
        first = iter(made)
        assert next(first) == (1,)
        second = iter(made)
        assert [next(second).n for _ in range(3)] == [1, 2, 3]
        assert [row.n for row in first] == [2, 4]

    def test_no_call_per_row(self) -> None:
        """Rows come out of native iterators: a Python call for each would cost as much as its decoding."""
        made = result(rows(1, 2, 3, more=b"x"), rows(4))
        made.next = made.__next__ = pytest.fail  # type: ignore[method-assign, assignment]
        assert [row.n for row in made] == [1, 2, 3, 4]
        assert type(iter(made)) is RowsOfPages


class TestEmptyPages:
    """A page without rows is not the end while there are more."""

    @pytest.mark.parametrize("read", [ResultSet.one, bool, list], ids=["one", "bool", "list"])
    def test_are_passed_over(self, read: Any) -> None:
        made = result(rows(more=b"1"), rows(more=b"2"), rows(1), query=QUERY)
        assert read(made) == {ResultSet.one: (1,), bool: True, list: [(1,)]}[read]

    def test_that_are_all_there_is(self) -> None:
        made = result(rows(more=b"1"), rows(), query=QUERY)
        assert made.one() is None and not made and not made.has_more_pages

    def test_within_an_iteration(self) -> None:
        made = result(rows(more=b"1"), rows(1, more=b"2"), rows(2))
        iterator = iter(made)
        assert made.one() == (1,)
        assert [row.n for row in iterator] == [1, 2]

    def test_before_indexing(self) -> None:
        made = result(rows(more=b"1"), rows(1, more=b"2"), rows(2))
        assert made.one() == (1,)
        assert made[1] == (2,)
