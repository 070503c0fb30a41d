"""Declaration of scalar columns in a model; validation and conversion of their values.

``validate`` decides which values may be stored, ``to_database`` converts a value for storage, and ``to_python``
converts a stored value. Subclasses, also those of programs, may override any of the three.

To type checkers a column of a model is a descriptor: ``columns.Integer()`` is ``int`` on an instance. At run time the
model class replaces declared columns by its own descriptors.

The *value manager* of a column has the changes of one value of an instance since it was loaded. User types store their
fields in value managers. Models do not; they create value managers for programs that read them.
"""

from __future__ import annotations

import decimal
import itertools
import math
import uuid
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date, datetime, time, timezone
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, overload

from cassandra._base import temporal
from cassandra._base.names import escape_name
from cassandra._base.numbers import is_masked
from cassandra._base.objects import public
from cassandra._core.codec import is_real
from cassandra._wire.types.base import cqltypes

from .clauses import milliseconds
from .errors import InvalidType, ValidationError

C = TypeVar("C")
T = TypeVar("T")

HOME = "cassandra.cqlengine.columns"

#: Values in error texts are truncated to this number of characters.
SHOWN = 200
#: Value of the epoch where days are unsigned integers.
DAY_ZERO = 2**31


# ---- value managers


@public(HOME)
class BaseValueManager:
    """``value``, ``previous_value`` (as loaded or saved), and ``explicit``: True if a program assigned the value."""

    def __init__(self, instance: Any, column: Column[Any], value: Any) -> None:
        self.instance = instance  #: The model's instance.
        self.column = column  #: The column.
        self.value = value  #: The value.
        self.previous_value: Any = None  #: The value as last loaded or written.
        self.explicit = False  #: True if a program has set the value.

    @property
    def deleted(self) -> bool:
        """True if the column must be deleted: the value is null, and it was not null before or null was assigned."""
        is_null = self.column._val_is_null
        return is_null(self.value) and (self.explicit or not is_null(self.previous_value))

    @property
    def changed(self) -> bool:
        """True if the value must be written. A value that was not assigned is written if it is a container and
        differs."""
        if self.explicit:
            return bool(self.value != self.previous_value)
        if not self.column.changes_in_place:
            return False
        default = self.column.get_default() if self.column.has_default else None
        if self.column._val_is_null(default):
            return not self.column._val_is_null(self.value) and bool(self.value != self.previous_value)
        if self.previous_value is None:
            return bool(self.value != default)
        return bool(self.value != self.previous_value)

    def reset_previous_value(self) -> None:
        """Take the current value as the stored one."""
        self.previous_value = deepcopy(self.value)

    def getval(self) -> Any:
        """Return the value."""
        return self.value

    def setval(self, val: Any) -> None:
        """Set the value."""
        self.value = val
        self.explicit = True

    def delval(self) -> None:
        """Set the value to None."""
        self.value = None

    def get_property(self) -> property:
        """Return a property that reads, assigns and deletes the value."""
        return property(lambda _: self.getval(), lambda _, value: self.setval(value), lambda _: self.delval())


@public(HOME)
class CounterValueManager(BaseValueManager):
    """Value manager of a counter, whose first value is 0."""

    def __init__(self, instance: Any, column: Column[Any], value: Any) -> None:
        super().__init__(instance, column, value or 0)
        self.previous_value = 0  #: The value as last loaded or written.


@public(HOME)
class UDTValueManager(BaseValueManager):
    """Value manager of a user type, whose fields change in place."""

    @property
    def changed(self) -> bool:
        fields = self.value is not None and getattr(self.value, "has_changed_fields", None)
        return bool(self.value != self.previous_value) or bool(fields and fields())

    def reset_previous_value(self) -> None:
        if hasattr(self.value, "reset_changed_fields"):
            self.value.reset_changed_fields()
        super().reset_previous_value()


# ---- the base of all columns

if TYPE_CHECKING:

    class _TypedColumn(Generic[T]):
        @overload
        def __get__(self, instance: None, owner: type) -> Any: ...

        @overload
        def __get__(self, instance: object, owner: type) -> T: ...

        def __get__(self, instance: object, owner: type) -> Any: ...

        def __set__(self, instance: object, value: T | None) -> None: ...

else:

    class _TypedColumn:
        def __class_getitem__(cls, value_type):
            return object


