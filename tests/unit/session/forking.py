"""Scripts that fork, each in an interpreter of its own; the servers they talk to live here."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from tests.patience import PATIENCE, eventually

if TYPE_CHECKING:
    from tests.fakes.nodes import FakeCluster

ROOT = Path(__file__).parents[3]

PREAMBLE = """
import asyncio, os, signal, sys, threading, time, traceback, warnings
warnings.simplefilter("ignore")  # of later Pythons: threads and fork, which is the point here
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT, NoHostAvailable
from cassandra.connection import ConnectionShutdown
from cassandra.policies import ConstantReconnectionPolicy, RoundRobinPolicy, TokenAwarePolicy, DCAwareRoundRobinPolicy
from tests.patience import PATIENCE, eventually

def connected(policy=None, keyspace=None, **options):
    profile = ExecutionProfile(policy or RoundRobinPolicy(), request_timeout=PATIENCE)
    cluster = Cluster(POINTS, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **options)
    cluster.connect_timeout = cluster.control_connection_timeout = PATIENCE
    return cluster, cluster.connect(keyspace, wait_for_all_pools=True)

def start(work):
    '''Fork a child that does *work*; its process id.'''
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os._exit(code)
    return pid

def ended(pid):
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, f"the child ended with {code}"

def in_child(work):
    ended(start(work))

def fails(kind, action, *words):
    try:
        action()
    except kind as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("nothing was raised")
"""


class Servers(Protocol):
    """Where a script connects to."""

    @property
    def contact_points(self) -> Sequence[tuple[str, int]]: ...


class Held:
    """The answers to ``SELECT never`` at *fake*, until they are let go."""

    VOID = b"\0\0\0\1"

    def __init__(self, fake: FakeCluster) -> None:
        self._asked: list[tuple[Any, Any]] = []
        fake.on_query = self._hold

    def _hold(self, node: Any, connection: Any, request: Any, text: str) -> bool:
        if text == "SELECT never":
            self._asked.append((connection, request))
        return text == "SELECT never"

    def wait(self, count: int) -> None:
        """Until it was asked for *count* of them."""
        eventually(lambda: len(self._asked) == count)

    def let_go(self, count: int) -> None:
        """When there are *count* of them."""
        self.wait(count)
        for connection, request in self._asked:
            connection.answer(request, 0x08, self.VOID)


def start(servers: Servers, script: str, preamble: str = PREAMBLE) -> subprocess.Popen[str]:
    """Run *preamble* and *script*."""
    code = preamble + f"POINTS = {servers.contact_points!r}\n" + textwrap.dedent(script)
    command = [sys.executable, "-c", code]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen(command, cwd=ROOT, text=True, start_new_session=True, **pipes)  # a group, to end together


def says(process: subprocess.Popen[str], line: str) -> None:
    """Wait until it has printed *line*, the first one."""
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], 4 * PATIENCE)
    said = process.stdout.readline() if readable else None
    if said != f"{line}\n":
        _fail(process, f"it says {said!r}" if readable else "it hangs")


def finish(process: subprocess.Popen[str], typed: str = "") -> str:
    """The output of the process, after *typed* is sent to its input. Fails if it failed, hangs, or printed an error."""
    try:
        out, errors = process.communicate(typed, timeout=4 * PATIENCE)
    except subprocess.TimeoutExpired:
        _fail(process, "it hangs")
    assert (process.returncode, errors) == (0, ""), errors
    return out


def _fail(process: subprocess.Popen[str], what: str) -> NoReturn:
    out, errors = kill(process)
    raise AssertionError(f"{what}: {out}\n{errors}")


def run(servers: Servers, script: str) -> str:
    return finish(start(servers, script))


def kill(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Kill the process and its children; returns the output until then."""
    if process.stdout is None or process.stdout.closed:  # it has ended, and so have all holders of its output
        return "", ""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.communicate()
