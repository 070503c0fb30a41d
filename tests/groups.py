"""Which tests one worker runs, with ``--dist loadgroup``: a kind of servers is started once, and a program of C++ tests
is compiled by one worker while others compile others. All other tests are distributed by file."""

from __future__ import annotations

import re
from typing import Any

# Two workers share the tests of three nodes, each with a cluster of its own.
THREE_NODES = {
    1: {"test_cluster_nodes.py", "test_replicas_live.py", "test_silent_node.py", "test_three_nodes.py"},
    2: {"test_cloud.py", "test_drill.py", "test_faults_under_load.py", "test_ingest.py", "test_servers.py"},
}
AMONG_OTHERS = {"test_a_pool_outlives_its_node"}  # needs three nodes, too
OTHER_SERVERS = {
    "test_auth.py",
    "test_bulk.py",
    "test_connection_real.py",
    "test_protocols.py",
    "test_schema_live.py",
    "test_tls.py",
}
VARIANT = re.compile(r"\[((?:plain|asan|tsan)(?:-free)?)\b")


def group(nodeid: str) -> str:
    path, _, name = nodeid.partition("::")
    file = path.rpartition("/")[2]
    if name in AMONG_OTHERS:
        return "three nodes 1"
    for number, files in THREE_NODES.items():
        if file in files:
            return f"three nodes {number}"
    if file in OTHER_SERVERS:
        return "other servers"
    variant = VARIANT.search(name) if "/native/" in path else None
    return f"{path} {variant[1]}" if variant else path


def has(nodeid: str, servers: set[str]) -> bool:
    """Whether the group of a test has the servers that it needs."""
    found = group(nodeid)
    if "cassandra_three" in servers:
        return found.startswith("three nodes")
    return not servers - {"cassandra_node"} or found == "other servers"


def scheduler(config: Any, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return ByGroup(config, log)
