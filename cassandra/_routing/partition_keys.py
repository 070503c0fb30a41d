"""Partition keys: serialisation by the schema and grouping by replica (L4)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from random import choice
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public
from cassandra._core.codec import (
    Codec,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from cassandra._routing.policies.base import HostDistance
from cassandra._routing.schema.cqltype import CqlType, parse_cql_type
from cassandra._wire.types.registry import cqltypes, resolve_custom

if TYPE_CHECKING:
    from cassandra._routing.schema.model import KeyspaceMetadata

    from .host import Host

#: Group of the keys without a known live replica.
NO_VALID_REPLICA = object()


def codec_of(cql_type: str, keyspace: KeyspaceMetadata) -> Codec:
    """Return the codec of a column's type. Raises ValueError for an unknown type, such as a dropped user type."""
    return _codec(parse_cql_type(cql_type), keyspace)


def _codec(parsed: CqlType, keyspace: KeyspaceMetadata) -> Codec:
    name = parsed.name
    if parsed.kind == "custom":
        return resolve_custom(name)
    if parsed.kind == "user":
        if name not in keyspace.user_types:
            raise ValueError(f"unknown type in keyspace {keyspace.name}: {name}")
        user_type = keyspace.user_types[name]
        fields = [codec_of(field, keyspace) for field in user_type.field_types]
        return udt_codec(keyspace.name, name, user_type.field_names, fields)
    if name == "vector":
        return vector_codec(_codec(parsed.args[0], keyspace), int(parsed.args[1].name))
    children = [_codec(arg, keyspace) for arg in parsed.args]
    if name == "frozen":
        return children[0]
    if name == "tuple":
        return tuple_codec(children)
    if name == "map":
        return map_codec(*children)
    if children:
        return list_codec(*children) if name == "list" else set_codec(*children)
    return cqltypes[name].codec()


def routing_key(components: Sequence[bytes]) -> bytes:
    """Return the serialised partition key for its serialised columns."""
    if len(components) == 1:
        return components[0]
    return b"".join(struct.pack(">H", len(part)) + part + b"\0" for part in components)


@public("cassandra.metadata")
def group_keys_by_replica(
    session: Any, keyspace: str, table: str, keys: Iterable[Sequence[Any]]
) -> dict[Any, list[Sequence[Any]]]:
    """Group partition keys (sequences of values) by a live replica, a local one if there is any.

    For sending one statement per host instead of one per key. Keys without a live replica are in the group
    ``NO_VALID_REPLICA``::

        group_keys_by_replica(session, "shop", "orders", [(1,), (2,), (3,)])
    """
    cluster = session.cluster
    known = cluster.metadata.keyspaces[keyspace]
    codecs = [codec_of(column.cql_type, known) for column in known.tables[table].partition_key]
    distance = cluster.profile_manager.distance
    groups: dict[Any, list[Sequence[Any]]] = {}
    for key in keys:
        parts = [codec.encode(value, cluster.protocol_version) for codec, value in zip(codecs, key, strict=True)]
        host = _live_replica(cluster.metadata.get_replicas(keyspace, routing_key(parts)), distance)
        groups.setdefault(host or NO_VALID_REPLICA, []).append(key)
    return groups


def _live_replica(replicas: Iterable[Host], distance: Any) -> Host | None:
    live = [host for host in replicas if host.is_up]
    near = [host for host in live if distance(host) in (HostDistance.LOCAL_RACK, HostDistance.LOCAL)]
    candidates = near or live
    return choice(candidates) if candidates else None
