"""Policies alone, without a cluster: distances, plans, decisions, schedules, arguments."""

# mypy: ignore-errors
# ruff: noqa
import itertools
import logging
import random
import uuid
import warnings
from types import SimpleNamespace
from unittest.mock import Mock

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from cassandra import ConsistencyLevel as CL
from cassandra import OperationType, WriteType, cluster, connection, policies, query
from cassandra.policies import *
from cassandra.policies import (
    IdentityTranslator,
    EC2MultiRegionTranslator,
    ConvictionPolicy,
    NoSpeculativeExecutionPlan,
    SpeculativeExecutionPlan,
)
from cassandra.pool import Host
from cassandra.tablets import Tablet
from cassandra.connection import DefaultEndPoint, SniEndPoint, UnixSocketEndPoint


ADDED = {"slow_replica_avoidance"}  # theirs does not have it


def text(value):
    if isinstance(value, Host):
        return str(value.endpoint)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(text, value)) + "]"
    return repr(value)


def show(name, function, *args, **kwargs):
    try:
        print(name, "->", text(function(*args, **kwargs)))
    except Exception as error:
        print(name, "raises", type(error).__name__, str(error)[:150])


def quiet(name, function, *args, **kwargs):
    try:
        print(name, "->", text(function(*args, **kwargs)))
    except Exception as error:
        print(name, "raises", type(error).__name__)


def host(number, dc=None, rack=None, up=True):
    made = Host(DefaultEndPoint(f"10.0.0.{number}"), SimpleConvictionPolicy, host_id=uuid.UUID(int=number))
    if dc is not None:
        made.set_location_info(dc, rack)
    if up:
        made.set_up()
    return made


def hosts(*places):
    return [host(number, *place) for number, place in enumerate(places, 1)]


NINE = [
    ("dc1", "r1"),
    ("dc1", "r2"),
    ("dc1", "r1"),
    ("dc2", "r1"),
    ("dc2", "r2"),
    ("dc2", "r1"),
    ("dc3", "r3"),
    ("dc1", "r3"),
    ("dc3", "r1"),
]


def fake_cluster(found=(), points=("10.0.0.1",)):
    return SimpleNamespace(
        contact_points=list(points),
        endpoints_resolved=[DefaultEndPoint(point) for point in points],
        metadata=Mock(**{"get_host.return_value": None}),
        sessions=[],
        profile_manager=Mock(),
    )


def places_of(plan, policy):
    """How many hosts of which distance and datacenter, in the order of distances: which of them is not defined."""
    plan = list(plan)
    far = [policy.distance(one) == HostDistance.REMOTE for one in plan]
    counts = {}
    for one in plan:
        place = policy.distance(one), one.datacenter or ""
        counts[place] = counts.get(place, 0) + 1
    return [far == sorted(far), *sorted(counts.items())]


def plan_of(policy):
    return places_of(policy.make_query_plan(), policy)


# ---- distances and plans

