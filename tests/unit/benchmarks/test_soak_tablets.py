"""The soak of tablets, for a moment: it finds nothing wrong, and would find what is wrong."""

from __future__ import annotations

from benchmarks import soak_tablets
from cassandra.tablets import Tablet


def test_it_finds_nothing_wrong() -> None:
    lines = soak_tablets.run(0.3)
    assert [line for line in lines if line.reached is False] == []
    assert {line.measure for line in lines} >= {
        "wrong tablets, by the map",
        "wrong tablets, by a handle",
        "wrong tablets, by a route plan",
    }


def test_it_would_notice() -> None:
    scene = soak_tablets.Scene()
    right = scene.made(16, 32)
    assert scene.is_right(right, 20)
    assert not scene.is_right(right, 16)
    assert not scene.is_right(Tablet(16, 48, right.replicas, right.tablet_version), 20)
    place, tablet = scene.plan.locate(20)
    assert tablet == right
    assert place is not None and (place.host.host_id, place.shard) in (right.replicas or ())
    scene.tablets.add_tablet(*soak_tablets.KEY, Tablet(16, 32, [(scene.ids[0], 1)]))
    assert not scene.is_right(scene.located(20) or right, 20)
