"""Variables that a module shares with another one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from cassandra._base.aliases import lend, share, tell_if_patched


@pytest.fixture
def home() -> Iterator[Any]:
    module: Any = ModuleType("home_of_shared")
    module.state, module.lent = 1, "lent"
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.fixture
def borrower(home: Any) -> Iterator[Any]:
    module: Any = ModuleType("borrower_of_shared")
    module.__all__ = ["state"]
    module.state = home.state
    sys.modules[module.__name__] = module
    lend(module.__name__, {home.__name__: "lent"})
    share(module.__name__, {home.__name__: "state other=state"})
    yield module
    del sys.modules[module.__name__]


def test_it_is_read_as_it_is_now(home: Any, borrower: Any) -> None:
    assert borrower.state == borrower.other == 1
    home.state = 2
    assert borrower.state == borrower.other == 2


def test_it_is_set_where_it_is_at_home(home: Any, borrower: Any) -> None:
    borrower.other = 3
    assert home.state == borrower.state == 3
    borrower.more = 4
    assert not hasattr(home, "more")
    assert borrower.more == 4
    del borrower.more
    assert not hasattr(borrower, "more")


def test_a_mock_takes_its_place_and_leaves(home: Any, borrower: Any) -> None:
    with mock.patch("borrower_of_shared.state") as replaced:
        assert home.state is replaced
    assert home.state == borrower.state == 1
    borrower.state = 5
    del borrower.state
    assert home.state == 1


def test_a_mock_brings_back_what_was_there_before_it(home: Any, borrower: Any) -> None:
    for value in range(100):
        borrower.state = value
    with mock.patch("borrower_of_shared.state", "outer"):
        with mock.patch("borrower_of_shared.other", "inner"):
            assert home.state == "inner"
        assert home.state == "outer"
    assert home.state == borrower.state == 99


def test_what_is_lent_still_is(borrower: Any) -> None:
    assert borrower.lent == "lent"
    with pytest.raises(AttributeError, match="'borrower_of_shared' has no attribute 'nothing'"):
        _ = borrower.nothing


def test_one_module_shares_and_tells(home: Any, borrower: Any) -> None:
    """And hears of what is set under either kind of name alone."""
    home.heard = heard = []
    home.tell = lambda *replaced: heard.append(replaced)
    borrower.clock = "before"
    tell_if_patched(borrower.__name__, "clock", home.__name__, "tell")
    tell_if_patched(borrower.__name__, "later", home.__name__, "tell")
    borrower.state = 6
    borrower.clock = "before"
    assert (home.state, heard) == (6, [])
    with mock.patch("borrower_of_shared.clock", "now"):
        assert heard.pop() == (borrower, "clock", "before", "now")
    assert heard.pop() == (borrower, "clock", "now", "before") and not heard
    borrower.later = 1
    assert heard == [(borrower, "later", None, 1)] and borrower.lent == "lent"
    del borrower.state
    assert home.state == 1