random.seed(1)
MADE = {
    "rr": lambda: RoundRobinPolicy(),
    "dc dc1": lambda: DCAwareRoundRobinPolicy("dc1"),
    "dc dc1 1": lambda: DCAwareRoundRobinPolicy("dc1", 1),
    "dc dc2 2": lambda: DCAwareRoundRobinPolicy("dc2", used_hosts_per_remote_dc=2),
    "dc none": lambda: DCAwareRoundRobinPolicy(),
    "dc none 1": lambda: DCAwareRoundRobinPolicy(used_hosts_per_remote_dc=1),
    "dc nowhere": lambda: DCAwareRoundRobinPolicy("nowhere"),
    "dc nowhere 1": lambda: DCAwareRoundRobinPolicy("nowhere", 1),
    "rack dc1 r1": lambda: RackAwareRoundRobinPolicy("dc1", "r1"),
    "rack dc1 r1 1": lambda: RackAwareRoundRobinPolicy("dc1", "r1", 1),
    "rack dc2 r9 3": lambda: RackAwareRoundRobinPolicy("dc2", "r9", used_hosts_per_remote_dc=3),
    "white": lambda: WhiteListRoundRobinPolicy(["10.0.0.2", "10.0.0.5"]),
    "white none": lambda: WhiteListRoundRobinPolicy([]),
    "filter": lambda: HostFilterPolicy(RoundRobinPolicy(), lambda h: h.address != "10.0.0.3"),
    "filter dc": lambda: HostFilterPolicy(DCAwareRoundRobinPolicy("dc1"), lambda h: h.rack == "r1"),
    "default": lambda: DefaultLoadBalancingPolicy(RoundRobinPolicy()),
    "default dc": lambda: DefaultLoadBalancingPolicy(DCAwareRoundRobinPolicy("dc1", 1)),
    "dse": lambda: DSELoadBalancingPolicy(RoundRobinPolicy()),
}
for name, make in MADE.items():
    for what, places in (
        ("nine", NINE),
        ("unknown", [(), (), ()]),
        ("mixed", [("dc1", "r1"), (), ("dc2", None)]),
        ("one", [("dc2", "r1")]),
        ("none", []),
    ):
        if ("rack" in name or "none" in name) and what in ("unknown", "mixed"):
            continue  # theirs gives hosts of unknown places twice, or not at all
        policy, found = make(), hosts(*places)
        context = fake_cluster(found)
        quiet(f"{name} {what} populate", policy.populate, context, list(found))
        if "none" in name:  # theirs chooses a datacenter with the first event only
            for one in found:
                policy.on_up(one)
        quiet(f"{name} {what} check_supported", policy.check_supported)
        if "dc" in name:
            quiet(f"{name} {what} local_dc", lambda: getattr(policy, "local_dc", None))
        quiet(f"{name} {what} distances", lambda: places_of(found, policy))
        for turn in range(2):
            quiet(f"{name} {what} plan {turn}", lambda: places_of(policy.make_query_plan(), policy))
        if found:
            if "rack" not in name:  # theirs begins with one host again and again
                quiet(
                    f"{name} {what} covers",
                    lambda: len({next(iter(policy.make_query_plan()), None) for _ in range(27)}),
                )
            policy.on_down(found[0])
            quiet(f"{name} {what} after down", lambda: plan_of(policy))
            quiet(f"{name} {what} distance after down", lambda: places_of(found, policy))
            policy.on_up(found[0])
            quiet(f"{name} {what} after up", lambda: plan_of(policy))
            policy.on_remove(found[-1])
            quiet(f"{name} {what} after remove", lambda: plan_of(policy))
            added = host(77, "dc2", "r7")
            policy.on_add(added)
            quiet(f"{name} {what} after add", lambda: plan_of(policy))
            quiet(f"{name} {what} distance of added", policy.distance, added)
            policy.on_add(added)
            quiet(f"{name} {what} added twice", lambda: plan_of(policy))
            stranger = host(99, "dc1", "r1")
            quiet(f"{name} {what} distance of a stranger", policy.distance, stranger)
            policy.on_down(stranger)
            policy.on_remove(stranger)
            quiet(f"{name} {what} after a stranger", lambda: plan_of(policy))

# ---- local DC

for name, places, points in (
    ("first contact point", NINE, ["10.0.0.1"]),
    ("second has one", [(), ("dc2", "r1"), ("dc3", "r1")], ["10.0.0.1", "10.0.0.2"]),
    ("no contact point is a host", NINE[3:], ["10.9.9.9"]),
    ("no dc at first", [(), ()], ["10.0.0.1"]),
):
    policy, found = DCAwareRoundRobinPolicy(), hosts(*places)
    policy.populate(fake_cluster(found, points), list(found))
    for one in found:
        policy.on_up(one)
        policy.on_add(one)
    print("local dc", name, repr(policy.local_dc))
    later = host(50, "dc9", "r1")
    policy.on_add(later)
    print("local dc", name, "after add", repr(policy.local_dc))
    found[0].set_location_info("dc5", "r1")
    policy.on_up(found[0])
    print("local dc", name, "after up", repr(policy.local_dc))
policy = DCAwareRoundRobinPolicy()
policy.populate(Mock(), [host(1)])
print("local dc of a mock", repr(policy.local_dc))
policy.on_add(host(2, "dc2"))
print("local dc of a mock", repr(policy.local_dc))

# ---- plans while hosts change


def changing(name, make, places, steps, *changes):
    """A plan of which *steps* hosts are taken before the *changes*."""
    policy, found = make(), hosts(*places)
    policy.populate(fake_cluster(found), list(found))
    plan = policy.make_query_plan()
    taken = [next(plan) for _ in range(steps)]
    for event, one in changes:
        getattr(policy, event)(found[one] if isinstance(one, int) else one)
    rest = list(plan)
    print(
        "changing",
        name,
        steps,
        [len(taken), len(rest)],
        sorted((one.datacenter or "-", one.rack or "-") for one in rest),
    )


