"""Options of clusters that a program sets in the class, or in one of its own; and the texts of warnings."""

# mypy: ignore-errors
# ruff: noqa
import logging
import warnings
from unittest.mock import patch

logging.disable(logging.CRITICAL)

from cases import case, each, show

from cassandra.cluster import Cluster, ExecutionProfile, EXEC_PROFILE_DEFAULT
from cassandra.policies import DowngradingConsistencyRetryPolicy, RetryPolicy, RoundRobinPolicy

OTHER = {
    "idle_heartbeat_interval": 7,
    "idle_heartbeat_timeout": 4,
    "protocol_version": 3,
    "connect_timeout": 9,
    "port": 77,
    "compression": False,
    "metrics_enabled": True,
    "control_connection_timeout": 7,
    "max_schema_agreement_wait": 3,
    "schema_event_refresh_window": 11,
    "topology_event_refresh_window": 12,
    "status_event_refresh_window": 13,
    "prepare_on_all_hosts": False,
    "reprepare_on_up": False,
    "allow_beta_protocol_version": True,
    "no_compact": True,
    "cql_version": "3.3",
    "sockopts": [(1, 2, 3)],
}

for name, value in OTHER.items():
    show(f"{name} of the class", lambda: getattr(Cluster, name))
    show(f"{name} of a cluster", lambda: getattr(Cluster(), name))
    own = type("Own", (Cluster,), {name: value})
    show(f"{name} of a subclass", lambda: (getattr(own, name), getattr(own(), name)))
    with patch.object(Cluster, name, value):
        show(f"{name} set in the class", lambda: (getattr(Cluster, name), getattr(Cluster(), name)))
        show(f"{name} given, too", lambda: getattr(Cluster(**{name: value}), name))
        show(f"{name} of a subclass then", lambda: getattr(type("Own", (Cluster,), {})(), name))
    show(f"{name} set back", lambda: (getattr(Cluster, name), getattr(Cluster(), name)))
    later = type("Later", (Cluster,), {})
    setattr(later, name, value)
    show(f"{name} set in a subclass", lambda: (getattr(later, name), getattr(later(), name), getattr(Cluster(), name)))


@case("a version of the class is used")
def _():
    own = type("Own", (Cluster,), {"protocol_version": 4})
    cluster = own()
    cluster.protocol_downgrade("host", 4) if False else None
    return cluster.protocol_version, own(protocol_version=3).protocol_version


@case("an option set in the object")
def _():
    with patch.object(Cluster, "idle_heartbeat_interval", 7):
        cluster = Cluster(idle_heartbeat_interval=0)
        first = cluster.idle_heartbeat_interval
        cluster.idle_heartbeat_interval = 5
        return first, cluster.idle_heartbeat_interval, Cluster.idle_heartbeat_interval


# ---- what is told of what is old


RELEASE = "in 4.0", "in a future release"  # theirs, which is not one of this driver; ours


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            function()
        except Exception as error:
            print("   ", type(error).__name__)
    return [(one.category.__name__, str(one.message).replace(*RELEASE)) for one in found]


def profiles():
    return {EXEC_PROFILE_DEFAULT: ExecutionProfile()}


show("a policy", told, lambda: Cluster(load_balancing_policy=RoundRobinPolicy()))
show("a retry policy", told, lambda: Cluster(default_retry_policy=RetryPolicy()))
show("both", told, lambda: Cluster(load_balancing_policy=RoundRobinPolicy(), default_retry_policy=RetryPolicy()))
show("neither", told, Cluster)
show("profiles", told, lambda: Cluster(execution_profiles=profiles()))
show("set later", told, lambda: setattr(Cluster(), "load_balancing_policy", RoundRobinPolicy()))
show("retry set later", told, lambda: setattr(Cluster(), "default_retry_policy", RetryPolicy()))
show("both kinds", told, lambda: Cluster(execution_profiles=profiles(), default_retry_policy=RetryPolicy()))
show("metadata off", told, lambda: Cluster().set_meta_refresh_enabled(False))
show("downgrading", told, DowngradingConsistencyRetryPolicy)
