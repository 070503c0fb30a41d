"""Nothing of a host stays when it has left: pods come and go, with other addresses each time."""

from __future__ import annotations

import gc
import logging
import weakref
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.connection import DefaultEndPoint
from cassandra.policies import (
    AddressTranslator,
    ConstantReconnectionPolicy,
    DCAwareRoundRobinPolicy,
    HostFilterPolicy,
    LatencyAwarePolicy,
    LoadBalancingPolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
)
from cassandra.query import SimpleStatement
from cassandra.telemetry import OpenTelemetry
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail
from tests.simulated.conftest import eventually

pytestmark = pytest.mark.long

PODS = 36
AT_ONCE = 3
SELECT = "SELECT * FROM ks.t WHERE k = ?"


def policies() -> dict[Any, ExecutionProfile]:
    chains: list[LoadBalancingPolicy] = [
        LatencyAwarePolicy(TokenAwarePolicy(DCAwareRoundRobinPolicy("dc1"))),
        TokenAwarePolicy(RackAwareRoundRobinPolicy("dc1", "rack1")),
        HostFilterPolicy(RoundRobinPolicy(), lambda host: True),
    ]
    names: list[Any] = [EXEC_PROFILE_DEFAULT, "racks", "filtered"]
    return {name: ExecutionProfile(chain) for name, chain in zip(names, chains, strict=True)}


@pytest.mark.parametrize("treated", ["served", "traced", "refused", "denied"])
def test_nothing_of_a_host_that_left_stays(treated: str, no_leaks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """*refused*: no connection to a new node is let in while it is there, and those that were are cut; *denied*: the
    first one gets an answer, all others an error; *traced*: as served, with a span of each request."""
    monkeypatch.setattr(logging.getLogger("cassandra"), "propagate", False)  # reports of tests keep what was logged
    gone: list[weakref.ref[Any]] = []
    with SimulatedCluster(2, 1, dcs=("dc1",)) as simulated:
        windows: dict[str, Any] = {"topology_event_refresh_window": 0, "status_event_refresh_window": 0}
        with Cluster(
            simulated.contact_points,
            port=simulated.port,
            execution_profiles=policies(),
            reconnection_policy=ConstantReconnectionPolicy(0.02),
            metrics_enabled=True,
            request_tracker=OpenTelemetry(tracer_provider=TracerProvider()) if treated == "traced" else None,
            connect_timeout=2,
            **windows,
        ) as cluster:
            session, other = cluster.connect(), cluster.connect()
            session.execute(
                "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': 2}"
            )
            session.execute("CREATE TABLE ks.t (k int PRIMARY KEY, v int)")
            select = session.prepare(SELECT)
            select.is_idempotent = True  # a request may be on a connection that is cut
            hosts = cluster.metadata.all_hosts
            for _ in range(PODS // AT_ONCE):
                nodes = [simulated.add_node() for _ in range(AT_ONCE)]
                for node in nodes[:-1]:
                    if treated == "refused":
                        node.refuse_connections()
                        node.drop_connections()
                    elif treated == "denied":
                        denied = Fail(errors.ServerError("too many clients"))
                        simulated.inject(denied, opcode="STARTUP", node=simulated.nodes.index(node), after=1)
                eventually(lambda: len(hosts()) == 2 + AT_ONCE)
                if treated in ("served", "traced"):
                    eventually(lambda: all(host.is_up for host in hosts()))
                for key in range(20):
                    for profile in cluster.profile_manager.profiles:
                        session.execute(select, (key,), execution_profile=profile)
                        text = SimpleStatement(SELECT.replace("?", str(key)), is_idempotent=True)
                        other.execute(text, execution_profile=profile)
                gone += [weakref.ref(host) for host in hosts() if host.address not in simulated.contact_points[:2]]
                if treated == "denied":
                    eventually(lambda: sum(one.error == "ServerError" for one in simulated.requests) >= AT_ONCE)
                for node in nodes:
                    simulated.remove_node(node)
                simulated.clear_faults()
                simulated.clear_requests()
                eventually(lambda: len(hosts()) == 2)
            assert len(gone) == PODS
            for key in range(20):  # nothing that was worked out for the hosts of before
                for profile in cluster.profile_manager.profiles:
                    session.execute(select, (key,), execution_profile=profile)
                    other.execute(select, (key,), execution_profile=profile)

            def left() -> list[Any]:
                gc.collect()
                return [host for host in (one() for one in gone) if host is not None]

            eventually(lambda: not left())


def test_end_points_of_nodes_that_left_are_forgotten(no_leaks: None) -> None:
    """Each control connection tells where the contact points' datacenter is: the last one counts."""

    class Moves(AddressTranslator):
        def translate(self, addr: str) -> str:
            return addr

    with (
        SimulatedCluster(1, 1) as simulated,
        Cluster(simulated.contact_points, port=simulated.port, address_translator=Moves()) as cluster,
    ):
        cluster.connect()
        given = cluster.endpoints_resolved
        for number in range(20):
            cluster.contacts.add(DefaultEndPoint(f"10.0.0.{number}"))
        assert cluster.endpoints_resolved == [*given, DefaultEndPoint("10.0.0.19")]
