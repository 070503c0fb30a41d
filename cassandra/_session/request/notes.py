"""Tablets in responses, and tablet versions in requests.

L5. A ScyllaDB server adds the tablet of a request to its response if the request arrived at a host or shard without a
replica of it (``TABLETS_ROUTING_V1``), or if the request shows that the client has an older state of the tablet, or
none (``TABLETS_ROUTING_V2``: a byte with four bits of the version at the end of every EXECUTE). The map itself is
``Metadata._tablets``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException
from cassandra._base.logs import get_logger
from cassandra._routing.tablets import choose_tablet_version_block, random_tablet_version_block

if TYPE_CHECKING:
    from cassandra._net.features import ProtocolFeatures
    from cassandra._routing.tablets import Tablets
    from cassandra._session.cluster import Cluster
    from cassandra._session.session import Session
    from cassandra._wire.messages.requests import ExecuteMessage

log = get_logger("cassandra.cluster")

V1, V2 = "tablets-routing-v1", "tablets-routing-v2"


def learn_tablet(session: Session, features: ProtocolFeatures, query: Any, payload: Mapping[str, bytes | None]) -> None:
    """Add the tablet in *payload*, if there is one of the version that the response's connection negotiated.

    A tablet that cannot be decoded is logged, the first of a table as a warning: the response itself is valid.
    """
    if features.tablets_routing_v2:
        tablet = payload.get(V2)
    elif features.tablets_routing_v1:
        tablet = payload.get(V1)
    else:
        return
    if tablet is None or query is None or query.table is None:
        return
    if session.cluster.metrics is not None:
        session.cluster.metrics.tablet_missed()
    keyspace = query.keyspace or session.keyspace
    if not keyspace:
        return
    try:
        session.cluster.metadata._tablets.learn(keyspace, query.table, tablet)
    except DriverException as error:
        known = session.cluster.metadata._uncached_tablets
        level = logging.DEBUG if (keyspace, query.table) in known else logging.WARNING
        known.add((keyspace, query.table))
        log.log(level, "Failed to decode a tablet of %s.%s: %s", keyspace, query.table, error)


def use_version_blocks(cluster: Cluster, wanted: bool) -> None:
    """Compile requests for connections with version blocks, or without. If a cluster has both kinds, requests over the
    other kind are a little slower."""
    cluster._version_blocks = wanted
    for session in cluster.sessions:
        if session._version_blocks != wanted:
            session._version_blocks = wanted


def use_metadata_ids(cluster: Cluster, wanted: bool) -> None:
    """Compile requests for connections with ScyllaDB's metadata ids, or without."""
    cluster._metadata_ids = wanted
    for session in cluster.sessions:
        if session._metadata_ids != wanted:
            session._metadata_ids = wanted


def version_block_of(tablets: Tablets, keyspace: str | None, table: str | None) -> Callable[[int | None], int]:
    """Return a function from the token of a request for one table to its version block."""
    if keyspace is None or table is None:
        return lambda token: random_tablet_version_block()
    find = tablets.table(keyspace, table).find

    def block(token: int | None) -> int:
        tablet = None if token is None else find(token)
        version = None if tablet is None else tablet.tablet_version
        return random_tablet_version_block() if version is None else choose_tablet_version_block(version)

    return block


def with_version_block(session: Session, message: ExecuteMessage, query: Any, token: int | None) -> ExecuteMessage:
    """Return *message* with the version block of the tablet in the map; unchanged if it has one already."""
    if message.tablet_version_block is not None or query is None:
        return message
    keyspace = query.keyspace or session.keyspace
    message = copy(message)
    message.tablet_version_block = version_block_of(session.cluster.metadata._tablets, keyspace, query.table)(token)
    return message
