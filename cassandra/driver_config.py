"""The configuration of the driver as a document: ``DriverConfigReporter(cluster)``."""

import logging

from cassandra._base.aliases import add_names
from cassandra._session.driver_config import (
    DRIVER_CONFIG_OPTION,
    DRIVER_CONFIG_SCHEMA_VERSION,
    MAX_DRIVER_CONFIG_LENGTH,
    SESSION_ID_OPTION,
    DriverConfigReporter,
)

log = logging.getLogger("cassandra.driver_config")

__all__ = [
    "DRIVER_CONFIG_OPTION",
    "DRIVER_CONFIG_SCHEMA_VERSION",
    "MAX_DRIVER_CONFIG_LENGTH",
    "SESSION_ID_OPTION",
    "DriverConfigReporter",
    "log",
]

add_names(__name__, {
    "cassandra.policies": """
        ConsistencyLevel ConstantReconnectionPolicy ConstantSpeculativeExecutionPolicy DCAwareRoundRobinPolicy
        DefaultLoadBalancingPolicy DowngradingConsistencyRetryPolicy ExponentialBackoffRetryPolicy
        ExponentialReconnectionPolicy FallthroughRetryPolicy NeverRetryPolicy NoSpeculativeExecutionPolicy
        RackAwareRoundRobinPolicy RetryPolicy RoundRobinPolicy TokenAwarePolicy
    """,
    "cassandra.timestamps": "MonotonicTimestampGenerator",
})  # fmt: skip
