"""The examples of docs/mapper.rst run, from top to bottom."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from cassandra.cqlengine import columns, connection, models
from cassandra.cqlengine.query import AbstractQuerySet
from cassandra.testing import SimulatedCluster

PAGE = Path(__file__).resolve().parents[2] / "docs" / "mapper.rst"
BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:    .*\n|\n)+)", re.M)
CONTACT = 'connection.setup(["127.0.0.1"], "shop_example"'


def test_the_page(monkeypatch: pytest.MonkeyPatch, no_leaks: None) -> None:
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    monkeypatch.setattr(models, "DEFAULT_KEYSPACE", None)
    text = PAGE.read_text()
    found = list(BLOCK.finditer(text))
    assert len(found) == 8 and CONTACT in text
    with SimulatedCluster() as simulated:
        contact = f'connection.setup({simulated.contact_points!r}, "shop_example", port={simulated.port}'
        names: dict[str, Any] = {"__name__": "example"}
        for match in found:
            line = text[: match.start(1)].count("\n")
            code = "\n" * line + textwrap.dedent(match[1]).replace(CONTACT, contact)
            exec(compile(code, str(PAGE), "exec"), names)
        assert names["cluster"].is_shutdown and not connection._connections
    connection.udt_by_keyspace.clear()


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
