"""Scans as collections of Dask and Ray (L5): a partition, or block, per task. Nothing is read before they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..request.columns import ArrowBatches, load_library

if TYPE_CHECKING:
    from cassandra._core.columns import ColumnPlan

    from .tasks import ScanTask


def to_dask(tasks: Sequence[ScanTask], schema: ColumnPlan) -> Any:
    """See Scan.to_dask."""
    frames = load_library("dask.dataframe", "dask")
    return frames.from_map(_frame, tasks, meta=_pandas(ArrowBatches(schema, [])), label="scan")


def to_ray(tasks: Sequence[ScanTask]) -> Any:
    """See Scan.to_ray."""
    data = load_library("ray.data", "ray")
    items = data.from_items([{"task": task} for task in tasks], override_num_blocks=len(tasks))
    return items.map_batches(_block, batch_size=1, batch_format="numpy", zero_copy_batch=False)


def _frame(task: ScanTask) -> Any:
    return _pandas(task.run())


def _pandas(rows: Any) -> Any:
    """Convert with Arrow types: a column of integers stays one if some are null."""
    types = load_library("pandas", "pandas").ArrowDtype
    return load_library("pyarrow", "arrow").table(rows).to_pandas(types_mapper=types)


def _block(batch: dict[str, Any]) -> Any:
    (task,) = batch["task"]
    return task.run()
