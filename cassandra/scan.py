"""Scans: tasks, results and errors of :meth:`Session.scan`. See :doc:`/scanning`."""

from cassandra._scan.checkpoint import Checkpoint, CheckpointError, ScanProgress
from cassandra._scan.expressions import Column, Expression, col
from cassandra._scan.fold import checkpoint_of
from cassandra._scan.ordered import OrderedBatches, OrderedRows, OrderedScan
from cassandra._scan.plan import Explanation
from cassandra._scan.reading import ScanError
from cassandra._scan.reducers import (
    Collect,
    Count,
    ForEachBatch,
    FunctionReducer,
    GroupBy,
    MapReducer,
    Max,
    Mean,
    Min,
    MinMax,
    StopScan,
    Sum,
    TopN,
)
from cassandra._scan.scan import Batches, Rows, Scan
from cassandra._scan.tasks import ScanTask, close_sessions

__all__ = [
    "Batches",
    "Checkpoint",
    "CheckpointError",
    "Collect",
    "Column",
    "Count",
    "Explanation",
    "Expression",
    "ForEachBatch",
    "FunctionReducer",
    "GroupBy",
    "MapReducer",
    "Max",
    "Mean",
    "Min",
    "MinMax",
    "OrderedBatches",
    "OrderedRows",
    "OrderedScan",
    "Rows",
    "Scan",
    "ScanError",
    "ScanProgress",
    "ScanTask",
    "StopScan",
    "Sum",
    "TopN",
    "checkpoint_of",
    "close_sessions",
    "col",
]
