"""Hosts, rings and statements for tests of routing: only as much of each as routing reads."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from cassandra._routing.host import Host
from cassandra.metadata import KeyspaceMetadata, Metadata
from cassandra.policies import SimpleConvictionPolicy

MURMUR3 = "org.apache.cassandra.dht.Murmur3Partitioner"


class Statement:
    def __init__(
        self,
        routing_key: bytes | None = None,
        keyspace: str | None = None,
        lwt: bool = False,
        is_idempotent: bool = False,
    ) -> None:
        self.routing_key = routing_key
        self.keyspace = keyspace
        self.is_idempotent = is_idempotent
        self._lwt = lwt

    def is_lwt(self) -> bool:
        return self._lwt


class Cluster:
    def __init__(self, metadata: Metadata, contact_points: tuple[Any, ...] = ()) -> None:
        self.metadata = metadata
        self.endpoints_resolved = contact_points


def make_host(number: int, dc: str | None = "dc1", rack: str | None = "r1", up: bool | None = True) -> Host:
    host = Host(f"10.0.0.{number}", SimpleConvictionPolicy, dc, rack, UUID(int=number))
    host.is_up = up
    return host


def make_metadata(tokens: dict[Host, list[int]], **replications: dict[str, str]) -> Metadata:
    """Metadata with a ring and a keyspace per keyword argument."""
    metadata = Metadata()
    metadata.replace_topology(
        list(tokens), MURMUR3, {host: [str(token) for token in owned] for host, owned in tokens.items()}
    )
    keyspaces = {}
    for name, replication in replications.items():
        options = dict(replication)
        keyspaces[name] = KeyspaceMetadata(name, True, options.pop("class"), options)
    metadata._publish(keyspaces=keyspaces)
    return metadata
