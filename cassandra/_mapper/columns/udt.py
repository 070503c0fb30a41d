"""The column of a user type."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cassandra._base.names import protect_name
from cassandra._base.public import public
from cassandra._mapper.columns.base import Column
from cassandra._mapper.columns.containers import BaseContainerColumn
from cassandra._mapper.columns.tracking import HOME, UDTValueManager
from cassandra._wire.types.udt import UserType

if TYPE_CHECKING:
    from typing import Protocol

    class Fields(Protocol):
        """As much of a class of ``cassandra.cqlengine.usertype`` as a column asks for."""

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
        """*user_type*: the class of its values."""
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
        """The value itself, its fields converted in place. Rows that were read before the type was registered have
        tuples, which become instances."""
        if value is None:
            return None
        if isinstance(value, tuple):
            if not hasattr(value, "_asdict"):  # the type has a name that no class can have
                raise self._refusal(
                    f"{value} has no names of fields: it was read before {self.user_type.__name__} was registered, "
                    "which sync_type() and register_for_keyspace() do",
                    value,
                )
            value = self.user_type(**value._asdict())
        return self._convert(value, "to_python")

    def to_database(self, value: Any) -> Any:
        """A copy, its fields converted."""
        return None if value is None else self._convert(deepcopy(value), "to_database")

    def _convert(self, value: Any, method: str) -> Any:
        for name, field in self.user_type._fields.items():
            given = value.get(name) if isinstance(value, Mapping) else value[name]
            if given is not None or isinstance(field, BaseContainerColumn):
                value[name] = getattr(field, method)(given)
        return value


@public(HOME)
def resolve_udts(col_def: Column[Any], out_list: list[Any]) -> None:
    """Append the user types that *col_def* is made of to *out_list*, each after those that it is made of itself."""
    for column in col_def.sub_types:
        resolve_udts(column, out_list)
    if isinstance(col_def, UserDefinedType):
        out_list.append(col_def.user_type)
