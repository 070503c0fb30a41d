"""Built-in reducers, and how a batch is streamed into one (cassandra.scan).

L5. They have no state of their own, so that several threads or processes may use one at a time; accumulators belong to
one thread each. Both can be pickled, for checkpoints and other processes. ``aggregates.py`` has those that count, add
up and compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cassandra._base.public import public
from cassandra._core.columns import ColumnPlan, Mask, RecordBatch, select

from ..request.columns import ArrowBatches
from .expressions import pieces
from .protocol import MapReducer, StopScan

if TYPE_CHECKING:
    from cassandra._routing.ring.ranges import TokenRange

    from .conditions import Predicate


class Reducer:
    """What the built-in ones are derived from; ``protocol.py`` says what is asked of them."""

    def __init_subclass__(cls) -> None:
        if "stream" in vars(cls) and "stream_selected" not in vars(cls):  # that of a class above knows nothing of it
            cls.stream_selected = Reducer.stream_selected  # type: ignore[method-assign]

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> Any:
        """Raises ValueError for a column that is not there, and TypeError for one of a type that does not do."""
        raise NotImplementedError

    def stream(self, acc: Any, batch: RecordBatch) -> Any:
        raise NotImplementedError

    def combine(self, a: Any, b: Any) -> Any:
        raise NotImplementedError

    def finish(self, acc: Any) -> Any:
        return acc

    def stream_selected(self, acc: Any, batch: RecordBatch, mask: Mask) -> Any:
        """As ``stream``, of the rows that *mask* has, which need not become a batch of their own."""
        return streamed(self, acc, batch, mask)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({values})"


def fold_batch(reducer: MapReducer, acc: Any, batch: RecordBatch, predicate: Predicate | None = None) -> Any:
    """What *acc* is with the rows of *batch* that *predicate* is true for: the mask first, then these rows."""
    mask = None if predicate is None else predicate(batch)
    if mask is None or mask.count == len(batch):
        return reducer.stream(acc, batch)
    if mask.count == 0:
        return acc
    if isinstance(reducer, Reducer):
        return reducer.stream_selected(acc, batch, mask)
    return streamed(reducer, acc, batch, mask)


def streamed(reducer: MapReducer, acc: Any, batch: RecordBatch, mask: Mask) -> Any:
    """*acc* with the rows of *mask*, in as few batches as possible: slices where they stand together, a copy where they
    do not."""
    for piece in pieces(batch, mask):
        acc = reducer.stream(acc, piece)
    return acc


@public("cassandra.scan")
class Collect(Reducer):
    """All rows, as :class:`~cassandra.columns.ArrowBatches`: give it to ``pyarrow.table`` or ``polars.DataFrame``. It
    takes as much memory as they do; filtered rows are copied, so that the others need not be kept."""

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
            raise ValueError(f"the columns changed: they were {a.schema!r}, and are {b.schema!r}")
        a.batches.extend(b.batches)
        return a


@public("cassandra.scan")
class ForEachBatch(Reducer):
    """Calls *function* with each batch; the result is how many rows it was called with, those of ranges that were read
    again counted once.

    Every row is given *at least once*: where a range is read again, because a node was lost, or a scan is resumed, the
    function sees its rows again. So it should do what may be done twice. It is called by the thread that folds, and may
    raise :exc:`StopScan`.
    """

    def __init__(self, function: Callable[[RecordBatch], Any]) -> None:
        if not callable(function):
            raise TypeError(f"ForEachBatch calls a function, not {function!r}")
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
