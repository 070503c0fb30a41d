"""Which connection is for which shard: joining, replacing, losing, resharding. Without any I/O."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cassandra._core.routing import ShardingInfo
from cassandra._net.pool_slots import ANY, MAX_EXCESS, JoinResult, Slots


def connection(shard: int = 0, shards: int | None = 4, ignore_msb: int = 12, port: int | None = None) -> Any:
    found = None if shards is None else ShardingInfo(shard, shards, "p", "a", ignore_msb, port)

    class Fake:
        features = SimpleNamespace(shard_id=shard, sharding_info=found)

        def __repr__(self) -> str:
            return f"<{shard} of {shards}>"

    return Fake()


def test_a_host_without_shards_has_one() -> None:
    slots = Slots()
    one, other = connection(shards=None), connection(shards=None)
    assert slots.wanted() == [ANY]
    assert slots.join(one) == (JoinResult.ACCEPTED, (), ())
    assert (slots.sole, slots.picker, slots.taking, slots.sharding) == (one, None, (one,), None)
    assert slots.wanted() == [] == slots.missing()
    assert slots.join(other) == (JoinResult.REFUSED, (), ())
    assert slots.lose(one) and not slots.lose(one)
    assert (slots.sole, slots.taking, slots.wanted()) == (None, (), [ANY])


@pytest.mark.parametrize(("shards", "shard_aware"), [(1, True), (4, False)])
def test_one_place_is_enough(shards: int, shard_aware: bool) -> None:
    slots = Slots(shard_aware)
    one = connection(shards - 1, shards)
    slots.join(one)
    assert (slots.sole, slots.picker, slots.wanted()) == (one, None, [])
    assert slots.join(connection(0, shards)).joined is JoinResult.REFUSED


def test_shards_are_covered() -> None:
    slots = Slots()
    came = [connection(shard) for shard in (2, 0, 3, 1)]
    for number, one in enumerate(came, 1):
        assert slots.join(one).joined is JoinResult.ACCEPTED
        assert len(slots.wanted()) == len(slots.missing()) == 4 - number
    assert slots.sole is None and slots.picker is not None
    assert [slots.picker.pick(None, shard) for shard in range(4)] == [came[1], came[3], came[0], came[2]]
    assert slots.taking == (came[1], came[3], came[0], came[2])
    assert slots.join(connection(1)).joined is JoinResult.REFUSED, "nothing lacked"


def test_excess_is_kept_until_all_are_covered() -> None:
    slots = Slots()
    first, again, once_more = connection(0, 2), connection(0, 2), connection(0, 2)
    slots.join(first)
    assert slots.join(again).joined is slots.join(once_more).joined is JoinResult.EXCESS
    assert slots.taking == (first,) and set(slots.all) == {first, again, once_more}
    last = slots.join(connection(1, 2))
    assert last.joined is JoinResult.ACCEPTED and set(last.surplus) == {again, once_more}
    assert not slots.excess


def test_excess_is_bounded() -> None:
    slots = Slots()
    slots.join(connection(0, 2))
    kept = [connection(0, 2) for _ in range(MAX_EXCESS)]
    assert {slots.join(one).joined for one in kept} == {JoinResult.EXCESS}
    crowded = slots.join(connection(0, 2))
    assert crowded.joined is JoinResult.TOO_MANY_EXCESS and set(crowded.surplus) == set(kept)
    assert not slots.excess and slots.wanted() == [1]
    assert slots.join(connection(0, 2)).joined is JoinResult.EXCESS, "from the beginning"


@pytest.mark.parametrize("shards", [2, 92])
def test_there_is_room_for_an_attempt_once_one_is_closed(shards: int) -> None:
    slots = Slots()
    slots.join(connection(0, shards))
    assert slots.make_room() is None
    kept = [connection(0, shards) for _ in range(2)]
    for one in kept:
        assert slots.make_room() is None
        slots.join(one)
    closed = slots.make_room()
    assert closed in kept and slots.make_room() is None
    assert len(slots.excess) == 1, "two at most, however many shards there are"


def test_there_may_be_none_in_excess() -> None:
    slots = Slots()
    slots.excess_per_shard = 0
    slots.join(connection(0, 2))
    assert slots.join(connection(0, 2)).joined is JoinResult.TOO_MANY_EXCESS
    assert slots.make_room() is None and not slots.excess


def test_worn_ones_are_replaced_by_their_own_shard() -> None:
    slots = Slots()
    marked, other = connection(0, 2), connection(1, 2)
    slots.join(marked)
    slots.join(other)
    assert slots.mark(marked) and not slots.mark(marked) and not slots.mark(connection())
    assert slots.wanted() == [0] and slots.missing() == []
    assert slots.join(connection(1, 2)).joined is JoinResult.EXCESS, "another shard's"
    fresh = connection(0, 2)
    change = slots.join(fresh)
    assert (change.joined, change.retired, len(change.surplus)) == (JoinResult.ACCEPTED, (marked,), 1)
    assert slots.taking == (fresh, other) and slots.retired == {marked} and slots.wanted() == []
    assert not slots.lose(marked), "it took no requests any more"
    assert not slots.retired


def test_a_worn_one_may_be_lost() -> None:
    slots = Slots()
    marked = connection(shards=None)
    slots.join(marked)
    slots.mark(marked)
    assert slots.wanted() == [0]
    assert slots.lose(marked)
    assert slots.wanted() == [ANY]
    slots.join(connection(shards=None))
    assert slots.wanted() == []


@pytest.mark.parametrize("other", [connection(1, 8), connection(1, 4, ignore_msb=0), connection(shards=None)])
def test_other_shards_than_before(other: Any) -> None:
    slots = Slots()
    old = [connection(0), connection(1), connection(1)]
    for one in old:
        slots.join(one)
    change = slots.join(other)
    assert (change.joined, set(change.retired)) == (JoinResult.RESHARDED, set(old[:2]))
    assert slots.taking == (other,) and slots.retired == set(old[:2])
    if other.features.sharding_info is None:
        assert slots.sole is other and change.surplus == (old[2],)
    else:
        assert len(slots.wanted()) == other.features.sharding_info.shards_count - 1 and slots.excess == {old[2]}


def test_another_port_is_no_resharding() -> None:
    slots = Slots()
    slots.join(connection(0, port=1))
    assert slots.join(connection(1, port=2)).joined is JoinResult.ACCEPTED
    assert slots.sharding is not None and slots.sharding.shard_aware_port == 2


def test_all_lost_is_all_forgotten() -> None:
    slots = Slots()
    one, other = connection(0, 2), connection(1, 2)
    slots.join(one)
    slots.join(other)
    slots.lose(one)
    assert slots.wanted() == [0] and slots.picker is not None and slots.picker.pick(None, 0) is None
    slots.lose(other)
    assert (slots.wanted(), slots.picker, slots.sharding, slots.taking) == ([ANY], None, None, ())
    assert slots.join(connection(2, 3)).joined is JoinResult.ACCEPTED, "the host came back with others"


def test_clear() -> None:
    slots = Slots()
    came = [connection(0, 2), connection(0, 2), connection(1, 2), connection(1, 2)]
    slots.join(came[0])
    slots.join(came[1])
    slots.join(came[2])
    slots.mark(came[2])
    slots.join(came[3])
    assert set(slots.clear()) == {came[0], came[2], came[3]}, "the excess one was given back before"
    assert slots.all == () and slots.picker is None
