"""Tables that are queried by name, without a model. Their rows are dictionaries."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cassandra._base.names import cql_keywords_reserved, escape_name, maybe_escape_name
from cassandra._base.objects import public

from .conditions import AbstractQueryableColumn
from .connections import get_cluster
from .errors import CQLEngineException
from .errors import DoesNotExist as _DoesNotExist
from .errors import MultipleObjectsReturned as _MultipleObjectsReturned
from .model import UsingDescriptor
from .query_base import AbstractQuerySet

HOME = "cassandra.cqlengine.named"

#: Names written unchanged: words, which servers convert to lower case, and names that are already quoted.
_WRITTEN = re.compile(r'[A-Za-z][A-Za-z0-9_]*|"(?:[^"]|"")+"')


@public("cassandra.cqlengine.query")
class ResultObject(dict[str, Any]):
    """A row: a dictionary whose items are attributes, too."""

    def __getattr__(self, item: str) -> Any:
        try:
            return self[item]
        except KeyError:
            raise AttributeError(f"the row has no column {item!r}") from None


@public("cassandra.cqlengine.query")
class SimpleQuerySet(AbstractQuerySet[ResultObject]):
    """Rows of a named table, as :class:`ResultObject`."""

    def _made_of(self, names: tuple[str, ...], rows: Any) -> list[Any]:
        made = []
        for row in rows:
            known = zip(names, row, strict=True) if type(row) is tuple else row
            made.append(ResultObject(known))
            made[-1].update(self._deferred_values)
        return made


@public(HOME)
class QuerySetDescriptor:
    """``NamedTable.objects``: a new query set, of all rows."""

    def __get__(self, obj: Any, model: Any) -> SimpleQuerySet:
        if obj is None:
            raise TypeError("'objects' is an attribute of named tables, not of their class")
        return SimpleQuerySet(obj)

    def __call__(self, *args: Any, **kwargs: Any) -> SimpleQuerySet:
        """Not callable; defined for tools that read signatures."""
        raise NotImplementedError("a QuerySetDescriptor must be called through a table")


@public(HOME)
class NamedColumn(AbstractQueryableColumn):
    """A column by name, of any type."""

    def __init__(self, name: str) -> None:
        self.name = name  #: Name of the column.

    def __unicode__(self) -> str:
        return self.name

    def _get_column(self) -> NamedColumn:
        return self

    @property
    def db_field_name(self) -> str:
        """Name of the column."""
        return self.name

    @property
    def cql(self) -> str:
        """Name of the column in CQL."""
        return self.get_cql()

    def get_cql(self) -> str:
        """Return the name in quotes."""
        return escape_name(self.name)

    def to_database(self, val: Any) -> Any:
        """Return *val* unchanged: the type is not known."""
        return val

    def to_python(self, val: Any) -> Any:
        """Return *val* unchanged: the type is not known."""
        return val


@public(HOME)
class NamedTable:
    """A table by keyspace and name, as in CQL: a case-sensitive name is given in double quotes. A name that is neither
    a word nor in quotes is quoted."""

    class DoesNotExist(_DoesNotExist):
        """No row of the table matches the query."""

    class MultipleObjectsReturned(_MultipleObjectsReturned):
        """More than one row of the table matches the query."""

    objects = QuerySetDescriptor()  #: All rows, as a query set.
    using = UsingDescriptor()  #: ``using(connection=name, keyspace=name)``: a query set for these.

    __partition_keys: Mapping[str, NamedColumn] | None = None

    def __init__(self, keyspace: str, name: str) -> None:
        self.keyspace = keyspace  #: Name of the keyspace.
        self.name = name  #: Name of the table.
        self._connection: Any = None

    @property
    def _partition_keys(self) -> Mapping[str, NamedColumn]:
        """Columns of the partition key, from the schema metadata."""
        if self.__partition_keys is None:
            try:
                table = get_cluster(self._get_connection()).metadata.keyspaces[self.keyspace].tables[self.name]
            except Exception as error:
                raise CQLEngineException(
                    f"Failed inspecting partition keys for {self.column_family_name()}."
                    "Ensure cqlengine is connected before attempting this with NamedTable."
                ) from error
            self.__partition_keys = {column.name: NamedColumn(column.name) for column in table.partition_key}
        return self.__partition_keys

    def column(self, name: str) -> NamedColumn:
        """Return the column of that name, for conditions."""
        return NamedColumn(name)

    def column_family_name(self, include_keyspace: bool = True) -> str:
        """Return the name of the table in CQL, with its keyspace."""
        return f"{_quote_name(self.keyspace)}.{_quote_name(self.name)}" if include_keyspace else _quote_name(self.name)

    def _get_column(self, name: str) -> NamedColumn:
        return self.column(name)

    def _get_connection(self) -> Any:
        return self._connection

    def all(self) -> SimpleQuerySet:
        """Return a query set of all rows."""
        return self.objects.all()

    def filter(self, *args: Any, **kwargs: Any) -> SimpleQuerySet:
        """Return a query set of the rows that meet these conditions."""
        return self.objects.filter(*args, **kwargs)

    def get(self, *args: Any, **kwargs: Any) -> ResultObject:
        """Return the only row that meets these conditions."""
        return self.objects.get(*args, **kwargs)

    async def aget(self, *args: Any, **kwargs: Any) -> ResultObject:
        """As :meth:`get`, without blocking the running loop."""
        return await self.objects.aget(*args, **kwargs)


@public(HOME)
class NamedKeyspace:
    """A keyspace by name."""

    def __init__(self, name: str) -> None:
        self.name = name  #: Name of the keyspace.

    def table(self, name: str) -> NamedTable:
        """Return the table of that name in this keyspace."""
        return NamedTable(self.name, name)


def _quote_name(name: str) -> str:
    is_written = _WRITTEN.fullmatch(name) is not None and name not in cql_keywords_reserved
    return str.__str__(name) if is_written else maybe_escape_name(name)
