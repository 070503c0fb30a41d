"""Policies (cassandra.policies): load balancing, retry, reconnection, speculative execution, conviction,
translation."""

from .base import HostDistance, HostStateListener, LoadBalancingPolicy
from .conviction import ConvictionPolicy, SimpleConvictionPolicy
from .dcaware import DCAwareRoundRobinPolicy, RackAwareRoundRobinPolicy
from .encryption import ColDesc, ColumnEncryptionPolicy
from .latency import LatencyAwarePolicy
from .reconnection import ConstantReconnectionPolicy, ExponentialReconnectionPolicy, ReconnectionPolicy
from .retry import (
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    FallthroughRetryPolicy,
    NeverRetryPolicy,
    RetryPolicy,
)
from .roundrobin import RoundRobinPolicy, WhiteListRoundRobinPolicy
from .router import Router, router_for
from .speculative import (
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPlan,
    NoSpeculativeExecutionPolicy,
    SpeculativeExecutionPlan,
    SpeculativeExecutionPolicy,
)
from .tokenaware import TokenAwarePolicy
from .translation import AddressTranslator, EC2MultiRegionTranslator, IdentityTranslator
from .wrappers import DefaultLoadBalancingPolicy, HostFilterPolicy, WrapperPolicy

__all__ = [
    "AddressTranslator", "ColDesc", "ColumnEncryptionPolicy", "ConstantReconnectionPolicy",
    "ConstantSpeculativeExecutionPolicy", "ConvictionPolicy", "DCAwareRoundRobinPolicy",
    "DefaultLoadBalancingPolicy", "DowngradingConsistencyRetryPolicy", "EC2MultiRegionTranslator",
    "ExponentialBackoffRetryPolicy", "ExponentialReconnectionPolicy", "FallthroughRetryPolicy", "HostDistance",
    "HostFilterPolicy", "HostStateListener", "IdentityTranslator", "LatencyAwarePolicy", "LoadBalancingPolicy",
    "NeverRetryPolicy",
    "NoSpeculativeExecutionPlan", "NoSpeculativeExecutionPolicy", "RackAwareRoundRobinPolicy",
    "ReconnectionPolicy", "RetryPolicy", "RoundRobinPolicy", "Router", "SimpleConvictionPolicy",
    "SpeculativeExecutionPlan", "SpeculativeExecutionPolicy", "TokenAwarePolicy", "WhiteListRoundRobinPolicy",
    "WrapperPolicy", "router_for",
]  # fmt: skip
