"""Values in queries, and functions that the server computes.

A value has a *context id*, the name of its placeholder; ``update_context`` stores the bound value under it. A value may
have several placeholders, with consecutive ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar

from cassandra._base.objects import public
from cassandra._mapper.errors import UnicodeMixin, ValidationError

HOME = "cassandra.cqlengine.functions"
EPOCH = datetime(1970, 1, 1)
MILLISECOND = timedelta(milliseconds=1)


@public(HOME)
def get_total_seconds(td: timedelta) -> float:
    """Return the number of seconds in *td*."""
    return td.total_seconds()


def milliseconds(moment: datetime) -> int:
    """Return the milliseconds from the epoch to *moment*, rounded down; a naive *moment* is taken as UTC."""
    offset = moment.utcoffset()
    local = moment.replace(tzinfo=None)
    return (local - EPOCH - (offset or timedelta())) // MILLISECOND


@public(HOME)
class QueryValue(UnicodeMixin):
    """A value in a query; ``format_string`` is the format of its placeholder."""

    format_string: ClassVar[str] = "%({0})s"

    def __init__(self, value: Any) -> None:
        self.value = value
        self.context_id: Any = None

    def __unicode__(self) -> str:
        return self.format_string.format(self.context_id)

    def set_context_id(self, ctx_id: Any) -> None:
        self.context_id = ctx_id

    def get_context_size(self) -> int:
        return 1

    def update_context(self, ctx: dict[str, Any]) -> None:
        ctx[str(self.context_id)] = self.value


@public(HOME)
class BaseQueryFunction(QueryValue):
    """A CQL function, which filters accept in place of a value: ``filter(id__gt=MinTimeUUID(...))``."""


@public(HOME)
class TimeUUIDQueryFunction(BaseQueryFunction):
    """A function of a datetime that bounds version 1 UUIDs by their time."""

    def __init__(self, value: datetime) -> None:
        """*value*: the datetime; without a zone it is taken as UTC."""
        if not isinstance(value, datetime):
            raise ValidationError(f"datetime instance is required, not {value!r}")
        super().__init__(value)

    def to_database(self, val: datetime) -> int:
        return milliseconds(val)

    def update_context(self, ctx: dict[str, Any]) -> None:
        ctx[str(self.context_id)] = self.to_database(self.value)


@public(HOME)
class MinTimeUUID(TimeUUIDQueryFunction):
    """The smallest timeuuid of a datetime."""

    format_string = "MinTimeUUID(%({0})s)"


@public(HOME)
class MaxTimeUUID(TimeUUIDQueryFunction):
    """The greatest timeuuid of a datetime."""

    format_string = "MaxTimeUUID(%({0})s)"


@public(HOME)
class Token(BaseQueryFunction):
    """The token of a partition key: ``filter(pk__token__gt=Token(last.pk))``."""

    def __init__(self, *values: Any) -> None:
        """*values*: one per column of the partition key; or one list or tuple of them."""
        if len(values) == 1 and isinstance(values[0], (list, tuple)):
            values = values[0]  # type: ignore[assignment]
        super().__init__(values)
        self._columns: Sequence[Any] | None = None

    def set_columns(self, columns: Sequence[Any]) -> None:
        """Set the *columns* of the partition key, which convert the values."""
        self._columns = columns

    def get_context_size(self) -> int:
        return len(self.value)

    def __unicode__(self) -> str:
        placeholders = (f"%({self.context_id + i})s" for i in range(self.get_context_size()))
        return f"token({', '.join(placeholders)})"

    def update_context(self, ctx: dict[str, Any]) -> None:
        if self._columns is None:
            raise TypeError(f"{type(self).__name__}{tuple(self.value)!r} is not used with a partition key: no columns")
        for i, (column, value) in enumerate(zip(self._columns, self.value, strict=False)):
            ctx[str(self.context_id + i)] = column.to_database(value)
