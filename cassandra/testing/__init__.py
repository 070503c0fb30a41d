"""A simulated ScyllaDB cluster in this process, for tests of applications: shards, tablets, CQL in memory, faults."""

from cassandra.testing._cluster import SimulatedCluster
from cassandra.testing._node import SimulatedNode
from cassandra.testing._requests import Request, Routing
from cassandra.testing._topology import TabletInfo
from cassandra.testing.faults import Rule

__all__ = ["Request", "Routing", "Rule", "SimulatedCluster", "SimulatedNode", "TabletInfo"]
