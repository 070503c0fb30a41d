"""What became of one value of an instance since it was loaded: the *value manager* of a column.

User types keep their fields in them; models do not, but make them for programs that look.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from cassandra._base.public import public

if TYPE_CHECKING:
    from cassandra._mapper.columns.base import Column

HOME = "cassandra.cqlengine.columns"


@public(HOME)
class BaseValueManager:
    """``value``, ``previous_value`` (as it was loaded or saved), and whether a program assigned it (``explicit``)."""

    def __init__(self, instance: Any, column: Column[Any], value: Any) -> None:
        self.instance = instance
        self.column = column
        self.value = value
        self.previous_value: Any = None
        self.explicit = False

    @property
    def deleted(self) -> bool:
        """Whether the column is to be deleted: the value is null, and was not, or was made so."""
        is_null = self.column._val_is_null
        return is_null(self.value) and (self.explicit or not is_null(self.previous_value))

    @property
    def changed(self) -> bool:
        """Whether the value is to be written. What nobody assigned is, if it is a container and differs."""
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
        """The value is as it is stored."""
        self.previous_value = deepcopy(self.value)

    def getval(self) -> Any:
        return self.value

    def setval(self, val: Any) -> None:
        self.value = val
        self.explicit = True

    def delval(self) -> None:
        self.value = None

    def get_property(self) -> property:
        """A property that reads, assigns and deletes the value."""
        return property(lambda _: self.getval(), lambda _, value: self.setval(value), lambda _: self.delval())


@public(HOME)
class CounterValueManager(BaseValueManager):
    """Of a counter, which is 0 before anybody counted."""

    def __init__(self, instance: Any, column: Column[Any], value: Any) -> None:
        super().__init__(instance, column, value or 0)
        self.previous_value = 0


@public(HOME)
class UDTValueManager(BaseValueManager):
    """Of a user type, whose fields change in place."""

    @property
    def changed(self) -> bool:
        fields = self.value is not None and getattr(self.value, "has_changed_fields", None)
        return bool(self.value != self.previous_value) or bool(fields and fields())

    def reset_previous_value(self) -> None:
        if hasattr(self.value, "reset_changed_fields"):
            self.value.reset_changed_fields()
        super().reset_previous_value()
