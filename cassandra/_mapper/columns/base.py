"""Base class of all columns.

``validate`` decides which values may be stored, ``to_database`` converts a value for storage, and ``to_python``
converts a stored value. Subclasses, also those of programs, may override any of the three.

To type checkers a column of a model is a descriptor: ``columns.Integer()`` is ``int`` on an instance. At run time the
model class replaces declared columns by its own descriptors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from cassandra._base.names import escape_name
from cassandra._base.objects import public
from cassandra._mapper.columns.tracking import HOME, BaseValueManager
from cassandra._mapper.errors import ValidationError
from cassandra._wire.types.base import cqltypes

C = TypeVar("C")
T = TypeVar("T")

#: Values in error texts are truncated to this number of characters.
SHOWN = 200

if TYPE_CHECKING:

    class _Described(Generic[T]):
        @overload
        def __get__(self, instance: None, owner: type) -> Any: ...

        @overload
        def __get__(self, instance: object, owner: type) -> T: ...

        def __get__(self, instance: object, owner: type) -> Any: ...

        def __set__(self, instance: object, value: T | None) -> None: ...

else:

    class _Described:
        def __class_getitem__(cls, value_type):
            return object


@public(HOME)
class Column(_Described[T]):
    """A column of a table, or a field of a user type."""

    #: CQL type of the column.
    db_type: str = None  # type: ignore[assignment]
    value_manager: ClassVar[type[BaseValueManager]] = BaseValueManager
    #: Number of columns created so far; columns are ordered by creation.
    instance_counter: ClassVar[int] = 0

    #: ``to_database`` and ``to_python`` return values of exactly this class unchanged; None if there is no such class.
    stored_as: ClassVar[type | None] = None
    #: The same for ``to_python`` alone, if it differs.
    read_as: ClassVar[type | None] = None
    #: True if values can change without being assigned.
    changes_in_place: ClassVar[bool] = False
    _python_type_hashable: ClassVar[bool] = True

    #: Part of the primary key: the first such column is the partition key, the others are clustering keys.
    primary_key: bool = False
    #: Part of the partition key. More than one column may set it: the partition key is then composite.
    partition_key: bool = False
    #: True if the column gets a secondary index.
    index: bool = False
    #: True if an index exists that the mapper did not create, so that queries may filter by the column.
    custom_index: bool = False
    #: Name of the column in the table, if it differs from the attribute.
    db_field: str | None = None
    #: A value, or a function without arguments that returns one.
    default: Any = None
    #: True if None is rejected.
    required: bool = False
    #: "asc" or "desc" for a clustering key.
    clustering_order: str | None = None
    #: True if the value selects the model of a row among the models that share a table.
    discriminator_column: bool = False
    #: True if all rows of a partition share one value.
    static: bool = False

    _positions: ClassVar[Iterator[int]] = itertools.count()

    def __init__(
        self,
        primary_key: bool = False,
        partition_key: bool = False,
        index: bool = False,
        db_field: str | None = None,
        default: T | Callable[[], T] | None = None,
        required: bool = False,
        clustering_order: str | None = None,
        discriminator_column: bool = False,
        static: bool = False,
        custom_index: bool = False,
    ) -> None:
        self.partition_key = partition_key
        self.primary_key = partition_key or primary_key
        self.index = index
        self.custom_index = custom_index
        self.db_field = db_field
        self.default = default
        self.required = required
        self.clustering_order = clustering_order
        self.discriminator_column = discriminator_column
        self.static = static
        self.column_name: str | None = None
        self._model_name: str | None = None
        self._partition_key_index: int | None = None
        self.value: Any = None
        self.position = next(Column._positions)
        Column.instance_counter = self.position + 1

    def __class_getitem__(cls, value_type: Any) -> Any:
        return cls

    # Columns compare by creation order, which is the order of their declaration.

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and self.position == other.position

    def __lt__(self, other: Column[Any]) -> bool:
        return self.position < other.position if isinstance(other, Column) else NotImplemented

    def __le__(self, other: Column[Any]) -> bool:
        return self.position <= other.position if isinstance(other, Column) else NotImplemented

    def __gt__(self, other: Column[Any]) -> bool:
        return self.position > other.position if isinstance(other, Column) else NotImplemented

    def __ge__(self, other: Column[Any]) -> bool:
        return self.position >= other.position if isinstance(other, Column) else NotImplemented

    def validate(self, value: Any) -> Any:
        """Return *value* as it may be stored; raise ``ValidationError`` if it is not valid."""
        if value is None and self.required:
            raise self._refusal("- None values are not allowed", value)
        return value

    def to_python(self, value: Any) -> Any:
        """Convert *value*, decoded by the driver, to the value that a program reads."""
        return value

    def to_database(self, value: Any) -> Any:
        """Convert *value* to the value that the driver encodes."""
        return value

    @classmethod
    def unconverted(cls, method: str) -> type | None:
        """Return the class whose exact instances *method* (``to_python`` or ``to_database``) returns unchanged; None if
        there is none, or if a subclass overrides the method or ``validate``."""
        says = "read_as" if method == "to_python" and cls.read_as is not None else "stored_as"

        def depth(name: str) -> int:
            return next(i for i, base in enumerate(cls.__mro__) if name in vars(base))

        found: type | None = getattr(cls, says)
        return found if depth(says) <= min(depth(method), depth("validate")) else None

    def _refusal(self, what: str, value: Any, kind: type[ValidationError] = ValidationError) -> ValidationError:
        """Return an error for the rejected *value* that names the column and, if it is known, the model."""
        text = f"{self.column_name} {what}"
        if self._model_name is not None:
            shown = repr(value)
            shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
            text += f" ({self._model_name}.{self.column_name} = {shown})"
        return kind(text)

    @property
    def has_default(self) -> bool:
        return self.default is not None

    def get_default(self) -> Any:
        """Return the default; a function is called each time."""
        return self.default() if callable(self.default) else self.default

    @property
    def is_primary_key(self) -> bool:
        return self.primary_key

    @property
    def can_delete(self) -> bool:
        """True if a row can lack a value of this column."""
        return not self.primary_key

    @property
    def has_index(self) -> bool:
        return self.index or self.custom_index

    def set_column_name(self, name: str) -> None:
        """Set the name of the attribute that the column is assigned to."""
        self.column_name = name

    def belongs_to(self, model_name: str) -> None:
        """Set the name of the class that the column belongs to, for error texts."""
        self._model_name = model_name

    @property
    def db_field_name(self) -> str:
        """Name of the column in the table."""
        return self.db_field or self.column_name  # type: ignore[return-value]

    @property
    def db_index_name(self) -> str:
        return f"index_{self.db_field_name}"

    @property
    def cql(self) -> str:
        return self.get_cql()

    def get_cql(self) -> str:
        """Return the column name in quotes."""
        return escape_name(str(self.db_field_name))  # None before the column is assigned to an attribute

    def get_column_def(self) -> str:
        """Return the line of the column in ``CREATE TABLE``."""
        return f"{self.cql} {self.db_type} {'static' if self.static else ''}"

    def cql_parameterized_type(self) -> str:
        return self.db_type

    @property
    def column(self: C) -> C:
        """The column itself. A class attribute of a user type is its column, and programs read ``.column`` of it."""
        return self

    @property
    def sub_types(self) -> list[Column[Any]]:
        """Columns of the parts of a value."""
        return []

    @property
    def cql_type(self) -> Any:
        """Class of the CQL type, as in ``cassandra.cqltypes``."""
        return cqltypes[self.db_type]

    def _val_is_null(self, val: Any) -> bool:
        """True if *val* is stored as null."""
        return val is None
