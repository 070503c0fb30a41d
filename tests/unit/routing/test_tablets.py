"""Tablets and the map of them, as Python sees them."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import weakref
from collections.abc import Iterator
from itertools import pairwise
from uuid import UUID

import pytest

from cassandra._routing.metadata import Metadata
from cassandra.metadata import BytesToken, MD5Token, Murmur3Token
from cassandra.tablets import Tablet, Tablets, choose_tablet_version_block, random_tablet_version_block

HOSTS = [UUID(int=0x1234_5678_0000_0000_0000_0000_0000_0000 + number) for number in range(5)]
REPLICAS = [(HOSTS[0], 3), (HOSTS[1], 0), (HOSTS[2], 7)]
MIN, MAX = -(1 << 63), (1 << 63) - 1


def make(*ranges: tuple[int, int]) -> Tablets:
    tablets = Tablets({})
    for first, last in ranges:
        tablets.add_tablet("ks", "t", Tablet(first, last, REPLICAS))
    return tablets


def ranges(tablets: Tablets) -> list[tuple[int, int]]:
    """Of the one table; that all three views agree is checked on the way."""
    assert set(tablets._tablets) == set(tablets._first_tokens) == set(tablets._last_tokens) <= {("ks", "t")}
    known = tablets._tablets.get(("ks", "t"), [])
    firsts, lasts = tablets._first_tokens.get(("ks", "t"), []), tablets._last_tokens.get(("ks", "t"), [])
    found = [(tablet.first_token, tablet.last_token) for tablet in known]
    assert found == list(zip(firsts, lasts, strict=True))
    return found


def find(tablets: Tablets, token: int) -> tuple[int, int] | None:
    tablet = tablets.get_tablet_for_key("ks", "t", Murmur3Token(token))
    assert tablet == tablets.table("ks", "t").find(token) == tablets.get_tablet_for_key("ks", "t", token)
    return tablet and (tablet.first_token, tablet.last_token)


# ---------------------------------------------------------------- a tablet


def test_a_tablet_has_replicas_and_their_shards() -> None:
    tablet = Tablet(-5, 10, REPLICAS)
    assert (tablet.first_token, tablet.last_token, tablet.tablet_version) == (-5, 10, None)
    assert tablet.replicas == tuple(REPLICAS)
    assert tablet._replica_dict == dict(REPLICAS)
    assert tablet.leader == HOSTS[0]
    assert tablet.replica_contains_host_id(HOSTS[1]) and not tablet.replica_contains_host_id(HOSTS[4])
    assert (tablet.get_replica_shard_id(HOSTS[1]), tablet.get_replica_shard_id(HOSTS[4])) == (0, None)


def test_a_tablet_without_anything() -> None:
    tablet = Tablet()
    assert (tablet.first_token, tablet.last_token, tablet.replicas, tablet.tablet_version) == (0, 0, None, None)
    assert tablet._replica_dict == {} and tablet.leader is None and not tablet.replica_contains_host_id(HOSTS[0])
    assert Tablet(0, 1, []).replicas == () and Tablet(0, 1, []).leader is None


def test_replicas_are_read_once() -> None:
    def once() -> Iterator[tuple[UUID, int]]:
        yield from REPLICAS

    assert Tablet(0, 1, once()).replicas == tuple(REPLICAS)
    assert Tablet(0, 1, once())._replica_dict == dict(REPLICAS)
    made = Tablet.from_row(0, 1, once())
    assert made is not None and made.replicas == tuple(REPLICAS) and made._replica_dict == dict(REPLICAS)


def test_from_row_needs_replicas() -> None:
    assert Tablet.from_row(0, 1, None) is None
    assert Tablet.from_row(0, 1, []) is None
    assert Tablet.from_row(0, 1, iter(())) is None
    made = Tablet.from_row(0, 1, REPLICAS, 77)
    assert made == Tablet(0, 1, REPLICAS, 77) and made is not None and made.tablet_version == 77


def test_repr_of_a_tablet_shows_its_fields() -> None:
    tablet = Tablet(-5, 10, [("a", 1)], 3)
    assert str(tablet) == repr(tablet)
    assert repr(tablet) == "<Tablet: first_token=-5 last_token=10 replicas=(('a', 1),) tablet_version=3>"
    assert (Tablet.__module__, Tablet.__qualname__) == ("cassandra.tablets", "Tablet")


def test_tablets_are_values() -> None:
    tablet = Tablet(-5, 10, REPLICAS, 3)
    assert tablet == Tablet(-5, 10, iter(REPLICAS), 3) and hash(tablet) == hash(Tablet(-5, 10, REPLICAS, 3))
    others = [Tablet(-4, 10, REPLICAS, 3), Tablet(-5, 9, REPLICAS, 3), Tablet(-5, 10, [], 3), Tablet(-5, 10, REPLICAS)]
    assert all(tablet != other for other in others)
    assert tablet != "tablet"
    assert pickle.loads(pickle.dumps(tablet)) == tablet


def test_a_tablet_has_no_dict_and_does_not_change() -> None:
    tablet = Tablet(-5, 10, REPLICAS)
    assert not hasattr(tablet, "__dict__")
    with pytest.raises(AttributeError):
        tablet.first_token = 1  # type: ignore[misc]
    tablets = make((0, 10))
    found = tablets.get_tablet_for_key("ks", "t", 5)
    assert found is not None
    with pytest.raises(TypeError):
        found.__init__(1, 2)  # type: ignore[misc]
    assert found == Tablet(0, 10, REPLICAS)


@pytest.mark.parametrize("number", [1 << 63, -(1 << 63) - 1])
def test_numbers_have_64_bits(number: int) -> None:
    for arguments in ((number, 0, []), (0, number, []), (0, 1, [], 2 * number)):
        with pytest.raises(OverflowError):
            Tablet(*arguments)


# ---------------------------------------------------------------- looking up


def test_a_range_excludes_its_first_and_includes_its_last_token() -> None:
    tablets = make((0, 100), (100, 200), (300, 400))
    expected = {0: None, 1: (0, 100), 100: (0, 100), 101: (100, 200), 200: (100, 200), 201: None, 300: None}
    expected |= {301: (300, 400), 400: (300, 400), 401: None, -1: None, MIN: None, MAX: None}
    assert {token: find(tablets, token) for token in expected} == expected


def test_the_ends_of_the_ring() -> None:
    tablets = make((MIN, 0), (0, MAX))
    expected = {MIN: None, MIN + 1: (MIN, 0), 0: (MIN, 0), 1: (0, MAX), MAX: (0, MAX)}
    assert {token: find(tablets, token) for token in expected} == expected
    whole = make((MIN, MAX))
    assert [find(whole, token) for token in (MIN, MIN + 1, MAX)] == [None, (MIN, MAX), (MIN, MAX)]


def test_a_range_that_wraps_around() -> None:
    tablets = make((100, 200), (500, 10))
    assert ranges(tablets) == [(500, 10), (100, 200)]
    expected = {MIN: (500, 10), 10: (500, 10), 11: None, 100: None, 150: (100, 200), 500: None, 501: (500, 10)}
    expected |= {MAX: (500, 10)}
    assert {token: find(tablets, token) for token in expected} == expected


def test_a_range_that_is_the_whole_ring() -> None:
    tablets = make((100, 200), (7, 7))
    assert [find(tablets, token) for token in (MIN, 6, 7, 8, MAX)] == [(7, 7)] * 5


def test_tablets_of_unknown_tables_are_not_found() -> None:
    empty, tablets = Tablets({}), make((0, 100))
    for asked in (empty, tablets):
        for keyspace, table in (("ks", "other"), ("other", "t"), ("kst", ""), ("", "kst"), (None, "t"), ("ks", None)):
            assert asked.get_tablet_for_key(keyspace, table, Murmur3Token(50)) is None
            assert not asked.table_has_tablets(keyspace, table)
    assert tablets.table_has_tablets("ks", "t") and not empty.table_has_tablets("ks", "t")


def test_tokens_that_are_no_numbers_of_64_bits() -> None:
    tablets = make((0, 100))
    assert Tablets({}).get_tablet_for_key("ks", "t", None) is None
    assert tablets.get_tablet_for_key("ks", "t", MD5Token(1 << 100)) is None
    with pytest.raises(TypeError):
        tablets.get_tablet_for_key("ks", "t", BytesToken(b"ordered"))


def test_lookup_by_token_gives_the_added_tablets() -> None:
    tablets = Tablets({})
    many = [(HOSTS[number % 5], number) for number in range(255)]
    given = [
        Tablet(0, 10, None),
        Tablet(10, 20, []),
        Tablet(20, 30, REPLICAS),
        Tablet(30, 40, REPLICAS, MIN),
        Tablet(40, 50, [(HOSTS[4], 65535)], MAX),
        Tablet(50, 60, many, 0),
        Tablet(60, 70, [("a host", 1), ((1, 2), 2)]),
    ]
    for tablet in given:
        tablets.add_tablet("ks", "t", tablet)
    found = [tablets.get_tablet_for_key("ks", "t", Murmur3Token(tablet.last_token)) for tablet in given]
    assert found == given == tablets._tablets["ks", "t"]
    assert [tablet and tablet._replica_dict for tablet in found] == [tablet._replica_dict for tablet in given]
    assert [tablet and tablet.leader for tablet in found] == [tablet.leader for tablet in given]


def test_a_found_tablet_knows_its_replicas() -> None:
    tablets = make((0, 100))
    tablets.add_tablet("ks", "t", Tablet(100, 200, [(HOSTS[3], 9), ("name", 2)]))
    one, two = (tablets.get_tablet_for_key("ks", "t", token) for token in (1, 101))
    assert one is not None and two is not None
    same = [UUID(bytes=host.bytes) for host in HOSTS]
    assert [one.get_replica_shard_id(host) for host in same] == [3, 0, 7, None, None]
    assert [two.get_replica_shard_id(host) for host in same] == [None, None, None, 9, None]
    assert (one.get_replica_shard_id("name"), two.get_replica_shard_id("name")) == (None, 2)
    assert two.replica_contains_host_id(HOSTS[3]) and two.replica_contains_host_id("name")
    assert not two.replica_contains_host_id(HOSTS[0]) and not two.replica_contains_host_id(None)


# ---------------------------------------------------------------- changes


@pytest.mark.parametrize(
    ("added", "left"),
    [
        ((0, 100), [(0, 100), (100, 200), (200, 300), (300, 400)]),
        ((100, 300), [(0, 100), (100, 300), (300, 400)]),
        ((150, 250), [(0, 100), (150, 250), (300, 400)]),
        ((110, 120), [(0, 100), (110, 120), (200, 300), (300, 400)]),
        ((99, 101), [(99, 101), (200, 300), (300, 400)]),
        ((-10, 0), [(-10, 0), (0, 100), (100, 200), (200, 300), (300, 400)]),
        ((400, 500), [(0, 100), (100, 200), (200, 300), (300, 400), (400, 500)]),
        ((399, 500), [(0, 100), (100, 200), (200, 300), (399, 500)]),
        ((MIN, MAX), [(MIN, MAX)]),
        ((350, 50), [(350, 50), (100, 200), (200, 300)]),
        ((400, 0), [(400, 0), (0, 100), (100, 200), (200, 300), (300, 400)]),
        ((250, 250), [(250, 250)]),
    ],
)
def test_an_added_tablet_replaces_all_it_overlaps(added: tuple[int, int], left: list[tuple[int, int]]) -> None:
    tablets = make((0, 100), (100, 200), (200, 300), (300, 400))
    tablets.add_tablet("ks", "t", Tablet(*added, REPLICAS))
    assert ranges(tablets) == left


def test_one_that_wraps_around_is_replaced_too() -> None:
    for added in ((500, 600), (-10, 5), (0, 11)):
        tablets = make((100, 200), (500, 10), added)
        assert (500, 10) not in ranges(tablets) and added in ranges(tablets) and (100, 200) in ranges(tablets)
    assert ranges(make((100, 200), (500, 10), (600, 0))) == [(600, 0), (100, 200)]
    assert ranges(make((100, 200), (500, 10), (10, 90))) == [(500, 10), (10, 90), (100, 200)]


def test_a_map_can_start_full() -> None:
    first, second = [Tablet(0, 10, REPLICAS), Tablet(10, 20, REPLICAS)], [Tablet(5, 6, [("a", 1)])]
    tablets = Tablets({("ks", "one"): reversed(first), ("ks", "two"): second, ("ks", "none"): []})
    assert tablets._tablets == {("ks", "one"): first, ("ks", "two"): second}
    assert tablets._first_tokens == {("ks", "one"): [0, 10], ("ks", "two"): [5]}
    assert tablets._last_tokens == {("ks", "one"): [10, 20], ("ks", "two"): [6]}
    overlapping = Tablets({("ks", "t"): [Tablet(0, 10, REPLICAS), Tablet(20, 30, REPLICAS), Tablet(5, 25, REPLICAS)]})
    assert ranges(overlapping) == [(5, 25)]


def test_the_tablets_of_a_table_are_replaced() -> None:
    tablets = make((0, 100), (100, 200))
    tablets.add_tablet("ks", "other", Tablet(1, 2, REPLICAS))
    tablets.replace_tablets("ks", "t", (Tablet(first, first + 10, REPLICAS) for first in (50, 10, 70)))
    assert tablets._last_tokens == {("ks", "t"): [20, 60, 80], ("ks", "other"): [2]}
    tablets.replace_tablets("ks", "t", [])
    assert not tablets.table_has_tablets("ks", "t")


def test_tables_and_keyspaces_are_dropped() -> None:
    names = [("a", "x"), ("a", "y"), ("b", "x"), ("ab", "")]
    tablets = Tablets({name: [Tablet(0, 10, REPLICAS)] for name in names})
    tablets.drop_tablets("a", "x")
    assert set(tablets._tablets) == {("a", "y"), ("b", "x"), ("ab", "")}
    tablets.drop_tablets("a", "unknown")
    tablets.drop_tablets("a")
    assert set(tablets._tablets) == {("b", "x"), ("ab", "")}
    tablets.drop_tablets("unknown")
    tablets.add_tablet("a", "x", Tablet(3, 4, REPLICAS))
    assert tablets._first_tokens == {("b", "x"): [0], ("ab", ""): [0], ("a", "x"): [3]}


def test_a_host_is_dropped() -> None:
    one, other = [(HOSTS[0], 1), (HOSTS[1], 1)], [(HOSTS[2], 1), (HOSTS[1], 1)]
    tablets = Tablets(
        {
            ("ks", "t"): [Tablet(0, 10, one), Tablet(10, 20, other), Tablet(20, 30, one)],
            ("ks", "untouched"): [Tablet(0, 10, other)],
            ("ks", "gone"): [Tablet(0, 10, one)],
        }
    )
    before = tablets.changes
    tablets.drop_tablets_by_host_id(None)
    tablets.drop_tablets_by_host_id(HOSTS[4])
    tablets.drop_tablets_by_host_id("nobody")
    assert tablets.changes == before and len(tablets._tablets) == 3
    tablets.drop_tablets_by_host_id(UUID(bytes=HOSTS[0].bytes))
    assert tablets._first_tokens == {("ks", "t"): [10], ("ks", "untouched"): [0]}
    assert not tablets.table_has_tablets("ks", "gone")


def test_a_table_handle_survives_drops_of_its_tablets() -> None:
    tablets = Tablets({})
    handle = tablets.table("ks", "t")
    assert (handle.keyspace, handle.table) == ("ks", "t")
    assert not handle and handle.find(5) is None and not tablets.table_has_tablets("ks", "t")
    for _ in range(2):
        tablets.add_tablet("ks", "t", Tablet(0, 10, REPLICAS))
        assert handle and handle.find(5) == Tablet(0, 10, REPLICAS) and handle.find(11) is None
        tablets.drop_tablets("ks")
        assert not handle and handle.find(5) is None
    tablets.add_tablet("ks", "t", Tablet(0, 10, REPLICAS))
    del tablets
    assert handle.find(5) == Tablet(0, 10, REPLICAS)


def test_numbers_of_hosts() -> None:
    tablets = make((0, 10))
    numbers = [tablets.host_number(host) for host in HOSTS]
    assert numbers[3:] == [None, None] and len({*numbers[:3]} - {None}) == 3
    assert [tablets.host_id(number) for number in numbers[:3] if number is not None] == HOSTS[:3]


def test_found_tablets_do_not_change() -> None:
    tablets = make((0, 10))
    found, listed = tablets.get_tablet_for_key("ks", "t", 5), tablets._tablets
    tablets.add_tablet("ks", "t", Tablet(0, 10, [(HOSTS[4], 1)]))
    tablets.drop_tablets_by_host_id(HOSTS[4])
    del tablets
    assert found == Tablet(0, 10, REPLICAS) and listed == {("ks", "t"): [found]}


@pytest.mark.parametrize("shard", [-1, 65536])
def test_a_shard_that_cannot_be_is_refused(shard: int) -> None:
    tablets = make((0, 10))
    with pytest.raises(ValueError, match="shard"):
        tablets.add_tablet("ks", "t", Tablet(0, 10, [(HOSTS[0], shard)]))
    with pytest.raises(ValueError, match="replicas"):
        tablets.add_tablet("ks", "t", Tablet(0, 10, [(HOSTS[0], 1)] * 256))
    with pytest.raises(ValueError, match="shard"):
        tablets.replace_tablets("ks", "t", [Tablet(20, 30, REPLICAS), Tablet(0, 10, [(HOSTS[0], shard)])])
    assert ranges(tablets) == [(0, 10)]


def test_only_names_and_tablets_are_taken() -> None:
    tablets = Tablets({})
    with pytest.raises(TypeError):
        tablets.add_tablet("ks", "t", None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tablets.add_tablet(None, "t", Tablet(0, 1, REPLICAS))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tablets.replace_tablets("ks", "t", [None])  # type: ignore[list-item]
    with pytest.raises(TypeError):
        tablets.drop_tablets(None)  # type: ignore[arg-type]
    assert tablets._tablets == {}


def test_names_are_any_text() -> None:
    tablets = Tablets({("käse", "таблица" * 9): [Tablet(0, 1, REPLICAS)], ("", ""): [Tablet(2, 3, REPLICAS)]})
    assert tablets._last_tokens == {("käse", "таблица" * 9): [1], ("", ""): [3]}
    assert tablets.get_tablet_for_key("käse", "таблица" * 9, 1) and tablets.get_tablet_for_key("", "", 3)


def test_many_tables() -> None:
    names = [(f"keyspace_{number % 7}", f"table_{number}") for number in range(300)]
    tablets = Tablets({name: [Tablet(number, number + 1, REPLICAS)] for number, name in enumerate(names)})
    for number, name in enumerate(names):
        found = tablets.get_tablet_for_key(*name, number + 1)
        assert found is not None and found.first_token == number
    for number in range(7):
        tablets.drop_tablets(f"keyspace_{number}")
        assert all(tablets.table_has_tablets(*name) == (int(name[0][9:]) > number) for name in names)


def test_a_big_table_is_small() -> None:
    step = (1 << 64) // 256_000
    bounds = [MIN + step * number for number in range(256_000)] + [MAX]
    tablets = Tablets({("ks", "t"): (Tablet(*pair, REPLICAS) for pair in pairwise(bounds))})
    assert tablets.nbytes < 40 * 256_000
    for number in range(0, 256_000, 1009):
        found = tablets.get_tablet_for_key("ks", "t", bounds[number + 1])
        assert found is not None and found.first_token == bounds[number]


# ---------------------------------------------------------------- versions and metadata


def test_a_version_block_shows_four_bits() -> None:
    version = 0x1234_5678_9ABC_DEF0
    expected = {index << 4 | (version >> 4 * index & 15) for index in range(16)}
    assert {choose_tablet_version_block(version) for _ in range(2000)} == expected
    negative = {choose_tablet_version_block(version - (1 << 64)) for _ in range(2000)}
    assert negative == expected
    assert all(0 <= random_tablet_version_block() < 256 for _ in range(1000))


def test_metadata_has_the_tablets_of_its_cluster() -> None:
    one, other = Metadata(), Metadata()
    one._tablets.add_tablet("ks", "t", Tablet(0, 1, REPLICAS))
    assert one._tablets.table_has_tablets("ks", "t") and not other._tablets.table_has_tablets("ks", "t")


def test_versions_without_a_sign() -> None:
    for version in (0, 2**63 - 1, 2**63, 2**64 - 1, -1, -(2**63)):
        given = Tablet(0, 10, [(UUID(int=1), 3)], version)
        assert given.tablet_version == version and copy.copy(given) == given
        tablets = Tablets({("ks", "t"): [given]})
        found = tablets.get_tablet_for_key("ks", "t", Murmur3Token(5))
        assert found is not None and found == given and found.tablet_version == version
    with pytest.raises(OverflowError):
        Tablet(0, 10, [], 2**64)


def test_added_tablets_are_found_as_equal_values() -> None:
    host_id = UUID(int=1)
    first, second = Tablet(0, 10, [(host_id, 3)]), Tablet(10, 20, [(host_id, 4)])
    tablets = Tablets({("ks", "t"): [first]})
    tablets.add_tablet("ks", "t", second)
    assert tablets.get_tablet_for_key("ks", "t", Murmur3Token(10)) == first
    assert tablets.get_tablet_for_key("ks", "t", Murmur3Token(11)) == second
    assert tablets.get_tablet_for_key("ks", "u", Murmur3Token(11)) is None
    tablets.replace_tablets("ks", "t", [Tablet(5, 20, [(host_id, 5)])])  # servers told
    found = tablets.get_tablet_for_key("ks", "t", Murmur3Token(11))
    assert found is not None and found.replicas == ((host_id, 5),)
    tablets.drop_tablets("ks", "t")
    assert tablets.get_tablet_for_key("ks", "t", Murmur3Token(11)) is None


def test_an_added_tablet_takes_60_bytes_at_most() -> None:
    size = 20_000
    step = (1 << 64) // size
    tablets = Tablets({})
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(size):
            first = MIN + step * number
            tablets.add_tablet("ks", "t", Tablet(first, first + step, REPLICAS))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before + tablets.nbytes) / size <= 60
    found = tablets.get_tablet_for_key("ks", "t", MIN + step * 7 + 1)
    assert found == Tablet(MIN + step * 7, MIN + step * 8, REPLICAS)


def test_a_tablet_that_was_added_and_dropped_is_not_kept() -> None:
    class Own(Tablet):
        pass

    tablet = Own(0, 10, REPLICAS)
    kept = weakref.ref(tablet)
    tablets = make((20, 30))
    tablets.add_tablet("ks", "t", tablet)
    del tablet
    assert kept() is None
    assert tablets.get_tablet_for_key("ks", "t", 5) == Tablet(0, 10, REPLICAS)
