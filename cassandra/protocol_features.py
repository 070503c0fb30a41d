"""Protocol extensions that a server announces and a connection uses."""

import logging

from cassandra._base.aliases import add_names
from cassandra._net.features import (
    LWT_ADD_METADATA_MARK,
    LWT_OPTIMIZATION_META_BIT_MASK,
    RATE_LIMIT_ERROR_EXTENSION,
    TABLETS_ROUTING_V1,
    TABLETS_ROUTING_V2,
    USE_METADATA_ID,
    ProtocolFeatures,
)

log = logging.getLogger("cassandra.protocol_features")

__all__ = [
    "log",
    "LWT_ADD_METADATA_MARK",
    "LWT_OPTIMIZATION_META_BIT_MASK",
    "RATE_LIMIT_ERROR_EXTENSION",
    "TABLETS_ROUTING_V1",
    "TABLETS_ROUTING_V2",
    "USE_METADATA_ID",
    "ProtocolFeatures",
]

add_names(__name__, {
    "cassandra.lwt_info": "_LwtInfo=LwtInfo",
})  # fmt: skip
