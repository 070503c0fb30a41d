"""``python -m tests.servers``: a real Cassandra for development; see README.rst beside this file."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from types import FrameType

from tests.servers import classpath
from tests.servers.cluster import ServerCluster
from tests.servers.config import CURRENT, PREVIOUS, Options
from tests.servers.node import ServerError


def main(argv: list[str]) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.action == "resolve":
        for version in arguments.versions:
            print(f"{version}: {len(classpath.resolve(version))} jars")
        return 0
    if arguments.action == "checksums":
        print(classpath.write_checksums(arguments.version))
        return 0
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    options = Options(
        nodes=arguments.nodes,
        version=arguments.version,
        auth=arguments.auth,
        tls=arguments.tls or arguments.client_auth,
        client_auth=arguments.client_auth,
        port=arguments.port,
        timeout=arguments.timeout,
        datacenters=arguments.datacenters.split(",") if arguments.datacenters else (),
    )
    try:
        with ServerCluster(options, arguments.base) as cluster:
            _describe(cluster)
            if arguments.action == "run":
                return _run(cluster, arguments.command)
            while all(node.running for node in cluster.nodes):
                time.sleep(1)
            raise ServerError("a server ended\n" + "\n".join(node.log_tail() for node in cluster.nodes))
    except KeyboardInterrupt:
        return 0
    except ServerError as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description="Cassandra on loopback")
    actions = parser.add_subparsers(dest="action", required=True)
    resolve = actions.add_parser("resolve", help="only fetch the jars")
    resolve.add_argument("versions", nargs="*", default=[CURRENT, PREVIOUS])
    checksums = actions.add_parser("checksums", help="list the SHA-256 of the jars that are here now")
    checksums.add_argument("version")
    start = actions.add_parser("start", help="run until Ctrl-C")
    run = actions.add_parser("run", help="run a command with CASSANDRA_CONTACT=host:port, then stop")
    for action in (start, run):
        action.add_argument("--nodes", type=int, default=1)
        action.add_argument("--version", default=CURRENT)
        action.add_argument("--auth", action="store_true", help="user cassandra, password cassandra")
        action.add_argument("--tls", action="store_true", help="client TLS with a generated CA")
        action.add_argument("--client-auth", action="store_true", help="TLS with client certificates")
        action.add_argument("--base", help="address of the first node (default: the first free 127.0.x.1)")
        action.add_argument("--port", type=int, default=9042)
        action.add_argument("--timeout", default="10s", help="of reads, writes and the like, on the server")
        action.add_argument("--datacenters", help="one name per node, separated by commas")
    run.add_argument("command", nargs=argparse.REMAINDER)
    return parser


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _describe(cluster: ServerCluster) -> None:
    for node in cluster.nodes:
        print(f"{node.address}:{node.port}  pid {node.pid}  log {node.log}")
    if cluster.tls:
        print(f"CA {cluster.tls.ca}  client {cluster.tls.client_cert} {cluster.tls.client_key}")
    print("ready", flush=True)


def _run(cluster: ServerCluster, command: list[str]) -> int:
    contact = f"{cluster.contact_points[0]}:{cluster.port}"
    command = command[1:] if command[:1] == ["--"] else command
    return subprocess.run(command, env={**os.environ, "CASSANDRA_CONTACT": contact}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
