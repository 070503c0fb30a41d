"""ModelQuerySet: the rows of a model that meet conditions."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from cassandra._base.errors import DriverException
from cassandra._base.objects import public
from cassandra._core.models import RowRead

from . import connections
from .clauses import EqualsOperator, QueryValue, Token
from .conditions import name_and_operator
from .containers import Map
from .errors import (
    IfExistsWithCounterColumn,
    IfNotExistsWithCounterColumn,
    QueryException,
    ValidationError,
)
from .execution import Request, Shape, arun, run, shape_and_values
from .instances import query_set_method
from .query_base import AbstractQuerySet
from .reading import LOADS, NONE, from_dict, from_tuples, keep
from .statements import DeleteStatement, UpdateStatement

T = TypeVar("T")
S = TypeVar("S", bound="ModelQuerySet[Any]")


# ---- shapes of selections


def selection_of(queryset: Any) -> tuple[Shape, list[Any]] | None:
    """Return the shape of the SELECT of a query set and the values to bind, without building its statement; None if it
    has other conditions than those with one value each."""
    model = queryset.model
    where = queryset._where
    if any(isinstance(clause.value, QueryValue) for clause in where):
        return None
    key = (
        type(queryset),
        tuple([(clause.field, type(clause.operator)) for clause in where]),
        tuple(queryset._only_fields),
        frozenset(queryset._defer_fields),
        tuple(queryset._order),
        tuple(queryset._distinct_fields or ()),
        queryset._allow_filtering,
        bool(queryset._limit),
        connections.DEFAULT_KEYSPACE,
    )
    shape = model._shapes.get(key)
    if shape is None:
        shape = keep(model, key, _selection(queryset) or NONE)
    if shape is NONE:
        return None
    values = [clause.value for clause in where]
    if queryset._limit:
        values.append(queryset._limit)
    return shape, values


def _selection(queryset: Any) -> Shape | None:
    kind = type(queryset)
    if "select" in query_set_method.overridden(kind):
        return None
    shape, _ = shape_and_values(queryset._select_query())
    expected = tuple([str(number) for number in range(len(queryset._where))])
    return shape if shape.keys == (*expected, *(("limit",) if queryset._limit else ())) else None


async def read_async(point: RowRead, given: dict[str, Any]) -> Any:
    """As ``ModelPlan.read``, without blocking the running loop."""
    sent = point.send(given)
    if sent is None:
        return None
    try:
        result = await sent[0]
    except DriverException as error:
        if not point._must_be_repeated(error, sent[0]):
            raise
        return None
    return point.only_one(result, sent[1])


# ---- query sets


@public("cassandra.cqlengine.query")
class ModelQuerySet(AbstractQuerySet[T]):
    """Rows of a model, as its instances; ``Model.objects`` is a query set of all rows.

    Nothing is read before it is iterated, counted or indexed; ``async for`` iterates it, too.
    """

    # ---- the statement

    @query_set_method("read", "select")
    def _validate_select_where(self) -> None:
        if self._allow_filtering:
            return
        by_token = any(isinstance(clause.value, Token) for clause in self._where)
        compared = [
            column
            for clause in self._where
            if not isinstance(clause.value, Token)
            and (column := self._column_in(clause)) is not None
            and (isinstance(clause.operator, EqualsOperator) or column.custom_index)
        ]
        if by_token or any(column.has_index or column.partition_key for column in compared):
            return
        if not any(column.primary_key for column in compared):
            raise QueryException(
                "Where clauses require either  =, a IN or a CONTAINS (collection) comparison with either a primary key"
                " or indexed field. You might want to consider setting custom_index on fields that you manage index"
                " outside cqlengine."
            )
        raise QueryException(
            "Filtering on a clustering key without a partition key is not allowed unless allow_filtering() is called on"
            " the querset"
        )

    def _column_in(self, clause: Any) -> Any:
        column = self.model._get_column_by_db_name(clause.field)
        if column is None:
            raise QueryException(f"{self.model.__name__} has no column {clause.field!r}, used in condition {clause}")
        return column

    @query_set_method("read", "select")
    def _select_fields(self) -> list[str]:
        if not self._defer_fields and not self._only_fields:
            return []
        fields = [column.db_field_name for column in self.model._columns.values()]
        if self._only_fields:
            fields = [field for field in fields if field in self._only_fields]
        kept = [field for field in fields if field not in self._defer_fields]
        if not kept and self._only_fields:
            only, deferred = (", ".join(f'"{f}"' for f in some) for some in (self._only_fields, self._defer_fields))
            raise QueryException(f"No fields in select query. Only fields: {only}, defer fields: {deferred}")
        kept = kept or [column.db_field_name for column in self.model._partition_keys.values()]
        return [*kept, *self._missing_clustering_key(kept)]

    def _missing_clustering_key(self, fields: list[str]) -> list[str]:
        """Return a clustering key to read as well, in a list: servers reject conditions on clustering keys if only
        static columns are read."""
        clustering = [column.db_field_name for column in self.model._clustering_keys.values()]
        if not any(clause.field in clustering for clause in self._where):
            return []
        columns = [column for column in self.model._columns.values() if column.db_field_name in fields]
        static = [column for column in columns if column.static]
        alone = all(column.static or column.partition_key for column in columns)
        return clustering[:1] if static and alone else []

    def _get_ordering_condition(self, colname: str) -> tuple[str, str]:
        name, direction = super()._get_ordering_condition(colname)
        column = self.model._columns.get(name)
        if column is None:
            raise QueryException(f"Can't resolve the column name: '{name}'")
        if not column.primary_key:
            raise QueryException(f"Can't order on '{name}', can only order on (clustered) primary keys")
        if column is next(iter(self.model._primary_keys.values())):
            raise QueryException(
                "Can't order by the first primary key (partition key), clustering (secondary) keys only"
            )
        return column.db_field_name, direction

    def _select_request(self) -> Request:
        selection = selection_of(self)
        if selection is None:
            return super()._select_request()
        request = self._request(self._select_query, shape=selection[0], values=selection[1], rows=True)
        if self._fetch_size is not None:
            request.fetch_size = self._fetch_size
        return request

    # ---- rows

    @query_set_method("read")
    def get(self, *args: Any, **kwargs: Any) -> T:
        """Return the only row, after adding these conditions; raise ``DoesNotExist`` or ``MultipleObjectsReturned``."""
        made: T | None = self.model._plan.read(kwargs) if kwargs and not args and self._is_fresh() else None
        return super().get(*args, **kwargs) if made is None else made

    async def aget(self, *args: Any, **kwargs: Any) -> T:
        """As :meth:`get`, without blocking the running loop."""
        found = self.model._plan.read_of(kwargs) if kwargs and not args and self._is_fresh() else None
        made: T | None = None if found is None else await read_async(found, kwargs)
        return await super().aget(*args, **kwargs) if made is None else made

    def _is_fresh(self) -> bool:
        """True if the query set has neither conditions nor options, and is of the class that the model uses."""
        return type(self) is self.model.__queryset__ and self._is_as_made()

    @query_set_method("read")
    def _made_of(self, names: tuple[str, ...], rows: Any) -> list[Any]:
        rows = rows if isinstance(rows, list) else list(rows)
        if not rows:
            return []
        if type(rows[0]) is not tuple:  # a query by text returns dictionaries
            if not self._values_list:
                return [from_dict(self.model, row, self._deferred_values) for row in rows]
            names = tuple(rows[0])
            rows = [tuple(row.values()) for row in rows]
        if self._values_list:
            return self._value_lists(names, rows)
        return from_tuples(self.model, names, rows, self._deferred_values)

    def _value_lists(self, names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[Any]:
        """Return the values of the requested columns, as decoded by the driver."""
        wanted = tuple(self._only_fields)
        if wanted and wanted != names:
            known = self._deferred_values
            places = [
                (known.get(name), names.index(name) if name in names and name not in known else None) for name in wanted
            ]
            rows = [tuple([value if at is None else row[at] for value, at in places]) for row in rows]
        return [row[0] for row in rows] if self._flat_values_list else [list(row) for row in rows]

    @overload
    def values_list(self, *fields: str, flat: Literal[True]) -> ModelQuerySet[Any]: ...

    @overload
    def values_list(self, *fields: str, flat: Literal[False] = ...) -> ModelQuerySet[list[Any]]: ...

    @overload
    def values_list(self, *fields: str, flat: bool) -> ModelQuerySet[Any]: ...

    def values_list(self, *fields: str, **kwargs: Any) -> ModelQuerySet[Any]:
        """Return lists of values of these columns instead of instances; with ``flat=True`` the values of one column."""
        flat = kwargs.pop("flat", False)
        if kwargs:
            raise TypeError(f"Unexpected keyword arguments to values_list: {kwargs.keys()}")
        if flat and len(fields) > 1:
            raise TypeError("'flat' is not valid when values_list is called with more than one field.")
        clone: ModelQuerySet[Any] = self.only(fields)
        clone._values_list = True
        clone._flat_values_list = flat
        return clone

    # ---- options

    def ttl(self: S, ttl: int | None) -> S:
        """Set the time to live of written values, in seconds."""
        return self._with(_ttl=ttl)

    def timestamp(self: S, timestamp: Any) -> S:
        """Set the timestamp of writes: a ``datetime``, a ``timedelta`` from now, or microseconds."""
        return self._with(_timestamp=timestamp)

    def if_not_exists(self: S) -> S:
        """Insert only if there is no such row."""
        if self.model._has_counter:
            raise IfNotExistsWithCounterColumn("if_not_exists cannot be used with tables containing counter columns")
        return self._with(_if_not_exists=True)

    def if_exists(self: S) -> S:
        """Update and delete only existing rows."""
        if self.model._has_counter:
            raise IfExistsWithCounterColumn("if_exists cannot be used with tables containing counter columns")
        return self._with(_if_exists=True)

    # ---- writing

    @query_set_method("create")
    def create(self, **kwargs: Any) -> T:
        """Insert a row with these values, and return its instance."""
        created: T | None = None if self._batch is None else self.model._plan.create(kwargs, self.__dict__)
        return self._new(kwargs).save() if created is None else created

    @query_set_method("create")
    def _new(self, values: dict[str, Any]) -> Any:
        plan = self.model._plan
        if plan.overrides() & LOADS:
            return super()._new(values)
        instance = plan.new(values, self.__dict__)
        if self._consistency is not None:
            instance.__consistency__ = self._consistency
        return instance

    def update(self, **values: Any) -> None:
        """Write these values to the rows that meet the conditions, which must set the keys.

        ``name__operation`` changes a container: ``tags__append``, ``tags__prepend``, ``marks__add``,
        ``marks__remove``, ``words__update``, ``words__remove``.
        """
        run(self._updating(values))

    async def aupdate(self, **values: Any) -> None:
        """As :meth:`update`, without blocking the running loop."""
        await arun(self._updating(values))

    def _updating(self, values: dict[str, Any]) -> Any:
        if not values:
            return
        table = self.column_family_name
        statement = UpdateStatement(
            table,
            where=self._where,
            ttl=self._ttl,
            timestamp=self._timestamp,
            conditionals=self._conditional,
            if_exists=self._if_exists,
        )
        updated, nulled = set(), []
        for argument, value in values.items():
            column, operation = self._column_to_update(argument)
            if operation == "remove" and isinstance(column, Map):
                if not isinstance(value, set | frozenset):
                    raise ValidationError(f"{argument}: expected a set of keys to remove, got {value!r}")
            else:
                value = column.validate(value)
            if value is None:
                nulled.append(column.db_field_name)
            else:
                statement.add_update(column, value, operation=operation)
                updated.add(column.db_field_name)
        if statement.assignments:
            yield from self._write_steps(statement)
        if nulled:
            conditions = [condition for condition in self._conditional if condition.field not in updated]
            deletion = DeleteStatement(
                table,
                fields=nulled,
                where=self._where,
                timestamp=self._timestamp,
                conditionals=conditions,
                if_exists=self._if_exists,
            )
            yield from self._write_steps(deletion)

    def _column_to_update(self, argument: str) -> tuple[Any, str | None]:
        columns = self.model._columns
        name, operation = (argument, None) if argument in columns else name_and_operator(argument)
        column = columns.get(name)
        where = f"{self.__module__}.{self.model.__name__}"
        if column is None:
            raise ValidationError(f"{where} has no column named: {name}")
        if column.is_primary_key:
            raise ValidationError(f"Cannot apply update to primary key '{name}' for {where}")
        return column, operation
