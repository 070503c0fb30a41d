"""Keyspaces: create if missing, drop if existing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cassandra._base.logs import get_logger
from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._mapper.connections import format_log_context, get_cluster
from cassandra._routing.schema.model import KeyspaceMetadata

from .allowed import _allow_schema_modification
from .steps import Planned, Steps, each, run, run_async, unless_there

log = get_logger("cassandra.cqlengine.management")

Connections = Sequence[Any] | None


@public("cassandra.cqlengine.management")
def create_keyspace_simple(
    name: str, replication_factor: int, durable_writes: bool = True, connections: Connections = None
) -> None:
    """Create the keyspace *name* with *replication_factor* replicas in every datacenter, unless it exists; on each of
    *connections* (names), or on the default one."""
    _each(_simple(name, replication_factor, durable_writes), connections)


async def create_keyspace_simple_async(
    name: str, replication_factor: int, durable_writes: bool = True, connections: Connections = None
) -> None:
    """As :func:`create_keyspace_simple`, without blocking the running loop."""
    await _each_async(_simple(name, replication_factor, durable_writes), connections)


@public("cassandra.cqlengine.management")
def create_keyspace_network_topology(
    name: str,
    dc_replication_map: Mapping[str, int],
    durable_writes: bool = True,
    connections: Connections = None,
) -> None:
    """Create the keyspace *name* with the given number of replicas per datacenter, unless it exists."""
    _each(_network_topology(name, dc_replication_map, durable_writes), connections)


async def create_keyspace_network_topology_async(
    name: str,
    dc_replication_map: Mapping[str, int],
    durable_writes: bool = True,
    connections: Connections = None,
) -> None:
    """As :func:`create_keyspace_network_topology`, without blocking the running loop."""
    await _each_async(_network_topology(name, dc_replication_map, durable_writes), connections)


@public("cassandra.cqlengine.management")
def drop_keyspace(name: str, connections: Connections = None) -> None:
    """Drop the keyspace *name* with all its contents, if it exists. **This cannot be undone.**"""
    _each(partial(_dropping, name), connections)


async def drop_keyspace_async(name: str, connections: Connections = None) -> None:
    """As :func:`drop_keyspace`, without blocking the running loop."""
    await _each_async(partial(_dropping, name), connections)


def _simple(name: str, replication_factor: int, durable_writes: bool) -> Planned:
    return partial(_creating, name, {"replication_factor": replication_factor}, durable_writes)


def _network_topology(name: str, replicas: Mapping[str, int] | None, durable_writes: bool) -> Planned:
    return partial(_creating, name, dict(replicas or {}), durable_writes)


def _each(planned: Planned, connections: Connections) -> None:
    if _allow_schema_modification():
        for (connection,) in each(("Connections", connections)):
            run(planned, connection)


async def _each_async(planned: Planned, connections: Connections) -> None:
    if _allow_schema_modification():
        for (connection,) in each(("Connections", connections)):
            await run_async(planned, connection)


def _creating(name: str, replicas: Mapping[str, Any], durable_writes: bool, connection: Any) -> Steps:
    def told(what: str) -> None:
        log.info(format_log_context(what, connection=connection))

    if name in get_cluster(connection).metadata.keyspaces:
        told(f"Not creating keyspace {name} because it already exists")
        return
    told(f"Creating keyspace {name}")
    options = {place: str(number) for place, number in replicas.items()}
    statement = KeyspaceMetadata(name, durable_writes, "NetworkTopologyStrategy", options).as_cql_query()
    meanwhile = f"Another program has created keyspace {name} meanwhile"
    yield from unless_there(statement, format_log_context(meanwhile, connection=connection))


def _dropping(name: str, connection: Any) -> Steps:
    if name in get_cluster(connection).metadata.keyspaces:
        yield f"DROP KEYSPACE {protect_name(name)}"
