"""Base of query sets: conditions and options, and the selected rows; and models temporarily in another keyspace.

A query set is immutable for programs: every method returns another one. It keeps the rows that it has read for later
accesses.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from cassandra._base.display import rich_display
from cassandra._base.names import escape_name
from cassandra._base.objects import public
from cassandra._core.models import Instance
from cassandra._session.statements.statement import NOT_SET

from .conditions import conditions, requirements
from .display import query_set_table, query_set_text
from .errors import CQLEngineException, QueryException
from .execution import Explanation, Request, arun, explain, run
from .instances import query_set_method
from .reading import READ, Reading
from .statements import DeleteStatement, SelectStatement
from .writing import BatchQuery

T = TypeVar("T")
S = TypeVar("S", bound="AbstractQuerySet[Any]")

#: Options of a query set that are passed to its new instances.
NEW = ("_batch", "_ttl", "_if_not_exists", "_timestamp", "_if_exists", "_connection")

#: Default of the limit of rows.
DEFAULT_LIMIT = 10000


@public("cassandra.cqlengine.query")
@rich_display(query_set_table, query_set_text)
class AbstractQuerySet(Reading[T]):
    """Base of query sets of models and of named tables."""

    _allow_filtering = False
    _limit: int | None = DEFAULT_LIMIT
    _values_list = False
    _flat_values_list = False
    _distinct_fields: list[str] | None = None
    _ttl: int | None = None
    _consistency: int | None = None
    _timestamp: Any = None
    _if_not_exists = False
    _if_exists = False
    _timeout: Any = NOT_SET
    _fetch_size: int | None = None
    _connection: Any = None

    @query_set_method("read", "create")
    def __init__(self, model: Any) -> None:
        self.model = model  #: The model.
        self._where: list[Any] = []
        self._conditional: list[Any] = []
        self._order: list[str] = []
        self._defer_fields: set[str] = set()
        self._deferred_values: dict[str, Any] = {}
        self._only_fields: list[str] = []

    def _is_as_made(self) -> bool:
        """True if neither conditions nor options were added since ``__init__``."""
        attributes = self.__dict__
        return len(attributes) == len(_MADE) + 1 and not any(attributes.get(name, True) for name in _MADE)

    @property
    def column_family_name(self) -> str:
        """Name of the table in CQL."""
        return str(self.model.column_family_name())

    def explain(self) -> Explanation:
        """Return the CQL, its parameters, whether it is prepared, and its routing. Blocks while the server prepares the
        statement, if it is not prepared yet."""
        return explain(self._select_request())

    def __unicode__(self) -> str:
        return str(self._select_query())

    def __str__(self) -> str:
        """Return the CQL, with placeholders."""
        return self.__unicode__()

    def __call__(self: S, *args: Any, **kwargs: Any) -> S:
        return self.filter(*args, **kwargs)

    def __copy__(self: S) -> S:
        """Return a copy with the same conditions and options, and without the rows that were read."""
        clone: S = object.__new__(type(self))
        attributes = self.__dict__.copy()
        attributes["_where"] = self._where.copy()
        attributes["_conditional"] = self._conditional.copy()
        attributes["_order"] = self._order.copy()
        attributes["_defer_fields"] = self._defer_fields.copy()
        attributes["_deferred_values"] = self._deferred_values.copy()
        attributes["_only_fields"] = list(self._only_fields)
        for name in READ:
            attributes.pop(name, None)
        clone.__dict__.update(attributes)
        return clone

    def __deepcopy__(self: S, memo: Mapping[int, Any]) -> S:
        return self.__copy__()

    # ---- the statement

    def _select_fields(self) -> list[str]:
        """Return the names in the table of the columns to read; an empty list for all."""
        return []

    def _validate_select_where(self) -> None:
        """Raise QueryException if the server cannot evaluate the conditions."""

    @query_set_method("read", "select")
    def _select_query(self) -> SelectStatement:
        if self._where:
            self._validate_select_where()
        return SelectStatement(
            self.column_family_name,
            fields=self._select_fields(),
            where=self._where,
            order_by=self._order,
            limit=self._limit,
            allow_filtering=self._allow_filtering,
            distinct_fields=self._distinct_fields,
            fetch_size=self._fetch_size,
        )

    def _request(self, statement: Any, **options: Any) -> Request:
        connection = self._connection or self.model._get_connection()
        return Request(self.model, statement, self._consistency, self._timeout, connection, **options)

    def _select_request(self) -> Request:
        return self._request(self._select_query(), rows=True)

    def _write_steps(self, statement: Any) -> Any:
        """Yield the request of a write; nothing if the write is part of a batch."""
        if self._batch is not None:
            self._batch._join(statement, self._connection or self.model._get_connection())
            return None
        conditional = bool(self._if_not_exists or self._if_exists or self._conditional)
        return (yield self._request(statement, conditional=conditional))

    # ---- rows

    def __getitem__(self, s: Any) -> Any:
        """Return a row, or a list of rows; read no more pages than needed."""
        self._execute_query()
        if isinstance(s, slice):
            if (s.start or 0) < 0 or (s.stop or 0) < 0:
                _warn_of_negative_index("slicing")
            known = s.stop is not None and s.stop >= 0 and (s.start is None or s.start >= 0) and (s.step or 1) > 0
            return (self._fill_result_cache_to_idx(s.stop) if known else self._fill_result_cache())[s]
        if isinstance(s, bool) or not hasattr(s, "__index__"):
            raise TypeError("QuerySet indices must be integers")
        at = s.__index__()
        if at < 0:
            _warn_of_negative_index("indexing")
        rows = self._fill_result_cache_to_idx(at) if at >= 0 else self._fill_result_cache()
        try:
            return rows[at]
        except IndexError:
            raise IndexError(f"row {at} of a query set of {len(rows)} rows") from None

    def __eq__(self, q: object) -> bool:
        """True if both have the same model and conditions."""
        return isinstance(q, AbstractQuerySet) and self.model is q.model and set(self._where) == set(q._where)

    def __ne__(self, q: object) -> bool:
        return not self == q

    __hash__ = None  # type: ignore[assignment]

    def first(self) -> T | None:
        """Return the first row; None if there is none."""
        rows = self._fill_result_cache_to_idx(0)
        return rows[0] if rows else None

    async def afirst(self) -> T | None:
        """As :meth:`first`, without blocking the running loop."""
        rows = await self._afill_to(0)
        return rows[0] if rows else None

    def all(self: S) -> S:
        """Return a query set of the same rows, to read them again."""
        return self.__copy__()

    async def aall(self) -> list[T]:
        """Return all rows as a list, without blocking the running loop."""
        await self._aexecute_query()
        rows: Any = self._result_cache
        while await self._ahas(len(rows)):
            pass
        return list(rows)

    @query_set_method("read")
    def get(self, *args: Any, **kwargs: Any) -> T:
        """Return the only row, after adding these conditions; raise ``DoesNotExist`` or ``MultipleObjectsReturned``."""
        if args or kwargs:
            return self.filter(*args, **kwargs).get()
        return self._only_one(self._fill_result_cache_to_idx(1))

    async def aget(self, *args: Any, **kwargs: Any) -> T:
        """As :meth:`get`, without blocking the running loop."""
        if args or kwargs:
            return await self.filter(*args, **kwargs).aget()
        return self._only_one(await self._afill_to(1))

    @query_set_method("read")
    def _only_one(self, rows: list[Any]) -> T:
        if len(rows) > 1:
            raise self.model.MultipleObjectsReturned("Multiple objects found")
        if not rows:
            raise self.model.DoesNotExist(self._description())
        return rows[0]  # type: ignore[no-any-return]

    def _description(self) -> str:
        """Return a description of the query, for error texts."""
        name = getattr(self.model, "__name__", None) or self.column_family_name
        where = ", ".join(f"{clause.field} {clause.operator} {clause.value!r}" for clause in self._where)
        return f"No {name} has {where}" if where else f"There is no {name}"

    def count(self) -> int:
        """Return the number of rows; the server counts them, unless they were read."""
        self._refuse_batch()
        if self._count is None:
            self._count = run(self._counting())
        return self._count or 0

    async def acount(self) -> int:
        """As :meth:`count`, without blocking the running loop."""
        self._refuse_batch()
        if self._count is None:
            self._count = await arun(self._counting())
        return self._count or 0

    def _counting(self) -> Any:
        query = self._select_query()
        query.count = True
        row = (yield self._request(query)).one()
        return next(reversed(row.values()))

    # ---- conditions and options

    @query_set_method("read")
    def filter(self: S, *args: Any, **kwargs: Any) -> S:
        """Add conditions on the rows: ``filter(name="x", age__gt=5)``, ``filter(Model.age > 5)``."""
        clone = self.__copy__()
        for clause, column, value in conditions(self.model, args, kwargs):
            if column is not None:  # the value is known, so the column is not read
                clone._defer_fields.add(column.db_field_name)
                clone._deferred_values[column.db_field_name] = value
            clone._where.append(clause)
        return clone

    def iff(self: S, *args: Any, **kwargs: Any) -> S:
        """Write only if the row meets these conditions."""
        clone = self.__copy__()
        clone._conditional.extend(requirements(self.model, args, kwargs))
        return clone

    @query_set_method("create")
    def batch(self: S, batch_obj: Any) -> S:
        """Make writes part of this batch."""
        return self._with(_batch=self._validate_batch(batch_obj))

    def _validate_batch(self, batch_obj: Any) -> Any:
        if self._connection:
            raise CQLEngineException("Cannot specify the connection on model in batch mode.")
        if batch_obj is not None and not isinstance(batch_obj, BatchQuery):
            raise CQLEngineException("batch_obj must be a BatchQuery instance or None")
        return batch_obj

    def consistency(self: S, consistency: int | None) -> S:
        """Return a query set with this consistency level."""
        return self._with(_consistency=consistency)

    def timeout(self: S, timeout: float | None) -> S:
        """Set the timeout of requests in seconds; None: no limit."""
        return self._with(_timeout=timeout)

    def using(self: S, keyspace: str | None = None, connection: Any = None) -> S:
        """Use another keyspace, or another connection."""
        if connection and self._batch is not None:
            raise CQLEngineException("Cannot specify a connection on model in batch mode.")
        clone = self.__copy__()
        if keyspace:
            clone.model = ContextQuery.model_in(self.model, keyspace)
        if connection:
            clone._connection = connection
        return clone

    def _with(self: S, **attributes: Any) -> S:
        clone = self.__copy__()
        clone.__dict__.update(attributes)
        return clone

    def order_by(self: S, *colnames: str) -> S:
        """Order rows by these clustering columns, ``-name`` in descending order; without arguments, by the table's
        order."""
        if not colnames:
            return self._with(_order=[])
        clone = self.__copy__()
        for name in colnames:
            column, direction = self._get_ordering_condition(name)
            clone._order.append(f"{escape_name(column)} {direction}")
        return clone

    def _get_ordering_condition(self, colname: str) -> tuple[str, str]:
        return colname.removeprefix("-"), "DESC" if colname.startswith("-") else "ASC"

    def limit(self: S, v: int | None) -> S:
        """Set the maximum number of rows; None or 0: no limit. The default is 10,000."""
        v = 0 if v is None else v
        if not isinstance(v, int):
            raise TypeError(f"expected an int as limit, got {v!r}")
        if v < 0:
            raise QueryException("Negative limit is not allowed")
        return self._with(_limit=v)

    def fetch_size(self: S, v: int) -> S:
        """Set the number of rows per page."""
        if not isinstance(v, int):
            raise TypeError(f"expected an int as fetch size, got {v!r}")
        if v < 1:
            raise QueryException("fetch size less than 1 is not allowed")
        return self._with(_fetch_size=v)

    def allow_filtering(self: S) -> S:
        """Allow the server to read rows that do not match."""
        return self._with(_allow_filtering=True)

    def distinct(self: S, distinct_fields: Iterable[str] | None = None) -> S:
        """Select one row per partition, or per distinct values of these columns of the partition key."""
        if distinct_fields:
            fields = list(distinct_fields)
        else:
            fields = list(self.model._partition_keys)
        return self._with(_distinct_fields=[self._name_in_table(field) for field in fields])

    def _name_in_table(self, field: str) -> str:
        column = getattr(self.model, "_columns", {}).get(field)
        return field if column is None else str(column.db_field_name)

    def only(self: S, fields: Iterable[str]) -> S:
        """Read only these columns."""
        if self._only_fields:
            raise QueryException("QuerySet already has 'only' fields defined")
        return self._with(_only_fields=self._known_fields(fields))

    def defer(self: S, fields: Iterable[str]) -> S:
        """Read all columns except these."""
        return self._with(_defer_fields=self._defer_fields.union(self._known_fields(fields)))

    def _known_fields(self, fields: Iterable[str]) -> list[str]:
        fields = list(fields)
        columns = self.model._columns
        if missing := [field for field in fields if field not in columns]:
            raise QueryException(f"Can't resolve fields {', '.join(missing)} in {self.model.__name__}")
        return [columns[field].db_field_name for field in fields]

    # ---- writing

    @query_set_method("create")
    def create(self, **kwargs: Any) -> T:
        """Insert a row with these values, and return its instance."""
        return self._new(kwargs).save()  # type: ignore[no-any-return]

    async def acreate(self, **kwargs: Any) -> T:
        """As :meth:`create`, without blocking the running loop."""
        return await self._new(kwargs).asave()  # type: ignore[no-any-return]

    @query_set_method("create")
    def _new(self, values: dict[str, Any]) -> Any:
        return self._with_options(self.model(**values))

    def _with_options(self, instance: Any) -> Any:
        """Apply the options of the query set to a new instance."""
        for name in NEW:
            if name in self.__dict__:  # otherwise the default holds
                setattr(instance, name, self.__dict__[name])
        if self._consistency is not None:
            instance.__consistency__ = self._consistency
        return instance

    def delete(self) -> None:
        """Delete the rows that meet the conditions, which must set the partition key."""
        run(self._deleting())

    async def adelete(self) -> None:
        """As :meth:`delete`, without blocking the running loop."""
        await arun(self._deleting())

    def _deleting(self) -> Any:
        keys = {column.db_field_name for column in self.model._partition_keys.values()}
        if keys - {clause.field for clause in self._where}:
            raise QueryException("The partition key must be defined on delete queries")
        statement = DeleteStatement(
            self.column_family_name,
            where=self._where,
            timestamp=self._timestamp,
            conditionals=self._conditional,
            if_exists=self._if_exists,
        )
        yield from self._write_steps(statement)


#: Attributes of a new query set, without its model.
_MADE = tuple([name for name in vars(AbstractQuerySet(None)) if name != "model"])


def _warn_of_negative_index(what: str) -> None:
    message = f"ModelQuerySet {what} with negative indices support will be removed in a future release."
    warnings.warn(message, PendingDeprecationWarning, stacklevel=3)


# ---- models in another keyspace, or with another connection


@public("cassandra.cqlengine.query")
class ContextQuery:
    """Derives models that use another keyspace or connection from the given models.

    Example::

        with ContextQuery(Product, keyspace="archive") as Archived:
            Archived.objects.get(id=1)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """*args*: models; *kwargs*: ``keyspace`` and ``connection``."""
        if not args:
            raise ValueError("No model provided.")
        for model in args:
            if not (isinstance(model, type) and issubclass(model, Instance)):
                raise ValueError("Models must be derived from base Model.")
        if unknown := [name for name in kwargs if name not in ("keyspace", "connection")]:
            raise ValueError(f"Unknown keyword argument(s): {', '.join(unknown)}")
        keyspace, connection = kwargs.get("keyspace"), kwargs.get("connection")
        #: The models, bound to the connection and keyspace of the context.
        self.models: list[Any] = [derive_model(model, keyspace, connection) for model in args]

    def __enter__(self) -> Any:
        return self.models[0] if len(self.models) == 1 else tuple(self.models)

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        return

    @staticmethod
    def model_in(model: Any, keyspace: str) -> Any:
        """Return the model, or named table, in another keyspace; a model is derived once per keyspace."""
        if not isinstance(model, type):
            return type(model)(keyspace, model.name)
        shapes: dict[Any, Any] = model._shapes  # type: ignore[attr-defined]
        key = ("in keyspace", keyspace)
        if key not in shapes:
            shapes[key] = derive_model(model, keyspace, None)
        return shapes[key]


def derive_model(model: Any, keyspace: str | None, connection: Any) -> Any:
    """Return a model with the same name, table and columns."""
    attributes: dict[str, Any] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__abstract__": model.__abstract__,
        "__discriminator_value__": model.__discriminator_value__,
    }
    if keyspace:
        attributes["__keyspace__"] = keyspace
    if connection:
        attributes["__connection__"] = connection
    made: Any = type(model)(model.__name__, (model,), attributes)
    for name in ("_is_polymorphic_base", "_polymorphic_base", "_discriminator_map"):
        setattr(made, name, getattr(model, name))
    made._original = getattr(model, "_original", model)
    return made
