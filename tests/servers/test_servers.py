"""The harness itself: a server that is stopped, killed, paused, and one whose owner dies."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.servers import ServerCluster
from tests.servers.classpath import HOME, ROOT
from tests.servers.probe import ProbeError
from tests.servers.process import Process

pytestmark = pytest.mark.long

ECHO = """
import hashlib, socket, threading, time
for _ in range(6):  # busy, without Python's lock
    threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha256", b"", b"", 1 << 30), daemon=True).start()
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
peer, _ = listening.accept()
def echo():
    while data := peer.recv(1):
        peer.sendall(data)
threading.Thread(target=echo, daemon=True).start()
time.sleep(600)
"""


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


def test_a_paused_process_has_stopped(tmp_path: Path) -> None:
    """The thread that gets the signal is asleep, and has to wait for its turn; the one that answers is another."""
    log = tmp_path / "log"
    process = Process([sys.executable, "-c", ECHO], log, tmp_path / "pid", tmp_path)
    try:
        until(lambda: log.exists() and log.read_text().endswith("\n"))
        with socket.create_connection(("127.0.0.1", int(log.read_text()))) as peer:
            for _ in range(20):
                peer.sendall(b"1")
                assert peer.recv(1) == b"1"
                process.pause()
                process.pause()
                peer.sendall(b"2")
                peer.settimeout(0.1)
                with pytest.raises(TimeoutError):
                    peer.recv(1)
                process.signal(signal.SIGCONT)
                peer.settimeout(None)
                assert peer.recv(1) == b"2"
    finally:
        process.kill()


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
