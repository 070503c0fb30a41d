"""Options of requests: execution profiles, their manager, and overrides by a session or by one call.

L5. A profile is a mutable public object; a request needs one consistent set of values.
:meth:`ExecutionProfile.resolved` gives it as a frozen :class:`ResolvedProfile`, built once and again after an attribute
of the profile was set. The manager passes host events to each distinct load balancing policy once; membership calls it,
one event at a time.

Request options exist twice in the public API: as *legacy* attributes of cluster and session, and in profiles. Profiles
given to the constructor exclude legacy attributes, and a legacy attribute that was set excludes adding profiles
(``mode``). Legacy attributes of a session override its default profile.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.logs import get_logger
from cassandra._base.versions import seconds
from cassandra._core.routing import ProfileFields
from cassandra._routing.policies import (
    DCAwareRoundRobinPolicy,
    HostDistance,
    LoadBalancingPolicy,
    NoSpeculativeExecutionPolicy,
    RetryPolicy,
    SpeculativeExecutionPolicy,
    TokenAwarePolicy,
)
from cassandra._routing.policies.router import leaf_of
from cassandra._session.statements.statement import EXEC_PROFILE_DEFAULT as EXEC_PROFILE_DEFAULT
from cassandra._session.statements.statement import NOT_SET, Sentinel
from cassandra._wire.rows import named_tuple_factory

from . import config
from .config import ConfigMode, ControlConnectionQueryFallback

if TYPE_CHECKING:
    from cassandra._routing.host import Host

    from .options import ClusterOptions
    from .session import Session

log = get_logger("cassandra.cluster")

OF_PROFILE: Any = NOT_SET  # instead of a row factory, because None is a valid one

# They begin as those of scylla-driver do, for warning filters of programs that match them.
LEGACY = "Legacy execution parameters will be removed in a future release. Consider using execution profiles."
LEGACY_CONSISTENCY = (
    "Setting the consistency level at the session level will be removed in a future release. Consider using execution "
    "profiles and setting the desired consistency level to the EXEC_PROFILE_DEFAULT profile."
)

ProfileKey = Any  # a name, any hashable, or EXEC_PROFILE_DEFAULT


def default_lbp_factory() -> LoadBalancingPolicy:
    """Return the load balancing policy of a profile without one: replicas first, within the local datacenter."""
    return TokenAwarePolicy(DCAwareRoundRobinPolicy())


def checked_prefetch(pages: Any) -> int:
    """Return *pages*, which must be 0 or 1: the paging state of a page is only known from the page before it."""
    if pages not in (0, 1):
        raise ValueError(f"prefetch must be 1 (the next page) or 0 (none), not {pages!r}")
    return int(pages)


class ResolvedProfile:
    """The options of one request. Immutable; read with every request, hence the slots."""

    __slots__ = (
        "_name",
        "consistency_level",
        "continuous_paging_options",
        "load_balancing_policy",
        "prefetch",
        "request_timeout",
        "retry_policy",
        "row_factory",
        "serial_consistency_level",
        "speculative_execution_policy",
        "strict_binding",
    )

    load_balancing_policy: LoadBalancingPolicy
    retry_policy: RetryPolicy
    consistency_level: int
    serial_consistency_level: int | None
    request_timeout: float | None
    row_factory: Callable[..., Any]
    speculative_execution_policy: SpeculativeExecutionPolicy
    continuous_paging_options: Any
    prefetch: int
    strict_binding: bool | None
    _name: str | None  # see ExecutionProfile

    def __init__(self, **options: Any) -> None:
        """*options*: all of the attributes."""
        for name in self.__slots__:
            object.__setattr__(self, name, options.pop(name))
        if options:
            raise TypeError(f"unknown profile options: {sorted(options)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot set {name}: resolved profiles are immutable")

    def replace(self, **changes: Any) -> ResolvedProfile:
        """Return a copy with other values."""
        return ResolvedProfile(**{name: getattr(self, name) for name in self.__slots__} | changes)


class ExecutionProfile(ProfileFields):
    """Options of a class of requests, given to ``Cluster(execution_profiles={name: profile})``.

    *request_timeout* is in seconds, None waits without limit. With *prefetch*, of 1 page, the next page of a result is
    requested as soon as iteration passes the first row of the page before it; 0 requests it when it is needed.
    *strict_binding* overrides that of the cluster: True raises an error for incomplete values and unknown names of
    parameters. Attributes may be set later; requests sent after that use them.
    """

    __module__ = "cassandra.cluster"

    #: Selects and orders the hosts of a request. Default: ``TokenAwarePolicy(DCAwareRoundRobinPolicy())``.
    load_balancing_policy: LoadBalancingPolicy = None  # type: ignore[assignment]  # made by the constructor
    #: Decides what to do after an error. Default: :class:`~cassandra.policies.RetryPolicy`.
    retry_policy: RetryPolicy = None  # type: ignore[assignment]
    consistency_level: int = ConsistencyLevel.LOCAL_ONE  #: Consistency level of statements that have none of their own.
    #: SERIAL or LOCAL_SERIAL for conditional statements; None leaves it to the server.
    serial_consistency_level: int | None = None
    #: Seconds until a request fails with :exc:`~cassandra.OperationTimedOut`; None waits without limit.
    request_timeout: float | None = 10.0
    #: Called with column names and rows of a page; returns the rows of the result. None: tuples.
    row_factory: Callable[..., Any] = staticmethod(named_tuple_factory)
    #: Sends idempotent requests to further hosts before there is a response. Default: never.
    speculative_execution_policy: SpeculativeExecutionPolicy = None  # type: ignore[assignment]
    continuous_paging_options: Any = None  #: Without effect; for programs that name it.
    prefetch: int = 1  #: 1 requests the next page of a result ahead, 0 when it is needed.
    strict_binding: bool | None = None  #: See :attr:`Cluster.strict_binding`; None: as the cluster.

    _resolved: tuple[int, ResolvedProfile] | None = None
    _name: str | None = None  # as it was added to a cluster first

    def __init__(
        self,
        load_balancing_policy: LoadBalancingPolicy | Sentinel | None = NOT_SET,
        retry_policy: RetryPolicy | None = None,
        consistency_level: int | Sentinel = NOT_SET,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = 10.0,
        row_factory: Callable[..., Any] = named_tuple_factory,
        speculative_execution_policy: SpeculativeExecutionPolicy | None = None,
        continuous_paging_options: Any = None,
        prefetch: int = 1,
        strict_binding: bool | None = None,
    ) -> None:
        if serial_consistency_level is not None and not ConsistencyLevel.is_serial(serial_consistency_level):
            raise ValueError(
                "serial_consistency_level must be either ConsistencyLevel.SERIAL or "
                f"ConsistencyLevel.LOCAL_SERIAL, not {serial_consistency_level!r}"
            )
        self._consistency_level_explicit = not isinstance(consistency_level, Sentinel)
        self._load_balancing_policy_explicit = not isinstance(load_balancing_policy, Sentinel)
        if load_balancing_policy is None or isinstance(load_balancing_policy, Sentinel):
            load_balancing_policy = default_lbp_factory()
        self.load_balancing_policy = load_balancing_policy
        self.retry_policy = retry_policy or RetryPolicy()
        self.consistency_level = (
            ConsistencyLevel.LOCAL_ONE if isinstance(consistency_level, Sentinel) else consistency_level
        )
        self.serial_consistency_level = serial_consistency_level
        self.request_timeout = request_timeout
        self.row_factory = row_factory
        self.speculative_execution_policy = speculative_execution_policy or NoSpeculativeExecutionPolicy()
        self.continuous_paging_options = continuous_paging_options
        self.prefetch = checked_prefetch(prefetch)
        self.strict_binding = strict_binding

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "request_timeout":
            seconds(name, value, negative=True)
        self.__dict__[name] = value
        super().__setattr__("_version", self._version + 1)  # counts attribute writes

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_resolved"}

    def resolved(self) -> ResolvedProfile:
        """Return the current options as one immutable value."""
        version = self._version
        cached = self._resolved
        if cached is not None and cached[0] == version:
            return cached[1]
        resolved = ResolvedProfile(**{name: getattr(self, name) for name in ResolvedProfile.__slots__})
        self.__dict__["_resolved"] = (version, resolved)
        return resolved


class ProfileManager:
    """The profiles of one cluster, by name, and host events for all their policies."""

    __module__ = "cassandra.cluster"

    def __init__(self, pools_allowed: bool = True) -> None:
        self.profiles: dict[ProfileKey, ExecutionProfile] = {}  #: Profiles by name.
        self.pools_allowed = pools_allowed  #: False if no pools are opened.
        self.remote_allowed = True  #: False if hosts at the distance REMOTE get no connections.
        self.mode = ConfigMode.UNCOMMITTED  #: Whether the program uses profiles or legacy parameters.
        self.contact_points: Sequence[Any] | None = None  #: Contact points, if the program has given any.

    @property
    def default(self) -> ExecutionProfile:
        """The profile of requests without an explicit one."""
        return self.profiles[EXEC_PROFILE_DEFAULT]

    # ---- constructor arguments, and later changes

    @classmethod
    def from_options(
        cls,
        options: ClusterOptions,
        profiles: Mapping[Any, ExecutionProfile] | None,
        load_balancing_policy: LoadBalancingPolicy | None,
        retry_policy: RetryPolicy | None,
    ) -> ProfileManager:
        """Return the manager of *profiles*, or of one default profile with the legacy parameters; raise ValueError for
        both."""
        legacy = load_balancing_policy is not None or retry_policy is not None
        if profiles and not isinstance(profiles, Mapping):
            raise TypeError(f"execution_profiles should be a dict of names and profiles, not {profiles!r}")
        if profiles and legacy:
            raise ValueError(
                "Clusters constructed with execution_profiles should not specify legacy parameters "
                "(load_balancing_policy, default_retry_policy). Configure this in a profile instead."
            )
        if load_balancing_policy is not None:
            config.instance("load_balancing_policy", load_balancing_policy)
        if retry_policy is not None:
            config.instance("default_retry_policy", retry_policy)
        fallback = options.allow_control_connection_query_fallback
        manager = cls(fallback is not ControlConnectionQueryFallback.SkipPoolCreation)
        for name, profile in (profiles or {}).items():
            manager.profiles[name] = check_profile(name, profile)
        if EXEC_PROFILE_DEFAULT not in manager.profiles:
            default = ExecutionProfile(load_balancing_policy or default_lbp_factory(), retry_policy)
            manager.profiles[EXEC_PROFILE_DEFAULT] = check_profile(EXEC_PROFILE_DEFAULT, default)
        if profiles:
            manager.mode = ConfigMode.PROFILES
        elif legacy:
            manager.mode = ConfigMode.LEGACY
            warnings.warn(LEGACY, DeprecationWarning, stacklevel=3)
        if options._contact_points_given:
            manager.contact_points = options.contact_points
            unsaid = [str(name) for name, each in (profiles or {}).items() if not each._load_balancing_policy_explicit]
            if unsaid:
                manager.warn_of_guess(f"Cluster() without a policy in the profiles {', '.join(unsaid)}")
            elif not profiles and load_balancing_policy is None:
                manager.warn_of_guess("Cluster() without a policy")
        return manager

    def warn_of_guess(self, what: str) -> None:
        """Warn that contact points are given, but no policy has a local datacenter."""
        log.warning(
            f"{what}: the datacenter of the first contact point becomes the local one; please specify a load-balancing "
            f"policy with local_dc. (contact_points = {list(self.contact_points or ())})"
        )

    def commit_legacy(self, what: str) -> None:
        """Prepare for setting a legacy option; raise ValueError when profiles are in use."""
        if what == "Session.default_consistency_level":
            warnings.warn(LEGACY_CONSISTENCY, DeprecationWarning, stacklevel=4)
        if self.mode is ConfigMode.PROFILES:
            raise ValueError(f"Cannot set {what} while using Configuration Profiles. Set this in a profile instead.")
        self.mode = ConfigMode.LEGACY

    @property
    def load_balancing_policy(self) -> LoadBalancingPolicy:
        """The policy of the default profile; setting it is the legacy way (ValueError when profiles are in use)."""
        return self.default.load_balancing_policy

    @load_balancing_policy.setter
    def load_balancing_policy(self, policy: LoadBalancingPolicy) -> None:
        self.commit_legacy("Cluster.load_balancing_policy")
        self.default.load_balancing_policy = config.instance("load_balancing_policy", policy)

    @property
    def default_retry_policy(self) -> RetryPolicy:
        """The retry policy of the default profile; setting it is the legacy way (ValueError when profiles are in
        use)."""
        return self.default.retry_policy

    @default_retry_policy.setter
    def default_retry_policy(self, policy: RetryPolicy) -> None:
        self.commit_legacy("Cluster.default_retry_policy")
        self.default.retry_policy = config.instance("default_retry_policy", policy)

    @property
    def connect_to_remote_hosts(self) -> bool:
        """True if hosts that the policies call REMOTE get connections; set it before connecting."""
        return self.remote_allowed

    @connect_to_remote_hosts.setter
    def connect_to_remote_hosts(self, allowed: bool) -> None:
        self.remote_allowed = bool(allowed)

    def check_new(self, name: ProfileKey, profile: Any) -> None:
        """Check *profile* before it is added: TypeError for another type, ValueError for a name in use, or when legacy
        options are."""
        check_profile(name, profile)
        if name in self.profiles:
            raise ValueError(f"Profile {name!r} already exists")
        if self.mode is ConfigMode.LEGACY:
            raise ValueError("Cannot add execution profiles when legacy parameters are set explicitly.")
        if self.contact_points is not None and not profile._load_balancing_policy_explicit:
            self.warn_of_guess(f"A program is trying to add the execution profile {name!r} without a policy")

    def add(self, name: ProfileKey, profile: ExecutionProfile, cluster: Any, hosts: list[Host]) -> None:
        """Add *profile*; its policy is populated with *cluster* and *hosts*. On the membership's strand, so that no
        host state change is missed."""
        policy = profile.load_balancing_policy
        if all(policy is not known for known in self.policies()) and hosts:
            policy.populate(cluster, hosts)
            for host in hosts:
                if host.is_up is False:
                    policy.on_down(host)
            policy.check_supported()
        self.profiles = {**self.profiles, name: profile}

    # ---- queries

    def resolved(self, profile: ProfileKey | ExecutionProfile) -> ResolvedProfile:
        """Return the options of the profile added under a name, or of a profile object. Raise ValueError for an unknown
        name."""
        if not isinstance(profile, ExecutionProfile):
            try:
                profile = self.profiles[profile]
            except (KeyError, TypeError):
                raise ValueError(
                    f"Invalid execution_profile: {profile!r}; valid profiles are {list(self.profiles)}"
                ) from None
        return profile.resolved()

    def policies(self) -> list[LoadBalancingPolicy]:
        """Return every distinct load balancing policy once, although profiles may share one."""
        return list({id(p.load_balancing_policy): p.load_balancing_policy for p in self.profiles.values()}.values())

    def check_supported(self) -> None:
        """Let each policy reject the cluster that it was given."""
        for policy in self.policies():
            policy.check_supported()

    def populate(self, cluster: Any, hosts: Iterable[Host]) -> None:
        """Populate each policy with the cluster and the hosts known so far."""
        known = list(hosts)
        for policy in self.policies():
            policy.populate(cluster, known)

    def distance(self, host: Host) -> int:
        """Return the nearest distance that any policy gives *host*; it decides if the host gets a pool, and how
        large."""
        if not self.pools_allowed:
            return HostDistance.IGNORED
        distances = {policy.distance(host) for policy in self.policies()}
        for distance in (HostDistance.LOCAL_RACK, HostDistance.LOCAL):
            if distance in distances:
                return distance
        remote = self.remote_allowed and HostDistance.REMOTE in distances
        return HostDistance.REMOTE if remote else HostDistance.IGNORED

    def on_suspect(self) -> None:
        """Notify the policies that fail over: a host has become silent. On the I/O thread."""
        for policy in self.policies():
            on_suspect = getattr(leaf_of(policy), "_on_suspect", None)
            if on_suspect is not None:
                on_suspect()

    def on_up(self, host: Host) -> None:
        """Notify the policies that *host* can be used."""
        self._notify_policies("on_up", host)

    def on_down(self, host: Host) -> None:
        """Notify the policies that *host* cannot be used for now."""
        self._notify_policies("on_down", host)

    def on_add(self, host: Host) -> None:
        """Notify the policies that *host* joined the cluster."""
        self._notify_policies("on_add", host)

    def on_remove(self, host: Host) -> None:
        """Notify the policies that *host* left the cluster."""
        self._notify_policies("on_remove", host)

    def _notify_policies(self, event: str, host: Host) -> None:
        """Call each policy; a failure of one must not keep the event from the others."""
        for policy in self.policies():
            try:
                getattr(policy, event)(host)
            except Exception:
                log.exception("%s of the load balancing policy %r failed for %s", event, policy, host)


def check_profile(name: Any, profile: ExecutionProfile) -> ExecutionProfile:
    """Return *profile*, which has a name from now on; raise TypeError for another type, and for a load balancing policy
    that is no object."""
    if not isinstance(profile, ExecutionProfile):
        raise TypeError(f"Execution profile {name!r} should be an ExecutionProfile, not {profile!r}")
    policy = config.instance("load_balancing_policy", profile.load_balancing_policy)
    child = getattr(policy, "_child_policy", None)
    if isinstance(child, (type, str)):
        raise TypeError(f"the child policy of {type(policy).__name__} should be a policy object, not {child!r}")
    if profile._name is None:
        profile._name = "default" if name is EXEC_PROFILE_DEFAULT else str(name)
    return profile


# ---- options of a session, and of one call


def profile_option(name: str, attribute: str, doc: str) -> property:
    """Return a property for the legacy session option *name*: it reads *attribute* of the default profile, and
    overrides it for this session when set."""

    def read(self: Session) -> Any:
        return getattr(self._resolve_profile(EXEC_PROFILE_DEFAULT), attribute)

    def write(self: Session, value: Any) -> None:
        if name == "default_serial_consistency_level" and value is not None and not ConsistencyLevel.is_serial(value):
            raise ValueError(f"{name} must be either ConsistencyLevel.SERIAL or ConsistencyLevel.LOCAL_SERIAL.")
        if name == "default_timeout":
            seconds(name, value, negative=True)
        self.cluster.profile_manager.commit_legacy(f"Session.{name}")
        self._overrides.change(lambda overrides: {**overrides, attribute: value})
        self._forget_plans()

    return property(read, write, doc=doc)


def of_call(row_factory: Any, prefetch: int | None) -> dict[str, Any] | None:
    """Return the options of one call, as attributes of its request; None if there are none."""
    if row_factory is OF_PROFILE and prefetch is None:
        return None
    own: dict[str, Any] = {}
    if row_factory is not OF_PROFILE:
        if row_factory is not None and not callable(row_factory):
            raise TypeError(f"row_factory must be callable with column names and rows, not {row_factory!r}")
        own["row_factory"] = row_factory
    if prefetch is not None:
        own["_prefetch"] = checked_prefetch(prefetch)
    return own


def of_caller(row_factory: Any, prefetch: int | None) -> dict[str, Any]:
    """Return the options of one call as keyword arguments."""
    given = {} if row_factory is OF_PROFILE else {"row_factory": row_factory}
    return given if prefetch is None else {**given, "prefetch": prefetch}
