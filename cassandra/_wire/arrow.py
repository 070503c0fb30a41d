"""Column plans of results for Arrow, and pages with different columns (L2).

The column plans of a result are cached in its ResultPlan, as its row plans are: one per choice of types and pool.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from cassandra._core.codec import (
    Codec,
    Result,
    ResultPlan,
    RowPlan,
    RowsPage,
    TypeContext,
    decode_result,
    decrypted_page,
)
from cassandra._core.columns import ColumnPlan

if TYPE_CHECKING:
    from cassandra._core.memory import MemoryPool

_NO_METADATA, _ROWS = 4, 2


class ColumnTypes(NamedTuple):
    """Options for the Arrow types of a result; see ``columns.pyi``."""

    strings: Literal["utf8", "view", "dictionary"] = "utf8"
    decimals: Literal["utf8"] | tuple[int, int] = "utf8"
    varints: Literal["utf8", "int64"] | int = "utf8"
    uuids: Literal["arrow.uuid", "binary"] = "arrow.uuid"


def column_plan(plan: ResultPlan, pool: MemoryPool, types: ColumnTypes) -> ColumnPlan:
    """Return the column plan for *plan*. Raise ValueError for unknown *types*."""
    known: dict[Any, ColumnPlan] = plan.extra or {}
    key = (types, pool)
    found = known.get(key)
    if found is None:
        columns = [(name, codec) for _, _, name, codec in plan.specs]
        found = ColumnPlan(columns, pool, **types._asdict())
        plan.extra = {**known, key: found}
    return found


def decrypt_page(page: RowsPage) -> RowsPage:
    """Return *page* itself, or a page with the plain bytes of its encrypted columns; other columns are not decoded.
    Raise DriverException for a value that cannot be decrypted."""
    plan = page.plan
    for codec in plan.codecs:
        if codec.stored is not None:
            return decrypted_page(page, ResultPlan([(*spec[:3], _inner(spec[3])) for spec in plan.specs]))
    return page


def _inner(codec: Codec) -> Codec:
    inner: Codec = codec if codec.stored is None else codec.cipher.inner
    return inner


def reorder_columns(page: RowsPage, plan: ResultPlan) -> RowsPage:
    """Return the rows of *page* with the columns of *plan*, matched by name: missing columns are null, further ones are
    dropped. Raise TypeError, ValueError or OverflowError if a value does not fit its column in *plan*."""
    at = {name: i for i, name in enumerate(page.plan.names)}
    sources = [at.get(name) for name in plan.names]
    parts: list[bytes] = [struct.pack(">iii", _ROWS, _NO_METADATA, len(plan)), struct.pack(">i", len(page))]
    for row in page.decode(RowPlan(page.plan, "tuple")):
        for source, codec in zip(sources, plan.codecs, strict=True):
            cell = None if source is None or row[source] is None else codec.encode(row[source])
            parts.append(struct.pack(">i", -1) if cell is None else struct.pack(">i", len(cell)) + cell)
    made = decode_result(Result, b"".join(parts), 0, 4, TypeContext(), plan).page
    assert made is not None
    return made


def concatenated(numpy: Any, pages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return NumPy columns of several pages as those of one."""
    if len(pages) == 1:
        return pages[0]
    masked, plain = numpy.ma.concatenate, numpy.concatenate
    return {
        name: (masked if isinstance(first, numpy.ma.MaskedArray) else plain)([page[name] for page in pages])
        for name, first in pages[0].items()
    }
