"""Tokens of type names, under scylla-driver's names (L6)."""

from __future__ import annotations

import re
import sys
from binascii import unhexlify
from typing import Any

_number_types = frozenset((int, float))
_little_endian_flag = int(sys.byteorder == "little")

#: ``scan`` returns the tokens of a name, and the rest that it could not read.
casstype_scanner = re.Scanner(  # type: ignore[attr-defined]
    [
        (r"[()]", lambda scanner, piece: piece),
        (r"[a-zA-Z0-9_.:=>]+", lambda scanner, piece: piece),
        (r"[\s,]", None),
    ]
)
cql_type_scanner = re.Scanner(  # type: ignore[attr-defined]
    [
        (r"frozen", None),
        (r"[a-zA-Z0-9_]+", lambda scanner, piece: piece),
        (r"[\s,<>]", None),
    ]
)


def _name_from_hex_string(encoded_name: str | bytes) -> str:
    """Decode the name of a field from the server's spelling of types: UTF-8, in hexadecimal digits."""
    return unhexlify(encoded_name).decode("utf-8")


def _strip_frozen_from_python(types: list[Any]) -> list[Any]:
    """Return *types* without ``frozen``, at any depth: the contents replace it."""
    found: list[Any] = []
    for before, item in zip([None, *types], types, strict=False):
        if item == "frozen":
            continue
        pieces = _strip_frozen_from_python(item) if isinstance(item, list) else item
        if before == "frozen" and isinstance(pieces, list):
            found += pieces
        else:
            found.append(pieces)
    return found
