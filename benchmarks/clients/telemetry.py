"""Synchronous reads of this driver with and without observers: spans of OpenTelemetry, and metrics. Argument: the
responder's port.

``SDK`` is what the SDK of OpenTelemetry takes for such a span, without a driver. ``BESIDE`` is a request without
observers, after which the program makes such a span: its code and data have left the caches during the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from benchmarks.clients.harness import SELECT, Client, Work, contact, run
from benchmarks.clients.modes import options
from cassandra.cluster import Cluster
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.telemetry import OpenTelemetry

OFF, UNSAMPLED, SAMPLED, METRICS = "off", "not sampled", "sampled", "metrics"
SDK, BESIDE = "SDK alone", "SDK beside a request"
CONCURRENT, CONCURRENT_METRICS = "concurrent, off", "concurrent, metrics"
CONCURRENTLY = 1000


class Processor(SpanProcessor):
    """Makes spans recorded ones, and drops them."""


class Spans(Processor):
    """Keeps the last span."""

    last: Any = None

    def on_end(self, span: Any) -> None:
        self.last = span


@contextmanager
def make(arguments: list[str]) -> Iterator[Client]:
    host, port = contact(arguments[0])
    with ExitStack() as stack:

        def reads(**observers: Any) -> dict[str, Any]:
            cluster = stack.enter_context(Cluster([host], port=port, **options(), **observers))
            session = cluster.connect()
            prepared = session.prepare(SELECT)
            rows = [(1,)] * CONCURRENTLY
            return {"execute": session.execute, "prepared": prepared, "session": session, "rows": rows}

        kept = TracerProvider()
        spans = Spans()
        kept.add_span_processor(spans)
        names = reads(request_tracker=OpenTelemetry(tracer_provider=kept))
        names["execute"](names["prepared"], (1,))
        attributes = dict(spans.last.attributes)

        provider = TracerProvider()
        provider.add_span_processor(Processor())
        start = provider.get_tracer("benchmark").start_span
        of_statement = {key: value for key, value in attributes.items() if not _of_host(key)}
        of_host = {key: value for key, value in attributes.items() if _of_host(key)}
        alone = {"start": start, "first": of_statement, "more": of_host, "kind": trace.SpanKind.CLIENT}

        off, metrics = reads(), reads(metrics_enabled=True)
        sampled = reads(request_tracker=OpenTelemetry(tracer_provider=provider))
        unsampled = reads(request_tracker=OpenTelemetry(tracer_provider=TracerProvider(sampler=ALWAYS_OFF)))
        read = "execute(prepared, (1,))"
        span = "span = start('SELECT bench.points', None, kind, first); span.set_attributes(more); span.end()"
        together = {"run": execute_concurrent_with_args}
        concurrent = "run(session, prepared, rows)"
        yield Client(
            {
                SDK: Work(span, alone),
                OFF: Work(read, off, whole_process=True),
                BESIDE: Work(f"{read}; {span}", off | alone, whole_process=True, beyond=(OFF,)),
                UNSAMPLED: Work(read, unsampled, whole_process=True, beyond=(OFF,)),
                SAMPLED: Work(read, sampled, whole_process=True, beyond=(OFF, BESIDE)),
                METRICS: Work(read, metrics, whole_process=True, beyond=(OFF,)),
                CONCURRENT: Work(concurrent, off | together, whole_process=True, per=CONCURRENTLY),
                CONCURRENT_METRICS: Work(
                    concurrent, metrics | together, whole_process=True, per=CONCURRENTLY, beyond=(CONCURRENT,)
                ),
            }
        )


def _of_host(name: str) -> bool:
    return name.startswith(("server.", "network.", "cassandra.coordinator."))


if __name__ == "__main__":
    run("benchmarks.clients.telemetry", make)
