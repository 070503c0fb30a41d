"""Policies: load balancing, retries, reconnection, address translation, speculative execution."""

import logging

from cassandra._base.aliases import add_aliases, add_names
from cassandra._base.constants import ConsistencyLevel, WriteType
from cassandra._base.errors import OperationTimedOut
from cassandra._routing.policies import (
    AddressTranslator,
    ColDesc,
    ColumnEncryptionPolicy,
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    ConvictionPolicy,
    DCAwareRoundRobinPolicy,
    DCFailoverRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    DowngradingConsistencyRetryPolicy,
    EC2MultiRegionTranslator,
    ExponentialBackoffRetryPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    HostDistance,
    HostFilterPolicy,
    HostStateListener,
    IdentityTranslator,
    LatencyAwarePolicy,
    LoadBalancingPolicy,
    LWTRetryPolicy,
    NeverRetryPolicy,
    NoSpeculativeExecutionPlan,
    NoSpeculativeExecutionPolicy,
    PercentileSpeculativeExecutionPolicy,
    RackAwareRoundRobinPolicy,
    ReconnectionPolicy,
    RetryPolicy,
    RoundRobinPolicy,
    SimpleConvictionPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
    WrapperPolicy,
)

WT = WriteType

log = logging.getLogger("cassandra.policies")

__all__ = [
    "log",
    "AddressTranslator", "ColDesc", "ColumnEncryptionPolicy", "ConsistencyLevel", "ConstantReconnectionPolicy",
    "ConstantSpeculativeExecutionPolicy", "ConvictionPolicy", "DCAwareRoundRobinPolicy", "DCFailoverRoundRobinPolicy",
    "DefaultLoadBalancingPolicy", "DowngradingConsistencyRetryPolicy", "EC2MultiRegionTranslator",
    "ExponentialBackoffRetryPolicy", "ExponentialReconnectionPolicy", "FallthroughRetryPolicy", "HostDistance",
    "HostFilterPolicy", "HostStateListener", "IdentityTranslator", "LWTRetryPolicy", "LatencyAwarePolicy",
    "LoadBalancingPolicy", "NeverRetryPolicy", "NoSpeculativeExecutionPlan", "NoSpeculativeExecutionPolicy",
    "OperationTimedOut", "PercentileSpeculativeExecutionPolicy", "RackAwareRoundRobinPolicy", "ReconnectionPolicy",
    "RetryPolicy", "RoundRobinPolicy",
    "SimpleConvictionPolicy", "SpeculativeExecutionPlan", "SpeculativeExecutionPolicy", "TokenAwarePolicy",
    "WT", "WhiteListRoundRobinPolicy", "WrapperPolicy", "WriteType",
]  # fmt: skip

add_names(__name__, {
    "cassandra._compat.names": "DSELoadBalancingPolicy",
})  # fmt: skip
add_aliases(DCAwareRoundRobinPolicy, LoadBalancingPolicy, RackAwareRoundRobinPolicy, RoundRobinPolicy)
