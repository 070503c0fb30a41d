"""Policies (cassandra.policies): load balancing, retry, reconnection, speculative execution, conviction,
translation."""

from cassandra._base.encryption import ColDesc, ColumnEncryptionPolicy

from .base import HostDistance, HostStateListener, LoadBalancingPolicy
from .connection import (
    AddressTranslator,
    ConstantReconnectionPolicy,
    ConvictionPolicy,
    EC2MultiRegionTranslator,
    ExponentialReconnectionPolicy,
    IdentityTranslator,
    ReconnectionPolicy,
    SimpleConvictionPolicy,
)
from .failover import DCFailoverRoundRobinPolicy
from .load_balancing import (
    DCAwareRoundRobinPolicy,
    DefaultLoadBalancingPolicy,
    HostFilterPolicy,
    LatencyAwarePolicy,
    RackAwareRoundRobinPolicy,
    RoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
    WrapperPolicy,
)
from .retry import (
    ConstantSpeculativeExecutionPolicy,
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    LWTRetryPolicy,
    NeverRetryPolicy,
    NoSpeculativeExecutionPlan,
    NoSpeculativeExecutionPolicy,
    PercentileSpeculativeExecutionPolicy,
    RetryPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)
from .router import Router, router_for

__all__ = [
    "AddressTranslator", "ColDesc", "ColumnEncryptionPolicy", "ConstantReconnectionPolicy",
    "ConstantSpeculativeExecutionPolicy", "ConvictionPolicy", "DCAwareRoundRobinPolicy", "DCFailoverRoundRobinPolicy",
    "DefaultLoadBalancingPolicy", "DowngradingConsistencyRetryPolicy", "EC2MultiRegionTranslator",
    "ExponentialBackoffRetryPolicy", "ExponentialReconnectionPolicy", "FallthroughRetryPolicy", "HostDistance",
    "HostFilterPolicy", "HostStateListener", "IdentityTranslator", "LWTRetryPolicy", "LatencyAwarePolicy",
    "LoadBalancingPolicy", "NeverRetryPolicy",
    "NoSpeculativeExecutionPlan", "NoSpeculativeExecutionPolicy",
    "PercentileSpeculativeExecutionPolicy", "RackAwareRoundRobinPolicy",
    "ReconnectionPolicy", "RetryPolicy", "RoundRobinPolicy", "Router", "SimpleConvictionPolicy",
    "SpeculativeExecutionPlan", "SpeculativeExecutionPolicy", "TokenAwarePolicy", "WhiteListRoundRobinPolicy",
    "WrapperPolicy", "router_for",
]  # fmt: skip
