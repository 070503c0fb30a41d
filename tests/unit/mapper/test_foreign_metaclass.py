"""Models whose columns a metaclass of a program's own gathers, as django-cassandra-engine's does."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

from cassandra.cqlengine import CQLEngineException, columns
from cassandra.cqlengine.management import sync_table
from cassandra.cqlengine.models import BaseModel, ColumnDescriptor, Model, ModelMetaClass


class Gathering(ModelMetaClass):
    """It makes the class by itself, sets attributes of it, and never calls the ``__new__`` of its base."""

    def __new__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> Any:
        found = OrderedDict((key, value) for key, value in attrs.items() if isinstance(value, columns.Column))
        for key, column in found.items():
            column.set_column_name(key)
            attrs[key] = ColumnDescriptor(column)
        keys = OrderedDict((key, column) for key, column in found.items() if column.primary_key)
        attrs.update(
            __abstract__=False,
            __discriminator_value__=None,
            _columns=found,
            _defined_columns=found,
            _primary_keys=keys,
            _partition_keys=keys,
            _clustering_keys=OrderedDict(),
            _db_map={},
            _has_counter=False,
            _is_polymorphic=False,
            _is_polymorphic_base=False,
            _discriminator_column_name=None,
        )
        made = type.__new__(cls, name, bases, attrs)
        made._deferred = False
        return made


class Product(BaseModel, metaclass=Gathering):
    __keyspace__ = "app"
    id = columns.Integer(primary_key=True)
    tags = columns.List(columns.Text)


def test_its_instances_have_values() -> None:
    product: Any = Product(id=1, tags=["a"])
    assert (product.id, product.tags, product.get_changed_columns()) == (1, ["a"], ["id", "tags"])
    product._set_persisted()
    product.tags.append("b")
    assert product.get_changed_columns() == ["tags"]
    assert "SELECT * FROM app.product" in str(Product.objects)
    assert Product._table_name == "product"  # type: ignore[attr-defined]


def test_a_model_of_the_base_class_alone_has_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CQLENG_ALLOW_SCHEMA_MANAGEMENT", "1")
    assert not issubclass(Product, Model)
    with pytest.raises(CQLEngineException, match="doesn't exist in the registry"):  # it is a model, and asks for one
        sync_table(Product)
