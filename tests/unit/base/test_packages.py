"""Stand-ins for packages that this Python lacks: a test that uses one is an expected failure, and says why."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.packages import ABSENT, StandIn, module

USES: list[Callable[[StandIn], Any]] = [
    lambda polars: polars.DataFrame({"a": [1]}),
    lambda polars: polars(),
    lambda polars: list(polars),
    lambda polars: len(polars),
    lambda polars: polars[0],
    lambda polars: polars.__arrow_c_stream__,
    lambda polars: type("Derived", polars.__mro_entries__(()), {}, frozen=True)(k=1),
]


@pytest.mark.parametrize("use", USES)
def test_a_use_ends_the_test(use: Callable[[StandIn], Any]) -> None:
    with pytest.raises(pytest.xfail.Exception, match=r"^polars cannot be installed on this Python$"):
        use(StandIn("polars"))


def test_while_tests_are_collected_a_stand_in_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert isinstance(StandIn("polars").Series(["x"]), StandIn)


def test_packages_with_a_stand_in_are_not_installed() -> None:
    assert [name for name in ABSENT if importlib.util.find_spec(name)] == []


def test_all_others_are_imported() -> None:
    assert module("json") is json
