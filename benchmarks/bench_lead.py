"""What it is worth that a caller polls for its own answer (leader and followers, docs/architecture.rst).

Synchronous point reads by one thread and by four, and a hundred at a time by one, all on one core, with callers that
poll and without (``FASTCQL_LEAD=0``): in the default configuration, which is protocol 5 with LZ4 where lz4 is
installed, in plaintext without compression, and by TLS. Both are processes of their own, which take turns. Latency is
the best sample of wall time; CPU is that of the whole process, the median over processes.
"""

from __future__ import annotations

from benchmarks.clients.lead import LEADS, MANY, THREADS
from benchmarks.clients.modes import LZ4, PLAIN, TLS
from benchmarks.measure import Driver, Samples, alternate
from benchmarks.report import Line, seconds, show
from benchmarks.responder import Responder

TITLE = "Session.execute of a point read, callers that poll for their own answers against callers that do not"
PROCESSES = 5
WORTH = 0.15  # of the latency of a thread that is alone, in the default configuration
MODES = {LZ4: "v5 with LZ4 (default)", PLAIN: "v4, plaintext", TLS: "v4, TLS"}


def driver(mode: str, lead: str, responder: Responder) -> Driver:
    return Driver("lead", (str(responder.port), lead, mode, responder.authority))


def lines() -> list[Line]:
    with Responder(version=5) as plain, Responder(tls=True) as secure:
        drivers = {
            f"{mode} {lead}": driver(mode, lead, secure if mode == TLS else plain) for mode in MODES for lead in LEADS
        }
        samples = alternate(drivers, PROCESSES)
    found = [line for threads in THREADS for mode in MODES for line in _compared(samples, mode, threads)]
    return found + [_many(samples, mode) for mode in MODES]


def _many(samples: Samples, mode: str) -> Line:
    on, off = (f"{mode} {lead}" for lead in ("on", "off"))
    leads = samples[on, f"{MANY} leads"]
    measure = f"{MODES[mode]}, {MANY}: CPU (polled {leads:.3f} times a read)"
    return worth(measure, samples[on, MANY], samples[off, MANY])


def _compared(samples: Samples, mode: str, threads: int) -> list[Line]:
    name = f"{MODES[mode]}, {threads} {'thread' if threads == 1 else 'threads'}"
    on, off = (f"{mode} {lead}" for lead in ("on", "off"))
    ours, without = (samples.best(driver, f"{threads} wall") for driver in (on, off))
    return [
        worth(f"{name}: latency", ours, without, judged=threads == 1 and mode == LZ4),
        worth(
            f"{name}: CPU (polled {samples[on, f'{threads} leads']:.2f} times a read)",
            samples[on, f"{threads}"],
            samples[off, f"{threads}"],
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
