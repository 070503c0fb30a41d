"""What servers tell of tablets along with their answers, and what requests tell servers of the tablets known.

L5. A ScyllaDB server adds the tablet of a request to its answer when the request came to a host or shard that has none
of its replicas (``TABLETS_ROUTING_V1``), or when the request shows that the client knows an older state of the tablet,
or none (``TABLETS_ROUTING_V2``: a byte with four bits of the version at the end of every EXECUTE). The map itself is
``Metadata._tablets``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException
from cassandra._base.logs import get_logger
from cassandra._routing.tablets.tablets import choose_tablet_version_block, random_tablet_version_block

if TYPE_CHECKING:
    from cassandra._net.handshake.features import ProtocolFeatures
    from cassandra._routing.tablets.tablets import Tablets
    from cassandra._wire.messages.requests import ExecuteMessage

    from ..cluster.cluster import Cluster
    from ..session import Session

log = get_logger("cassandra.cluster")

V1, V2 = "tablets-routing-v1", "tablets-routing-v2"


def learn_tablet(session: Session, features: ProtocolFeatures, query: Any, payload: Mapping[str, bytes | None]) -> None:
    """Add the tablet in *payload*, if there is one of the version that the answering connection negotiated.

    A tablet that cannot be read is logged, the first of a table as a warning: the answer it came with is good.
    """
    if features.tablets_routing_v2:
        tablet = payload.get(V2)
    elif features.tablets_routing_v1:
        tablet = payload.get(V1)
    else:
        return
    if tablet is None or query is None or query.table is None:
        return
    keyspace = query.keyspace or session.keyspace
    if not keyspace:
        return
    try:
        session.cluster.metadata._tablets.learn(keyspace, query.table, tablet)
    except DriverException as error:
        known = session.cluster.metadata._odd_tablets
        level = logging.DEBUG if (keyspace, query.table) in known else logging.WARNING
        known.add((keyspace, query.table))
        log.log(level, "A tablet of %s.%s could not be taken: %s", keyspace, query.table, error)


def use_version_blocks(cluster: Cluster, wanted: bool) -> None:
    """Make compiled requests for connections with version blocks, or without. Of a cluster that has both, those that
    are not compiled for are served a little slower."""
    cluster.version_blocks = wanted
    for session in cluster.sessions:
        if session._version_blocks != wanted:
            session._version_blocks = wanted


def use_metadata_ids(cluster: Cluster, wanted: bool) -> None:
    """Make compiled requests for connections with ScyllaDB's metadata ids, or without."""
    cluster.metadata_ids = wanted
    for session in cluster.sessions:
        if session._metadata_ids != wanted:
            session._metadata_ids = wanted


def version_block_of(tablets: Tablets, keyspace: str | None, table: str | None) -> Callable[[int | None], int]:
    """What gives the version block of requests about one table by their tokens."""
    if keyspace is None or table is None:
        return lambda token: random_tablet_version_block()
    find = tablets.table(keyspace, table).find

    def block(token: int | None) -> int:
        tablet = None if token is None else find(token)
        version = None if tablet is None else tablet.tablet_version
        return random_tablet_version_block() if version is None else choose_tablet_version_block(version)

    return block


def with_version_block(session: Session, message: ExecuteMessage, query: Any, token: int | None) -> ExecuteMessage:
    """*message* with the version block of what is known now; as it is if it was given one."""
    if message.tablet_version_block is not None or query is None:
        return message
    keyspace = query.keyspace or session.keyspace
    message = copy(message)
    message.tablet_version_block = version_block_of(session.cluster.metadata._tablets, keyspace, query.table)(token)
    return message