TWO = [("dc1", "r1"), ("dc1", "r1"), ("dc2", "r1"), ("dc2", "r1")]
for name, make in (
    ("dc", lambda: DCAwareRoundRobinPolicy("dc1", used_hosts_per_remote_dc=3)),
    ("rack", lambda: RackAwareRoundRobinPolicy("dc1", "r1", used_hosts_per_remote_dc=3)),
):
    for steps in range(5):
        for dc in ("dc1", "dc2", "dc3"):
            for rack in ("r1", "r2"):
                changing(f"{name} up {dc} {rack}", make, TWO, steps, ("on_up", host(9, dc, rack)))
        changing(f"{name} down local", make, TWO, steps, ("on_down", 0), ("on_down", 1))
        changing(f"{name} down remote", make, TWO, steps, ("on_down", 2), ("on_down", 3))
        changing(f"{name} all down", make, TWO, steps, *(("on_down", number) for number in range(4)))
        changing(
            f"{name} exchanged",
            make,
            TWO,
            steps,
            ("on_down", 2),
            ("on_down", 3),
            ("on_add", host(9, "dc3", "r1")),
            ("on_add", host(10, "dc2", "r1")),
        )

# ---- arguments

for name, make in (
    ("dc no args", lambda: DCAwareRoundRobinPolicy()),
    ("dc empty", lambda: DCAwareRoundRobinPolicy("")),
    ("dc None", lambda: DCAwareRoundRobinPolicy(None)),
    ("dc keyword", lambda: DCAwareRoundRobinPolicy(local_dc="x", used_hosts_per_remote_dc=3)),
    ("rack one", lambda: RackAwareRoundRobinPolicy("r")),
    ("token nothing", lambda: TokenAwarePolicy()),
    ("token", lambda: TokenAwarePolicy(RoundRobinPolicy())),
    ("token keyword", lambda: TokenAwarePolicy(child_policy=RoundRobinPolicy(), shuffle_replicas=False)),
    ("white nothing", lambda: WhiteListRoundRobinPolicy()),
    ("white unix", lambda: WhiteListRoundRobinPolicy([UnixSocketEndPoint("/tmp/x")])),
    ("white name", lambda: WhiteListRoundRobinPolicy(["localhost"])),
    ("white bad name", lambda: WhiteListRoundRobinPolicy(["no.such.name.invalid"])),
    ("white int", lambda: WhiteListRoundRobinPolicy([5])),
    ("white str", lambda: WhiteListRoundRobinPolicy("10")),
    ("filter nothing", lambda: HostFilterPolicy()),
    ("filter", lambda: HostFilterPolicy(RoundRobinPolicy(), None)),
    ("filter keywords", lambda: HostFilterPolicy(child_policy=RoundRobinPolicy(), predicate=bool)),
    ("default nothing", lambda: DefaultLoadBalancingPolicy()),
    ("base", lambda: LoadBalancingPolicy()),
    ("constant", lambda: ConstantReconnectionPolicy(1)),
    ("constant negative", lambda: ConstantReconnectionPolicy(-1)),
    ("constant attempts", lambda: ConstantReconnectionPolicy(1, -1)),
    ("constant zero", lambda: ConstantReconnectionPolicy(1, 0)),
    ("constant None", lambda: ConstantReconnectionPolicy(None)),
    ("exponential", lambda: ExponentialReconnectionPolicy(1, 2)),
    ("exponential negative", lambda: ExponentialReconnectionPolicy(-1, 2)),
    ("exponential negative max", lambda: ExponentialReconnectionPolicy(1, -2)),
    ("exponential swapped", lambda: ExponentialReconnectionPolicy(2, 1)),
    ("exponential attempts", lambda: ExponentialReconnectionPolicy(1, 2, -1)),
    ("exponential one", lambda: ExponentialReconnectionPolicy(1)),
    ("speculative", lambda: ConstantSpeculativeExecutionPolicy(1, 2)),
    ("speculative one", lambda: ConstantSpeculativeExecutionPolicy(1)),
    ("backoff", lambda: ExponentialBackoffRetryPolicy(3)),
    ("backoff nothing", lambda: ExponentialBackoffRetryPolicy()),
    ("backoff all", lambda: ExponentialBackoffRetryPolicy(3, 0.5, 2)),
    ("conviction", lambda: SimpleConvictionPolicy()),
    ("ec2", lambda: EC2MultiRegionTranslator()),
    ("abstract speculative", lambda: SpeculativeExecutionPolicy().new_plan("ks", None)),
    ("abstract plan", lambda: SpeculativeExecutionPlan().next_execution(None)),
    ("abstract reconnection", lambda: ReconnectionPolicy().new_schedule()),
    ("abstract distance", lambda: LoadBalancingPolicy().distance(None)),
    ("abstract populate", lambda: LoadBalancingPolicy().populate(None, None)),
    ("abstract plan", lambda: LoadBalancingPolicy().make_query_plan()),
    ("abstract check", lambda: LoadBalancingPolicy().check_supported()),
    ("abstract listener", lambda: [LoadBalancingPolicy().on_up(None)]),
    ("abstract conviction", lambda: ConvictionPolicy(None).add_failure(None)),
    ("abstract translator", lambda: AddressTranslator().translate("x")),
    ("identity", lambda: IdentityTranslator().translate("x")),
    ("none plan", lambda: NoSpeculativeExecutionPolicy().new_plan("ks", None).next_execution(None)),
    ("whitelist no hosts", lambda: WhiteListRoundRobinPolicy(hosts=["127.0.0.1"])),
):
    try:
        made = make()
        print(
            "make",
            name,
            type(made).__name__,
            sorted(key for key in vars(made) if not key.startswith("_") and key not in ADDED)
            if hasattr(made, "__dict__")
            else repr(made),
        )
    except Exception as error:
        print("make", name, "raises", type(error).__name__)

