"""What of a table's options is to be changed: those of the model that the table has otherwise.

What a model does not say is left as it is, in maps too: a model that says the class of the compaction says nothing of
its thresholds. Servers spell some values otherwise than they were given, and that is no difference: classes with their
Java package, percentiles with a ``p``, numbers in maps as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Options of servers that do not list them before they were set.
_UNLISTED = frozenset(("cdc", "memtable", "incremental_backups", "allow_auto_snapshot"))

_PERCENTILE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?p(?:ercentile)?", re.IGNORECASE)


def changed_options(wanted: Mapping[str, Any], existing: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Those of *wanted* that are otherwise in *existing*; KeyError for one that no table has, with *where* in it."""
    changed = {}
    for name, value in wanted.items():
        if value is None:
            continue
        if name not in existing and name not in _UNLISTED:
            raise KeyError(f"{where}Invalid table option: '{name}'; known options: {sorted(existing)}")
        if not _same(name, value, existing.get(name)):
            changed[name] = value
    return changed


def _same(name: str, wanted: Any, existing: Any) -> bool:
    if isinstance(wanted, Mapping) and isinstance(existing, Mapping):
        return all(_same(str(key), value, existing.get(str(key))) for key, value in wanted.items())
    if isinstance(wanted, Mapping) or existing is None:
        return False
    if name == "comment":
        return str(wanted) == str(existing)
    return _plain(name, wanted) == _plain(name, existing)


def _plain(name: str, value: Any) -> object:
    text = str(value)
    if name in ("class", "sstable_compression"):
        return text.rpartition(".")[2]
    try:
        return float(text)
    except ValueError:
        return _PERCENTILE.sub(r"\1p", text).lower()