@public(HOME)
class Column(_TypedColumn[T]):
    """A column of a table, or a field of a user type."""

    #: CQL type of the column.
    db_type: str = None  # type: ignore[assignment]
    value_manager: ClassVar[type[BaseValueManager]] = BaseValueManager  #: Class that keeps the values of instances.
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
        self.column_name: str | None = None  #: Name of the attribute in the model.
        self._model_name: str | None = None
        self._partition_key_index: int | None = None
        self.value: Any = None  #: None: values belong to the instances of models.
        self.position = next(Column._positions)  #: Number of the column, in the order of definition.
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
        """True if there is a default."""
        return self.default is not None

    def get_default(self) -> Any:
        """Return the default; a function is called each time."""
        return self.default() if callable(self.default) else self.default

    @property
    def is_primary_key(self) -> bool:
        """True if it is a part of the primary key."""
        return self.primary_key

    @property
    def can_delete(self) -> bool:
        """True if a row can lack a value of this column."""
        return not self.primary_key

    @property
    def has_index(self) -> bool:
        """True if it has an index."""
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
        """Name of its index."""
        return f"index_{self.db_field_name}"

    @property
    def cql(self) -> str:
        """Name of the column in quotes, as of :meth:`get_cql`."""
        return self.get_cql()

    def get_cql(self) -> str:
        """Return the column name in quotes."""
        return escape_name(str(self.db_field_name))  # None before the column is assigned to an attribute

    def get_column_def(self) -> str:
        """Return the line of the column in ``CREATE TABLE``."""
        return f"{self.cql} {self.db_type} {'static' if self.static else ''}"

    def cql_parameterized_type(self) -> str:
        """Return its type in CQL, with parameters."""
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


# ---- timestamps, dates, times of day and durations


@public(HOME)
class DateTime(Column[datetime]):
    """``timestamp``: milliseconds since the epoch. Datetimes without a zone are taken as UTC; read ones are UTC,
    naive."""

    db_type = "timestamp"
    read_as = datetime

    #: True if read datetimes are truncated to milliseconds, the precision of the database.
    truncate_microseconds: ClassVar[bool] = False

    @classmethod
    def unconverted(cls, method: str) -> type | None:
        return None if DateTime.truncate_microseconds else super().unconverted(method)

    def to_python(self, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, datetime):
            if DateTime.truncate_microseconds:
                return value.replace(microsecond=value.microsecond // 1000 * 1000)
            return value
        if isinstance(value, date):
            return datetime.combine(value, time())
        return datetime.fromtimestamp(value, timezone.utc).replace(tzinfo=None)

    def to_database(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, datetime):
            if not isinstance(value, date):
                raise self._refusal(f"'{value}' is not a datetime object", value)
            value = datetime.combine(value, time())
        return milliseconds(value)


@public(HOME)
class Date(Column[temporal.Date]):
    """``date``: a day, as :class:`cassandra.util.Date`; also accepts the arguments of that class."""

    db_type = "date"
    read_as = temporal.Date

    def to_database(self, value: Any) -> Any:
        if value is None:
            return None
        day = value if isinstance(value, temporal.Date) else temporal.Date(value)
        return day.days_from_epoch + DAY_ZERO

    def to_python(self, value: Any) -> Any:
        if value is None or isinstance(value, temporal.Date):
            return value
        return temporal.Date(value)


@public(HOME)
class Time(Column[temporal.Time]):
    """``time``: a time of day, as :class:`cassandra.util.Time`; also accepts the arguments of that class."""

    db_type = "time"
    stored_as = temporal.Time

    def to_database(self, value: Any) -> Any:
        return value if value is None or isinstance(value, temporal.Time) else temporal.Time(value)

    def to_python(self, value: Any) -> Any:
        return value if value is None or isinstance(value, temporal.Time) else temporal.Time(value)


@public(HOME)
class Duration(Column[temporal.Duration]):
    """``duration``: months, days and nanoseconds, as :class:`cassandra.util.Duration`."""

    db_type = "duration"
    stored_as = temporal.Duration

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, temporal.Duration):
            raise self._refusal(f"{value} is not a valid Duration.", value, InvalidType)
        return value


# ---- bytes, text, numbers, booleans, addresses and UUIDs


@public(HOME)
class Blob(Column[bytes]):
    """``blob``: ``bytes``; ``bytearray`` is accepted, too."""

    db_type = "blob"
    read_as = bytes

    def to_database(self, value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, (bytes, bytearray)):
            raise ValidationError(f"expecting a binary, got a {type(value)}")
        return bytearray(value)


Bytes = Blob


@public(HOME)
class Inet(Column[str]):
    """``inet``: an IP address, as text."""

    db_type = "inet"
    stored_as = str


@public(HOME)
class Text(Column[str]):
    """``text``: a ``str``, with limits of its length if wanted."""

    db_type = "text"
    stored_as = str

    def __init__(self, min_length: int | None = None, max_length: int | None = None, **kwargs: Any) -> None:
        """*min_length*, *max_length*: in characters. A required text must not be empty, unless *min_length* is 0."""
        #: Least length of valid values.
        self.min_length = 1 if min_length is None and kwargs.get("required", False) else min_length
        self.max_length = max_length  #: Largest length of valid values.
        if self.min_length is not None and self.min_length < 0:
            raise ValueError("Minimum length is not allowed to be negative.")
        if self.max_length is not None and self.max_length < 0:
            raise ValueError("Maximum length is not allowed to be negative.")
        if self.min_length is not None and self.max_length is not None and self.max_length < self.min_length:
            raise ValueError("Maximum length must be greater or equal to minimum length.")
        super().__init__(**kwargs)

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is not None and not isinstance(value, (str, bytearray)):
            raise self._refusal(f"{type(value)} is not a string", value)
        length = 0 if value is None else len(value)
        if self.max_length is not None and length > self.max_length:
            raise self._refusal(f"is longer than {self.max_length} characters", value)
        if self.min_length is not None and length < self.min_length:
            raise self._refusal(f"is shorter than {self.min_length} characters", value)
        return value


