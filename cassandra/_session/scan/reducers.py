"""Built-in reducers, and streaming of a batch into a reducer (cassandra.scan).

L5. They are stateless, so that several threads or processes may use one concurrently; accumulators belong to one thread
each. Both can be pickled, for checkpoints and other processes. ``aggregates.py`` has those that count, sum and compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._core.columns import ColumnPlan, Mask, RecordBatch, select

from ..request.columns import ArrowBatches
from .expressions import pieces
from .protocol import MapReducer, StopScan

if TYPE_CHECKING:
    from cassandra._routing.token_ranges import TokenRange

    from .conditions import Predicate


class Reducer:
    """Base of the built-in reducers; ``protocol.py`` defines their methods."""

    def __init_subclass__(cls) -> None:
        if "stream" in vars(cls) and "stream_selected" not in vars(cls):  # an inherited one would bypass the new stream
            cls.stream_selected = Reducer.stream_selected  # type: ignore[method-assign]

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> Any:
        """Raise ValueError for a missing column, and TypeError for a column of an unsupported type."""
        raise NotImplementedError

    def stream(self, acc: Any, batch: RecordBatch) -> Any:
        raise NotImplementedError

    def combine(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def finish(self, acc: Any) -> Any:
        return acc

    def stream_selected(self, acc: Any, batch: RecordBatch, mask: Mask) -> Any:
        """As ``stream``, for the rows selected by *mask*, without the need to copy them to a batch."""
        return streamed(self, acc, batch, mask)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


def fold_batch(reducer: MapReducer, acc: Any, batch: RecordBatch, predicate: Predicate | None = None) -> Any:
    """Return *acc* with the rows of *batch* that match *predicate*: computes the mask first, then streams the rows."""
    mask = None if predicate is None else predicate(batch)
    if mask is None or mask.count == len(batch):
        return reducer.stream(acc, batch)
    if mask.count == 0:
        return acc
    if isinstance(reducer, Reducer):
        return reducer.stream_selected(acc, batch, mask)
    return streamed(reducer, acc, batch, mask)


def streamed(reducer: MapReducer, acc: Any, batch: RecordBatch, mask: Mask) -> Any:
    """Return *acc* with the rows of *mask*, in as few batches as possible: slices of long runs, otherwise a copy."""
    for piece in pieces(batch, mask):
        acc = reducer.stream(acc, piece)
    return acc


@public("cassandra.scan")
class Collect(Reducer):
    """Collects all rows, as :class:`~cassandra.columns.ArrowBatches`, for ``pyarrow.table`` or ``polars.DataFrame``.
    All rows are in memory; filtered rows are copied, so that the other rows can be freed."""

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> ArrowBatches:
        return ArrowBatches(schema, [])

    def stream(self, acc: ArrowBatches, batch: RecordBatch) -> ArrowBatches:
        if len(batch):
            acc.batches.append(batch)
        return acc

    def stream_selected(self, acc: ArrowBatches, batch: RecordBatch, mask: Mask) -> ArrowBatches:
        return self.stream(acc, select(batch, mask))

    def combine(self, a: ArrowBatches, b: ArrowBatches) -> ArrowBatches:
        if a.schema != b.schema:
            raise ValueError(f"the columns have changed from {a.schema!r} to {b.schema!r}")
        a.batches.extend(b.batches)
        return a


@public("cassandra.scan")
class ForEachBatch(Reducer):
    """Calls *function* with each batch; the result is the number of rows of the calls, in which restarted ranges count
    once.

    Every row is passed *at least once*: if a range is read again, because a node was lost, or a scan is resumed, the
    function gets its rows again. So it should be idempotent. It is called by the thread that folds, and may raise
    :exc:`StopScan`.
    """

    def __init__(self, function: Callable[[RecordBatch], Any]) -> None:
        if not callable(function):
            raise TypeError(f"ForEachBatch needs a callable, got {function!r}")
        self.function = function

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> int:
        return 0

    def stream(self, acc: int, batch: RecordBatch) -> int:
        if not len(batch):
            return acc
        acc += len(batch)
        try:
            self.function(batch)
        except StopScan as stop:
            stop.acc = acc
            raise
        return acc

    def combine(self, a: int, b: int) -> int:
        return a + b