# ---- attributes

for cls in (
    RoundRobinPolicy,
    DCAwareRoundRobinPolicy,
    RackAwareRoundRobinPolicy,
    TokenAwarePolicy,
    WhiteListRoundRobinPolicy,
    HostFilterPolicy,
    DefaultLoadBalancingPolicy,
    DSELoadBalancingPolicy,
    LoadBalancingPolicy,
    RetryPolicy,
    FallthroughRetryPolicy,
    NeverRetryPolicy,
    DowngradingConsistencyRetryPolicy,
    ExponentialBackoffRetryPolicy,
    ConstantReconnectionPolicy,
    ExponentialReconnectionPolicy,
    SimpleConvictionPolicy,
    ConvictionPolicy,
    HostStateListener,
    HostDistance,
    AddressTranslator,
    IdentityTranslator,
    EC2MultiRegionTranslator,
    SpeculativeExecutionPolicy,
    ConstantSpeculativeExecutionPolicy,
    NoSpeculativeExecutionPolicy,
    CL,
    OperationType,
):
    public = {name: value for base in cls.__mro__ for name, value in vars(base).items() if not name.startswith("_")}
    public = {name: value for name, value in public.items() if name not in ADDED}
    constants = {
        name: value for name, value in public.items() if isinstance(value, (int, float, str, type(None), dict, tuple))
    }
    bases = [base.__name__ for base in cls.__mro__ if not base.__name__.startswith("_")]
    print("class", cls.__name__, bases, sorted(constants.items(), key=str))

# ---- retry decisions

LEVELS = (
    CL.ONE,
    CL.TWO,
    CL.THREE,
    CL.QUORUM,
    CL.ALL,
    CL.LOCAL_QUORUM,
    CL.EACH_QUORUM,
    CL.SERIAL,
    CL.LOCAL_SERIAL,
    CL.LOCAL_ONE,
    CL.ANY,
)
TYPES = (0, 1, 2, 3, 4, 5, 6, 7, None, "SIMPLE")


class Idempotent:
    is_idempotent = True
    consistency_level = CL.QUORUM


def decided(function, *args):
    try:
        return "/".join(str(part) for part in function(*args)[:2])
    except Exception as error:
        return type(error).__name__


def decisions(name, function, *choices):
    print(name, *(decided(function, *args) for args in itertools.product(*choices)))


