"""``python -m cassandra.testing``: run a simulated cluster until Ctrl-C, for any client."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading

from cassandra.testing import SimulatedCluster


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m cassandra.testing", description=__doc__)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--shards", type=int, default=4, help="number of shards of each node")
    parser.add_argument("--racks", nargs="+", default=["rack1"], help="rack names; nodes are assigned in turn")
    parser.add_argument("--dcs", nargs="+", default=["dc1"], help="datacenter names; nodes are assigned in turn")
    parser.add_argument("--address", help="one address for all nodes, each with a port of its own")
    parser.add_argument("--no-tablets", action="store_true")
    parser.add_argument("--protocols", nargs="+", type=int, default=[3, 4], help="native protocol versions")
    options = parser.parse_args()
    logging.basicConfig()
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    cluster = SimulatedCluster(
        options.nodes, options.shards, tablets=not options.no_tablets, racks=options.racks, dcs=options.dcs,
        address=options.address, protocol_versions=options.protocols,
    )  # fmt: skip
    with cluster:
        for node in cluster.nodes:
            where = f"{node.datacenter}/{node.rack}, {node.shards} shards"
            print(f"{node.address}:{node.port}  shard-aware port {node.shard_aware_port}  {where}", flush=True)
        ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
