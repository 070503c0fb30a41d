"""Recorded pages folded as a scan does it: decoded into columns, a mask, then the sum and other reducers.

Argument: the folder of the recordings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from benchmarks.clients.harness import Client, Work, run
from benchmarks.clients.messages import Recordings
from benchmarks.clients.native import MESSAGE, names
from cassandra._core.columns import ColumnPlan, decode
from cassandra._core.memory import MemoryPool
from cassandra._routing.tokens import FULL_RING
from cassandra._scan.expressions import predicate_of
from cassandra._scan.reducers import fold_batch
from cassandra.scan import Count, GroupBy, MinMax, Sum, TopN, col

ROWS = 5000
WANTED = col("ratio") > 500_000  # half of them

REDUCERS = {
    "sum": Sum("score"),
    "count": Count(),
    "ends of text": MinMax("name"),
    "sum of floats": Sum("ratio"),
    "groups": GroupBy("name", total=Sum("score")),
    "top": TopN(10, "score", descending=True),
}


@contextlib.contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    (folder,) = arguments
    shared: dict[str, Any] = {**names(Recordings(folder), "rows5"), "columns": decode, "fold": fold_batch}
    page = eval(f"{MESSAGE}.page", shared)
    schema = ColumnPlan([(name, codec) for _, _, name, codec in page.plan.specs], MemoryPool(1 << 30))
    shared |= {"schema": schema, "predicate": predicate_of(WANTED, schema), "batch": decode(schema, page)}
    works = {}
    for name, reducer in REDUCERS.items():
        own = {**shared, "reducer": reducer, "acc": reducer.open(schema, FULL_RING)}
        works[name] = Work(f"fold(reducer, acc, columns(schema, {MESSAGE}.page), predicate)", own)
        works[f"{name} folded"] = Work("fold(reducer, acc, batch, predicate)", own)
    yield Client(works, {"selected": predicate_of(WANTED, schema)(shared["batch"]).count / len(page)})


if __name__ == "__main__":
    run("benchmarks.clients.scan_kernels", make)
