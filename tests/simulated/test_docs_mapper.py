"""The table of statements in docs/mapper.rst."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from cassandra.cqlengine import columns, connection, models
from cassandra.cqlengine.query import AbstractQuerySet
from cassandra.testing import SimulatedCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mapper.rst"
ROW = re.compile(r"^``(.+?)`` +``(.+?)``$", re.M)


def test_the_table_of_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program is what it says, up to three dots."""
    text = PAGE.read_text()
    table = text[text.index("program                    ") : text.index("Queries\n---")]
    rows = ROW.findall(table)
    assert len(rows) == 7
    monkeypatch.setattr(models, "DEFAULT_KEYSPACE", "ks")

    class Product(models.Model):
        shop = columns.Text(partition_key=True)
        id = columns.Integer(primary_key=True)
        name = columns.Text()
        price = columns.Integer()
        tags = columns.Set(columns.Text)

    with SimulatedCluster(nodes=1) as simulated:
        simulated.execute("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
        simulated.execute(
            "CREATE TABLE ks.product (shop text, id int, name text, price int, tags set<text>, PRIMARY KEY (shop, id))"
        )
        connection.setup(simulated.contact_points, "ks", port=simulated.port)
        try:
            product = Product.create(shop="a", id=1, name="x", price=5)
            for program, cql in rows:
                where = "shop='a'" if "order_by" in program else "shop='a', id=1"
                code = re.sub(r"^\.{3}", f"Product.objects({where})", program)
                simulated.clear_requests()
                names: dict[str, Any] = {"Product": Product, "product": product, "i": 1}
                exec(code if ";" in code else f"found = {code}", names)
                if isinstance(names.get("found"), AbstractQuerySet):
                    list(names["found"])  # it is lazy
                sent = [request.query for request in simulated.requests if "ks.product" in (request.query or "")]
                expected = re.escape(cql).replace(re.escape("..."), ".*")
                assert any(re.fullmatch(expected, query) for query in sent), (program, sent)
                if "delete" in program:
                    product = Product.create(shop="a", id=1, name="x", price=5)
        finally:
            connection.unregister_connection("default")
