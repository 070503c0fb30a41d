"""Scripts in interpreters that gevent or eventlet has patched; the servers they talk to live here, unpatched."""

from __future__ import annotations

import subprocess

from tests.packages import require
from tests.unit.session import forking

GEVENT = """
import warnings
warnings.simplefilter("ignore")
from gevent import monkey
monkey.patch_all()
import gevent
from gevent import Timeout, sleep, spawn

def ended(greenlets):
    return [greenlet.get() for greenlet in greenlets]
"""

EVENTLET = """
import warnings
warnings.simplefilter("ignore")  # eventlet warns of itself
import eventlet
eventlet.monkey_patch()
from eventlet import Timeout, sleep, spawn

def ended(greenlets):
    return [greenlet.wait() for greenlet in greenlets]
"""

COMMON = """
import os, signal, sys, threading, time
from cassandra import OperationTimedOut
from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT, NoHostAvailable
from cassandra.concurrent import execute_concurrent, execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy
from tests.patience import PATIENCE, eventually

def made(**options):
    profile = ExecutionProfile(RoundRobinPolicy(), request_timeout=PATIENCE)
    cluster = Cluster(POINTS, execution_profiles={EXEC_PROFILE_DEFAULT: profile}, **options)
    cluster.connect_timeout = cluster.control_connection_timeout = PATIENCE
    return cluster

class Neighbour:
    '''A greenlet that counts how often it has its turn.'''
    def __init__(self):
        self.turns = 0
        spawn(self._run)
    def _run(self):
        while True:
            self.turns += 1
            sleep(0.001)

def goes_on(neighbour, turns=50):
    '''Whether it has as many turns while this greenlet waits for another greenlet.'''
    before = neighbour.turns
    return eventually(lambda: neighbour.turns >= before + turns)

def fails(kind, action, *words):
    try:
        action()
    except kind as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError("nothing was raised")
"""

PREAMBLES = {"gevent": GEVENT + COMMON, "eventlet": EVENTLET + COMMON}


def start(library: str, servers: forking.Servers, script: str) -> subprocess.Popen[str]:
    require(library)
    return forking.start(servers, script, PREAMBLES[library])


def run(library: str, servers: forking.Servers, script: str) -> str:
    """The output of the script. Fails if it failed, hangs, or printed an error."""
    return forking.finish(start(library, servers, script))
