"""``make demo`` where there is no Java, and ``make demo-scylla``."""

from __future__ import annotations

import pytest

from benchmarks import demo, demo_scylla
from benchmarks.demo_scylla import Step
from cassandra.testing import Routing


def test_the_demo_without_java(
    no_leaks: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says that it runs on a simulation, and compares all rows as ever."""

    def no_java() -> str:
        raise RuntimeError("Cassandra needs Java 17 and there is none")

    monkeypatch.setattr(demo, "find_java", no_java)
    monkeypatch.delenv("DEMO_CONTACT", raising=False)
    monkeypatch.setenv("DEMO_ROWS", "600")
    assert demo.main() == 0
    shown = capsys.readouterr().out
    assert "there is none" in shown
    assert "This runs on a simulated cluster" in shown
    assert "600 rows there and back" in shown
    assert "Write, from Arrow" in shown and "Read as columns" in shown


def test_tablets_and_shards(
    no_leaks: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_scylla, "ROWS", 300)
    assert demo_scylla.main() == 0, capsys.readouterr().out
    shown = capsys.readouterr().out
    assert "300 rows when all are known: 100.0% at an owning shard" in shown
    assert "all 600 requests came to a shard that owns their row" in shown.replace("\n", "")


@pytest.mark.parametrize(
    ("connected", "on_owner", "code"), [(12, 100, 0), (12, 99, 1), (11, 100, 1)], ids=["all", "one missed", "no shard"]
)
def test_demo_scylla_exit_code_tells_whether_routing_is_proven(
    connected: int, on_owner: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only requests after tablets were learned count, and each of them does."""
    steps = [Step("unknown", False, Routing(50, 20, 7)), Step("known", True, Routing(100, 100, on_owner))]
    assert demo_scylla.conclude(connected, steps) == code
    assert ("Proven: once" in capsys.readouterr().out) is (code == 0)
