"""Servers that load an application, which connects, and then fork their workers: gunicorn and uWSGI themselves.

uWSGI forks behind Python's back. They are installed, once, in an environment of their own each; uWSGI is compiled for
that, so its case is not part of every run.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE, eventually

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".venv-preforking"
PACKAGES = {"gunicorn": "gunicorn==27.0.1", "uwsgi": "uwsgi==2.0.31"}

UWSGI = "uwsgi --master --need-app --die-on-term --processes 2 --http-socket {socket} --wsgi-file {app}"
SERVERS = {
    "gunicorn": "gunicorn --preload --workers 2 --bind unix:{socket} tests.ecosystem.preforked:application",
    "gunicorn-threads": "gunicorn --preload --workers 2 --threads 4 --bind unix:{socket} "
    "tests.ecosystem.preforked:application",
    "uwsgi": UWSGI,
    # At the end uWSGI cancels threads, also one that has the GIL; then the others hang until its mercy ends.
    "uwsgi-threads": UWSGI + " --enable-threads --threads 4 --worker-reload-mercy 3",
    "uwsgi-hooks": UWSGI + " --enable-threads --py-call-uwsgi-fork-hooks",
}


class UnixConnection(HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask(path: str) -> tuple[int, str]:
    connection = UnixConnection(path)
    try:
        connection.request("GET", "/")
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def installed(name: str) -> Path:
    """The command of that name."""
    home = HOME / name
    ready = home / "ready"
    wanted = f"{sys.version}\n{PACKAGES[name]}"
    if not ready.exists() or ready.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        subprocess.run([str(home / "bin" / "pip"), "install", "--quiet", PACKAGES[name]], check=True)
        ready.write_text(wanted)
    return home / "bin" / name


def cases() -> Iterator[Any]:
    for server, command in SERVERS.items():
        marks = [pytest.mark.ecosystem] if command.startswith("uwsgi") else []
        yield pytest.param(command, id=server, marks=marks)


@pytest.fixture
def simulated() -> Iterator[SimulatedCluster]:
    with SimulatedCluster(nodes=2, shards=2) as running:
        yield running


@pytest.mark.parametrize("command", list(cases()))
def test_workers_use_the_session_of_before_the_fork(command: str, simulated: SimulatedCluster, tmp_path: Path) -> None:
    path = str(tmp_path / "http")
    name, *arguments = command.format(socket=path, app=Path(__file__).with_name("preforked.py")).split()
    program = installed(name)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "CQL_HOST": simulated.contact_points[0],
        "CQL_PORT": str(simulated.port),
    }
    log = tmp_path / "log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [program, *arguments], env=environment, cwd=tmp_path, stdout=output, stderr=subprocess.STDOUT
        )

    def listens() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            ask(path)
        except (OSError, HTTPException):
            return False
        return True

    try:
        eventually(listens)
        assert [ask(path) for _ in range(20)] == [(200, "local local True")] * 20, log.read_text()
        process.terminate()
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
