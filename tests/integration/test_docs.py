"""The pages of the documentation are programs: each runs from top to bottom, as a reader would run it.

A page begins with an empty server and leaves it empty. Pages run one after the other: they share the keyspace ``shop``.
Pages that need no server are run by ``tests/simulated/test_docs.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cassandra.cluster import Cluster, Session
from tests import pages

KEYSPACE = "shop"
PAGES = {name: path for name, path in pages.pages().items() if pages.needs_server(path)}


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Session:
    return cluster.connect()


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name: str, tmp_path: Path, session: Session, cassandra_node: Any) -> None:
    session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}", timeout=30)
    try:
        pages.run(PAGES[name], tmp_path, cassandra_node.contact_points[0], cassandra_node.port)
        left = session.execute("SELECT * FROM system_schema.keyspaces WHERE keyspace_name = %s", (KEYSPACE,)).one()
        assert left is None, "the page drops its keyspace at its end"
    finally:
        session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}", timeout=30)
