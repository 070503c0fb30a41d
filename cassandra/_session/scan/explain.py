"""Description of a scan, for users (cassandra.scan; L5)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.objects import public

from .coverage import RING

if TYPE_CHECKING:
    from cassandra._routing.host import Host
    from cassandra._routing.token_ranges import TokenRange

    from .plan import ScanPlan

NOBODY = "unknown"


@public("cassandra.scan")
class Explanation:
    """How a table would be read; made by :meth:`Scan.explain`. ``str()`` returns a text for users.

    ``cql`` is the statement of a range, ``values`` are bound to its markers before the tokens; ``ranges`` are the
    ranges still to read, each with its replicas, ``parallelism`` is the number read concurrently. ``pushdown`` is True
    if the servers fold them, ``why`` is the reason; both are None if nothing is folded. ``done`` is the share of the
    ring that a checkpoint covers.
    """

    __slots__ = ("cql", "done", "filter", "plan", "pushdown", "ranges", "reducer", "values", "why")

    def __init__(
        self,
        plan: ScanPlan,
        ranges: tuple[TokenRange, ...],
        *,
        reducer: str | None = None,
        filter: str | None = None,
        pushdown: bool | None = None,
        why: str | None = None,
        done: float = 0.0,
    ) -> None:
        self.plan = plan
        self.cql = plan.cql
        self.values = plan.values
        self.ranges = ranges
        self.reducer = reducer
        self.filter = filter
        self.pushdown = pushdown
        self.why = why
        self.done = done

    @property
    def parallelism(self) -> int:
        return self.plan.parallelism

    def replicas(self) -> dict[Host | None, tuple[int, float]]:
        """Return by host the number of ranges of which it is the first replica, and their share of the ring. The key
        None stands for ranges without known replicas."""
        count: Counter[Host | None] = Counter()
        size: Counter[Host | None] = Counter()
        for one in self.ranges:
            first = one.replicas[0] if one.replicas else None
            count[first] += 1
            size[first] += one.size
        return {host: (count[host], size[host] / RING) for host in sorted(count, key=_address)}

    def __str__(self) -> str:
        plan = self.plan
        level = ConsistencyLevel.value_to_name[plan.consistency_level]
        share = sum(one.size for one in self.ranges) / RING
        lines = {"statement": self.cql}
        if self.values:
            lines["values"] = ", ".join(map(repr, self.values))
        lines["ranges"] = f"{len(self.ranges):,}, {100 * share:.1f} % of the ring, {self.parallelism} at a time"
        if self.done:
            lines["resumes"] = f"{100 * self.done:.1f} % of the ring are done"
        pages = "the servers' size" if plan.page_size is None else f"{plan.page_size:,} rows"
        if plan.largest_page != plan.page_size:
            pages += f", up to {plan.largest_page:,} where rows are narrow"
        lines["pages"] = f"of {pages}, at {level}, batches of {plan.target_rows:,} rows"
        if self.filter is not None:
            lines["filter"] = f"{self.filter}, by the client"
        if self.reducer is not None:
            lines["reducer"] = self.reducer
        if self.why is not None:
            lines["push-down"] = f"{'yes' if self.pushdown else 'no'}: {self.why}"
        text = "\n".join(f"  {name:<11}{value}" for name, value in lines.items())
        where = "\n".join(
            f"    {_address(host):<20}{ranges:>6,} ranges {100 * part:>6.1f} %"
            for host, (ranges, part) in self.replicas().items()
        )
        return f"Scan of {plan.keyspace}.{plan.table}\n{text}\n  first replicas\n{where}"

    def __repr__(self) -> str:
        return f"<Explanation: {len(self.ranges)} ranges of {self.plan.keyspace}.{self.plan.table}>"


def _address(host: Any) -> str:
    return NOBODY if host is None else str(host.endpoint)
