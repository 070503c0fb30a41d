"""Lightweight transactions: check that a conditional write was applied."""

from __future__ import annotations

from typing import Any

from cassandra._base.objects import public
from cassandra._mapper.errors import LWTException


@public("cassandra.cqlengine.query")
def check_applied(result: Any) -> None:
    """Raise LWTException with the row that prevented it if a conditional write was not applied."""
    try:
        applied = result.was_applied
    except Exception:
        applied = True  # the result does not support was_applied
    if not applied:
        raise LWTException(result.one())
