"""A part of ``make drill``: what must hold on a machine that is as slow as it may be.

Rates, times to recover and the number of requests that time out are for the drill itself, which compares them with what
the machine did before the fault. So are scans; ``test_faults_under_load`` has one beside its writers.
"""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.drill import scene
from benchmarks.drill.faults import FAULTS
from benchmarks.drill.scene import Scene
from benchmarks.measure import FASTCQL

pytestmark = pytest.mark.long

SECONDS, AFTER = 3.0, 4.0


@pytest.fixture(autouse=True)
def _no_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers need not be warm where rates do not count."""
    monkeypatch.setattr(scene, "WARMING", scene.SETTLING)


@pytest.mark.parametrize("name", ["cut", "kill", "fork"])
def test_nothing_is_lost_doubled_or_left(cassandra_three: Any, name: str) -> None:
    (found,) = Scene(cassandra_three, [FASTCQL]).run(FAULTS[name]._replace(after=AFTER), SECONDS)
    assert (found.missing, found.twice, found.left) == ([], [], [])
    assert found.during > 0 and found.after > 0
    if name == "fork":
        assert found.children == 90 and found.children_errors == []


def test_clusters_that_are_shut_down_with_requests_in_flight_leave_nothing(cassandra_three: Any) -> None:
    (found,) = Scene(cassandra_three, [FASTCQL], cycles=20).run(FAULTS["shutdown"], SECONDS)
    assert found.calls > 0 and found.left == []
