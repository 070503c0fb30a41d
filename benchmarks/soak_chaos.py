"""Every request ends once, with its own answer or its own error, under any node behaviour: ``make soak``, or
``python -m benchmarks.soak_chaos [--seconds N] [--requests N] [--seed N]``.

Threads, callbacks, event loops and ``execute_concurrent`` use one session (``chaos.load``) while three nodes delay,
reorder, drop and tear answers, stop reading, answer with errors, forget prepared statements, cut connections and go
away (``responder/chaos.cpp``). At the end each request is compared with the requests that the nodes executed
(``chaos.ledger``), and the resources left after shutdown with those before it (``chaos.left``). Prints the seed: the
same seed rolls the same dice, though threads run as they like. The exit code says whether all was right.
"""

from __future__ import annotations

import argparse
import gc
import logging
import random
import sys
import time
from typing import NamedTuple

from benchmarks.chaos.cluster import ChaosCluster
from benchmarks.chaos.ledger import SHOWN, Ledger
from benchmarks.chaos.left import Left, left_since, streams_in_use
from benchmarks.chaos.load import Load, prepared
from benchmarks.chaos.recordings import READ
from benchmarks.clients.resident import collected
from cassandra import DriverException
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import ConstantReconnectionPolicy

SECONDS = 600.0
RATE = 40_000  # requests per second that there are numbers for
TIMEOUT = 0.5  # of a request: shorter than the delay of late answers
RECONNECT = 0.1
REPORTS = 10
BLOCKS = 10_000  # of Python's memory that an idle session may hold in addition when all is over: caches
#: Bytes that resident memory may grow by, in runs that are not too short to tell: requests in flight at a peak
#: take arenas of a mebibyte, and fragments keep them.
FLAT, WARM = 8 << 20, 60.0
RECOVERY = 60.0


class Outcome(NamedTuple):
    """The result of a run."""

    wrong: list[str]
    requests: int
    grown: int
    report: str


def connected(nodes: ChaosCluster) -> Cluster:
    return Cluster(
        nodes.addresses,
        port=nodes.port,
        protocol_version=4,
        compression=False,
        execution_profiles={EXEC_PROFILE_DEFAULT: ExecutionProfile(request_timeout=TIMEOUT)},
        reconnection_policy=ConstantReconnectionPolicy(RECONNECT, max_attempts=None),
        connect_timeout=2.0,
        control_connection_timeout=2.0,
    )


def soak(seed: int, seconds: float, requests: int, *, factor: float = 1.0, say: bool = False) -> Outcome:
    """Make up to *requests* requests, for *seconds* at most; *factor* says how badly the nodes behave."""
    before = Left.now()
    ledger = Ledger(requests)
    resident: list[int] = []
    with ChaosCluster(seed, requests) as nodes:
        cluster = connected(nodes)
        try:
            session = cluster.connect(wait_for_all_pools=True)
            idle = _blocks()
            with Load(session, ledger, seed) as load:
                nodes.misbehave(factor)
                for number in range(REPORTS):
                    if load.wait(seconds / REPORTS) or ledger.violations:
                        break
                    resident.append(collected())
                    if say:
                        _say(number, seconds, ledger, resident[-1])
            nodes.behave()
            wrong = recovered(session, nodes) + streams_in_use(session)
            del load
            kept = _blocks() - idle
            wrong += [f"the idle session holds {kept:,} more memory blocks"] if kept > BLOCKS else []
        finally:
            cluster.shutdown()
        wrong = ledger.judge(nodes.executions()) + wrong
    del cluster, session
    wrong += [f"left behind: {what}" for what in left_since(before)]
    grown = resident[-1] - resident[1] if len(resident) == REPORTS else 0
    endings = ", ".join(f"{number:,} {how}" for how, number in ledger.endings().items())
    errors = ", ".join(f"{name} {number:,}" for name, number in ledger.errors.most_common())
    memory = f"{kept:+,} memory blocks of Python, held by the idle session"
    return Outcome(wrong, ledger.handed_out, grown, f"{endings}\n{errors}\n{nodes.summary}\n{memory}")


def _blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


def recovered(session: Session, nodes: ChaosCluster) -> list[str]:
    """Whether every node answers again, now that all of them behave."""
    statement, missing = prepared(session, READ), set(nodes.addresses)
    deadline = time.monotonic() + RECOVERY
    while missing and time.monotonic() < deadline:
        for host in session.hosts:
            try:
                session.execute(statement, (0,), host=host)
            except (DriverException, NoHostAvailable):
                time.sleep(RECONNECT)
            else:
                missing.discard(host.address)
    return [f"no answer from {address} after {RECOVERY} s without faults" for address in sorted(missing)]


def _say(number: int, seconds: float, ledger: Ledger, resident: int) -> None:
    endings = ledger.endings()
    print(
        f"  {(number + 1) * seconds / REPORTS:6.0f} s  {ledger.handed_out:>11,} requests"
        f"  {endings['answered']:>11,} answered  {sum(ledger.errors.values()):>9,} errors  {resident / 2**20:8.2f} MiB",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--requests", type=int, help="at most as many (default: no limit to speak of)")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)  # of lost connections there is much to say
    print(f"{arguments.seconds:g} s of misbehaviour, --seed {arguments.seed}", flush=True)
    requests = arguments.requests or int(arguments.seconds * RATE)
    outcome = soak(arguments.seed, arguments.seconds, requests, say=True)
    print(outcome.report)
    wrong = outcome.wrong
    if arguments.seconds >= WARM:
        print(f"resident memory grew by {outcome.grown / 2**20:+.2f} MiB")
        wrong += [f"resident memory grew by {outcome.grown} bytes"] if outcome.grown > FLAT else []
    for line in wrong[:SHOWN]:
        print(f"WRONG: {line}")
    print(f"{len(wrong)} of {outcome.requests:,} requests wrong" if wrong else "Every request ended once, and right.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
