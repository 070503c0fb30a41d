"""IngestTask: rows that other processes have are written by these (cassandra.ingest).

L5. A task is what ``session.ingest`` is called with, but for the rows: whoever has some calls it with these. In which
process that is does not matter: where its session comes from says ``scan/workers.py``. It keeps nothing from one call
to the next, so that rows whose process was lost can be written again, anywhere.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from cassandra._base.public import public

from ..request.columns import load_library
from ..scan.workers import Importable, Origin
from .report import IngestReport

if TYPE_CHECKING:
    from ..session import Session


@public("cassandra.ingest")
class IngestTask:
    """Writes rows to a table, wherever it is called; made by :meth:`Session.ingest_task`. It can be pickled."""

    def __init__(self, origin: Origin, table: str, asked: dict[str, Any]) -> None:
        self.table = table
        self._origin = origin
        self._asked = asked

    def __call__(self, data: Any) -> IngestReport:
        """Write *data*, whatever :meth:`Session.ingest` takes; of a ``pandas.DataFrame`` without its index. Raises what
        that does. The first task of a process connects it."""
        with self._origin.session() as session:
            return session.ingest(self.table, _without_index(data), **self._asked)

    def over(self, collection: Any) -> list[IngestReport]:
        """Have the workers of Dask or Ray write a ``dask.dataframe`` or a ``ray.data.Dataset``: the report of each
        partition, or block, in its order. Blocks until all are written.

        Rows are numbered within their partition. Partitions are written at the same time, and once more if a worker is
        lost: of rows of the same key in two of them either may stay. With ``on_error="raise"`` the first row that fails
        ends it, by the engine's error; :exc:`IngestError` is its cause, or itself. TypeError for something else.
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
        raise TypeError(f"a dask.dataframe or a ray.data.Dataset is wanted, not {collection!r}; call the task with it")

    def __reduce__(self) -> tuple[Any, ...]:
        """By a function of this module, which cloudpickle finds whatever of the public ones is imported."""
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


# ---- what workers do


def _written(task: IngestTask, part: Any) -> IngestReport:
    return task(part)


def _written_block(block: Any, task: bytes) -> dict[str, list[bytes]]:
    """A block of Ray's: as a row, the pickled report, which is not of Ray's types."""
    return {"report": [pickle.dumps(pickle.loads(task)(block))]}


def _without_index(data: Any) -> Any:
    if type(data).__module__.partition(".")[0] == "pandas":
        return load_library("pyarrow", "arrow").Table.from_pandas(data, preserve_index=False)
    return data
