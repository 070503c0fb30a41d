"""The tablet map does what a plain list does that is searched from end to end; payloads survive any damage."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from cassandra import DriverException
from cassandra.tablets import Tablet, Tablets

MIN, MAX = -(1 << 63), (1 << 63) - 1
HOSTS = [UUID(int=number << 64 | 7) for number in range(4)]

tokens = st.one_of(st.integers(-20, 20), st.sampled_from([MIN, MIN + 1, MAX - 1, MAX]), st.integers(MIN, MAX))
hosts = st.sampled_from([*HOSTS, "a name", 5])
replicas = st.lists(st.tuples(hosts, st.integers(0, 65535)), max_size=8)
versions = st.none() | st.integers(MIN, MAX)
tablets = st.builds(Tablet, tokens, tokens, st.none() | replicas, versions)

changes = st.one_of(
    st.tuples(st.just("add"), tablets),
    st.tuples(st.just("add"), tablets),
    st.tuples(st.just("replace"), st.lists(tablets, max_size=6)),
    st.tuples(st.just("host"), hosts),
    st.tuples(st.just("drop"), st.none()),
)


def covers(tablet: Tablet, token: int) -> bool:
    after, upto = tablet.first_token < token, token <= tablet.last_token
    return (after and upto) if tablet.first_token < tablet.last_token else (after or upto)


class Model:
    def __init__(self) -> None:
        self.tablets: list[Tablet] = []

    def add(self, tablet: Tablet) -> None:
        self._keep(lambda other: not covers(tablet, other.last_token) and not covers(other, tablet.last_token))
        self.tablets.append(tablet)

    def replace(self, tablets: list[Tablet]) -> None:
        self.tablets = []
        for tablet in tablets:
            self.add(tablet)

    def host(self, host: Any) -> None:
        self._keep(lambda tablet: host not in tablet._replica_dict)

    def drop(self, _: None) -> None:
        self.tablets = []

    def find(self, token: int) -> Tablet | None:
        return next((tablet for tablet in self.tablets if covers(tablet, token)), None)

    def _keep(self, wanted: Callable[[Tablet], bool]) -> None:
        self.tablets = [tablet for tablet in self.tablets if wanted(tablet)]


@given(st.lists(changes, max_size=25), st.lists(tokens, max_size=10))
def test_any_changes(steps: list[tuple[str, Any]], asked: list[int]) -> None:
    model, ours = Model(), Tablets({("ks", "other"): [Tablet(0, 1, [("b", 1)])]})
    handle = ours.table("ks", "t")
    do: dict[str, Callable[[Any], None]] = {
        "add": lambda tablet: ours.add_tablet("ks", "t", tablet),
        "replace": lambda several: ours.replace_tablets("ks", "t", several),
        "host": ours.drop_tablets_by_host_id,
        "drop": lambda _: ours.drop_tablets("ks", "t"),
    }
    for name, argument in steps:
        getattr(model, name)(argument)
        do[name](argument)
        expected = sorted(model.tablets, key=lambda tablet: tablet.last_token)
        assert ours._tablets.get(("ks", "t"), []) == expected
        assert ours.table_has_tablets("ks", "t") == bool(handle) == bool(expected)
        edges = [edge for tablet in expected for edge in (tablet.first_token, tablet.last_token)]
        near = [edge + step for edge in edges for step in (-1, 0, 1) if MIN <= edge + step <= MAX]
        for token in [*asked, *near, MIN, 0, MAX]:
            found = ours.get_tablet_for_key("ks", "t", token)
            assert found == handle.find(token) == model.find(token)
            for host in HOSTS:
                shard = found and found.get_replica_shard_id(host)
                assert shard == (found and next((s for h, s in found.replicas or () if h == host), None))
    assert ours._last_tokens["ks", "other"] == [1]


def value(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def payload(tablet: Tablet) -> bytes:
    given_replicas = tablet.replicas or ()
    one_by_one = (value(value(host.bytes) + value(struct.pack(">i", shard))) for host, shard in given_replicas)
    listed = struct.pack(">i", len(given_replicas)) + b"".join(one_by_one)
    data = value(struct.pack(">q", tablet.first_token)) + value(struct.pack(">q", tablet.last_token)) + value(listed)
    return data if tablet.tablet_version is None else data + value(struct.pack(">q", tablet.tablet_version))


wire_replicas = st.lists(st.tuples(st.uuids(), st.integers(0, 65535)), min_size=1, max_size=12)
sent = st.builds(Tablet, tokens, tokens, wire_replicas, versions)


@given(sent)
def test_a_payload_is_the_tablet_it_was_made_of(tablet: Tablet) -> None:
    ours = Tablets({})
    assert ours.learn("ks", "t", payload(tablet))
    assert ours._tablets == {("ks", "t"): [tablet]}


@given(sent, st.data())
def test_damaged_payloads(tablet: Tablet, data: st.DataObject) -> None:
    """Whatever is in them: a tablet or a DriverException, and what was known stays."""
    damaged = bytearray(payload(tablet))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        end = data.draw(st.integers(at, min(at + 4, len(damaged))))
        damaged[at:end] = data.draw(st.binary(max_size=4))
        if not damaged:
            break
    ours = Tablets({("ks", "other"): [Tablet(0, 1, [("b", 1)])]})
    with contextlib.suppress(DriverException):
        assert ours.learn("ks", "t", damaged) == ours.table_has_tablets("ks", "t")
    assert ours._last_tokens["ks", "other"] == [1]
    for found in ours._tablets.get(("ks", "t"), []):
        assert found.replicas and all(isinstance(host, UUID) and 0 <= shard < 65536 for host, shard in found.replicas)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    ours = Tablets({})
    with contextlib.suppress(DriverException):
        assert ours.learn("ks", "t", data) == ours.table_has_tablets("ks", "t")
