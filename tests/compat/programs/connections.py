"""End points, their factories, shard-aware ports, errors and pieces of ``cassandra.connection`` and ``cassandra.pool``
by hand."""

# mypy: ignore-errors
# ruff: noqa
import itertools
import random
import socket
import uuid
import warnings
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

from cases import case, each, show

warnings.simplefilter("ignore")

from cassandra import connection, pool, policies, protocol, protocol_features, shard_info
from cassandra.connection import *
from cassandra.connection import (
    ConnectionHeartbeat,
    DefaultShardAwarePortGenerator,
    HeartbeatFuture,
    ResponseWaiter,
    ShardAwarePortGenerator,
    Timer,
    TimerManager,
)
from cassandra.policies import SimpleConvictionPolicy
from cassandra.pool import Host, NoConnectionsAvailable

# ---- end points

POINTS = {
    "default": DefaultEndPoint("127.0.0.1", 9042),
    "another port": DefaultEndPoint("127.0.0.1", 9043),
    "another": DefaultEndPoint("127.0.0.2"),
    "a name": DefaultEndPoint("localhost", 9042),
    "socket": UnixSocketEndPoint("/tmp/x.sock"),
    "SNI": SniEndPoint("proxy.example", "host-1", 9042),
    "SNI, another": SniEndPoint("proxy.example", "host-2", 9042),
    "SNI, a port": SniEndPoint("proxy.example", "host-1", 9999),
}
NAMES = "address port ssl_options socket_family tls_session_cache_key".split()
for name, point in POINTS.items():
    show(f"end point {name}", lambda: (str(point), repr(point), hash(point) == hash(point)))
    for attribute in NAMES:
        show(f"end point {name} {attribute}", getattr, point, attribute)
    show(f"end point {name} equals", lambda: [other for other in POINTS if point == POINTS[other]])
    show(
        f"end point {name} is before",
        lambda: [
            other for other in POINTS if type(POINTS[other]) is type(point) is not SniEndPoint and point < POINTS[other]
        ],
    )
    show(f"end point {name} and others", lambda: [point == other for other in (5, None, str(point))])
show("sorted", lambda: [str(point) for point in sorted([POINTS["another"], POINTS["another port"], POINTS["default"]])])
show("in a set", lambda: len({DefaultEndPoint("a"), DefaultEndPoint("a", 9042), DefaultEndPoint("a", 1)}))
show("resolve", DefaultEndPoint("127.0.0.1", 5).resolve)
show("resolve a socket", UnixSocketEndPoint("/tmp/x").resolve)
show("family", lambda: UnixSocketEndPoint("/tmp/x").socket_family is socket.AF_UNIX)
for method in ("resolve",):
    show(f"abstract {method}", getattr(EndPoint(), method), caught=NotImplementedError)
for attribute in ("address", "port"):
    show(f"abstract {attribute}", lambda: getattr(EndPoint(), attribute), caught=NotImplementedError)
show("abstract ssl_options", lambda: EndPoint().ssl_options)
show("abstract socket_family", lambda: EndPoint().socket_family is socket.AF_UNSPEC)

# ---- factories

ROW = {"rpc_address": "127.0.0.5", "peer": "10.0.0.5", "host_id": uuid.UUID(int=5)}


def cluster(port=9042, translate=lambda address: address):
    return SimpleNamespace(port=port, address_translator=SimpleNamespace(translate=translate))


for name, row in (
    ("rpc_address", ROW),
    ("native", {"native_address": "127.0.0.6", "native_port": 19042, "rpc_address": "127.0.0.7", "peer": "x"}),
    ("native without port", {"native_address": "127.0.0.6", "rpc_address": "127.0.0.7"}),
    ("rpc_port", {"rpc_address": "127.0.0.6", "rpc_port": 5}),
    ("any address", {"rpc_address": "0.0.0.0", "peer": "10.0.0.5"}),
    ("any address of IPv6", {"rpc_address": "::", "peer": "10.0.0.5"}),
    ("broadcast", {"rpc_address": "127.0.0.8", "broadcast_address": "10.0.0.9"}),
    ("nothing", {"peer": "10.0.0.5"}),
    ("null", {"rpc_address": None, "peer": "10.0.0.5"}),
    ("null port", {"native_address": "127.0.0.6", "native_port": 0}),
):
    for given in (None, 1234):
        for port in (9042, 777):

            def create():
                factory = DefaultEndPointFactory(given)
                factory.configure(cluster(port))
                return str(factory.create(row))

            show(f"factory {name} {given} {port}", create, caught=Exception)

    def translated():
        factory = DefaultEndPointFactory()
        factory.configure(cluster(translate=lambda address: f"t-{address}"))
        return str(factory.create(row))

    show(f"factory translates {name}", translated, caught=Exception)

