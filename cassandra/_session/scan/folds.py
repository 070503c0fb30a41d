"""Folds: what a scan is folded by, which Scan has.

L5. All of it is in ``folding.py`` and what that uses, which are imported when somebody folds.
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
    """What a checkpoint can be had of."""

    def checkpoint(self) -> Checkpoint: ...


class Folds:
    """What a scan is folded by."""

    _options: Options
    _last: Resumable | None = None  # what it was read by last

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
        """What *reducer* makes of all rows, each of which it gets once, whatever has to be read again.

        Every range has an accumulator of its own, from ``reducer.open(schema, token_range)``; the batches of the range
        are given to ``stream`` in the order of tokens and clustering keys, and when it is complete the accumulator is
        combined with those of others. One of a range that has to begin again is dropped.

        :param reducer: one of ``cassandra.scan`` (``Count()``, ``Sum("v")``, ...), or an object with these methods.
        :param filter: what rows have to fulfil, as of :meth:`Session.scan`.
        :param deterministic: combine in the order of tokens, always the same neighbours, so that the result does not
            depend on which range was read first: sums of floating-point numbers, lists of rows. Else ranges are
            combined as they are done.
        :param workers: how many threads ``stream`` runs on. None: the calling one. Those of one range never run at the
            same time. ``combine`` and ``finish`` run on a thread of the fold's in any case.
        :param resume: a checkpoint of such a fold: what that has is not read again.
        :param executor: who does it, in :meth:`tasks`: an executor of ``concurrent.futures``, or what has ``submit`` as
            these do; or a function that makes one. What a lost worker had is done again, by a new executor if there is
            such a function, else by others or here. The other arguments are those of :meth:`tasks`.

        ``raise StopScan(acc)`` in ``stream`` ends it early. What else a reducer raises comes out of here, as
        :exc:`ScanError` does; ``cassandra.scan.checkpoint_of`` tells of any exception, Ctrl-C too, where to go on. With
        ``on_error="skip"`` the result has no rows of :attr:`failed_ranges`. Example::

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
        """As :meth:`fold`, on the running loop, which goes on meanwhile. Without *workers* ``stream`` is called on the
        loop's thread, between other things; a reducer that takes long has workers.

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
        """A reducer for :meth:`fold`, made of functions.

        :param map: what a batch comes to.
        :param reduce: an accumulator with what *map* has returned.
        :param init: a new accumulator.
        :param combine: one of two accumulators; else *reduce* does that, too.
        :param finish: the result of the last one; else that is the result.

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
        """The scan in parts, for other processes or machines: each can be pickled, and has ``run()``, which returns the
        accumulator of its rows (``reducer.combine`` and ``finish`` are left to do), or, without *reducer*, a
        ``pyarrow.Table``.

        A process gets one session for all tasks of a cluster. It connects to the addresses that this one has used; what
        cannot be pickled, it has from functions that it imports itself (or from their names, ``"module:function"``):

        :param connect: makes the session. Needed with TLS.
        :param credentials: returns an auth provider, or a user and a password. Needed where there are any.
        :param tasks: about how many parts; else 64.

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
        """A ``dask.dataframe`` with a partition for each of :meth:`tasks`, whose arguments it takes; its columns have
        Arrow's types. Workers read when it is computed, each time.

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
        """A ``ray.data.Dataset`` with a block for each of :meth:`tasks`, whose arguments it takes. Workers read when it
        is used, each time.

        .. versionadded:: 4.0
        """
        from .engines import to_ray

        return to_ray(self.tasks(connect=connect, credentials=credentials, tasks=tasks))

    def _schema(self) -> ColumnPlan:
        raise NotImplementedError

    def checkpoint(self) -> Checkpoint:
        """How far it has come, the last time that it was read: what ``resume=`` goes on from, in another process, too.
        May be called by any thread at any time, the handler of a signal included, and after it has failed.

        Of a fold it has the ranges that are complete, and what they were folded to. Of :meth:`batches` and :meth:`rows`
        it has those whose rows were all given, and more was asked for; the others will be given again.

        Raises :exc:`CheckpointError` if nothing was read, or where a fold leaves nothing to go on with (``StopScan``).

        .. versionadded:: 4.0
        """
        last = self._last
        if last is None:
            from .checkpoint import CheckpointError

            raise CheckpointError("nothing of this scan was read yet")
        return last.checkpoint()

    def explain(self, reducer: MapReducer | None = None, *, filter: Any = None) -> Explanation:
        """What reading it, or folding it by *reducer*, would do: statement, ranges, replicas, what the servers fold
        themselves, and why not. The statement is prepared; nothing is read. Example::

            print(session.scan("shop.orders").explain(Count()))

        .. versionadded:: 4.0
        """
        from .folding import explain

        return explain(self, reducer, filter)  # type: ignore[arg-type]
