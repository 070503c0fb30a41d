"""Model: base class of the models of programs."""

from __future__ import annotations

from typing import Any, ClassVar

from cassandra._base.objects import public

from .base import BaseModel
from .metaclass import ModelMetaClass


@public("cassandra.cqlengine.models")
class Model(BaseModel, metaclass=ModelMetaClass):
    """A table as a class, and its rows as instances::

        class Product(Model):
            id = columns.UUID(primary_key=True, default=uuid4)
            name = columns.Text()

    The class attributes below set the options of the model. Derived models inherit them, except ``__abstract__``,
    ``__discriminator_value__`` and ``__default_ttl__``.
    """

    #: True if the model is only a base of other models: it has no table.
    __abstract__: ClassVar[bool] = True
    #: Name of the table; None to derive it from the name of the class.
    __table_name__: ClassVar[str | None] = None
    #: True if the table name is quoted; otherwise it is converted to lower case.
    __table_name_case_sensitive__: ClassVar[bool] = False
    #: Keyspace, if it is not the default one.
    __keyspace__: ClassVar[str | None] = None
    #: Name of the connection, if it is not the default one.
    __connection__: ClassVar[Any] = None
    #: Default time to live of the rows of the table, from ``__options__``.
    __default_ttl__: ClassVar[Any] = None
    #: For models that share a table: value of the discriminator column in the rows of this model.
    __discriminator_value__: ClassVar[Any] = None
    #: Options of the table, set by ``sync_table``.
    __options__: ClassVar[dict[str, Any] | None] = None
    #: True if requests by text are routed to the replicas of their rows; prepared requests always are.
    __compute_routing_key__: ClassVar[bool] = True
