"""Policies that were renamed (L6)."""

from __future__ import annotations

from typing import Any
from warnings import warn

from cassandra._base.objects import public
from cassandra._routing.policies import DefaultLoadBalancingPolicy


@public("cassandra.policies")
class DSELoadBalancingPolicy(DefaultLoadBalancingPolicy):
    """:class:`DefaultLoadBalancingPolicy` under its old name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        warn(
            "DSELoadBalancingPolicy will be removed in 4.0. Consider using DefaultLoadBalancingPolicy.",
            DeprecationWarning,
            stacklevel=2,
        )
