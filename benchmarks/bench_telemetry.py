"""The cost of observers: spans of OpenTelemetry, sampled and not, and metrics. CPU of the process per request.

*SDK alone* is a span with the same attributes, made, filled and ended in a loop without a driver; *SDK beside a
request* the same after each request, when its code and data have left the caches: the driver's own part of a sampled
request is the rest. Spans go to a processor that drops them.
"""

from __future__ import annotations

from benchmarks.clients.telemetry import (
    BESIDE,
    CONCURRENT,
    CONCURRENT_METRICS,
    METRICS,
    OFF,
    SAMPLED,
    SDK,
    UNSAMPLED,
)
from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.report import Line, at_most, compared_only, seconds, show
from benchmarks.responder import Responder

TITLE = "Observers: CPU beyond a request without them"
PROCESSES = 9  # of one process, two sessions that do the same differ by up to 0.3 us: memory is placed by chance
MOST_SAMPLED, MOST_UNSAMPLED, MOST_METRICS, SHARE = 5e-6, 0.2e-6, 60e-9, 1.03


def lines() -> list[Line]:
    with Responder() as responder:
        samples = alternate({FASTCQL: Driver("telemetry", (str(responder.port),))}, PROCESSES)

    def beyond(name: str, base: str = OFF) -> float:
        return samples[FASTCQL, f"{name} beyond {base}"]

    alone = samples[FASTCQL, SDK]
    share = samples.ratio(FASTCQL, CONCURRENT, CONCURRENT_METRICS)
    took = f"{seconds(samples[FASTCQL, CONCURRENT_METRICS])} of {seconds(samples[FASTCQL, CONCURRENT])}"
    return [
        compared_only("execute, no observer", samples[FASTCQL, OFF]),
        at_most("a span that is not sampled", beyond(UNSAMPLED), MOST_UNSAMPLED),
        at_most("a span that is recorded", beyond(SAMPLED), MOST_SAMPLED, {SDK: alone, BESIDE: beyond(BESIDE)}),
        at_most("the driver's part of it", beyond(SAMPLED, BESIDE), MOST_SAMPLED),
        at_most("metrics, execute", beyond(METRICS), MOST_METRICS),
        at_most("metrics, execute_concurrent", beyond(CONCURRENT_METRICS, CONCURRENT), MOST_METRICS),
        Line("execute_concurrent with metrics", took, f"≤ {SHARE:g}x", "", f"{share:.3f}x", share <= SHARE),
    ]


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
