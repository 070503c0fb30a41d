"""Requests one after another and a hundred at a time: point reads and INSERTs of five columns, by prepared statements.

Everybody talks to the same native responder on another core. The floor of a request that its caller waits for is a
C++ program that does nothing but send the same bytes and receive the answer (``native/pingpong.cpp``). The same with a
pause of three microseconds after each answer shows what any work in between costs: the responder goes to sleep
meanwhile. With a hundred requests in flight it shows what the responder can do. Rates are by the wall clock: the best
of all samples, but where it is the ping-pong that a rate is judged by, medians. On a machine that wakes a thread now in
three, now in thirty microseconds, the best of many short samples is the luck of who took most of them. What requests
cost with a hundred in flight is CPU of the whole client process. The last lines are about what LZ4 and TLS add to
that. ``python -m benchmarks.bench_requests`` prints the figures beside the targets.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.capture import execute_frames
from benchmarks.clients.modes import LZ4, TLS, V5
from benchmarks.measure import FASTCQL, Driver, Program, Samples, alternate, pyperf_wanted
from benchmarks.native import build
from benchmarks.peers import ACSYLLA, CASSANDRA, SCYLLA, SCYLLA_RS, SCYLLAPY
from benchmarks.report import Line, at_most, show
from benchmarks.responder import Responder

TITLE = "Requests by prepared statements, 5 columns, the client on one core"
NATIVE = "C++ ping-pong"
OF_PING_PONG, MOST = 0.9, 2e-6
OF_PEERS = {SCYLLA.name: 80.0, ACSYLLA.name: 2.0}
OF_RATE = 2.0  # of acsylla's, a hundred in flight
SYNC = {SCYLLA_RS.name: "sync "}  # who has a name of its own for what is done one by one without a loop
COUNT, SLOW_COUNT = 5000, 500  # requests of a sample
PROCESSES, AT_ONCE = 5, 100
PAUSE = 3  # microseconds, of a ping-pong that does something with an answer
OF_WITHOUT = {LZ4: 1.25, TLS: 1.5}  # CPU, at most
COVERS = {LZ4: "protocol 5 with LZ4", TLS: "TLS"}
KINDS = {"read": "a point read", "insert": "an INSERT"}


def drivers(port: int) -> dict[str, Driver]:
    return {
        FASTCQL: Driver("requests", (str(port), str(COUNT))),
        SCYLLA.name: Driver("requests", (str(port), str(SLOW_COUNT)), SCYLLA),
        CASSANDRA.name: Driver("requests", (str(port), str(SLOW_COUNT)), CASSANDRA),
        ACSYLLA.name: Driver("acsylla_tasks", (str(port), "asyncio", str(COUNT)), ACSYLLA),
        SCYLLAPY.name: Driver("scyllapy_tasks", (str(port), "asyncio", str(COUNT)), SCYLLAPY),
        SCYLLA_RS.name: Driver("scylla_rs_tasks", (str(port), "asyncio", str(COUNT)), SCYLLA_RS),
    }


def floor(port: int) -> Program:
    """The same requests without a driver, one at a time and pipelined."""
    words = [str(build("pingpong", [])), str(port)]
    for name, frame in execute_frames(port).items():
        words += [name, "1", frame.hex(), f"paused {name}", f"1/{PAUSE}", frame.hex()]
        words += [f"pipelined {name}", str(AT_ONCE), frame.hex()]
    return Program(tuple(words))


def covered(newer: Responder, secure: Responder) -> dict[str, Driver]:
    """The same with what goes over the wire covered, or not, for comparison: protocol 5 with LZ4, protocol 4 by TLS."""
    found = {}
    for mode, responder in ((V5, newer), (LZ4, newer), (TLS, secure)):
        words = str(responder.port), mode, responder.authority
        for name, count, peer in ((FASTCQL, COUNT, None), (SCYLLA.name, SLOW_COUNT, SCYLLA)):
            found[f"{name} {mode}"] = Driver("requests", (words[0], str(count), *words[1:]), peer)
    return found


def lines() -> list[Line]:
    with Responder() as responder, Responder(version=5) as newer, Responder(tls=True) as secure:
        programs: Mapping[str, Driver | Program] = {
            NATIVE: floor(responder.port),
            **drivers(responder.port),
            **covered(newer, secure),
        }
        samples = alternate(programs, PROCESSES)
    if pyperf_wanted():
        return [_concurrent(samples, kind) for kind in KINDS]
    found = [line for kind in KINDS for line in _one_by_one(samples, kind)]
    found += [_concurrent(samples, kind) for kind in KINDS]
    found.append(_concurrent(samples, "read", ", rows not made"))
    found += [_rates(samples, kind) for kind in KINDS]
    found += [_limit(samples, kind) for kind in KINDS]
    for how in ("", "concurrent "):
        found.append(_covered(samples, f"{how}read", LZ4, f" {V5}", judged=bool(how)))
        found.append(_covered(samples, f"{how}insert", LZ4, f" {V5}"))
        found.append(_covered(samples, f"{how}read", TLS, "", judged=not how))
    return [*found, responder.line()]


def _one_by_one(samples: Samples, kind: str) -> list[Line]:
    best, floor = (samples.best(driver, f"{kind} wall") for driver in (FASTCQL, NATIVE))
    ours, theirs = (samples[driver, f"{kind} median wall"] for driver in (FASTCQL, NATIVE))
    paused = samples[NATIVE, f"paused {kind} median wall"]
    ratio = theirs / ours
    works = {name: SYNC.get(name, "") + kind for name in drivers(0) if name != FASTCQL}
    peers = {name: samples.best(name, f"{work} wall") for name, work in works.items()}
    return [
        Line(
            f"{KINDS[kind]}, Session.execute: rate, median",
            _rate(ours),
            f"≥ {OF_PING_PONG} of {NATIVE}",
            f"{NATIVE} {_rate(theirs)}",
            f"{ratio:.2f}",
            ratio >= OF_PING_PONG,
        ),
        Line(
            f"the same, by the ping-pong with {PAUSE} µs of work",
            _rate(paused),
            "",
            f"{NATIVE} {_rate(theirs)}, {FASTCQL} {_rate(ours)}",
            f"{theirs / paused:.2f}, {paused / ours:.2f}",
        ),
        Line("the same, best of all samples", _rate(best), "", f"{NATIVE} {_rate(floor)}", f"{floor / best:.2f}"),
        Line(
            f"{KINDS[kind]}, one by one: rate",
            _rate(best),
            "",
            ", ".join(f"{name} {_rate(took)}" for name, took in peers.items()),
            ", ".join(f"{took / best:.1f}x" for took in peers.values()),
        ),
        Line(
            f"{KINDS[kind]}, one by one: CPU",
            _micro(samples[FASTCQL, kind]),
            "",
            ", ".join(f"{name} {_micro(samples[name, work])}" for name, work in {NATIVE: kind, **works}.items()),
        ),
    ]


def _concurrent(samples: Samples, kind: str, how: str = "") -> Line:
    """CPU of the client per operation with a hundred in flight. Only reads have ratios to reach: they are what the
    figures of the peers were about."""
    name = f"concurrent {kind}"
    ours = samples[FASTCQL, name + how]
    peers = {peer: samples[peer, name] for peer in drivers(0) if peer != FASTCQL}
    line = at_most(f"{KINDS[kind]}, execute_concurrent_with_args{how}: CPU", ours, MOST, peers)
    if kind != "read":
        return line
    target = f"{line.target}, " + ", ".join(f"≥ {wanted:g}x {peer}" for peer, wanted in OF_PEERS.items())
    reached = line.reached and all(peers[peer] / ours >= wanted for peer, wanted in OF_PEERS.items())
    return line._replace(target=target, reached=reached)


def _rates(samples: Samples, kind: str) -> Line:
    """With a hundred in flight."""
    name = f"concurrent {kind} wall"
    ours = samples.best(FASTCQL, name)
    peers = {peer: samples.best(peer, name) for peer in drivers(0) if peer != FASTCQL}
    ratio = peers[ACSYLLA.name] / ours
    target, reached = (f"≥ {OF_RATE:g}x {ACSYLLA.name}", ratio >= OF_RATE) if kind == "read" else ("", None)
    return Line(
        f"{KINDS[kind]}, execute_concurrent_with_args: rate",
        _rate(ours),
        target,
        ", ".join(f"{peer} {_rate(theirs)}" for peer, theirs in peers.items()),
        ", ".join(f"{theirs / ours:.1f}x" for theirs in peers.values()),
        reached,
    )


def _limit(samples: Samples, kind: str) -> Line:
    pipelined = samples.best(NATIVE, f"pipelined {kind} wall")
    ours = samples.best(FASTCQL, f"concurrent {kind} wall")
    measure = f"{KINDS[kind]}, {AT_ONCE} in flight: what the responder can do"
    return Line(measure, _rate(pipelined), "", f"{FASTCQL} {_rate(ours)}", f"{ours / pipelined:.1f}x")


def _covered(samples: Samples, work: str, mode: str, without: str, judged: bool = False) -> Line:
    """What *mode* makes of the CPU of an operation."""
    with_it, plain, theirs = (
        samples[name, work] for name in (f"{FASTCQL} {mode}", FASTCQL + without, f"{SCYLLA.name} {mode}")
    )
    most = OF_WITHOUT[mode]
    times = with_it / plain
    return Line(
        f"{work}, {COVERS[mode]}: CPU",
        _micro(with_it),
        f"≤ {most:g}x without" if judged else "",
        f"without {_micro(plain)}, {SCYLLA.name} {_micro(theirs)}",
        f"{times:.2f}x of without, {theirs / with_it:.1f}x",
        times <= most if judged else None,
    )


def _rate(took: float) -> str:
    return f"{1 / took:,.0f}/s"


def _micro(took: float) -> str:
    return f"{took * 1e6:.1f} µs"


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
