"""Policies: which host, whether to retry, when to reconnect, which address, when to try a second host meanwhile."""

from typing import Any

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
    NeverRetryPolicy,
    NoSpeculativeExecutionPlan,
    NoSpeculativeExecutionPolicy,
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

__all__ = [
    "AddressTranslator", "ColDesc", "ColumnEncryptionPolicy", "ConsistencyLevel", "ConstantReconnectionPolicy",
    "ConstantSpeculativeExecutionPolicy", "ConvictionPolicy", "DCAwareRoundRobinPolicy",
    "DefaultLoadBalancingPolicy", "DowngradingConsistencyRetryPolicy", "EC2MultiRegionTranslator",
    "ExponentialBackoffRetryPolicy", "ExponentialReconnectionPolicy", "FallthroughRetryPolicy", "HostDistance",
    "HostFilterPolicy", "HostStateListener", "IdentityTranslator", "LatencyAwarePolicy", "LoadBalancingPolicy",
    "NeverRetryPolicy", "NoSpeculativeExecutionPlan", "NoSpeculativeExecutionPolicy", "OperationTimedOut",
    "RackAwareRoundRobinPolicy", "ReconnectionPolicy", "RetryPolicy", "RoundRobinPolicy",
    "SimpleConvictionPolicy", "SpeculativeExecutionPlan", "SpeculativeExecutionPolicy", "TokenAwarePolicy",
    "WT", "WhiteListRoundRobinPolicy", "WrapperPolicy", "WriteType",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "DSELoadBalancingPolicy":
        raise ImportError("DSELoadBalancingPolicy is not included in fastcql; use DefaultLoadBalancingPolicy")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
