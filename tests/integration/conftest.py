"""Clusters, sessions and keyspaces of the integration tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cassandra.cluster import Cluster, ExecutionProfile, Session
from tests.patience import PATIENCE, be_patient

Connect = Callable[..., Cluster]


@pytest.fixture(scope="session", autouse=True)
def patient_defaults() -> Iterator[None]:
    """Servers on a busy machine take their time; a test of a time limit gives it."""
    with pytest.MonkeyPatch.context() as patch:
        be_patient(patch, Cluster, connect_timeout=PATIENCE, control_connection_timeout=PATIENCE)
        be_patient(patch, ExecutionProfile, request_timeout=PATIENCE)
        yield


REPLICATION = "{'class': 'SimpleStrategy', 'replication_factor': %d}"


def create_keyspace(session: Session, name: str, replication_factor: int = 1) -> None:
    session.execute(f"DROP KEYSPACE IF EXISTS {name}", timeout=30)
    session.execute(f"CREATE KEYSPACE {name} WITH replication = {REPLICATION % replication_factor}", timeout=30)


def name_of(module: Any) -> str:
    """A keyspace of its own for each test module."""
    return f"it_{module.__name__.rpartition('.')[2].removeprefix('test_')}"


@pytest.fixture
def cluster_to() -> Iterator[Connect]:
    """``cluster_to(server, **options)`` makes a Cluster for a server fixture; it is shut down after the test."""
    with contextlib.ExitStack() as stack:

        def make(server: Any, **options: Any) -> Cluster:
            options.setdefault("port", server.port)
            cluster = Cluster(options.pop("contact_points", server.contact_points), **options)
            stack.callback(cluster.shutdown)
            return cluster

        yield make


@pytest.fixture(scope="module")
def cluster(cassandra_node: Any) -> Iterator[Cluster]:
    """One cluster with default options for all tests of a module."""
    with Cluster(cassandra_node.contact_points, port=cassandra_node.port) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def keyspace(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh keyspace, dropped after the module."""
    name = name_of(request.module)
    with cluster.connect() as session:
        create_keyspace(session, name)
        yield name
        session.execute(f"DROP KEYSPACE {name}", timeout=30)


@pytest.fixture(scope="module")
def session(cluster: Cluster, keyspace: str) -> Session:
    """A session in the module's keyspace."""
    return cluster.connect(keyspace)
