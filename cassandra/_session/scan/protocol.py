"""Interface of reducers, and the exception that ends a fold early (cassandra.scan; L5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from cassandra._base.objects import public

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan, RecordBatch
    from cassandra._routing.token_ranges import TokenRange


@public("cassandra.scan")
class MapReducer(Protocol):
    """Folds the rows of a scan to one result, see :meth:`Scan.fold`. Its methods may be called by any thread, but no
    two of them concurrently with the same accumulator.

    An accumulator may be any object; for checkpoints or other processes it must be picklable.
    """

    def open(self, schema: ColumnPlan, token_range: TokenRange, /) -> Any:
        """Return a new accumulator, for the rows of a range. *schema* has ``names`` and ``__arrow_c_schema__``."""

    def stream(self, acc: Any, batch: RecordBatch, /) -> Any:
        """Return *acc* with the rows of *batch*: the same object, changed, or another. :exc:`StopScan` ends the
        scan."""

    def combine(self, a: Any, b: Any, /) -> Any:
        """Return *a* combined with *b*; both may be changed. It must be associative: the result must not depend on
        whether a range is first combined with the one before it or with the one after it."""

    def finish(self, acc: Any, /) -> Any:
        """Return the result. *acc* is not changed."""


@public("cassandra.scan")
class StopScan(Exception):
    """Raised by a reducer's ``stream`` to end the scan. The result covers the completed ranges and *acc*, the
    accumulator of the range that was streamed; nothing more is read."""

    def __init__(self, acc: Any) -> None:
        super().__init__("the reducer has ended the scan")
        self.acc = acc


@public("cassandra.scan")
class FunctionReducer:
    """A reducer made of functions, see :meth:`Scan.open_map_reducer`."""

    def __init__(
        self,
        map: Callable[[RecordBatch], Any],
        reduce: Callable[[Any, Any], Any],
        init: Callable[[], Any],
        combine: Callable[[Any, Any], Any] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> None:
        for name, function in (("map", map), ("reduce", reduce), ("init", init)):
            if not callable(function):
                raise TypeError(f"{name}= must be a function, got {function!r}")
        self._map = map
        self._reduce = reduce
        self._init = init
        self._combine = reduce if combine is None else combine
        self._finish = finish

    def open(self, schema: ColumnPlan, token_range: TokenRange) -> Any:
        return self._init()

    def stream(self, acc: Any, batch: RecordBatch) -> Any:
        return self._reduce(acc, self._map(batch))

    def combine(self, a: Any, b: Any) -> Any:
        return self._combine(a, b)

    def finish(self, acc: Any) -> Any:
        return acc if self._finish is None else self._finish(acc)

    def __repr__(self) -> str:
        names = [("map", self._map), ("reduce", self._reduce), ("init", self._init), ("combine", self._combine)]
        names += [("finish", self._finish)] if self._finish is not None else []
        return f"FunctionReducer({', '.join(f'{name}={_name(function)}' for name, function in names)})"


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
