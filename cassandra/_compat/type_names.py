"""Names of types in pieces, under scylla-driver's names (L6)."""

from __future__ import annotations

import re
import sys
from binascii import unhexlify
from typing import Any

_number_types = frozenset((int, float))
_little_endian_flag = int(sys.byteorder == "little")

#: What ``scan`` gives: the pieces of a name, and what could not be read.
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
    """The name of a field as the server has it in types: UTF-8, in hexadecimal digits."""
    return unhexlify(encoded_name).decode("utf-8")


def _strip_frozen_from_python(types: list[Any]) -> list[Any]:
    """Without ``frozen``, at any depth: what was in it takes its place."""
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
