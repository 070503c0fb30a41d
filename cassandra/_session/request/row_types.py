"""Types of rows for type checkers (L5): ``ResultSet[Product]``.

The parameter has a default, so that ``ResultSet`` alone means any rows, as in programs that do not use the parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    from typing import TypeVar

if TYPE_CHECKING:
    Row = TypeVar("Row", default=Any)

    class OfRows(Generic[Row]):
        """Base of classes that have rows."""

else:
    Row = TypeVar("Row")

    class OfRows:
        """Base of classes that have rows. ``Generic`` would be visible among the bases of public classes."""

        __slots__ = ()

        def __class_getitem__(cls, row: Any) -> Any:
            return cls if row is Row else GenericAlias(cls, row)


#: ``factory(column_names, rows)``, or None for tuples.
RowFactory = Callable[[list[str], list[Any]], Sequence[Row]] | None
