"""Differences of table options: the options of a model that differ from those of its table.

Options that the model does not set are left unchanged, in maps too: a model that sets the class of the compaction does
not change its thresholds. Servers spell some values differently, and these are not differences: classes with their Java
package, percentiles with a ``p``, numbers in maps as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

#: Options that servers do not list before they are set.
_UNLISTED = frozenset(("cdc", "memtable", "incremental_backups", "allow_auto_snapshot"))

_PERCENTILE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?p(?:ercentile)?", re.IGNORECASE)


def changed_options(wanted: Mapping[str, Any], existing: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the options in *wanted* that differ in *existing*; raise KeyError, prefixed by *where*, for an unknown
    option."""
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