show(
    "factory returns itself",
    lambda: (lambda factory: factory.configure(cluster()) is factory)(DefaultEndPointFactory()),
)
show("IPv6", lambda: (DefaultEndPoint("::1", 5).address, DefaultEndPoint("::1", 5).resolve()))
show("factory's port", lambda: [DefaultEndPointFactory(5).port, DefaultEndPointFactory().port])
show("factory's default", lambda: DefaultEndPointFactory.port)


@case("SNI factory")
def _():
    factory = SniEndPointFactory("proxy.example", 9042)
    made, second = factory.create(ROW), factory.create_from_sni("some-host")
    return (
        str(made),
        made.ssl_options,
        str(second),
        second.ssl_options,
        made == SniEndPoint("proxy.example", str(uuid.UUID(int=5)), 9042),
    )


show("SNI factory without id", lambda: SniEndPointFactory("p", 1).create({"host_id": None}), caught=ValueError)
show("SNI without a name", lambda: SniEndPoint("p", None), caught=Exception)


@case("a factory of a program")
def _():
    class Own(EndPointFactory):
        def create(self, row):
            return DefaultEndPoint(row["rpc_address"], 7)

    factory = Own()
    configured = factory.configure(cluster())
    return configured is factory, factory.cluster.port, str(factory.create(ROW))


show("abstract factory", lambda: EndPointFactory().create({}), caught=NotImplementedError)

# ---- ports to shards


@case("ports lead to their shard")
def _():
    found = []
    for shard, count in ((0, 1), (3, 8), (7, 8), (11, 12)):
        ports = list(itertools.islice(DefaultShardAwarePortGenerator.generate(shard, count), 5))
        found.append(
            (
                all(port % count == shard for port in ports),
                all(49152 <= port <= 65535 for port in ports),
                len(set(ports)),
            )
        )
    return found


@case("ports of a range")
def _():
    return sorted(ShardAwarePortGenerator(100, 120).generate(2, 5))


@case("ports of a range, one after another")
def _():
    ports = list(ShardAwarePortGenerator(1000, 1100).generate(3, 10))
    return (
        len(ports),
        all(port % 10 == 3 for port in ports),
        all(1000 <= port <= 1100 for port in ports),
        len(set(ports)),
    )


show("ports of none", lambda: list(ShardAwarePortGenerator(10, 11).generate(5, 100)), caught=Exception)

# ---- errors

for name, make in (
    ("ConnectionException", lambda: ConnectionException("text", "host")),
    ("ConnectionException alone", lambda: ConnectionException("text")),
    ("ConnectionShutdown", lambda: ConnectionShutdown("text", "host")),
    ("ConnectionBusy", lambda: ConnectionBusy("text")),
    ("ProtocolError", lambda: connection.ProtocolError("text")),
    ("CrcMismatchException", lambda: connection.CrcMismatchException("text", "host")),
    ("ProtocolVersionUnsupported", lambda: connection.ProtocolVersionUnsupported("host", 4)),
    ("NoConnectionsAvailable", lambda: NoConnectionsAvailable("text")),
):
    show(
        f"{name}",
        lambda: (str(make()), sorted(vars(make()).items(), key=str), [base.__name__ for base in type(make()).__mro__]),
    )

# ---- waiters and timers


def waiter(count=2, fail=True):
    return ResponseWaiter(Mock(in_flight=5, lock=MagicMock()), count, fail)


@case("a waiter gets its answers")
def _():
    made = waiter()
    made.got_response("second", 1)
    made.got_response("first", 0)
    return made.deliver(0.1)


@case("a waiter that does not fail")
def _():
    made = waiter(fail=False)
    made.got_response(KeyError("x"), 1)
    made.got_response("first", 0)
    return made.deliver(0.1)


@case("a waiter that fails")
def _():
    made = waiter()
    made.got_response(KeyError("x"), 1)
    return made.deliver(0.1)


@case("a waiter that waits too long")
def _():
    return waiter().deliver(0.01)


@case("timers")
def _():
    called, timers = [], TimerManager()
    first, second = Timer(0, lambda: called.append(1)), Timer(1000, lambda: called.append(2))
    third = Timer(0, lambda: called.append(3))
    for timer in (first, second, third):
        timers.add_timer(timer)
    third.cancel()
    left = timers.service_timeouts()
    return called, left == second.end, first < second, timers.next_timeout == second.end


