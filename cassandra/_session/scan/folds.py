"""Folds: the methods of Scan that fold, export or checkpoint it.

L5. The implementation is in ``folding.py`` and its imports, which are loaded on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from .checkpoint import Checkpoint
from .protocol import FunctionReducer, MapReducer

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan, RecordBatch

    from .explain import Explanation
    from .plan import Options
    from .tasks import ScanTask
    from .workers import Importable


class Resumable(Protocol):
    """An object with checkpoints."""

    def checkpoint(self) -> Checkpoint: ...


class Folds:
    """Base of Scan: fold, tasks, checkpoints."""

    _options: Options
    _last: Resumable | None = None  # the last reading or fold

    def fold(
        self,
        reducer: MapReducer,
        *,
        filter: Any = None,
        deterministic: bool = False,
        workers: int | None = None,
        resume: Checkpoint | None = None,
        executor: Any = None,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> Any:
        """Return the result of *reducer* over all rows. Each row counts once, also if ranges have to be read again.

        Every range has its own accumulator, from ``reducer.open(schema, token_range)``; the batches of the range are
        passed to ``stream`` in the order of tokens and clustering keys. When the range is complete, its accumulator is
        combined with others; if the range restarts, its accumulator is dropped.

        :param reducer: one of ``cassandra.scan`` (``Count()``, ``Sum("v")``, ...), or an object with these methods.
        :param filter: condition on rows, as in :meth:`Session.scan`.
        :param deterministic: combine in the order of tokens, always the same neighbours, so that the result does not
            depend on which range was read first: for sums of floating-point numbers, lists of rows. Otherwise ranges
            are combined as they complete.
        :param workers: number of threads that run ``stream``; None for the calling thread. Calls for one range never
            run concurrently. ``combine`` and ``finish`` always run on a thread of the fold.
        :param resume: a checkpoint of such a fold: the completed parts are not read again.
        :param executor: runs the fold, as :meth:`tasks`: an executor of ``concurrent.futures``, or an object with such
            a ``submit``; or a function that makes one. Tasks of a lost worker run again, by a new executor if there is
            such a function, otherwise by other workers or in this process. The other arguments are those of
            :meth:`tasks`.

        ``raise StopScan(acc)`` in ``stream`` ends it early. Other exceptions of a reducer are raised here, as is
        :exc:`ScanError`; ``cassandra.scan.checkpoint_of`` returns the checkpoint of any exception, including Ctrl-C.
        With ``on_error="skip"`` the result has no rows of :attr:`failed_ranges`. Example::

            total = session.scan("shop.orders", columns=["total"]).fold(Sum("total"))

        .. versionadded:: 4.0
        """
        from .folding import Wish, fold

        wish = self._wish(Wish, reducer, filter, deterministic, workers, resume)
        if executor is None:
            return fold(self, wish)  # type: ignore[arg-type]
        from .tasks import Terms, fold_by

        return fold_by(self, wish, executor, Terms(connect, credentials, tasks))  # type: ignore[arg-type]

    async def fold_async(
        self,
        reducer: MapReducer,
        *,
        filter: Any = None,
        deterministic: bool = False,
        workers: int | None = None,
        resume: Checkpoint | None = None,
    ) -> Any:
        """As :meth:`fold`, without blocking the running loop. Without *workers* ``stream`` is called on the loop's
        thread, between other callbacks; a slow reducer should use workers.

        .. versionadded:: 4.0
        """
        from .folding import Wish, fold_async

        wish = self._wish(Wish, reducer, filter, deterministic, workers, resume)
        return await fold_async(self, wish)  # type: ignore[arg-type]

    def _wish(self, wish: Any, reducer: Any, filter: Any, deterministic: bool, workers: Any, resume: Any) -> Any:
        options = {"filter": filter, "deterministic": deterministic, "workers": workers, "resume": resume}
        return wish(self, reducer, **options)

    def open_map_reducer(
        self,
        *,
        map: Callable[[RecordBatch], Any],
        reduce: Callable[[Any, Any], Any],
        init: Callable[[], Any],
        combine: Callable[[Any, Any], Any] | None = None,
        finish: Callable[[Any], Any] | None = None,
    ) -> FunctionReducer:
        """Return a reducer for :meth:`fold`, made of functions.

        :param map: returns the value of a batch.
        :param reduce: returns an accumulator combined with a result of *map*.
        :param init: returns a new accumulator.
        :param combine: returns the combination of two accumulators; by default *reduce*.
        :param finish: returns the result of the last accumulator; by default the accumulator itself.

        Example::

            longest = scan.open_map_reducer(map=longest_name, reduce=max, init=int)
            print(scan.fold(longest))

        .. versionadded:: 4.0
        """
        return FunctionReducer(map, reduce, init, combine, finish)

    def tasks(
        self,
        reducer: MapReducer | None = None,
        *,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> list[ScanTask]:
        """Return the scan in parts, for other processes or machines: each can be pickled, and has ``run()``, which
        returns the accumulator of its rows (``reducer.combine`` and ``finish`` are left to the caller), or, without
        *reducer*, a ``pyarrow.Table``.

        A process gets one session for all tasks of a cluster. It connects to the contact points of this session;
        objects that cannot be pickled come from functions that it imports itself (or from their names,
        ``"module:function"``):

        :param connect: returns a session. Required with TLS.
        :param credentials: returns an auth provider, or a user and a password. Required with authentication.
        :param tasks: approximate number of parts; 64 by default.

        Example::

            with concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
                parts = pool.map(ScanTask.run, scan.tasks(Sum("total"), credentials=my.credentials))

        .. versionadded:: 4.0
        """
        from .tasks import Terms, tasks_of

        return tasks_of(self, reducer, Terms(connect, credentials, tasks))  # type: ignore[arg-type]

    def to_dask(
        self,
        *,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> Any:
        """Return a ``dask.dataframe`` with a partition for each of :meth:`tasks`, whose arguments it takes; its columns
        have Arrow's types. Workers read the rows each time it is computed.

        .. versionadded:: 4.0
        """
        from .engines import to_dask

        return to_dask(self.tasks(connect=connect, credentials=credentials, tasks=tasks), self._schema())

    def to_ray(
        self,
        *,
        connect: Importable | None = None,
        credentials: Importable | None = None,
        tasks: int | None = None,
    ) -> Any:
        """Return a ``ray.data.Dataset`` with a block for each of :meth:`tasks`, whose arguments it takes. Workers read
        the rows each time it is used.

        .. versionadded:: 4.0
        """
        from .engines import to_ray

        return to_ray(self.tasks(connect=connect, credentials=credentials, tasks=tasks))

    def _schema(self) -> ColumnPlan:
        raise NotImplementedError

    def checkpoint(self) -> Checkpoint:
        """Return the progress of the last read, for ``resume=``, also in another process. May be called by any thread
        at any time, by signal handlers, and after a failure.

        For a fold it has the completed ranges and their accumulators. For :meth:`batches` and :meth:`rows` it has the
        ranges whose rows were all returned, and followed by another request; the others will be returned again.

        Raises :exc:`CheckpointError` if nothing was read, or if the fold cannot be resumed (``StopScan``).

        .. versionadded:: 4.0
        """
        last = self._last
        if last is None:
            from .checkpoint import CheckpointError

            raise CheckpointError("the scan has not been read yet")
        return last.checkpoint()

    def explain(self, reducer: MapReducer | None = None, *, filter: Any = None) -> Explanation:
        """Return a description of reading the scan, or of folding it by *reducer*: statement, ranges, replicas, the
        push-down and its reason. The statement is prepared; nothing is read. Example::

            print(session.scan("shop.orders").explain(Count()))

        .. versionadded:: 4.0
        """
        from .folding import explain

        return explain(self, reducer, filter)  # type: ignore[arg-type]
