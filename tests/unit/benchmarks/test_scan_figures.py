"""The basis of the figures of scans: how busy shards were, which pages came to their owner, the rows of a soak."""

from __future__ import annotations

import uuid

import pytest

from benchmarks import bench_scan_shards, scan_real, soak_scan
from benchmarks.clients.scan_shards import Served, busy, on_owners
from benchmarks.measure import FASTCQL, Samples
from cassandra.cluster import Cluster
from cassandra.testing import Request, TabletInfo


def test_a_shard_is_busy_while_it_has_a_page_to_serve() -> None:
    one, other = (0, 0), (1, 3)
    served = [Served(one, 0.0, 0.0, 1.0), Served(one, 0.5, 1.0, 2.0), Served(other, 1.0, 1.0, 2.0)]
    assert busy(served) == {one: 1.0, other: 0.5}


def test_a_page_is_at_its_owner_when_the_whole_range_is_there() -> None:
    nodes = [uuid.uuid4(), uuid.uuid4()]
    tablets = [TabletInfo(-100, 0, ((nodes[0], 1),)), TabletInfo(0, 100, ((nodes[1], 2),))]

    def page(node: int, shard: int, *tokens: int) -> Request:
        return Request(node, shard, 0, False, "EXECUTE", token_range=(tokens[0], tokens[1]))

    right = [page(0, 1, -100, -50), page(1, 2, 0, 100)]
    wrong = [page(0, 0, -100, -50), page(0, 1, 0, 100), page(1, 2, -10, 10)]
    assert on_owners(right, tablets, list(nodes)) == 1.0
    assert on_owners(right + wrong, tablets, list(nodes)) == 0.4


@pytest.mark.parametrize(("owning", "least", "missed"), [(1.0, 0.9, 0), (0.999, 0.95, 1), (1.0, 0.89, 1)])
def test_shards_that_rest_miss_the_target(owning: float, least: float, missed: int) -> None:
    values = {"pages": 1000, "owning": owning, "least": least, "mean": 0.95, "seconds": 5.0}
    found = bench_scan_shards.lines_of("one replica", {f"{name}, one replica": value for name, value in values.items()})
    assert sum(line.reached is False for line in found) == missed


@pytest.mark.parametrize(("cpu", "reached"), [(10.0, [True, True]), (6.0, [False, True]), (4.0, [False, False])])
def test_a_scan_takes_a_part_of_the_cpu_of_others(cpu: float, reached: list[bool]) -> None:
    names = (FASTCQL, scan_real.ROWS_OF, scan_real.BY_HAND, scan_real.SERVERS)
    samples = Samples({name: [{"wall": 1.0, "cpu": cpu if number else 1.0}] for number, name in enumerate(names)})
    found = scan_real.lines_of("sum", 1000, samples)
    assert [line.reached for line in found if line.target] == reached and len(found) == 4


def test_an_unload_takes_a_part_of_the_time_of_copy_to() -> None:
    found = scan_real.command_lines(1000, {"csv": 1.0, "parquet": 3.0, scan_real.COPY: 10.0})
    assert [line.reached for line in found] == [True, False] and found[0].ratio == "10.0x"


def test_a_soak_reads_the_rows_that_it_was_given() -> None:
    with soak_scan.served(2) as (host, port), Cluster([host], port=port, compression=False) as cluster:
        found = list(soak_scan.watched(cluster.connect(), 2 * soak_scan.SPLITS * soak_scan.PAGE))
    assert [one.name for one in found] == list(soak_scan.WAYS) and all(one.right for one in found)
    assert all(len(one.samples) > soak_scan.SPLITS for one in found)


def test_growth_is_counted_after_the_first_tenth() -> None:
    samples = [1, 5, *[4] * 17, 7]
    assert soak_scan.Watched("", True, 1.0, samples).grown == 2
    assert soak_scan.Watched("", True, 1.0, [3, 1]).grown == -2
