"""Receiving: 200 answers of 300 bytes in one read, and one of 1 MiB, over a local socket into a real channel.

The clock runs from the send at the other end, a thread of the same process, until every answer was delivered to its
operation; both the wall clock's best (the figure that the targets limit) and the CPU of the whole process, the sender's
share included. scylla-driver's figures are those that the targets were set with, measured elsewhere: its receive path
cannot be driven from outside by public means. ``python -m benchmarks.bench_receive`` prints the figures beside the
targets.
"""

from __future__ import annotations

from benchmarks.measure import FASTCQL, Driver, alternate
from benchmarks.report import Line, at_most, compared_only, show

TITLE = "Received frames: time until every answer was delivered"
NAMES = {"burst": "200 frames of 300 B in one read", "large": "one frame of 1 MiB"}
LIMITS = {"burst": 60e-6, "large": 350e-6}
OF_SCYLLA = {"burst": 1090e-6, "large": 1520e-6}


def lines() -> list[Line]:
    samples = alternate({FASTCQL: Driver("receive")})
    found = []
    for name, measure in NAMES.items():
        noted = {"scylla-driver, as noted in the reference": OF_SCYLLA[name]}
        found.append(at_most(measure, samples[FASTCQL, f"{name} wall"], LIMITS[name], noted))
        found.append(compared_only(f"{measure}, CPU with the sender's", samples[FASTCQL, name]))
    for name, measure in NAMES.items():  # the checksums are read, too; no target exists for this
        found.append(compared_only(f"{measure}, in segments of protocol 5", samples[FASTCQL, f"{name} v5 wall"]))
        found.append(compared_only(f"{measure}, in segments, CPU", samples[FASTCQL, f"{name} v5"]))
    return found


def main() -> int:
    return min(show(TITLE, lines()), 1)


if __name__ == "__main__":
    raise SystemExit(main())
