"""Decoding a page: 5,000 rows of (int, text, bigint, double), from a recorded answer of a real server to named tuples.

Compared in the same run with two things: ``marshal.loads`` of the same rows, about the least that making these objects
can cost in CPython, and scylla-driver 3.29.12 with its default row factory, installed from PyPI into ``.venv-scylla``
and run as a process of its own, in turns with ours. Figures are thread CPU time, best of many per process, median over
processes. ``python -m benchmarks.bench_rows`` prints them beside the targets and fails when one is missed.
"""

from __future__ import annotations

import json
import marshal
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PEER = ROOT / ".venv-scylla"
PEER_VERSION = "3.29.12"
PROCESSES = 5
REPEATS = 120

VS_MARSHAL, VS_SCYLLA = 0.8, 2.5  # targets


def best(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """The least thread CPU time of one call, in milliseconds."""
    least = float("inf")
    for _ in range(repeats):
        start = time.thread_time()
        result = function()
        least = min(least, time.thread_time() - start)
        del result
    return least * 1000


def measure_ours() -> dict[str, float]:
    from benchmarks.record import load
    from cassandra._core.codec import Result, TypeContext, decode_result
    from cassandra._wire.rows import named_tuple_factory, row_plan, tuple_factory

    body, context = load("rows4"), TypeContext()

    def decode(factory: Any) -> list[Any]:
        result = decode_result(Result, body, 0, 4, context)
        assert result.page is not None
        plan = row_plan(result.page.plan, factory)
        assert plan is not None
        return result.page.decode(plan)

    rows = decode(tuple_factory)
    dumped = marshal.dumps(rows)
    assert marshal.loads(dumped) == rows == decode(named_tuple_factory) and len(rows) == 5000
    return {
        "marshal": best(lambda: marshal.loads(dumped)),
        "named": best(lambda: decode(named_tuple_factory)),
        "tuples": best(lambda: decode(tuple_factory)),
    }


PEER_SCRIPT = """
import gzip, json, sys, time
from cassandra.protocol import ProtocolHandler, ResultMessage
from cassandra.protocol_features import ProtocolFeatures
from cassandra.query import named_tuple_factory, tuple_factory

body = gzip.decompress(open(sys.argv[1], "rb").read())

def decode(factory):
    message = ProtocolHandler.decode_message(4, ProtocolFeatures(), {}, 0, 0, ResultMessage.opcode, body, None, None)
    return factory(message.column_names, message.parsed_rows)

def best(function, repeats):
    least = float("inf")
    for _ in range(repeats):
        start = time.thread_time()
        result = function()
        least = min(least, time.thread_time() - start)
        del result
    return least * 1000

assert len(decode(named_tuple_factory)) == 5000
repeats = int(sys.argv[2])
print(json.dumps({
    "named": best(lambda: decode(named_tuple_factory), repeats), "tuples": best(lambda: decode(tuple_factory), repeats)
}))
"""


def set_up_peer() -> Path:
    """The interpreter of a venv that has the peer; made on first use."""
    python = PEER / "bin" / "python"
    wanted = f"import importlib.metadata as m; assert m.version('scylla-driver') == '{PEER_VERSION}'"
    if python.exists() and subprocess.run([python, "-c", wanted], capture_output=True).returncode == 0:
        return python
    print(f"Installing scylla-driver {PEER_VERSION} into {PEER.name} …", flush=True)
    subprocess.run([sys.executable, "-m", "venv", PEER], check=True)
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"scylla-driver=={PEER_VERSION}"], check=True)
    return python


def run(command: list[str | Path], folder: Path) -> dict[str, float]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    if sys.argv[1:] == ["--one"]:
        print(json.dumps(measure_ours()))
        return 0
    peer = set_up_peer()
    recording = ROOT / "benchmarks" / "data" / "rows4.body.gz"
    ours, theirs = [], []
    for _ in range(PROCESSES):
        ours.append(run([sys.executable, "-m", "benchmarks.bench_rows", "--one"], ROOT))
        theirs.append(run([peer, "-c", PEER_SCRIPT, recording, "20"], PEER))
    mine = {name: statistics.median(sample[name] for sample in ours) for name in ours[0]}
    peers = {name: statistics.median(sample[name] for sample in theirs) for name in theirs[0]}
    vs_marshal = statistics.median(sample["marshal"] / sample["named"] for sample in ours)
    vs_scylla = peers["named"] / mine["named"]

    python = platform.python_version()
    print(f"5,000 rows of (int, text, bigint, double), Python {python}; CPU ms, median of {PROCESSES} processes")
    print(f"  {'marshal.loads':34}{mine['marshal']:9.3f}")
    print(f"  {'fastcql, named tuples':34}{mine['named']:9.3f}")
    print(f"  {'fastcql, tuples':34}{mine['tuples']:9.3f}")
    print(f"  {'scylla-driver ' + PEER_VERSION + ', named tuples':34}{peers['named']:9.3f}")
    print(f"  {'scylla-driver ' + PEER_VERSION + ', tuples':34}{peers['tuples']:9.3f}")
    reached = [
        verdict("speed against marshal.loads", vs_marshal, VS_MARSHAL),
        verdict("speed against scylla-driver", vs_scylla, VS_SCYLLA),
    ]
    return 0 if all(reached) else 1


def verdict(what: str, figure: float, target: float) -> bool:
    print(f"  {what:34}{figure:8.2f}x   target {target:.2f}x   {'reached' if figure >= target else 'MISSED'}")
    return figure >= target


if __name__ == "__main__":
    raise SystemExit(main())
