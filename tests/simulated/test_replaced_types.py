"""Functions of type classes that a program has replaced, and the queries of the driver itself."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from cassandra.cqltypes import InetAddressType, UTF8Type
from cassandra.testing import SimulatedCluster
from tests.simulated.conftest import Connect


@pytest.mark.parametrize("kind", [UTF8Type, InetAddressType])
def test_the_queries_of_the_driver_do_not_call_them(simulated: SimulatedCluster, connect: Connect, kind: Any) -> None:
    """cqlsh replaces DateType.deserialize by a function that warns of moments after the year 9999, as they are in
    system_schema.dropped_columns."""
    called: list[bytes] = []
    deserialize = kind.deserialize

    def replaced(value: bytes, version: int) -> Any:
        called.append(value)
        return deserialize(value, version)

    simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    simulated.execute("CREATE TABLE ks.t (id int PRIMARY KEY, v text, address inet)")
    with patch.object(kind, "deserialize", staticmethod(replaced)):
        session = connect(simulated, "ks")
        session.cluster.refresh_schema_metadata()
        assert list(session.cluster.metadata.keyspaces["ks"].tables["t"].columns) == ["id", "address", "v"]
        assert not called
        session.execute("INSERT INTO t (id, v, address) VALUES (1, 'one', '::1')")
        assert session.execute("SELECT v, address FROM t").one() == ("one", "::1")
        assert len(called) == 1
