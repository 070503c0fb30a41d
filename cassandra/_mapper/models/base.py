"""BaseModel: methods of model instances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

from cassandra._base.errors import DriverException
from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._core.models import Instance
from cassandra._mapper.errors import (
    CQLEngineException,
    ModelException,
    PolymorphicModelException,
    ValidationError,
)
from cassandra._mapper.errors import DoesNotExist as _DoesNotExist
from cassandra._mapper.errors import MultipleObjectsReturned as _MultipleObjectsReturned
from cassandra._mapper.instances import begin, forget, is_changed, left_out, settle
from cassandra._mapper.query.batch import BatchQuery
from cassandra._mapper.query.dml import DMLQuery
from cassandra._mapper.query.models import ModelQuerySet
from cassandra._mapper.query.plain import INSERTS, UPDATES
from cassandra._mapper.query.points import READS, creates_plainly
from cassandra._session.statements.statement import NOT_SET

from .descriptors import (
    ConditionalDescriptor,
    ConsistencyDescriptor,
    IfExistsDescriptor,
    IfNotExistsDescriptor,
    QuerySetDescriptor,
    TimestampDescriptor,
    TTLDescriptor,
    UsingDescriptor,
    hybrid_classmethod,
)
from .metaclass import RESERVED
from .naming import full_name_of, keyspace_of, known_table_of

M = TypeVar("M", bound="BaseModel")

# Methods of native classes: looking one up for each call costs 400 more instructions.
_insert_of, _update_of, _read_of = INSERTS.find, UPDATES.find, READS.find
_read = READS.read

left_out(Instance.update)


@public("cassandra.cqlengine.models")
class BaseModel(Instance):
    """Base of all models. Values are accessible as attributes, as items, and by ``keys()``, ``values()``,
    ``items()``."""

    class DoesNotExist(_DoesNotExist):
        """No row of the model matches the query."""

    class MultipleObjectsReturned(_MultipleObjectsReturned):
        """More than one row of the model matches the query."""

    objects = QuerySetDescriptor()
    ttl = TTLDescriptor()
    consistency = ConsistencyDescriptor()
    iff = ConditionalDescriptor()
    timestamp = TimestampDescriptor()
    if_not_exists = IfNotExistsDescriptor()
    if_exists = IfExistsDescriptor()
    using = UsingDescriptor()

    __queryset__: ClassVar[Any] = ModelQuerySet
    __dmlquery__: ClassVar[Any] = DMLQuery
    __consistency__: Any = None
    __table_name__: ClassVar[str | None] = None
    __table_name_case_sensitive__: ClassVar[bool] = False
    __keyspace__: ClassVar[str | None] = None
    __connection__: ClassVar[Any] = None
    __options__: ClassVar[Any] = None
    __default_ttl__: ClassVar[Any] = None
    __discriminator_value__: ClassVar[Any] = None
    __compute_routing_key__: ClassVar[bool] = True

    _ttl: Any = None
    _timestamp: Any = None
    _conditional: Any = None
    _batch: Any = None
    _timeout: Any = NOT_SET
    _connection: Any = None
    _if_not_exists: bool = False
    _if_exists: bool = False

    # Set by the metaclass.
    _blueprint: ClassVar[Any]
    _columns: ClassVar[Any]
    _primary_keys: ClassVar[Any]
    _db_map: ClassVar[Any]
    _key_serializer: ClassVar[Any]
    _is_polymorphic: ClassVar[bool]
    _is_polymorphic_base: ClassVar[bool]
    _polymorphic_base: ClassVar[Any]
    _discriminator_column_name: ClassVar[Any]
    _discriminator_map: ClassVar[Any]

    @left_out
    def __init__(self, **values: Any) -> None:
        begin(self, self._blueprint, values)

    # ---- as a mapping

    def __repr__(self) -> str:
        hidden = self._discriminator_column_name
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._columns if name != hidden)
        return f"{type(self).__name__}({values})"

    def __str__(self) -> str:
        keys = ", ".join(f"{name}={getattr(self, name)}" for name in self._primary_keys)
        return f"{type(self).__name__} <{keys}>"

    def __eq__(self, other: object) -> bool:
        if self.__class__ != other.__class__:
            return False
        return all(getattr(self, name, None) == getattr(other, name, None) for name in self._columns)

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the columns."""
        yield from self._columns

    def __getitem__(self, key: str) -> Any:
        if key not in self._columns:
            raise KeyError(f"{type(self).__name__} has no column {key!r}")
        return getattr(self, key)

    def __setitem__(self, key: str, val: Any) -> None:
        if key not in self._columns:
            raise KeyError(f"{type(self).__name__} has no column {key!r}")
        setattr(self, key, val)

    def __len__(self) -> int:
        """Return the number of columns."""
        return len(self._columns)

    def keys(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._columns)

    def values(self) -> list[Any]:
        """Return the values, in the order of the columns."""
        return [getattr(self, name) for name in self._columns]

    def items(self) -> list[tuple[str, Any]]:
        """Return pairs of name and value."""
        return [(name, getattr(self, name)) for name in self._columns]

    # ---- names

    @classmethod
    def _get_keyspace(cls) -> str | None:
        return keyspace_of(cls)

    @classmethod
    def _raw_column_family_name(cls) -> str:
        return known_table_of(cls)

    @classmethod
    def column_family_name(cls, include_keyspace: bool = True) -> str:
        """Return the name of the table in CQL."""
        return full_name_of(cls) if include_keyspace else protect_name(known_table_of(cls))

    @classmethod
    def _get_column(cls, name: str) -> Any:
        return cls._columns[name]

    @classmethod
    def _get_column_by_db_name(cls, name: str) -> Any:
        return cls._columns.get(cls._db_map.get(name, name))

    @classmethod
    def _routing_key_from_values(cls, pk_values: Any, protocol_version: int) -> Any:
        return cls._key_serializer(pk_values, protocol_version) if cls.__compute_routing_key__ else None

    # ---- from rows

    @classmethod
    @left_out
    def _construct_instance(cls, values: Any) -> Any:
        """Return the instance of a row, given as a mapping from column names in the database to values."""
        if cls._db_map:
            values = {cls._db_map.get(name, name): value for name, value in values.items()}
        kind = cls._class_of(values.get(cls._discriminator_column_name)) if cls._is_polymorphic else cls
        known = {name: value for name, value in values.items() if name in kind._columns}
        instance = kind(**known)
        instance._set_persisted(force=True)
        if len(known) < len(kind._columns):
            settle(instance, kind._blueprint, known)
        return instance

    @classmethod
    def _class_of(cls, value: Any) -> Any:
        """Return the model of rows with this discriminator."""
        if value is None:
            raise PolymorphicModelException("discriminator value was not found in values")
        base: Any = cls if cls._is_polymorphic_base else cls._polymorphic_base
        found = base._get_model_by_discriminator_value(value)
        if found is None:
            base._discover_polymorphic_submodels()
            found = base._get_model_by_discriminator_value(value)
            if found is None:
                raise PolymorphicModelException(f"unrecognized discriminator column {value} for class {base.__name__}")
        if not issubclass(found, getattr(cls, "_original", cls)):
            raise PolymorphicModelException(f"{found.__name__} is not a subclass of {cls.__name__}")
        return found

    @classmethod
    def _discover_polymorphic_submodels(cls) -> None:
        if not cls._is_polymorphic_base:
            raise ModelException("_discover_polymorphic_submodels can only be called on polymorphic base classes")
        found: list[Any] = [cls]
        for model in found:
            found += model.__subclasses__()
            if model.__discriminator_value__ is not None:
                cls._discriminator_map[model.__discriminator_value__] = model

    @classmethod
    def _get_model_by_discriminator_value(cls, key: Any) -> Any:
        return cls._discriminator_map.get(key)

    # ---- changes

    @left_out
    def validate(self) -> None:
        """Check all values, and convert those that can be converted; a ValidationError names the column."""
        now = self._touched
        for name, kind, column in self._blueprint.checked:
            value = now[name] if name in now else getattr(self, name)
            if type(value) is kind:
                continue
            if value is None and column.has_default and name not in self._given and not self._is_persisted:
                value = column.get_default()
            checked = column.validate(value)
            if checked is not now.get(name, checked):
                now[name] = checked

    def get_changed_columns(self) -> list[str]:
        """Return the names of the columns whose values differ from the last loaded or written ones."""
        return [name for name, column in self._columns.items() if is_changed(self, name, column)]

    @left_out
    def _set_column_value(self, name: str, value: Any) -> None:
        self._touched[name] = value

    @left_out
    def _set_persisted(self, force: bool = False) -> None:
        settle(self, self._blueprint)

    @left_out
    def _can_update(self) -> bool:
        """True if the row exists already: it was loaded or written, and its key has not changed since."""
        if not self._is_persisted:
            return False
        now = self._touched
        return not any(name in now and is_changed(self, name, column) for name, column in self._primary_keys.items())

    def _as_dict(self) -> dict[str, Any]:
        return {name: column.to_database(getattr(self, name)) for name, column in self._columns.items()}

    # ---- requests

    @classmethod
    def create(cls: type[M], **kwargs: Any) -> M:
        """Insert a row with these values, and return its instance."""
        insert = _insert_of(cls, kwargs)
        if insert is not None:
            defaults = insert.defaults()
            made: M | None = insert.write(kwargs, defaults)
            return cls._begun(kwargs, defaults).save() if made is None else made
        cls._check_names(kwargs)
        if creates_plainly(cls):
            return cls(**kwargs).save()
        created: M = cls.objects.create(**kwargs)
        return created

    @classmethod
    async def acreate(cls: type[M], **kwargs: Any) -> M:
        """As :meth:`create`, without blocking the running loop."""
        insert = _insert_of(cls, kwargs)
        if insert is not None:
            defaults = insert.defaults()
            sent = insert.send(kwargs, defaults)
            if sent is not None:
                try:
                    await sent[0]
                except DriverException as error:
                    if not insert._is_done_anew(error, sent[0]):
                        raise
                else:
                    made: M = insert.written(sent[1])
                    return made
            return await cls._begun(kwargs, defaults).asave()
        cls._check_names(kwargs)
        if creates_plainly(cls):
            return await cls(**kwargs).asave()
        created: M = await cls.objects.acreate(**kwargs)
        return created

    @classmethod
    def _begun(cls: type[M], given: dict[str, Any], defaults: dict[str, Any]) -> M:
        """Return an instance with the given values, and with defaults that were created before."""
        instance = cls(**given, **defaults)
        instance._given.difference_update(defaults)
        return instance

    @classmethod
    def _check_names(cls, values: Any) -> None:
        if not values.keys() <= cls._columns.keys():
            raise ValidationError(f"Incorrect columns passed: {set(values) - set(cls._columns)}")

    @classmethod
    def all(cls: type[M]) -> ModelQuerySet[M]:
        """Return a query set of all rows."""
        return cls.objects.all()

    @classmethod
    def filter(cls: type[M], *args: Any, **kwargs: Any) -> ModelQuerySet[M]:
        """Return a query set of the rows that meet these conditions."""
        return cls.objects.filter(*args, **kwargs)

    @classmethod
    def get(cls: type[M], *args: Any, **kwargs: Any) -> M:
        """Return the only row that meets these conditions; raise the model's ``DoesNotExist`` or
        ``MultipleObjectsReturned``."""
        made: M | None = None if args else _read(cls, kwargs)
        return cls.objects.get(*args, **kwargs) if made is None else made

    @classmethod
    async def aget(cls: type[M], *args: Any, **kwargs: Any) -> M:
        """As :meth:`get`, without blocking the running loop."""
        found = None if args else _read_of(cls, kwargs)
        sent = None if found is None else found.send(kwargs)
        if found is not None and sent is not None:
            try:
                result = await sent[0]  # inline, not by read_async(): a nested coroutine costs 2 % of the whole call
            except DriverException as error:
                if not found._is_done_anew(error, sent[0]):
                    raise
            else:
                made: M = found.only_one(result, sent[1])
                return made
        return await cls.objects.aget(*args, **kwargs)

    def timeout(self: M, timeout: float | None) -> M:
        """Set the timeout of requests of this instance, in seconds; None: no limit."""
        assert self._batch is None, "Setting both timeout and batch is not supported"
        self._timeout = timeout
        return self

    @left_out
    def save(self: M) -> M:
        """Insert the row, or write its changes."""
        self._dml_to_write(self._if_not_exists).save()
        return self._written()

    @left_out
    async def asave(self: M) -> M:
        """As :meth:`save`, without blocking the running loop."""
        await self._dml_to_write(self._if_not_exists).asave()
        return self._written()

    def _update_otherwise(self, values: dict[str, Any]) -> None:
        self._take(values)
        self._dml_to_write(False).update()
        self._written()

    @left_out
    async def aupdate(self: M, **values: Any) -> M:
        """As :meth:`update`, without blocking the running loop."""
        update = _update_of(type(self), values)
        sent = None if update is None else update.send(self, values)
        if update is not None and sent is not None:
            try:
                await sent[0]
            except DriverException as error:
                if not update._is_done_anew(error, sent[0]):
                    raise
            else:
                self._keep(update.layout, sent[1])
                return self
        self._take(values)
        await self._dml_to_write(False).aupdate()
        return self._written()

    def delete(self) -> None:
        """Delete the row. A later save inserts a new row, with all values of the instance."""
        self._dml(False).delete()
        forget(self, self._blueprint)

    async def adelete(self) -> None:
        """As :meth:`delete`, without blocking the running loop."""
        await self._dml(False).adelete()
        forget(self, self._blueprint)

    @left_out
    def _dml(self, if_not_exists: bool) -> Any:
        return self.__dmlquery__(
            type(self),
            self,
            batch=self._batch,
            ttl=self._ttl,
            timestamp=self._timestamp,
            consistency=self.__consistency__,
            if_not_exists=if_not_exists,
            conditional=self._conditional,
            timeout=self._timeout,
            if_exists=self._if_exists,
        )

    @left_out
    def _dml_to_write(self, if_not_exists: bool) -> Any:
        if self._is_polymorphic:
            if self._is_polymorphic_base:
                raise PolymorphicModelException("cannot save polymorphic base model")
            setattr(self, self._discriminator_column_name, self.__discriminator_value__)
        self.validate()
        return self._dml(if_not_exists)

    @left_out
    def _take(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            column = self._columns.get(name)
            if column is None:
                raise ValidationError(f"{self.__module__}.{type(self).__name__} has no column named: {name}")
            if column.is_primary_key and getattr(self, name) != value:
                raise ValidationError(
                    f"Cannot apply update to primary key '{name}' for {self.__module__}.{type(self).__name__}"
                )
            setattr(self, name, value)

    @left_out
    def _written(self: M) -> M:
        self._set_persisted()
        if self._timestamp is not None:
            self._timestamp = None
        return self

    # ---- batches and connections

    @classmethod
    def _class_batch(cls, batch: Any) -> Any:
        queryset = cls.objects
        if not creates_plainly(cls):
            return queryset.batch(batch)
        queryset._batch = queryset._checked_batch(batch)  # the query set is new and not shared, so no copy is needed
        return queryset

    def _inst_batch(self: M, batch: Any) -> M:
        assert self._timeout is NOT_SET, "Setting both timeout and batch is not supported"
        if batch is not None and not isinstance(batch, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        if self._connection:
            raise CQLEngineException("Cannot specify the connection on model in batch mode.")
        self._batch = batch
        return self

    batch = hybrid_classmethod(_class_batch, _inst_batch)

    @classmethod
    def _class_get_connection(cls) -> Any:
        return cls.__connection__

    def _inst_get_connection(self) -> Any:
        return self._connection or self.__connection__

    _get_connection = hybrid_classmethod(_class_get_connection, _inst_get_connection)


ADDED = {"acreate", "aget", "asave", "aupdate", "adelete"}  # columns of existing programs may have these names
RESERVED.update(name for name in dir(BaseModel) if name not in ADDED)
