"""Model: the base class of programs' models."""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra._base.public import public

from .base import BaseModel
from .metaclass import ModelMetaClass


@public("cassandra.cqlengine.models")
class Model(BaseModel, metaclass=ModelMetaClass):
    """A table as a class, and its rows as instances::

        class Product(Model):
            id = columns.UUID(primary_key=True, default=uuid4)
            name = columns.Text()

    The class attributes below say what is not said by columns; those of a base class hold for derived ones, but for
    ``__abstract__``, ``__discriminator_value__`` and ``__default_ttl__``.
    """

    #: A model that only others are derived from: it has no table.
    __abstract__: ClassVar[bool] = True
    #: The name of the table; made of that of the class if there is none.
    __table_name__: ClassVar[str | None] = None
    #: Whether the name of the table is quoted, else it is in small letters.
    __table_name_case_sensitive__: ClassVar[bool] = False
    #: The keyspace, if it is not the default one.
    __keyspace__: ClassVar[str | None] = None
    #: The name of the connection, if it is not the default one.
    __connection__: ClassVar[Any] = None
    #: The time to live that the table has for its rows, from ``__options__``.
    __default_ttl__: ClassVar[Any] = None
    #: Of models that share a table: the value of the discriminator column that rows of this one have.
    __discriminator_value__: ClassVar[Any] = None
    #: Options of the table, as ``sync_table`` sets them.
    __options__: ClassVar[dict[str, Any] | None] = None
    #: Whether requests by text are sent to where their rows are; those that were prepared always are.
    __compute_routing_key__: ClassVar[bool] = True
