"""Names that applications import from modules that only use them, as scylla-driver's modules let them."""

from __future__ import annotations

import importlib
from unittest.mock import Mock

import pytest

import cassandra.cluster
from cassandra import UnsupportedOperation
from cassandra.cluster import Session

PLACES = {
    "cassandra.cluster": """
        AuthenticationFailed BatchStatement BoundStatement ConsistencyLevel DCAwareRoundRobinPolicy DriverException
        ExponentialReconnectionPolicy Host HostDistance InvalidRequest Metadata NoConnectionsAvailable OperationTimedOut
        PlainTextAuthProvider PreparedStatement ProtocolVersion QueryTrace RetryPolicy SimpleStatement Tablet
        TokenAwarePolicy UnsupportedOperation choose_tablet_version_block dict_factory named_tuple_factory
        random_tablet_version_block tuple_factory
    """,
    "cassandra.query": "ConsistencyLevel Encoder OperationTimedOut",
    "cassandra.concurrent": "ResultSet",
    "cassandra.metadata": "ConsistencyLevel Encoder EndPoint HostDistance InvalidRequest Tablets Unauthorized Version",
    "cassandra.protocol": "AlreadyExists InvalidRequest ReadFailure ReadTimeout Unauthorized Unavailable WriteTimeout",
    "cassandra.policies": "ConsistencyLevel OperationTimedOut WriteType",
    "cassandra.pool": "AuthenticationFailed ConnectionException EndPoint HostDistance",
    "cassandra.cython_deps": "HAVE_CYTHON HAVE_NUMPY",
    "cassandra.numpy_parser": "NumpyParser",
    "cassandra.obj_parser": "LazyParser ListParser",
    "cassandra.util": "DATETIME_EPOC HIGHEST_TIME_UUID LOWEST_TIME_UUID OrderedDict UTC_DATETIME_EPOC",
}


@pytest.mark.parametrize("place", PLACES)
def test_names_are_there(place: str) -> None:
    module = importlib.import_module(place)
    missing = [name for name in PLACES[place].split() if name not in module.__all__ or not hasattr(module, name)]
    assert not missing


def test_everything_is_exported_once() -> None:
    exported = cassandra.cluster.__all__
    assert len(exported) == len(set(exported)) and all(hasattr(cassandra.cluster, name) for name in exported)


@pytest.mark.parametrize("place", ["cassandra.graph", "cassandra.datastax.graph", "cassandra.cluster"])
def test_unsupported_graph_names_raise_when_they_are_used(place: str) -> None:
    module = importlib.import_module(place)
    with pytest.raises(
        UnsupportedOperation, match="GraphSON1Serializer is for DSE graph, which fastcql does not support"
    ):
        module.GraphSON1Serializer()
    with pytest.raises(UnsupportedOperation, match="graph_graphson2_row_factory is for DSE graph"):
        module.graph_graphson2_row_factory([], [])
    with pytest.raises(AttributeError, match=r"GraphSON2Serializer.serialize: GraphSON2Serializer is for DSE graph"):
        module.GraphSON2Serializer.serialize  # noqa: B018

    class Own(module.GraphSON3Serializer):  # type: ignore[misc, name-defined]
        """Programs may define such classes, and ask for them, where they use none."""

    assert not isinstance("SELECT", Own) and not hasattr(Own, "no_such_name")
    with pytest.raises(UnsupportedOperation, match="Own is for DSE graph"):
        Own()


@pytest.mark.parametrize("package", ["cassandra.graph", "cassandra.datastax.graph"])
def test_modules_of_graphs(package: str) -> None:
    graph = importlib.import_module(package)
    query, types, graphson = (importlib.import_module(f"{package}.{name}") for name in ("query", "types", "graphson"))
    assert query.GraphOptions is graph.GraphOptions and types.Vertex is query.Vertex is graph.Vertex
    assert graphson.GraphSON3Reader is query.GraphSON3Reader is graph.GraphSON3Reader and graphson.T is types.T
    with pytest.raises(UnsupportedOperation, match="Graph queries need a DSE server"):
        Session.execute_graph(Mock(spec=Session), graph.SimpleGraphStatement("g.V()"))
