"""Tablets as servers tell of them: the bytes of a custom payload."""

from __future__ import annotations

import struct
from uuid import UUID

import pytest

from cassandra import DriverException
from cassandra.tablets import Tablet, Tablets

HOSTS = [UUID(int=0xABCD_0000_0000_0000_0000_0000_0000_0000 + number) for number in range(4)]


def value(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def replica(host: UUID, shard: int) -> bytes:
    return value(value(host.bytes) + value(struct.pack(">i", shard)))


def replica_list(*replicas: tuple[UUID, int]) -> bytes:
    return struct.pack(">i", len(replicas)) + b"".join(replica(*one) for one in replicas)


def payload(first: int, last: int, replicas: bytes | None, version: int | None = None) -> bytes:
    data = value(struct.pack(">q", first)) + value(struct.pack(">q", last)) + value(replicas)
    return data if version is None else data + value(struct.pack(">q", version))


GOOD = payload(-100, 100, replica_list((HOSTS[0], 1), (HOSTS[1], 255)))
GOOD_2 = payload(-100, 100, replica_list((HOSTS[0], 1), (HOSTS[1], 255)), -(1 << 63))


def learned(data: bytes) -> Tablet | None:
    tablets = Tablets({})
    added = tablets.learn("ks", "t", data)
    assert added == tablets.table_has_tablets("ks", "t")
    return tablets._tablets["ks", "t"][0] if added else None


def test_version_1() -> None:
    assert learned(GOOD) == Tablet(-100, 100, [(HOSTS[0], 1), (HOSTS[1], 255)])


@pytest.mark.parametrize("version", [0, 1, -1, (1 << 63) - 1, -(1 << 63)])
def test_version_2(version: int) -> None:
    found = learned(payload(-(1 << 63), (1 << 63) - 1, replica_list((HOSTS[3], 0), (HOSTS[0], 65535)), version))
    assert found == Tablet(-(1 << 63), (1 << 63) - 1, [(HOSTS[3], 0), (HOSTS[0], 65535)], version)
    assert found is not None and found.leader == HOSTS[3] and found.tablet_version == version


@pytest.mark.parametrize("replicas", [None, b"", replica_list()], ids=["null", "empty", "none"])
@pytest.mark.parametrize("version", [None, 5])
def test_without_replicas_nothing_is_added(replicas: bytes | None, version: int | None) -> None:
    assert learned(payload(0, 10, replicas, version)) is None


def test_many_replicas() -> None:
    replicas = [(HOSTS[number % 4], number) for number in range(255)]
    assert learned(payload(0, 10, replica_list(*replicas))) == Tablet(0, 10, replicas)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer(kind: type) -> None:
    assert learned(kind(GOOD)) == learned(GOOD)


def test_a_learned_tablet_replaces_those_it_overlaps() -> None:
    tablets = Tablets({})
    for first, last in ((0, 100), (100, 200), (200, 300), (50, 150)):
        assert tablets.learn("ks", "t", payload(first, last, replica_list((HOSTS[0], 1)), first))
    assert tablets._first_tokens == {("ks", "t"): [50, 200]}
    assert [tablet.tablet_version for tablet in tablets._tablets["ks", "t"]] == [50, 200]
    assert tablets.learn("ks", "t", payload(50, 150, replica_list((HOSTS[1], 2))))
    found = tablets.get_tablet_for_key("ks", "t", 150)
    assert found is not None and (found.replicas, found.tablet_version) == (((HOSTS[1], 2),), None)


def test_hosts_are_the_same_however_they_came() -> None:
    tablets = Tablets({("ks", "t"): [Tablet(1000, 2000, [(HOSTS[1], 5)])]})
    tablets.learn("ks", "t", GOOD)
    assert tablets.host_number(HOSTS[0]) is not None and tablets.host_number(HOSTS[2]) is None
    tablets.drop_tablets_by_host_id(HOSTS[1])
    assert tablets._tablets == {}


DAMAGED = {
    "too many replicas": payload(0, 1, replica_list(*[(HOSTS[0], 1)] * 256)),
    "a count far beyond the bytes": payload(0, 1, struct.pack(">i", 200) + replica(HOSTS[0], 1)),
    "a count beyond all bounds": payload(0, 1, struct.pack(">i", 0x7FFFFFFF)),
    "a negative count": payload(0, 1, struct.pack(">i", -1)),
    "a count cut off": payload(0, 1, b"\x00\x00\x01"),
    "replicas that are left over": payload(0, 1, struct.pack(">i", 1) + replica(HOSTS[0], 1) * 2),
    "a null replica": payload(0, 1, struct.pack(">i", 1) + value(None)),
    "a short uuid": payload(0, 1, struct.pack(">i", 1) + value(value(b"x" * 15) + value(b"\0" * 4))),
    "a null uuid": payload(0, 1, struct.pack(">i", 1) + value(value(None) + value(b"\0" * 4))),
    "a null shard": payload(0, 1, struct.pack(">i", 1) + value(value(HOSTS[0].bytes) + value(None))),
    "a long shard": payload(0, 1, struct.pack(">i", 1) + value(value(HOSTS[0].bytes) + value(b"\0" * 8))),
    "a negative shard": payload(0, 1, replica_list((HOSTS[0], -1))),
    "a shard beyond all bounds": payload(0, 1, replica_list((HOSTS[0], 65536))),
    "a third value in a replica": payload(
        0, 1, struct.pack(">i", 1) + value(value(HOSTS[0].bytes) + value(b"\0" * 4) + value(b""))
    ),
    "a null first token": value(None) + GOOD[12:],
    "a short last token": GOOD[:12] + value(b"\0" * 4) + GOOD[24:],
    "a null version": GOOD + value(None),
    "a short version": GOOD + value(b"\0" * 4),
    "a fifth value": GOOD_2 + value(b"\0" * 8),
    "an endless value": GOOD[:12] + struct.pack(">i", 0x7FFFFFFF) + GOOD[16:],
}


@pytest.mark.parametrize("data", DAMAGED.values(), ids=DAMAGED)
def test_damaged(data: bytes) -> None:
    tablets = Tablets({("ks", "t"): [Tablet(0, 1, [(HOSTS[0], 1)])]})
    with pytest.raises(DriverException, match="Malformed tablet"):
        tablets.learn("ks", "t", data)
    assert tablets._tablets == {("ks", "t"): [Tablet(0, 1, [(HOSTS[0], 1)])]}


def test_cut_anywhere() -> None:
    for whole in (GOOD, GOOD_2):
        for length in range(len(whole)):
            if whole[:length] == GOOD:
                continue  # version 2 without its version is version 1
            with pytest.raises(DriverException, match="Malformed tablet"):
                learned(whole[:length])


def test_learn_refuses_arguments_of_wrong_types() -> None:
    tablets = Tablets({})
    with pytest.raises(TypeError):
        tablets.learn("ks", "t", None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        tablets.learn(None, "t", GOOD)  # type: ignore[arg-type]
    assert not tablets.table_has_tablets("ks", "t")
