"""Changes of one value of an instance since it was loaded: the *value manager* of a column.

User types store their fields in value managers. Models do not; they create value managers for programs that read them.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public

if TYPE_CHECKING:
    from cassandra._mapper.columns.base import Column

HOME = "cassandra.cqlengine.columns"


@public(HOME)
class BaseValueManager:
    """``value``, ``previous_value`` (as loaded or saved), and ``explicit``: True if a program assigned the value."""

    def __init__(self, instance: Any, column: Column[Any], value: Any) -> None:
        self.instance = instance
        self.column = column
        self.value = value
        self.previous_value: Any = None
        self.explicit = False

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
        return self.value

    def setval(self, val: Any) -> None:
        self.value = val
        self.explicit = True

    def delval(self) -> None:
        self.value = None

    def get_property(self) -> property:
        """Return a property that reads, assigns and deletes the value."""
        return property(lambda _: self.getval(), lambda _, value: self.setval(value), lambda _: self.delval())


@public(HOME)
class CounterValueManager(BaseValueManager):
    """Value manager of a counter, whose first value is 0."""

    def __init__(self, instance: Any, column: Column[Any], value: Any) -> None:
        super().__init__(instance, column, value or 0)
        self.previous_value = 0


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
