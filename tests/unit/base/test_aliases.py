"""Variables that a module shares with another one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from cassandra._base.aliases import add_names, observe_patches, share


@pytest.fixture
def home() -> Iterator[Any]:
    module: Any = ModuleType("home_of_shared")
    module.state, module.compat = 1, "compat"
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


@pytest.fixture
def owner(home: Any) -> Iterator[Any]:
    module: Any = ModuleType("borrower_of_shared")
    module.__all__ = ["state"]
    module.state = home.state
    sys.modules[module.__name__] = module
    add_names(module.__name__, {home.__name__: "compat"})
    share(module.__name__, {home.__name__: "state other=state"})
    yield module
    del sys.modules[module.__name__]


def test_it_is_read_as_it_is_now(home: Any, owner: Any) -> None:
    assert owner.state == owner.other == 1
    home.state = 2
    assert owner.state == owner.other == 2


def test_it_is_set_where_it_is_at_home(home: Any, owner: Any) -> None:
    owner.other = 3
    assert home.state == owner.state == 3
    owner.more = 4
    assert not hasattr(home, "more")
    assert owner.more == 4
    del owner.more
    assert not hasattr(owner, "more")


def test_a_mock_takes_its_place_and_leaves(home: Any, owner: Any) -> None:
    with mock.patch("borrower_of_shared.state") as replaced:
        assert home.state is replaced
    assert home.state == owner.state == 1
    owner.state = 5
    del owner.state
    assert home.state == 1


def test_a_mock_restores_the_previous_value(home: Any, owner: Any) -> None:
    for value in range(100):
        owner.state = value
    with mock.patch("borrower_of_shared.state", "outer"):
        with mock.patch("borrower_of_shared.other", "inner"):
            assert home.state == "inner"
        assert home.state == "outer"
    assert home.state == owner.state == 99


def test_added_names_stay_readable_beside_shared_ones(owner: Any) -> None:
    assert owner.compat == "compat"
    with pytest.raises(AttributeError, match="'borrower_of_shared' has no attribute 'nothing'"):
        _ = owner.nothing


def test_one_module_shares_and_tells(home: Any, owner: Any) -> None:
    """Shared names are only set at home, and observed names only told."""
    home.heard = heard = []
    home.tell = lambda *replaced: heard.append(replaced)
    owner.clock = "before"
    observe_patches(owner.__name__, "clock", home.__name__, "tell")
    observe_patches(owner.__name__, "later", home.__name__, "tell")
    owner.state = 6
    owner.clock = "before"
    assert (home.state, heard) == (6, [])
    with mock.patch("borrower_of_shared.clock", "now"):
        assert heard.pop() == (owner, "clock", "before", "now")
    assert heard.pop() == (owner, "clock", "now", "before") and not heard
    owner.later = 1
    assert heard == [(owner, "later", None, 1)] and owner.compat == "compat"
    del owner.state
    assert home.state == 1
