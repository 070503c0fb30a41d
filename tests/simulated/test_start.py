"""What a first session imports besides what ``import cassandra.cluster`` did: nothing of TLS, asyncio or DDL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from cassandra.testing import SimulatedCluster

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from cassandra.cluster import Cluster

port, *points = sys.argv[1:]
with Cluster(points, port=int(port)) as cluster:
    session = cluster.connect(wait_for_all_pools=True)
    row = session.execute("SELECT key, release_version FROM system.local WHERE key = %s", ["local"]).one()
    assert row.key == "local" and "system_schema" in cluster.metadata.keyspaces
print(*sys.modules)
"""
NOT_NEEDED = {"asyncio", "dataclasses", "inspect", "ssl", "cassandra._net.tls", "cassandra._routing.schema.ddl"}


def test_a_plain_session_imports_neither_tls_nor_asyncio(no_leaks: None) -> None:
    with SimulatedCluster(1, 2) as simulated:
        command = [sys.executable, "-c", PROGRAM, str(simulated.port), *simulated.contact_points]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    imported = set(done.stdout.split())
    assert "cassandra._session.session" in imported
    assert not imported & NOT_NEEDED
