"""User types as classes: fields are columns, instances are values."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from copy import deepcopy
from typing import Any, ClassVar

from cassandra._base.objects import public

from . import connections
from .columns import BaseValueManager, Column
from .containers import BaseContainerColumn
from .errors import UserTypeDefinitionException

HOME = "cassandra.cqlengine.usertype"

#: Maximum length of names of tables and types that are derived from names of classes.
LONGEST = 48


def snake_case(class_name: str) -> str:
    """Return the name of a table or type, derived from the name of its class: ``TreeTrunk`` becomes ``tree_trunk``."""
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", class_name).lower()[-LONGEST:]


class _Field:
    """An attribute that reads and writes the value manager of its name; on the class it has the ``column``."""

    def __init__(self, column: Column[Any]) -> None:
        self.column = column

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return instance._values[self.column.column_name].getval()

    def __set__(self, instance: Any, value: Any) -> None:
        instance._values[self.column.column_name].setval(value)

    def __delete__(self, instance: Any) -> None:
        instance._values[self.column.column_name].delval()


@public(HOME)
class BaseUserType:
    """Base of user types."""

    #: Name of the type in CQL; None to derive it from the name of the class.
    __type_name__: ClassVar[str | None] = None

    _fields: ClassVar[dict[str, Column[Any]]] = {}
    #: Attributes by the names of fields in CQL, if these differ.
    _db_map: ClassVar[dict[str, str]] = {}

    def __init__(self, **values: Any) -> None:
        """*values* of fields, by attribute or by the name in CQL; unknown names are ignored, as types can be
        altered."""
        given = {self._db_map.get(name, name): value for name, value in values.items()}
        self._values: dict[str, BaseValueManager] = {}
        for name, field in self._fields.items():
            value = given[name] if name in given else field.get_default()
            if value is not None or isinstance(field, BaseContainerColumn):
                value = field.to_python(value)
            manager = self._values[name] = field.value_manager(self, field, value)
            manager.explicit = name in given

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        return all(getattr(self, name) == getattr(other, name) for name in self._fields)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {value}' for name, value in self.items())}}}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def has_changed_fields(self) -> bool:
        """True if a field has changed since the instance was loaded or saved."""
        return any(manager.changed for manager in self._values.values())

    def reset_changed_fields(self) -> None:
        """Take the current values of the fields as the stored ones."""
        for manager in self._values.values():
            manager.reset_previous_value()

    def __deepcopy__(self, memo: dict[int, Any]) -> BaseUserType:
        copied: BaseUserType = type(self).__new__(type(self))
        memo[id(self)] = copied
        copied.__dict__.update({name: deepcopy(v, memo) for name, v in self.__dict__.items() if name != "_values"})
        copied._values = {name: _copy_of(manager, copied, memo) for name, manager in self._values.items()}
        return copied

    def __copy__(self) -> BaseUserType:
        return self.__deepcopy__({})

    # As a mapping of its fields.

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __getattr__(self, attr: str) -> Any:
        if attr in type(self)._db_map:  # the driver reads fields by their names in CQL
            return getattr(self, self._db_map[attr])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {attr!r}")

    def __getitem__(self, key: str) -> Any:
        self._check_key(key)
        return getattr(self, key)

    def __setitem__(self, key: str, val: Any) -> None:
        self._check_key(key)
        setattr(self, key, val)

    def _check_key(self, key: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"expected a str as field name of {type(self).__name__}, got {key!r}")
        if key not in self._fields:
            raise KeyError(key)

    def __len__(self) -> int:
        return len(self._fields)

    def keys(self) -> KeysView[str]:
        """Return the names of the fields."""
        return self._fields.keys()

    def values(self) -> ValuesView[Any]:
        """Return the values of the fields."""
        return dict(self.items()).values()

    def items(self) -> ItemsView[str, Any]:
        """Return pairs of name and value."""
        return {name: getattr(self, name) for name in self._fields}.items()

    @classmethod
    def register_for_keyspace(cls, keyspace: str, connection: str | None = None) -> None:
        """Read values of the type in *keyspace* as instances of this class, over *connection*."""
        connections.register_udt(keyspace, cls.type_name(), cls, connection)

    @classmethod
    def _cql_names(cls) -> list[str]:
        """Return the names of the fields in CQL, which the driver compares with the fields of the type."""
        return [field.db_field_name for field in cls._fields.values()]

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the type in CQL."""
        return cls.__type_name__.lower() if cls.__type_name__ else snake_case(cls.__name__)

    def validate(self) -> None:
        """Check the fields, and convert values where needed; raise ``ValidationError`` for an invalid value."""
        for name, field in self._fields.items():
            value = getattr(self, name)
            if value is not None or field.required:
                value = field.validate(value)
            if value is not None:
                setattr(self, name, value)


def _copy_of(manager: BaseValueManager, instance: BaseUserType, memo: dict[int, Any]) -> BaseValueManager:
    copied = type(manager)(instance, manager.column, None)
    copied.value = deepcopy(manager.value, memo)
    copied.previous_value = deepcopy(manager.previous_value, memo)
    copied.explicit = manager.explicit
    return copied


def _class_attribute(cls: type, attribute: str) -> Any:
    """Return the attribute of *cls* or of its first base that has it, without calling descriptors."""
    return next((vars(base)[attribute] for base in cls.__mro__ if attribute in vars(base)), None)


@public(HOME)
class UserTypeMetaClass(type):
    """Collects the columns of a class as its fields."""

    def __new__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> Any:
        fields = sorted(
            ((attribute, column) for attribute, column in attrs.items() if isinstance(column, Column)),
            key=lambda field: field[1],
        )
        for attribute, column in fields:
            if any(
                not isinstance(_class_attribute(base, attribute), _Field) for base in bases if hasattr(base, attribute)
            ):
                raise UserTypeDefinitionException(f"field {attribute!r} conflicts with built-in attribute/method")
            column.set_column_name(attribute)
            column.belongs_to(name)
            attrs[attribute] = _Field(column)
        db_map = {}
        for attribute, column in fields:
            if column.db_field_name != attribute:
                if column.db_field_name in attrs:
                    clash = f"db_field {column.db_field_name!r} for field {attribute!r}"
                    raise UserTypeDefinitionException(f"{clash} conflicts with another attribute name")
                db_map[column.db_field_name] = attribute
        attrs.setdefault("__module__", HOME)  # missing if the class was not created by a class statement
        attrs["_fields"] = OrderedDict(fields)
        attrs["_db_map"] = db_map
        return super().__new__(cls, name, bases, attrs)


@public(HOME)
class UserType(BaseUserType, metaclass=UserTypeMetaClass):
    """Base of the user types of programs.

    Example::

        class Address(UserType):
            street = columns.Text()
            number = columns.Integer()
    """
