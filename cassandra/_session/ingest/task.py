"""IngestTask: other processes write their own rows (cassandra.ingest).

L5. A task has the arguments of ``session.ingest`` except the rows; it is called with rows, in any process. Its session
comes from ``scan/workers.py``. It keeps no state between calls, so that rows whose process was lost can be written
again, anywhere.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public

from ..request.columns import load_library
from ..scan.workers import Importable, Origin
from .report import IngestReport

if TYPE_CHECKING:
    from ..session import Session


@public("cassandra.ingest")
class IngestTask:
    """Writes rows to a table, in any process; made by :meth:`Session.ingest_task`. It can be pickled."""

    def __init__(self, origin: Origin, table: str, asked: dict[str, Any]) -> None:
        self.table = table
        self._origin = origin
        self._asked = asked

    def __call__(self, data: Any) -> IngestReport:
        """Write *data*, any source of :meth:`Session.ingest`; of a ``pandas.DataFrame`` without its index. Raises the
        same errors. The first task of a process connects the session."""
        with self._origin.session() as session:
            return session.ingest(self.table, _without_index(data), **self._asked)

    def over(self, collection: Any) -> list[IngestReport]:
        """Write a ``dask.dataframe`` or a ``ray.data.Dataset`` by the workers of Dask or Ray. Return the report of each
        partition, or block, in its order. Blocks until all are written.

        Rows are numbered within their partition. Partitions are written concurrently, and written again if a worker is
        lost: of rows with the same key in two partitions, either may remain. With ``on_error="raise"`` the first failed
        row ends it with the engine's error, which is :exc:`IngestError` or has it as its cause. TypeError for other
        objects.
        """
        engine = type(collection).__module__.partition(".")[0]
        if engine in ("dask", "dask_expr") and hasattr(collection, "to_delayed"):
            delayed = load_library("dask", "dask").delayed
            write = delayed(_written, pure=False)
            reports = delayed(list, pure=False)([write(self, part) for part in collection.to_delayed()])
            found: list[IngestReport] = reports.compute()
            return found
        if engine == "ray" and hasattr(collection, "map_batches"):
            written = collection.map_batches(
                _written_block, batch_size=None, batch_format="pyarrow", fn_args=(pickle.dumps(self),)
            )
            return [pickle.loads(row["report"]) for row in written.take_all()]
        raise TypeError(f"expected a dask.dataframe or a ray.data.Dataset, got {collection!r}; call the task with it")

    def __reduce__(self) -> tuple[Any, ...]:
        """Reduce to a function of this module: cloudpickle finds it independent of which public modules are
        imported."""
        return _restored, (self._origin, self.table, self._asked)

    def __repr__(self) -> str:
        return f"<IngestTask into {self.table}>"


def _restored(origin: Origin, table: str, asked: dict[str, Any]) -> IngestTask:
    return IngestTask(origin, table, asked)


def task_for(
    session: Session,
    table: str,
    connect: Importable | None,
    credentials: Importable | None,
    asked: dict[str, Any],
) -> IngestTask:
    """See Session.ingest_task."""
    if asked["columns"] is not None:
        asked["columns"] = list(asked["columns"])
    asked["already_encrypted"] = list(asked["already_encrypted"])
    *given, already_encrypted = asked.values()
    options = session._ingest_options(table, *given, None, already_encrypted)
    return IngestTask(Origin(session, connect, credentials), options.name, asked)


# ---- functions called on workers


def _written(task: IngestTask, part: Any) -> IngestReport:
    return task(part)


def _written_block(block: Any, task: bytes) -> dict[str, list[bytes]]:
    """Write a block of Ray; return a row with the pickled report, which is not a type of Ray."""
    return {"report": [pickle.dumps(pickle.loads(task)(block))]}


def _without_index(data: Any) -> Any:
    if type(data).__module__.partition(".")[0] == "pandas":
        return load_library("pyarrow", "arrow").Table.from_pandas(data, preserve_index=False)
    return data
