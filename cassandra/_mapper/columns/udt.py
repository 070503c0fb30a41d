"""Column of a user type."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.containers import BaseContainerColumn
from cassandra._mapper.columns.tracking import HOME, UDTValueManager
from cassandra._wire.types.nested import UserType

if TYPE_CHECKING:
    from typing import Protocol

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
    changes_in_place = True

    def __init__(self, user_type: type[U], **kwargs: Any) -> None:
        """*user_type*: class of the values."""
        self.user_type = user_type
        self.db_type = f"frozen<{protect_name(user_type.type_name())}>"
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
