"""Scans: tasks, results and errors of :meth:`Session.scan`. See the guide's page on scanning tables."""

from cassandra._session.scan.aggregates import Count, GroupBy, Max, Mean, Min, MinMax, Sum, TopN
from cassandra._session.scan.checkpoint import Checkpoint, CheckpointError
from cassandra._session.scan.explain import Explanation
from cassandra._session.scan.expressions import Column, Expression, col
from cassandra._session.scan.fold import checkpoint_of
from cassandra._session.scan.order import OrderedBatches, OrderedRows, OrderedScan
from cassandra._session.scan.pieces import ScanError
from cassandra._session.scan.progress import ScanProgress
from cassandra._session.scan.protocol import FunctionReducer, MapReducer, StopScan
from cassandra._session.scan.reducers import Collect, ForEachBatch
from cassandra._session.scan.scan import Batches, Rows, Scan
from cassandra._session.scan.tasks import ScanTask
from cassandra._session.scan.workers import close_sessions

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
