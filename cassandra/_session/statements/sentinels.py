"""Marker objects that distinguish "not given" from None in the public signatures."""

from __future__ import annotations

from typing import Final


class Sentinel:
    """A named marker; its repr is shown in signatures."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"<{self._name}>"

    def __reduce__(self) -> str:
        return self._name  # unpickles to the module attribute of that name, so identity survives


NOT_SET: Final = Sentinel("NOT_SET")
FETCH_SIZE_UNSET: Final = Sentinel("FETCH_SIZE_UNSET")
