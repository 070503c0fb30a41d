"""The column: what all of them have.

Which value may be stored is ``validate``, how it is stored ``to_database``, and what becomes of what was stored
``to_python``. A subclass, a program's too, overrides any of the three.

To type checkers a column of a model is a descriptor: ``columns.Integer()`` is ``int`` on an instance. At run time the
class of a model puts descriptors of its own where its columns were declared.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from cassandra._base.names import escape_name
from cassandra._base.public import public
from cassandra._mapper.columns.tracking import HOME, BaseValueManager
from cassandra._mapper.errors import ValidationError
from cassandra._wire.types.base import cqltypes

C = TypeVar("C")
T = TypeVar("T")

#: Values in messages are cut off after as many characters.
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

    #: Its CQL type.
    db_type: str = None  # type: ignore[assignment]
    value_manager: ClassVar[type[BaseValueManager]] = BaseValueManager
    #: How many columns were made: they are ordered as they are.
    instance_counter: ClassVar[int] = 0

    #: Values of exactly this class ``to_database`` and ``to_python`` return as they are; None if there is none.
    stored_as: ClassVar[type | None] = None
    #: The same of ``to_python`` alone, where that differs.
    read_as: ClassVar[type | None] = None
    #: Whether values change without being assigned.
    changes_in_place: ClassVar[bool] = False
    _python_type_hashable: ClassVar[bool] = True

    #: Part of the primary key: the first such column is the partition key, the others are clustering keys.
    primary_key: bool = False
    #: Part of the partition key; so several columns can be.
    partition_key: bool = False
    #: Whether the column gets a secondary index.
    index: bool = False
    #: Whether it has an index that was not made by the mapper, so that queries may filter by it.
    custom_index: bool = False
    #: Its name in the table, if that is another one.
    db_field: str | None = None
    #: A value, or a function without arguments that makes one.
    default: Any = None
    #: Whether None is refused.
    required: bool = False
    #: "asc" or "desc", of a clustering key.
    clustering_order: str | None = None
    #: Whether it tells which of the models that share a table a row is of.
    discriminator_column: bool = False
    #: Whether the rows of a partition share one value.
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

    # Columns are compared by the order in which they were made, which is that of their declaration.

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
        """*value* as it may be stored; ``ValidationError`` if it may not."""
        if value is None and self.required:
            raise self._refusal("- None values are not allowed", value)
        return value

    def to_python(self, value: Any) -> Any:
        """What a program gets of *value*, which the driver read."""
        return value

    def to_database(self, value: Any) -> Any:
        """What the driver writes of *value*."""
        return value

    @classmethod
    def unconverted(cls, method: str) -> type | None:
        """The class whose exact instances *method* (``to_python``, ``to_database``) returns as they are; None if there
        is none, or a subclass overrides what is called."""
        says = "read_as" if method == "to_python" and cls.read_as is not None else "stored_as"

        def depth(name: str) -> int:
            return next(i for i, base in enumerate(cls.__mro__) if name in vars(base))

        found: type | None = getattr(cls, says)
        return found if depth(says) <= min(depth(method), depth("validate")) else None

    def _refusal(self, what: str, value: Any, kind: type[ValidationError] = ValidationError) -> ValidationError:
        """An error that says of which column, and if that is known of which model, the *value* is not taken."""
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
        """The default, made anew if it is a function."""
        return self.default() if callable(self.default) else self.default

    @property
    def is_primary_key(self) -> bool:
        return self.primary_key

    @property
    def can_delete(self) -> bool:
        """Whether a row can be without a value of it."""
        return not self.primary_key

    @property
    def has_index(self) -> bool:
        return self.index or self.custom_index

    def set_column_name(self, name: str) -> None:
        """Called with the name of the attribute that it was assigned to."""
        self.column_name = name

    def belongs_to(self, model_name: str) -> None:
        """Called with the name of the class that it is a column of, for messages."""
        self._model_name = model_name

    @property
    def db_field_name(self) -> str:
        """Its name in the table."""
        return self.db_field or self.column_name  # type: ignore[return-value]

    @property
    def db_index_name(self) -> str:
        return f"index_{self.db_field_name}"

    @property
    def cql(self) -> str:
        return self.get_cql()

    def get_cql(self) -> str:
        """Its name in quotes."""
        return escape_name(str(self.db_field_name))  # None where it was not assigned yet

    def get_column_def(self) -> str:
        """Its line in ``CREATE TABLE``."""
        return f"{self.cql} {self.db_type} {'static' if self.static else ''}"

    def cql_parameterized_type(self) -> str:
        return self.db_type

    @property
    def column(self: C) -> C:
        """Itself. An attribute of a user type's class is its column, and programs ask such an attribute for that."""
        return self

    @property
    def sub_types(self) -> list[Column[Any]]:
        """The columns of its parts."""
        return []

    @property
    def cql_type(self) -> Any:
        """The class of its CQL type, as in ``cassandra.cqltypes``."""
        return cqltypes[self.db_type]

    def _val_is_null(self, val: Any) -> bool:
        """Whether *val* is stored as nothing."""
        return val is None
