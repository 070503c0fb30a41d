"""What it is worth that a caller polls for its own answer (leader and followers, docs/architecture.rst).

Synchronous point reads by one thread and by four, all on one core, with callers that poll and without
(``FASTCQL_LEAD=0``): in the default configuration, which is protocol 5 with LZ4 where lz4 is installed, in plaintext
without compression, and by TLS. Both take turns within each process. Latency is the best sample of wall time; CPU is
that of the whole process.
"""

from __future__ import annotations

from benchmarks.clients.lead import THREADS
from benchmarks.clients.modes import LZ4, PLAIN, TLS
from benchmarks.measure import Driver, Samples, alternate
from benchmarks.report import Line, seconds, show
from benchmarks.responder import Responder

TITLE = "Session.execute of a point read, callers that poll for their own answers against callers that do not"
COUNT, SAMPLES, PROCESSES = 40, 400, 3
WORTH = 0.15  # of the latency, in the default configuration
MODES = {LZ4: "v5 with LZ4 (default)", PLAIN: "v4, plaintext", TLS: "v4, TLS"}


def driver(mode: str, responder: Responder) -> Driver:
    return Driver("lead", (str(responder.port), str(COUNT), str(SAMPLES), mode, responder.authority))


def lines() -> list[Line]:
    with Responder(version=5) as plain, Responder(tls=True) as secure:
        samples = alternate({mode: driver(mode, secure if mode == TLS else plain) for mode in MODES}, PROCESSES)
    return [line for mode in MODES for threads in THREADS for line in _compared(samples, mode, threads)]


def _compared(samples: Samples, mode: str, threads: int) -> list[Line]:
    name = f"{MODES[mode]}, {threads} {'thread' if threads == 1 else 'threads'}"
    ours, without = (samples.best(mode, f"{threads} {lead} wall") for lead in ("on", "off"))
    leads = samples[mode, f"{threads} leads"]
    return [
        worth(f"{name}: latency", ours, without, judged=mode == LZ4),
        worth(
            f"{name}: CPU (polled {leads:.2f} times a read)",
            samples[mode, f"{threads} on"],
            samples[mode, f"{threads} off"],
        ),
    ]


def worth(measure: str, ours: float, without: float, judged: bool = False) -> Line:
    """What polling saves of what a read takes *without*."""
    saved = 1 - ours / without
    target, reached = (f"≥ {WORTH:.0%} less", saved >= WORTH) if judged else ("", None)
    less = f"{saved:.0%} less" if saved >= 0 else f"{-saved:.0%} more"
    return Line(measure, seconds(ours), target, f"without {seconds(without)}", less, reached)


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
