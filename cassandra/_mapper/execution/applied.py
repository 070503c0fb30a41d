"""Lightweight transactions: whether a write with a condition was applied."""

from __future__ import annotations

from typing import Any

from cassandra._base.public import public
from cassandra._mapper.errors import LWTException


@public("cassandra.cqlengine.query")
def check_applied(result: Any) -> None:
    """LWTException with the row that prevented it, if a write with a condition was not applied."""
    try:
        applied = result.was_applied
    except Exception:
        applied = True  # a result that has no such thing
    if not applied:
        raise LWTException(result.one())
