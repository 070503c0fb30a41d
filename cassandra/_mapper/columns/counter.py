"""Counter columns."""

from __future__ import annotations

from cassandra._base.objects import public
from cassandra._mapper.columns.scalars import Integer
from cassandra._mapper.columns.tracking import HOME, CounterValueManager


@public(HOME)
class Counter(Integer):
    """``counter``. An assigned value is written as the difference to the value that was read."""

    db_type = "counter"
    value_manager = CounterValueManager

    def __init__(self, index: bool = False, db_field: str | None = None, required: bool = False) -> None:
        super().__init__(index=index, db_field=db_field, default=0, required=required)