for policy in (
    RetryPolicy(),
    FallthroughRetryPolicy(),
    NeverRetryPolicy(),
    DowngradingConsistencyRetryPolicy(),
    ExponentialBackoffRetryPolicy(2),
    ExponentialBackoffRetryPolicy(3, 1, 1),
):
    for statement in (None, Idempotent()):  # of others nobody knows whether they may be sent again: ours does not
        name = f"{type(policy).__name__} {type(statement).__name__}"
        for level in LEVELS:
            where = f"{name} {CL.value_to_name[level]}"
            random.seed(7)
            decisions(
                f"{where} read",
                policy.on_read_timeout,
                [statement],
                [level],
                (1, 2, 3),
                (0, 1, 2, 3),
                (False, True),
                (0, 1, 2),
            )
            if level in (CL.ONE, CL.QUORUM, CL.EACH_QUORUM):
                for kind in TYPES:
                    decisions(
                        f"{where} write {kind}",
                        policy.on_write_timeout,
                        [statement],
                        [level],
                        [kind],
                        (1, 3),
                        (0, 1, 2, 3),
                        (0, 1, 2),
                    )
            decisions(
                f"{where} unavailable", policy.on_unavailable, [statement], [level], (1, 3), (0, 1, 2, 3), (0, 1, 2)
            )
        errors = ValueError("x"), connection.ConnectionException("x"), None
        decisions(f"{name} error", policy.on_request_error, [statement], [CL.ONE], errors, (0, 1, 2, 3))
    print(
        name,
        "lengths",
        len(policy.on_read_timeout(None, 1, 1, 0, False, 0)),
        len(policy.on_write_timeout(None, 1, 0, 1, 0, 0)),
    )

random.seed(3)
backoff = ExponentialBackoffRetryPolicy(5, 0.1, 10)
for number in range(8):
    results = [backoff.on_request_error(None, 1, None, number) for _ in range(200)]
    delays = [result[2] for result in results if len(result) == 3 and result[2] is not None]
    print(
        "backoff",
        number,
        results[0][0],
        results[0][1],
        all(0 < delay <= 10 for delay in delays),
        len(set(delays)) > 1,
        len(results[0]),
    )

# ---- schedules

for name, policy in (
    ("constant", ConstantReconnectionPolicy(2)),
    ("constant 3", ConstantReconnectionPolicy(2, 3)),
    ("constant 0", ConstantReconnectionPolicy(2, 0)),
    ("constant float", ConstantReconnectionPolicy(0.5, max_attempts=1)),
    ("constant unlimited", ConstantReconnectionPolicy(0.5, max_attempts=None)),
    ("exponential", ExponentialReconnectionPolicy(1, 60)),
    ("exponential 0", ExponentialReconnectionPolicy(1, 60, 0)),
    ("exponential 3", ExponentialReconnectionPolicy(1, 60, 3)),
    ("exponential unlimited", ExponentialReconnectionPolicy(1, 60, None)),
    ("exponential 70", ExponentialReconnectionPolicy(2, 1000, 70)),
    ("exponential equal", ExponentialReconnectionPolicy(2, 2, 4)),
    ("exponential zero", ExponentialReconnectionPolicy(0, 2, 4)),
):
    random.seed(5)
    delays = list(itertools.islice(policy.new_schedule(), 100))
    print(
        "schedule",
        name,
        len(delays),
        [round(delay, 6) for delay in delays[:12]],
        [round(delay, 6) for delay in delays[-2:]],
    )
policy = ExponentialReconnectionPolicy(1, 600)
for attempt, delay in enumerate(itertools.islice(policy.new_schedule(), 1200)):
    if not 1 <= delay <= 600:
        print("out of range", attempt)

for name, policy in (
    ("constant", ConstantSpeculativeExecutionPolicy(0.5, 3)),
    ("zero", ConstantSpeculativeExecutionPolicy(0.5, 0)),
    ("negative", ConstantSpeculativeExecutionPolicy(-2, 2)),
    ("none", NoSpeculativeExecutionPolicy()),
):
    plan = policy.new_plan("ks", None)
    print("speculative", name, type(plan).__name__, [plan.next_execution(None) for _ in range(6)])

# ---- convictions

for made in (SimpleConvictionPolicy(host(1)),):
    print(
        "conviction",
        made.add_failure(ValueError("x")),
        made.add_failure(connection.ConnectionException("x")),
        made.reset(),
    )

# ---- white lists

for name, given in (
    ("addresses", ["10.0.0.1"]),
    ("names", ["localhost"]),
    ("socket", [UnixSocketEndPoint("/tmp/x")]),
    ("both", ["10.0.0.1", UnixSocketEndPoint("/tmp/x")]),
):
    found = [*hosts(*NINE), Host(UnixSocketEndPoint("/tmp/x"), SimpleConvictionPolicy, host_id=uuid.UUID(int=70))]
    try:
        policy = WhiteListRoundRobinPolicy(given)
        policy.populate(fake_cluster(found), list(found))
        print(
            "white list",
            name,
            [policy.distance(one) for one in found],
            sorted(str(one.endpoint) for one in policy.make_query_plan()),
        )
        new = host(55)
        policy.on_up(new)
        policy.on_add(new)
        print("white list", name, sorted(str(one.endpoint) for one in policy.make_query_plan()))
    except Exception as error:
        print("white list", name, type(error).__name__)

