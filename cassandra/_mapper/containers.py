"""Columns that hold values of other columns: sets, lists, maps, tuples, vectors and user types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from cassandra._base.collections import OrderedMap, SortedSet
from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._wire.types.base import cqltypes
from cassandra._wire.types.nested import UserType, VectorType

from .columns import HOME, Column, UDTValueManager
from .errors import ValidationError

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

#: Maximum number of elements of one value.
MAX_ELEMENTS = 65535

#: Type of the values of a container: a column, or its class.
Inner = Column[T] | type[Column[T]]


def _freeze(column: Column[Any]) -> None:
    """Make the type frozen: a collection or tuple inside another one is stored whole."""
    if not column.db_type.startswith("frozen"):
        column.db_type = f"frozen<{column.db_type}>"


@public(HOME)
class BaseCollectionColumn(Column[T]):
    """Base of columns whose values have parts."""

    #: Name of the CQL type, before its parameters.
    cql_name: ClassVar[str] = ""

    def __init__(self, types: Sequence[Any], **kwargs: Any) -> None:
        """*types*: columns of the parts, or classes of columns."""
        self.types: list[Column[Any]] = [self._make_column(inner) for inner in types]  #: Types of the elements.
        super().__init__(**kwargs)
        #: Name of the type in CQL.
        self.db_type = f"{self.cql_name}<{', '.join(column.db_type for column in self.types)}>"

    @staticmethod
    def _make_column(inner: Any) -> Column[Any]:
        if isinstance(inner, type) and issubclass(inner, Column):
            inner = inner()
        elif not isinstance(inner, Column):
            raise ValidationError(f"{inner} is not a column class")
        column: Column[Any] = inner
        if isinstance(column, BaseCollectionColumn):
            column._freeze_db_type()
        return column

    def _freeze_db_type(self) -> None:
        _freeze(self)

    # Parts have no names: their errors name the containing column.

    def set_column_name(self, name: str) -> None:
        super().set_column_name(name)
        for column in self.types:
            column.set_column_name(name)

    def belongs_to(self, model_name: str) -> None:
        super().belongs_to(model_name)
        for column in self.types:
            column.belongs_to(model_name)

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if isinstance(value, (list, tuple, set, frozenset, Mapping, SortedSet)) and len(value) > MAX_ELEMENTS:
            raise self._refusal(f"Collection can't have more than {MAX_ELEMENTS} elements.", value)
        return value

    def _val_is_null(self, val: Any) -> bool:
        return not val

    @property
    def sub_types(self) -> list[Column[Any]]:
        return self.types

    @property
    def cql_type(self) -> Any:
        return cqltypes[self.cql_name].apply_parameters([column.cql_type for column in self.types])


@public(HOME)
class Tuple(BaseCollectionColumn[tuple[Any, ...]]):
    """``tuple<...>``: at most as many values as columns."""

    cql_name = "tuple"  #: Name of the type in CQL.

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """*args*: one column, or class of columns, per position."""
        if not args:
            raise ValueError("Tuple must specify at least one inner type")
        super().__init__(args, **kwargs)

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        try:
            parts = list(value)
        except TypeError:
            raise self._refusal(f"{value} is not a tuple", value) from None
        if len(parts) > len(self.types):
            names = ", ".join(type(column).__name__ for column in self.types)
            raise self._refusal(f"{value} has more than {len(self.types)} items ({names})", value)
        return self._each("validate", parts)

    def to_python(self, value: Any) -> Any:
        return () if value is None else self._each("to_python", value)

    def to_database(self, value: Any) -> Any:
        return None if value is None else self._each("to_database", value)

    def _each(self, method: str, value: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(getattr(column, method)(part) for column, part in zip(self.types, value, strict=False))


@public(HOME)
class BaseContainerColumn(BaseCollectionColumn[T]):
    """Base of columns with any number of values. In-place changes are detected, and only the changes are written."""

    changes_in_place = True  #: True: values can change without an assignment.

    #: True if a value is stored whole, so that it can be part of a key.
    frozen: bool = False

    def __init__(self, types: Sequence[Any], frozen: bool = False, **kwargs: Any) -> None:
        super().__init__(types, **kwargs)
        self.frozen = frozen
        self._apply_frozen()

    def _apply_frozen(self) -> None:
        if self.frozen:
            self._freeze_db_type()


@public(HOME)
class Set(BaseContainerColumn[set[T]]):
    """``set<...>``: a ``set`` of values of one column type."""

    cql_name = "set"  #: Name of the type in CQL.
    _python_type_hashable = False

    def __init__(
        self,
        value_type: Inner[T],
        strict: bool = True,
        default: set[T] | Callable[[], set[T]] | None = set,
        frozen: bool = False,
        **kwargs: Any,
    ) -> None:
        """*strict*: accept only sets; otherwise lists and tuples are accepted, too."""
        self.strict = strict  #: True rejects values that are not sets.
        super().__init__((value_type,), frozen=frozen, default=default, **kwargs)
        self.value_col = self.types[0]  #: Column of the elements.
        if not self.value_col._python_type_hashable:
            raise ValidationError("Cannot create a Set with unhashable value type (see PYTHON-494)")

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        if not isinstance(value, (set, SortedSet) if self.strict else (set, SortedSet, list, tuple)):
            what = "is not a set object" if self.strict else "cannot be coerced to a set object"
            raise self._refusal(f"{value} {what}", value)
        if any(item is None for item in value):
            raise self._refusal("None not allowed in a set", value)
        return {self.value_col.validate(item) for item in value}

    def to_python(self, value: Any) -> Any:
        return set() if value is None else {self.value_col.to_python(item) for item in value}

    def to_database(self, value: Any) -> Any:
        return None if value is None else {self.value_col.to_database(item) for item in value}


@public(HOME)
class List(BaseContainerColumn[list[T]]):
    """``list<...>``: a ``list`` of values of one column type."""

    cql_name = "list"  #: Name of the type in CQL.
    _python_type_hashable = False

    def __init__(
        self,
        value_type: Inner[T],
        default: list[T] | Callable[[], list[T]] | None = list,
        frozen: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__((value_type,), frozen=frozen, default=default, **kwargs)
        self.value_col = self.types[0]  #: Column of the elements.

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        if not isinstance(value, (set, list, tuple)):
            raise self._refusal(f"{value} is not a list object", value)
        if any(item is None for item in value):
            raise self._refusal("None is not allowed in a list", value)
        return [self.value_col.validate(item) for item in value]

    def to_python(self, value: Any) -> Any:
        return [] if value is None else [self.value_col.to_python(item) for item in value]

    def to_database(self, value: Any) -> Any:
        return None if value is None else [self.value_col.to_database(item) for item in value]


@public(HOME)
class Map(BaseContainerColumn[dict[K, V]]):
    """``map<..., ...>``: a ``dict`` with keys of one column type and values of another."""

    cql_name = "map"  #: Name of the type in CQL.
    _python_type_hashable = False

    def __init__(
        self,
        key_type: Inner[K],
        value_type: Inner[V],
        default: dict[K, V] | Callable[[], dict[K, V]] | None = dict,
        frozen: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__((key_type, value_type), frozen=frozen, default=default, **kwargs)
        self.key_col: Any = self.types[0]  #: Column of the keys.
        self.value_col: Any = self.types[1]  #: Column of the values.
        if not self.key_col._python_type_hashable:
            raise ValidationError("Cannot create a Map with unhashable key type (see PYTHON-494)")

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        if not isinstance(value, (dict, OrderedMap)):
            raise self._refusal(f"{value} is not a dict object", value)
        if any(key is None for key in value):
            raise self._refusal("None is not allowed in a map", value)
        return {self.key_col.validate(k): self.value_col.validate(v) for k, v in value.items()}

    def to_python(self, value: Any) -> Any:
        if value is None:
            return {}
        return {self.key_col.to_python(k): self.value_col.to_python(v) for k, v in value.items()}

    def to_database(self, value: Any) -> Any:
        if value is None:
            return None
        return {self.key_col.to_database(k): self.value_col.to_database(v) for k, v in value.items()}


@public(HOME)
class Vector(BaseCollectionColumn[list[T]]):
    """``vector<type, dimensions>``: a list with exactly *dimensions* values, none of them null.

    .. versionadded:: 4.0
    """

    cql_name = "vector"  #: Name of the type in CQL.
    changes_in_place = True  #: True: values can change without an assignment.
    _python_type_hashable = False

    def __init__(self, value_type: Inner[T], dimensions: int, **kwargs: Any) -> None:
        """*value_type*: a column of the elements, or a class of columns."""
        if not isinstance(dimensions, int) or dimensions < 1:
            raise ValueError(f"dimensions must be a positive int, got {dimensions!r}")
        super().__init__((value_type,), **kwargs)
        self.value_col = self.types[0]  #: Column of the elements.
        self.dimensions = dimensions  #: Number of elements.
        self.db_type = f"vector<{self.value_col.db_type}, {dimensions}>"  #: Name of the type in CQL.

    def _freeze_db_type(self) -> None:
        """Do nothing: a vector is always stored whole."""

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        if isinstance(value, (str, bytes, set, frozenset, Mapping)) or not isinstance(value, Iterable):
            raise self._refusal(f"{value!r} is not a list object", value)
        items = list(value)
        if len(items) != self.dimensions:
            raise self._refusal(f"has {len(items)} elements, not {self.dimensions}", value)
        if any(item is None for item in items):
            raise self._refusal("None is not allowed in a vector", value)
        return [self.value_col.validate(item) for item in items]

    def to_python(self, value: Any) -> Any:
        return None if value is None else [self.value_col.to_python(item) for item in value]

    def to_database(self, value: Any) -> Any:
        return None if value is None else [self.value_col.to_database(item) for item in value]

    def _val_is_null(self, val: Any) -> bool:
        return val is None

    @property
    def cql_type(self) -> Any:
        return VectorType.apply_parameters([self.value_col.cql_type, self.dimensions])


# ---- user types

if TYPE_CHECKING:

    class Fields(Protocol):
        """The part of a class of ``cassandra.cqlengine.usertype`` that a column uses."""

        _fields: ClassVar[Any]

        @classmethod
        def type_name(cls) -> str: ...


U = TypeVar("U", bound="Fields")


@public(HOME)
class UserDefinedType(Column[U]):
    """A user type, stored whole: an instance of a subclass of ``cassandra.cqlengine.usertype.UserType``."""

    value_manager = UDTValueManager
    changes_in_place = True  #: True: values can change without an assignment.

    def __init__(self, user_type: type[U], **kwargs: Any) -> None:
        """*user_type*: class of the values."""
        self.user_type = user_type  #: The class of the values.
        self.db_type = f"frozen<{protect_name(user_type.type_name())}>"  #: Name of the type in CQL.
        super().__init__(**kwargs)

    @property
    def sub_types(self) -> list[Column[Any]]:
        return list(self.user_type._fields.values())

    @property
    def cql_type(self) -> Any:
        names = [column.db_field_name for column in self.sub_types]
        types = [column.cql_type for column in self.sub_types]
        return UserType.make_udt_class("", self.user_type.type_name(), names, types)

    def validate(self, value: Any) -> Any:
        value = super().validate(value)
        if value is None:
            return None
        if not hasattr(value, "validate"):
            raise self._refusal(f"{value} is not a {self.user_type.__name__}", value)
        value.validate()
        return value

    def to_python(self, value: Any) -> Any:
        """Return the value itself, with its fields converted in place. Rows read before the type was registered have
        tuples, which are converted to instances."""
        if value is None:
            return None
        if isinstance(value, tuple):
            if not hasattr(value, "_asdict"):  # the type has a name that is not valid for a class
                raise self._refusal(
                    f"{value} has no names of fields: it was read before {self.user_type.__name__} was registered; "
                    "call sync_type() or register_for_keyspace() first",
                    value,
                )
            value = self.user_type(**value._asdict())
        return self._convert(value, "to_python")

    def to_database(self, value: Any) -> Any:
        """Return a copy with converted fields."""
        return None if value is None else self._convert(deepcopy(value), "to_database")

    def _convert(self, value: Any, method: str) -> Any:
        for name, field in self.user_type._fields.items():
            given = value.get(name) if isinstance(value, Mapping) else value[name]
            if given is not None or isinstance(field, BaseContainerColumn):
                value[name] = getattr(field, method)(given)
        return value


@public(HOME)
def resolve_udts(col_def: Column[Any], out_list: list[Any]) -> None:
    """Append the user types in *col_def* to *out_list*, each after the user types of its own fields."""
    for column in col_def.sub_types:
        resolve_udts(column, out_list)
    if isinstance(col_def, UserDefinedType):
        out_list.append(col_def.user_type)
