"""Numbers of NumPy that are not values (L0)."""

from __future__ import annotations

from typing import Any


def is_masked(value: Any) -> bool:
    """True if *value* is a masked element of NumPy, or an array with masked elements. The data under a mask is not a
    value."""
    return hasattr(value, "filled") and hasattr(value, "mask") and bool(value.mask.any())
