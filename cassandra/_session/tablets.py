"""What servers tell of tablets along with their answers.

L5. A ScyllaDB server adds the tablet of a request to its answer when the request came to a host or shard that has none
of its replicas (protocol extensions, "Sending tablet info"). The map itself is ``Metadata._tablets``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import DriverException

if TYPE_CHECKING:
    from cassandra._net.features import ProtocolFeatures

    from .session import Session

log = logging.getLogger("cassandra.cluster")

V1, V2 = "tablets-routing-v1", "tablets-routing-v2"


def learn_tablet(session: Session, features: ProtocolFeatures, query: Any, payload: Mapping[str, bytes | None]) -> None:
    """Add the tablet in *payload*, if there is one of the version that the answering connection negotiated.

    A tablet that cannot be read is logged: the answer it came with is good.
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
        log.warning("A tablet of %s.%s could not be taken: %s", keyspace, query.table, error)