show("a timer by hand", lambda: [Timer(0, lambda: None).finish(0), Timer(1000, lambda: None).finish(0)])

# ---- hosts by hand


def host(**options):
    return Host(DefaultEndPoint("127.0.0.1"), SimpleConvictionPolicy, host_id=uuid.UUID(int=1), **options)


show(
    "a host",
    lambda: (
        str(host()),
        repr(host()),
        host().address,
        host().is_up,
        host().datacenter,
        host().rack,
        host().release_version,
    ),
)
show("a host of a place", lambda: repr(host(datacenter="dc", rack="r")))
show("a host's place", lambda: (lambda h: (h.set_location_info("dc", "r"), h.datacenter, h.rack, repr(h)))(host()))
show(
    "hosts",
    lambda: [
        host() == host(),
        host() < Host(DefaultEndPoint("127.0.0.2"), SimpleConvictionPolicy, host_id=uuid.UUID(int=2)),
        hash(host()) == hash(host()),
        host() == 5,
    ],
)
show("a host of text", lambda: Host("127.0.0.9", SimpleConvictionPolicy, host_id=uuid.UUID(int=1)).endpoint.port)
show("no end point", lambda: Host(None, SimpleConvictionPolicy), caught=ValueError)
show("no conviction policy", lambda: Host("127.0.0.1", None), caught=ValueError)


@case("a host goes up and down")
def _():
    made, found = host(), []
    made.set_up()
    found.append(made.is_up)
    made.set_down()
    found.append(made.is_up)
    return *found, made.signal_connection_failure(KeyError("x")), made.is_currently_reconnecting()


@case("a host's reconnection handler is swapped")
def _():
    made = host()
    first, second = Mock(), Mock()
    before = made.get_and_set_reconnection_handler(first)
    return before, made.get_and_set_reconnection_handler(second) is first, made.is_currently_reconnecting()


for name in "broadcast_address broadcast_port broadcast_rpc_address broadcast_rpc_port listen_address listen_port dse_version dse_workload dse_workloads".split():
    show(f"a host's {name}", getattr, host(), name)

# ---- what nodes say of themselves

SUPPORTED = {
    "SCYLLA_SHARD": ["3"],
    "SCYLLA_NR_SHARDS": ["8"],
    "SCYLLA_PARTITIONER": ["org.apache.cassandra.dht.Murmur3Partitioner"],
    "SCYLLA_SHARDING_ALGORITHM": ["biased-token-round-robin"],
    "SCYLLA_SHARDING_IGNORE_MSB": ["12"],
    "SCYLLA_SHARD_AWARE_PORT": ["19042"],
    "SCYLLA_SHARD_AWARE_PORT_SSL": ["19142"],
    "SCYLLA_LWT_ADD_METADATA_MARK": ["SCYLLA_LWT_OPTIMIZATION_META_BIT_MASK=2147483648"],
    "SCYLLA_RATE_LIMIT_ERROR": ["ERROR_CODE=61440"],
    "TABLETS_ROUTING_V1": [],
    "CQL_VERSION": ["3.0.0"],
}
for name, removed in (
    ("all", ()),
    ("no ports", ("SCYLLA_SHARD_AWARE_PORT", "SCYLLA_SHARD_AWARE_PORT_SSL")),
    ("no LWT", ("SCYLLA_LWT_ADD_METADATA_MARK",)),
    ("no rate limit", ("SCYLLA_RATE_LIMIT_ERROR",)),
    ("no tablets", ("TABLETS_ROUTING_V1",)),
):

    def features():
        found = protocol_features.ProtocolFeatures.parse_from_supported(
            {k: v for k, v in SUPPORTED.items() if k not in removed}
        )
        sharding = found.sharding_info
        told = (
            None
            if sharding is None
            else {
                n: getattr(sharding, n)
                for n in "shards_count partitioner sharding_algorithm sharding_ignore_msb shard_aware_port shard_aware_port_ssl".split()
            }
        )
        options = {}
        found.add_startup_options(options)
        return (
            found.rate_limit_error,
            found.shard_id,
            told,
            found.lwt_info and found.lwt_info.lwt_meta_bit_mask,
            found.tablets_routing_v1,
            sorted(options.items()),
        )

    show(f"features: {name}", features)
show(
    "no features",
    lambda: (
        vars(protocol_features.ProtocolFeatures())["rate_limit_error"]
        if hasattr(protocol_features.ProtocolFeatures(), "__dict__")
        else None
    ),
)