@public(HOME)
class Ascii(Text):
    """``ascii``: a ``str`` of ASCII characters."""

    db_type = "ascii"
    stored_as = str

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value and not value.isascii():
            raise ValidationError(f"{value!r} is not an ASCII string.")
        return value


def _whole_value(value: Any) -> Any:
    """Return *value*, which ``float()`` or ``int()`` is called with. Raise TypeError if these would take a part of
    it."""
    is_number = hasattr(value, "__float__") and not isinstance(value, (str, bytes))
    if isinstance(value, complex) or (is_number and not is_real(value)):
        raise TypeError(f"not a real number: {type(value).__name__}")
    return value


class _ValidatingColumn(Column[T]):
    """Base of columns that convert values by validating them, in both directions."""

    def to_python(self, value: Any) -> Any:
        return self.validate(value)

    def to_database(self, value: Any) -> Any:
        return self.validate(value)


class _IntegerColumn(_ValidatingColumn[int]):
    """Base of integer columns."""

    stored_as = int

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        try:
            return int(value if type(value) is int else _whole_value(value))
        except (TypeError, ValueError, OverflowError):
            raise self._refusal(f"{value} can't be converted to integral value", value) from None


@public(HOME)
class Integer(_IntegerColumn):
    """``int``: an ``int`` of 32 bits, with sign."""

    db_type = "int"


@public(HOME)
class TinyInt(Integer):
    """``tinyint``: an ``int`` of 8 bits, with sign."""

    db_type = "tinyint"


@public(HOME)
class SmallInt(Integer):
    """``smallint``: an ``int`` of 16 bits, with sign."""

    db_type = "smallint"


@public(HOME)
class BigInt(Integer):
    """``bigint``: an ``int`` of 64 bits, with sign."""

    db_type = "bigint"


@public(HOME)
class VarInt(_IntegerColumn):
    """``varint``: an ``int`` of any size."""

    db_type = "varint"


@public(HOME)
class UUID(_ValidatingColumn[uuid.UUID]):
    """``uuid``: of any version; text is converted."""

    db_type = "uuid"
    stored_as = uuid.UUID

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None or isinstance(value, uuid.UUID):
            return value
        if isinstance(value, str):
            try:
                return uuid.UUID(value)
            except ValueError:
                pass
        raise self._refusal(f"{value} is not a valid uuid", value)


@public(HOME)
class TimeUUID(UUID):
    """``timeuuid``: a UUID of version 1."""

    db_type = "timeuuid"


@public(HOME)
class Boolean(Column[bool]):
    """``boolean``: a ``bool``."""

    db_type = "boolean"
    stored_as = bool

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None or type(value) is bool:
            return value
        if is_masked(value):
            raise self._refusal(f"{value!r} is not a valid bool", value)
        return bool(value)

    def to_python(self, value: Any) -> Any:
        return self.validate(value)


@public(HOME)
class BaseFloat(_ValidatingColumn[float]):
    """Base of binary floating-point columns."""

    stored_as = float

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        try:
            found = float(value if type(value) is float else _whole_value(value))
        except (TypeError, ValueError, OverflowError):
            raise self._refusal(f"{value} is not a valid float", value) from None
        if math.isinf(found) and isinstance(value, decimal.Decimal) and value.is_finite():
            raise self._refusal(f"{value} is not a valid float", value)
        return found


@public(HOME)
class Float(BaseFloat):
    """``float``: a ``float``, rounded to 32 bits."""

    db_type = "float"


@public(HOME)
class Double(BaseFloat):
    """``double``: a ``float`` of 64 bits."""

    db_type = "double"


@public(HOME)
class Decimal(_ValidatingColumn[decimal.Decimal]):
    """``decimal``. A ``float`` is converted by its ``repr``: 1.1 becomes ``Decimal("1.1")``."""

    db_type = "decimal"
    stored_as = decimal.Decimal

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        try:
            return decimal.Decimal(repr(value)) if isinstance(value, float) else decimal.Decimal(value)
        except (TypeError, ValueError, decimal.InvalidOperation):
            raise self._refusal(f"{_value_text(value)} can't be coerced to decimal", value) from None


def _value_text(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else repr(value)


@public(HOME)
class Counter(Integer):
    """``counter``. An assigned value is written as the difference to the value that was read."""

    db_type = "counter"
    value_manager = CounterValueManager

    def __init__(self, index: bool = False, db_field: str | None = None, required: bool = False) -> None:
        super().__init__(index=index, db_field=db_field, default=0, required=required)
