"""ResultSet over scripted pages."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra import UnsupportedOperation
from cassandra.cluster import ResultSet
from cassandra.query import BatchStatement, SimpleStatement, dict_factory, ordered_dict_factory, tuple_factory
from tests.unit.session.harness import Lab, rows, void

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

    def test_first_of_one_page_does_not_materialise(self) -> None:
        made = result(rows(1, 2))
        assert made[0] == (1,)
        assert list(made) == [(1,), (2,)]
        assert list(made) == []

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