# ---- filters

policy = HostFilterPolicy(RoundRobinPolicy(), lambda one: one.rack == "r1")
found = hosts(*NINE)
policy.populate(fake_cluster(found), found)
print("filter", [policy.distance(one) for one in found], policy.predicate(found[0]), policy.predicate(found[1]))
try:
    policy.predicate = bool
except Exception as error:
    print("filter predicate", type(error).__name__)
policy.on_up(host(60, "dc1", "r1"))
policy.on_up(host(61, "dc1", "r2"))
print("filter", sorted(str(one.endpoint) for one in policy.make_query_plan("ks", None)))

# ---- targeted hosts

for target in (None, "10.0.0.3", "10.0.0.99"):
    for up in (True, False):
        policy = DefaultLoadBalancingPolicy(RoundRobinPolicy())
        found = hosts(*NINE)
        context = fake_cluster(found)
        found[2].is_up = up
        context.metadata.get_host = lambda address: next((one for one in found if one.address == address), None)
        try:
            policy.populate(context, found)
            plan = list(policy.make_query_plan("ks", SimpleNamespace(target_host=target, keyspace=None)))
            print("target", target, up, text(plan[:1]) if target == "10.0.0.3" and up else "", len(plan))
        except Exception as error:
            print("target", target, up, type(error).__name__)

# ---- wrappers hand on

for wrapper in (
    lambda child: DefaultLoadBalancingPolicy(child),
    lambda child: TokenAwarePolicy(child),
    lambda child: HostFilterPolicy(child, lambda one: True),
):
    child = Mock(spec=RoundRobinPolicy)
    child.distance.return_value = 5
    child.make_query_plan.return_value = iter([])
    policy = wrapper(child)
    name = type(policy).__name__
    one = host(1)
    policy.on_up(one), policy.on_down(one), policy.on_add(one), policy.on_remove(one)
    quiet(f"{name} distance", policy.distance, one)
    quiet(f"{name} calls", lambda: [call[0] for call in child.method_calls])


class Reversed(RoundRobinPolicy):
    def make_query_plan(self, working_keyspace=None, query=None):
        return reversed(sorted(super().make_query_plan(working_keyspace, query), key=str))


policy = Reversed()
found = hosts(*NINE)
policy.populate(fake_cluster(found), found)
print("own", text(list(policy.make_query_plan())))

# ---- token awareness over metadata that are a mock

for tablet, made in ((False, False), (True, False), (False, True), (True, True)):
    metadata, found = Mock(), hosts(*NINE[:4])
    metadata._tablets.get_tablet_for_key.return_value = None
    if tablet:
        metadata._tablets.get_tablet_for_key.return_value = Tablet(0, 5, [(found[3].host_id, 1), (found[1].host_id, 1)])
    metadata.get_replicas.return_value = found[1:3]
    child = RoundRobinPolicy()
    if made:
        child = Mock()
        child.make_query_plan.side_effect = lambda *args: iter(found)
        child.distance.return_value = HostDistance.LOCAL
    policy = TokenAwarePolicy(child, shuffle_replicas=False)
    policy.populate(SimpleNamespace(metadata=metadata), found)
    for keyspace in (None, "other"):
        for statement in (
            None,
            query.Statement(routing_key=b"1", keyspace="ks"),
            query.Statement(routing_key=b"1"),
            query.Statement(keyspace="ks"),
            query.SimpleStatement("x", routing_key=b"1", keyspace="ks"),
        ):
            metadata.get_replicas.reset_mock()
            plan = [str(one.endpoint) for one in policy.make_query_plan(keyspace, statement)]
            is_routed = getattr(statement, "routing_key", None) and (statement.keyspace or keyspace)
            first = (sorted if tablet else list)(plan[:2]) if is_routed else sorted(plan)
            print("mocked", tablet, made, keyspace, first, len(plan), metadata.get_replicas.call_args_list)

# ---- whether the cluster's partitioner is supported

for name, wrap in (
    ("TokenAware", TokenAwarePolicy),
    ("Default", policies.DefaultLoadBalancingPolicy),
    ("filter", lambda child: policies.HostFilterPolicy(child, lambda host: True)),
):
    for can in (True, False):
        policy, metadata = wrap(RoundRobinPolicy()), Mock()
        metadata.can_support_partitioner.return_value = can
        policy.populate(SimpleNamespace(metadata=metadata), [])
        quiet(f"{name} over metadata that support the partitioner: {can}", policy.check_supported)
