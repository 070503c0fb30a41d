"""The harness itself: a server that is stopped, killed, paused, and one whose owner dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers import ServerCluster
from tests.servers.classpath import HOME, ROOT
from tests.servers.probe import ProbeError


def until(condition: Callable[[], bool], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def test_a_node_goes_and_comes_back(cassandra_three: ServerCluster) -> None:
    node = cassandra_three.nodes[2]
    for leave in (node.stop, node.kill):
        leave()
        assert not node.running
        with pytest.raises(ConnectionRefusedError):
            node.probe()
        node.start()
        with node.probe() as probe:
            probe.login()
            assert probe.count("system.local") == 1


def test_a_paused_node_accepts_but_does_not_answer(cassandra_three: ServerCluster) -> None:
    node = cassandra_three.nodes[1]
    node.pause()
    with node.probe(timeout=0.5) as probe, pytest.raises((TimeoutError, ProbeError)):
        probe.options()
    cassandra_three.restore()
    with node.probe() as probe:
        probe.options()


@pytest.fixture
def base() -> str:
    """An address that no other run on this machine is likely to use."""
    return f"127.0.{100 + os.getpid() % 100}.1"


def start(base: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tests.servers", "start", "--base", base], cwd=ROOT)


@pytest.mark.server
def test_nothing_outlives_a_killed_owner(base: str) -> None:
    """SIGKILL of the process that started a server ends it; its files go with the next start."""
    folder = HOME / "run" / base
    pidfile = folder / "node1" / "pid"
    with start(base) as owner:
        until(lambda: pidfile.exists() and pidfile.read_text() != "")
        server = Path("/proc") / pidfile.read_text()
        assert server.exists()
        owner.kill()
    until(lambda: not server.exists())
    ServerCluster(base=base).close()
    assert not folder.exists()


@pytest.mark.server
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_owner_cleans_up(base: str, number: signal.Signals) -> None:
    """Also in the middle of the start."""
    folder = HOME / "run" / base
    with start(base) as owner:
        until((folder / "node1" / "pid").exists)
        owner.send_signal(number)
    assert not folder.exists()
    assert owner.returncode == 0
