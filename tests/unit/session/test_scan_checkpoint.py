"""Checkpoints: the finished part of the ring, files, and errors in them."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cassandra._routing.tokens import FULL_RING
from cassandra._scan import checkpoint as module
from cassandra._scan.checkpoint import (
    RING,
    Checkpoint,
    CheckpointError,
    Coverage,
    Part,
    ProgressRecorder,
    SavedAccumulator,
    ScanProgress,
)
from cassandra._scan.reading import BATCH, DONE, RESTARTED, ScanEvent

WHAT = {"table": "ks.t", "cql": "SELECT v"}


def test_coverage_against_a_set() -> None:
    chance = random.Random(1)
    for _ in range(300):
        coverage, tokens = Coverage(), set[int]()
        for _ in range(chance.randint(0, 12)):
            start = chance.randint(0, 40)
            end = start + chance.randint(1, 12)
            coverage.add((start, end))
            tokens |= set(range(start + 1, end + 1))
        spans = coverage.spans
        assert {token for start, end in spans for token in range(start + 1, end + 1)} == tokens
        assert all(left[1] < right[0] for left, right in pairwise(spans))
        assert coverage.size == len(tokens)
        start = chance.randint(0, 40)
        span = (start, start + chance.randint(1, 15))
        inside = set(range(span[0] + 1, span[1] + 1))
        left = coverage.left_of(span)
        assert {token for start, end in left for token in range(start + 1, end + 1)} == inside - tokens
        assert left == sorted(left) and coverage.has(span) == (not left)


def example() -> Checkpoint:
    parts = [Part([(-(1 << 63), 0), (5, 10)], SavedAccumulator({"sum": 3})), Part([(20, 30)], None)]
    return Checkpoint(WHAT, parts, rows=12)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scan.checkpoint"
    example().save(path)
    example().save(path)  # in the place of the former one
    assert [entry.name for entry in tmp_path.iterdir()] == ["scan.checkpoint"]
    found = Checkpoint.load(path)
    assert found.what == WHAT and found.rows == 12 and found.cuts is None
    assert found.done == ((-(1 << 63), 0), (5, 10), (20, 30))
    assert found.fraction == pytest.approx(0.5)
    kept = [part.kept and part.kept.fresh() for part in found.parts]
    assert kept == [{"sum": 3}, None]
    assert pickle.loads(pickle.dumps(found)).to_bytes() == found.to_bytes()
    assert repr(found) == "<Checkpoint of ks.t: 50.0 % done, 12 rows>"


def test_a_file_that_cannot_be_written_leaves_the_former_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scan.checkpoint"
    example().save(path)
    before = path.read_bytes()

    def no_space(handle: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(OSError, match="no space"):
        Checkpoint(WHAT, [], 0).save(path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


def test_invalid_checkpoint_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scan.checkpoint"
    good = example().to_bytes()
    foreign = {b"": "not a checkpoint", b"PAR1 and so on": "not a checkpoint", pickle.dumps(3): "not a checkpoint"}
    foreign |= {good.replace(b"checkpoint 1", b"checkpoint 0", 1): "unsupported format: '0'"}
    foreign |= {good.replace(b"checkpoint 1", b"checkpoint 17", 1): "unsupported format: '17'"}
    foreign |= {good[:-1]: "damaged", good + b"x": "damaged", good.replace(b"12", b"13", 1): "damaged"}
    for data, why in foreign.items():
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match=why) as caught:
            Checkpoint.load(path)
        assert str(path) in str(caught.value)
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    with pytest.raises(CheckpointError, match="too large"):
        Checkpoint.load(path)
    with pytest.raises(FileNotFoundError):
        Checkpoint.load(tmp_path / "none")


@pytest.mark.parametrize(
    "head",
    [
        b"[]",
        b"3",
        b"{}",
        b"[" * 100_000,
        b"\xff",
        b'{"what": [], "rows": 1, "cuts": null, "parts": []}',
        b'{"what": {}, "rows": "x", "cuts": null, "parts": []}',
        b'{"what": {}, "rows": 1, "cuts": [3], "parts": []}',
        b'{"what": {}, "rows": 1, "cuts": null, "parts": [{"spans": [[1, 2]], "bytes": 99}]}',
        b'{"what": {}, "rows": 1, "cuts": null, "parts": [{"spans": [[1, 2]], "bytes": -1}]}',
        b'{"what": {}, "rows": 1, "cuts": null, "parts": [{"spans": [[1, 2]], "bytes": true}]}',
        b'{"what": {}, "rows": 1, "cuts": null, "parts": [{"spans": [[2, 1]], "bytes": null}]}',
        b'{"what": {}, "rows": 1, "cuts": null, "parts": [{"spans": [[1.5, 2]], "bytes": null}]}',
        b'{"what": {}, "rows": 1, "cuts": null, "parts": [{"spans": [[1, 9223372036854775808]], "bytes": null}]}',
    ],
)
def test_contents_that_make_no_sense(head: bytes) -> None:
    """The digest of these contents is valid."""
    body = head + b"\npickles"
    data = f"{module.MAGIC} {module.VERSION}\n{hashlib.sha256(body).hexdigest()}\n".encode() + body
    with pytest.raises(CheckpointError, match="damaged"):
        Checkpoint.from_bytes(data)


def test_reading_a_file_unpickles_nothing() -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return pytest.fail, ("it was unpickled",)

    found = Checkpoint.from_bytes(Checkpoint(WHAT, [Part([(1, 2)], SavedAccumulator(Trap()))]).to_bytes())
    assert found.parts[0].kept is not None
    assert found.fraction > 0


def test_accumulators_that_cannot_be_pickled() -> None:
    with pytest.raises(CheckpointError, match="cannot pickle an accumulator"):
        Checkpoint(WHAT, [Part([(1, 2)], SavedAccumulator(lambda: None))]).to_bytes()
    kept = SavedAccumulator(pickled=b"\x80\x05nonsense")
    with pytest.raises(CheckpointError, match="cannot be read"):
        kept.fresh()


def test_another_scan() -> None:
    with pytest.raises(CheckpointError, match="its cql is SELECT v, the scan's is SELECT w; its filter is none"):
        example().check({**WHAT, "cql": "SELECT w", "filter": "x"})
    example().check(WHAT)


# ---- how far it is


class Batch(list[int]):
    pass


def test_a_tally() -> None:
    ranges = FULL_RING.split(4)
    told: list[ScanProgress] = []
    recorder = ProgressRecorder(WHAT, ranges, told.append)
    first = Batch(range(10))
    for kind in (BATCH, RESTARTED, BATCH, BATCH, DONE):
        recorder.take(ScanEvent(2, ranges[2], kind, first if kind == BATCH else None))  # type: ignore[arg-type]
    recorder.take(ScanEvent(0, ranges[0], BATCH, first))  # type: ignore[arg-type]
    report = recorder.report()
    assert (report.table, report.rows, report.ranges_done, report.ranges) == ("ks.t", 30, 1, 4)
    assert report.fraction == pytest.approx(0.25)
    assert report.rate > 0 and report.eta == pytest.approx(report.seconds * 3)
    checkpoint = recorder.checkpoint()
    assert checkpoint.rows == 20 and checkpoint.done == ((ranges[2].start, ranges[2].end),)
    rest = ProgressRecorder(WHAT, [one for one in ranges if one is not ranges[2]], None, checkpoint)
    assert rest.report().fraction == pytest.approx(0.25) and rest.report().eta is None
    rest.take(ScanEvent(0, ranges[0], DONE))
    assert rest.report().fraction == pytest.approx(0.5)
    assert sum(end - start for start, end in rest.checkpoint().done) == pytest.approx(RING / 2)
    recorder.end(True)
    assert told and told[-1].rows == 30


def test_exceptions_of_the_progress_callback_propagate() -> None:
    def no(report: ScanProgress) -> None:
        raise ZeroDivisionError

    recorder = ProgressRecorder(WHAT, [FULL_RING], no)
    with pytest.raises(ZeroDivisionError):
        recorder.take(ScanEvent(0, FULL_RING, DONE))
    recorder.end(False)
    with pytest.raises(TypeError, match="progress"):
        ProgressRecorder(WHAT, [FULL_RING], 3)  # type: ignore[arg-type]


def test_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    recorder = ProgressRecorder(WHAT, [FULL_RING], True)
    recorder.take(ScanEvent(0, FULL_RING, BATCH, Batch(range(1234))))  # type: ignore[arg-type]
    recorder.take(ScanEvent(0, FULL_RING, DONE))
    recorder.end(True)
    shown = capsys.readouterr().err
    assert "ks.t" in shown and "100 %" in shown and "1,234 rows" in shown
