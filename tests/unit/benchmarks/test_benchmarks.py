"""Foundations of the benchmarks: recordings that decode, a report that tells a missed target, peers installed once."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import bench_lead, bench_resident, cores, measure, peers, report, soak_results
from benchmarks.clients import harness
from benchmarks.clients.messages import COLLECTIONS, WIDTHS, Recordings, decode
from benchmarks.measure import DATA, Samples
from benchmarks.peers import Peer
from benchmarks.record import SHAPES

DATA_OF = Recordings(DATA)


@pytest.mark.parametrize("name", ["rows4", "rows5", "rows7", *COLLECTIONS])
def test_recorded_pages_hold_their_rows(name: str) -> None:
    message = decode(DATA_OF.load(name))
    assert len(message.parsed_rows) == SHAPES[name].rows


@pytest.mark.parametrize("width", WIDTHS)
def test_recorded_answers_without_metadata_decode_with_prepared_metadata(width: int) -> None:
    metadata = DATA_OF.metadata(f"wide{width}")
    message = decode(DATA_OF.load(f"wide{width}.none.skipped"), metadata)
    assert message.parsed_rows == [] and len(message.column_names) == width
    assert len(decode(DATA_OF.load(f"wide{width}.none")).column_names) == width


def test_a_recorded_row() -> None:
    with_metadata = decode(DATA_OF.load("wide5.one")).parsed_rows
    assert decode(DATA_OF.load("wide5.one.skipped"), DATA_OF.metadata("wide5")).parsed_rows == with_metadata
    assert len(with_metadata) == 1 and with_metadata[0][0] == 0


def test_times_are_compared_with_their_limits(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        report.at_most("slow", 3e-6, 2e-6, {"peer": 6e-6}, 4.0),
        report.at_most("quick", 1e-6, 2e-6),
        report.times_faster("half", 1e-3, {"one": (3e-3, 2.0), "other": (3e-3, 4.0)}),
        report.compared_only("known", 2e-9),
    ]
    assert [line.reached for line in lines] == [False, True, False, None]
    assert report.show("title", lines) == 2
    printed = capsys.readouterr().out.splitlines()
    assert printed[3].split() == [
        "slow",
        "3.00",
        "µs",
        "≤",
        "2.00",
        "µs",
        "peer",
        "6.00",
        "µs",
        "2.00x",
        "(limit",
        "4.0x)",
        "MISSED",
    ]
    assert "reached" in printed[4] and "MISSED" in printed[5] and printed[6].split() == ["known", "2.00", "ns"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5, "2.50 s"),
        (0.0421, "42.1 ms"),
        (512e-6, "512 µs"),
        (1.5e-7, "150 ns"),
        (0.0, "0.00 ns"),
        (-3e-8, "-30.0 ns"),
    ],
)
def test_times_are_readable(value: float, text: str) -> None:
    assert report.seconds(value) == text


def test_medians_are_over_processes_and_ratios_within_one() -> None:
    samples = Samples({"ours": [{"a": 1.0, "b": 2.0}, {"a": 9.0, "b": 9.0}, {"a": 3.0, "b": 12.0}]})
    assert samples["ours", "a"] == 3.0 and samples.best("ours", "a") == 1.0
    assert samples.ratio("ours", "a", "b") == 2.0
    assert samples.names("ours") == ["a", "b"]


@pytest.mark.parametrize("whole_process", [False, True])
def test_work_is_timed_by_cpu(whole_process: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "BUDGET", 0.0)
    runs: list[None] = []
    work = harness.Work("runs.append(None)", {"runs": runs}, once=True, whole_process=whole_process)
    assert min(harness.timed(work)) >= 0 and len(runs) == 6  # warmed once, then five samples


def test_wall_time_is_reported_where_the_whole_process_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "BUDGET", 0.0)
    monkeypatch.setattr(harness, "pin", lambda: None)
    monkeypatch.setattr(sys, "argv", ["client"])
    works = {"waits": harness.Work("sleep(0.001)", {"sleep": time.sleep}, once=True, whole_process=True)}
    works["thread"] = harness.Work("pass", {})
    harness.run("a module", lambda arguments: contextlib.nullcontext(harness.Client(works, {"fact": 7})))
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"waits", "waits wall", "waits median wall", "thread", "fact"}
    assert found["waits median wall"] >= found["waits wall"] >= 0.001


def test_recording_client_runs_every_statement_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[None] = []
    monkeypatch.setattr(sys, "argv", ["client", "7", harness.ONCE])

    def make(arguments: list[str]) -> contextlib.nullcontext[harness.Client]:
        assert arguments == ["7"]
        return contextlib.nullcontext(harness.Client({"one": harness.Work("runs.append(None)", {"runs": runs})}))

    harness.run("a module", make)
    assert runs == [None]


@pytest.mark.parametrize("last", [False, True])
def test_processes_start_where_they_belong(last: bool) -> None:
    cores.pin_to_responder_side()  # as the benchmarks do, before any client is started
    try:
        with cores.pinned(last):
            where = os.sched_getaffinity(0) if cores.CORES else set()
        assert where == set(cores.CORES[-1:] if last else cores.CORES[:1])
    finally:
        if cores.CORES:
            os.sched_setaffinity(0, cores.CORES)


@pytest.mark.parametrize(("grown", "reached"), [(-4096, True), (1 << 20, True), ((1 << 20) + 1, False)])
def test_growth_of_resident_memory_is_judged(grown: int, reached: bool) -> None:
    assert bench_resident.growth(1_000_000, grown, 1 << 25).reached is reached


@pytest.mark.parametrize(
    ("ours", "less", "reached"), [(80e-6, "20%", True), (90e-6, "10%", False), (120e-6, "20%", False)]
)
def test_polling_benefit_is_judged_only_where_it_has_a_target(ours: float, less: str, reached: bool) -> None:
    judged, shown = (bench_lead.worth("latency", ours, 100e-6, judged=wanted) for wanted in (True, False))
    assert judged.reached is reached and shown.reached is None
    assert judged.ratio == f"{less} {'less' if ours < 100e-6 else 'more'}"


@pytest.mark.parametrize("name", sorted(path.stem for path in Path(measure.__file__).parent.glob("bench_*.py")))
def test_every_benchmark_has_a_title_and_lines(name: str) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    assert module.TITLE and callable(module.lines)


@pytest.mark.parametrize(
    ("grown", "flat"),
    [
        ({}, [True, True, True, True]),
        ({"objects": 100 + soak_results.LEFT + 1}, [False, True, True, True]),
        ({"blocks": 100 + soak_results.LEFT + 1}, [True, False, True, True]),
        ({"native": {"channels": 2, "timers": 0}}, [True, True, False, True]),
        ({"native": {"channels": 1, "timers": 0}}, [True, True, True, True]),
        ({"resident": 100 + soak_results.RESIDENT + 1}, [True, True, True, False]),
    ],
    ids=["nothing", "objects", "blocks", "native", "fewer-timers", "resident"],
)
def test_soak_verdicts_fail_for_resources_that_grew(grown: dict[str, Any], flat: list[bool]) -> None:
    first = soak_results.Count(10, 100, 100, {"channels": 1, "timers": 3}, 100)
    last = first._replace(results=1000, **grown)
    assert [ok for _, _, ok in soak_results.verdicts(first, last)] == flat


def test_peer_is_installed_once_by_concurrent_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[Any] = []
    peer = Peer("driver", "1.0", tmp_path / "venv")

    def install(command: list[Any], **_: Any) -> None:
        installed.append(command)
        (tmp_path / "venv" / "bin").mkdir(parents=True, exist_ok=True)
        (tmp_path / "venv" / "bin" / "python").touch()

    monkeypatch.setattr(subprocess, "run", install)
    monkeypatch.setattr(peers, "LOCK", tmp_path / "build" / "lock")
    threads = [threading.Thread(target=peer.interpreter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(installed) == 2 and "driver==1.0" in installed[1]
    assert peer.interpreter() == tmp_path / "venv" / "bin" / "python"
    assert len(installed) == 2
