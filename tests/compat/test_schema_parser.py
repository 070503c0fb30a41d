"""Programs that read the schema over a connection by themselves, as tools written for scylla-driver do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import cassandra.metadata
from cassandra import UnsupportedOperation, UserFunctionDescriptor
from cassandra.cluster import Cluster
from cassandra.connection import Connection, DefaultEndPoint
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE

metadata: Any = cassandra.metadata


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with SimulatedCluster() as simulated, Cluster(simulated.contact_points, port=simulated.port) as found:
        session = found.connect()
        session.execute("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        session.execute("CREATE TYPE k.u (a int)")
        session.execute("CREATE TABLE k.t (p int, c text, PRIMARY KEY (p, c))")
        session.execute("CREATE INDEX i ON k.t (c)")
        yield found


@pytest.mark.parametrize("version", ["3.11.4", "4-a", "5.0"])
def test_schema_parser_results_equal_the_cluster_metadata(cluster: Cluster, version: str) -> None:
    connection = cluster.control_connection.get_connections()[0]
    parser = metadata.get_schema_parser(connection, version, None, PATIENCE)
    known = cluster.metadata.keyspaces["k"]
    table = parser.get_table(None, "k", "t")
    assert table is not known.tables["t"] and table.export_as_string() == known.tables["t"].export_as_string()
    assert parser.get_keyspace({}, "k").as_cql_query() == known.as_cql_query()
    assert parser.get_type(None, "k", "u").export_as_string() == known.user_types["u"].export_as_string()
    assert list(parser.get_types_map(None, "k")) == ["u"]
    everything = {keyspace.name: keyspace for keyspace in parser.get_all_keyspaces()}
    assert everything["k"].export_as_string() == known.export_as_string()
    assert parser.get_function(None, "k", UserFunctionDescriptor("f", ["int"])) is None
    assert parser.get_table(None, "k", "none") is None and parser.get_table(None, "none", "t") is None
    assert parser.get_keyspace(None, "none") is None and parser.get_types_map(None, "none") == {}


def test_over_a_connection_of_no_cluster(cluster: Cluster) -> None:
    host = cluster.metadata.all_hosts()[0].endpoint
    connection = Connection.factory(DefaultEndPoint(host.address, host.port), PATIENCE)
    try:
        parser = metadata.SchemaParserV4(connection, PATIENCE, 1, None)
        assert sorted(parser.get_table(None, "k", "t").columns) == ["c", "p"]
    finally:
        connection.close()


def test_versions() -> None:
    kinds = {"3.0.8": "SchemaParserV3", "4.0-beta1": "SchemaParserV4", "5.0.6": "SchemaParserV4"}
    for version, kind in kinds.items():
        assert type(metadata.get_schema_parser(None, version, None, 1.0, None, 100)) is getattr(metadata, kind)
    for version, dse in (("2.2.1", None), ("4.0.0", "6.8")):
        with pytest.raises(UnsupportedOperation, match="is not read by this driver"):
            metadata.get_schema_parser(None, version, dse, 1.0)
