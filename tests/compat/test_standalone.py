"""Working features that exist only for old programs: loops, waiters, reports, executors, NumPy, registered messages."""

from __future__ import annotations

import asyncio
import importlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from cassandra import OperationTimedOut, ProtocolVersion
from cassandra.cluster import Cluster, ExecutionProfile
from cassandra.policies import (
    ConstantReconnectionPolicy,
    ConstantSpeculativeExecutionPolicy,
    DCAwareRoundRobinPolicy,
    FallthroughRetryPolicy,
    RoundRobinPolicy,
)
from cassandra.testing import SimulatedCluster
from tests.patience import PATIENCE


def module(name: str) -> Any:
    """With the names that type checkers are not told of."""
    return importlib.import_module(f"cassandra.{name}")


@pytest.mark.parametrize(("place", "name"), [("io.libevreactor", "LibevLoop"), ("io.asyncorereactor", "AsyncoreLoop")])
def test_loops_serve_timers(place: str, name: str) -> None:
    loop = getattr(module(place), name)()
    timer = module("connection").Timer
    called, cancelled = threading.Event(), threading.Event()
    first = timer(0.01, lambda: late.cancel())
    late = timer(0.05, cancelled.set)  # due after the first, however long it takes to get here
    loop.add_timer(first)
    loop.add_timer(late)

    def fail() -> None:
        raise KeyError("of a program")

    loop.add_timer(timer(0.01, fail))  # is logged, and the loop goes on
    loop.add_timer(timer(0.1, called.set))
    assert called.wait(PATIENCE) and not cancelled.is_set()
    loop._cleanup()
    assert not loop._thread.is_alive()


def test_asyncio_timers_are_called_by_their_loop() -> None:
    timer = module("io.asyncioreactor").AsyncioTimer

    async def main() -> None:
        loop, called, calls = asyncio.get_running_loop(), asyncio.Event(), list[str]()
        timer(0.01, lambda: calls.append("cancelled"), loop).cancel()
        timer(0.02, called.set, loop)
        await asyncio.wait_for(called.wait(), PATIENCE)
        assert calls == []

    asyncio.run(main())


def test_a_waiter_collects_answers() -> None:
    waiter = module("connection").ResponseWaiter
    both = waiter(None, 2, False)
    both.got_response("first", 0)
    both.got_response(KeyError("second"), 1)
    ((ok, answer), (failed, error)) = both.deliver(0)
    assert (ok, answer, failed) == (True, "first", False) and isinstance(error, KeyError)
    strict = waiter(None, 2, True)
    with pytest.raises(OperationTimedOut):
        strict.deliver(0)
    strict.got_response(KeyError("first"), 0)
    with pytest.raises(KeyError):
        strict.deliver(0)


def test_the_configuration_is_reported() -> None:
    reporter = module("driver_config").DriverConfigReporter
    profile = ExecutionProfile(
        load_balancing_policy=DCAwareRoundRobinPolicy("here"),
        retry_policy=FallthroughRetryPolicy(),
        speculative_execution_policy=ConstantSpeculativeExecutionPolicy(0.5, 3),
    )
    cluster = Cluster(
        execution_profiles={module("cluster").EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(3, 4),
    )
    options: dict[str, str] = {}
    reporter(cluster).add_startup_options(options, False)
    report = json.loads(options.pop("DRIVER_CONFIG"))
    assert not options and report["version"] == 1
    assert report["connection"]["reconnection"]["policy"] == {"type": "constant", "delay-ms": 3000, "max-attempts": 4}
    assert report["query"]["retry"]["policy"] == {"type": "fallthrough"}
    assert report["query"]["load-balancing"]["node-preference"] == {"type": "dc", "local-dc": "here"}
    speculative = {"type": "constant", "max-executions": 3, "delay-ms": 500}
    assert report["query"]["speculative-execution"]["policy"] == speculative
    reporter(Cluster()).add_startup_options(options, True)
    query = json.loads(options["DRIVER_CONFIG"])["query"]
    assert query["load-balancing"]["policy"]["type"] == "token-aware"
    assert query["load-balancing"]["node-preference"] == {"type": "dc-auto"}


class OwnPolicy(RoundRobinPolicy):
    """A program's."""


def test_own_policies_are_reported_by_name() -> None:
    options: dict[str, str] = {}
    cluster = Cluster(load_balancing_policy=OwnPolicy())
    module("driver_config").DriverConfigReporter(cluster).add_startup_options(options, False)
    policy = json.loads(options["DRIVER_CONFIG"])["query"]["load-balancing"]["policy"]
    assert policy == {"type": "custom", "name": "OwnPolicy"}


def test_executors_of_concurrent_requests() -> None:
    with SimulatedCluster() as simulated, Cluster(simulated.contact_points, port=simulated.port) as cluster:
        session = cluster.connect()
        statements = [("SELECT key FROM system.local", ()), ("SELECT nothing FROM system.local", ())]
        default = module("cluster").EXEC_PROFILE_DEFAULT
        (good, bad) = module("concurrent").ConcurrentExecutorListResults(session, statements, default).execute(2, False)
        assert good.success and good.result_or_exc.one() and not bad.success
        generator = module("concurrent").ConcurrentExecutorGenResults(session, statements[:1], default).execute(2, True)
        assert [result.success for result in generator] == [True] and not isinstance(generator, list)


def test_methods_run_in_an_executor() -> None:
    class Program:
        executor = ThreadPoolExecutor(1)

        @module("cluster").run_in_executor  # type: ignore[untyped-decorator]
        def double(self, number: int) -> int:
            """Twice."""
            return 2 * number

    program = Program()
    assert program.double(4).result(PATIENCE) == 8 and Program.double.__doc__ == "Twice."
    program.executor.shutdown()
    assert program.double(4) is None


def test_errors_of_decorated_methods_make_connections_defunct() -> None:
    class Connection:
        heard: BaseException | None = None

        def defunct(self, error: BaseException) -> None:
            self.heard = error

        @module("connection").defunct_on_error  # type: ignore[untyped-decorator]
        def handle(self) -> None:
            raise KeyError("broken")

    connection = Connection()
    connection.handle()
    assert isinstance(connection.heard, KeyError)


def test_an_error_class_is_registered_for_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = module("protocol")
    monkeypatch.setitem(protocol.error_classes, 0x7777, None)

    class Own(protocol.ErrorMessageSub, metaclass=protocol.ErrorMessageSubclass):  # type: ignore[misc, name-defined]
        summary = "Own"
        error_code = 0x7777

    assert protocol.error_classes[0x7777] is Own
    assert protocol.get_registered_classes() == protocol._message_types_by_opcode
    assert protocol.get_registered_classes() is not protocol._message_types_by_opcode


def test_rows_as_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    types, parsing = module("cqltypes"), module("parsing")
    kinds = [types.Int32Type, types.UTF8Type]
    deserializers = module("deserializers").make_deserializers(kinds)
    described = parsing.ParseDesc(["a", "b"], kinds, None, [None, None], deserializers, ProtocolVersion.V4)
    body = b"\0\0\0\1" + b"\0\0\0\4\0\0\0\7" + b"\0\0\0\2hi"
    found = module("numpy_parser").NumpyParser().parse_rows(module("bytesio").BytesIOReader(body), described)
    assert {name: list(column) for name, column in found.items()} == {"a": [7], "b": ["hi"]}
    swapped = numpy.array([1, 2], dtype=">i4")
    native = module("numpy_parser").make_native_byteorder(swapped)
    assert native.dtype.isnative and list(native) == [1, 2]


def test_row_level_access_is_exported() -> None:
    table = SimpleNamespace(keyspace_name="k", name="T")
    cql = module("metadata").RLACTableExtension.after_table_cql(table, "DSE_RLACA", b"owner")
    assert cql == 'RESTRICT ROWS ON k."T" USING owner;'


def test_a_deserializer_may_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """cqlsh does, when it starts."""
    deserializers = module("deserializers")
    monkeypatch.delattr(deserializers, "DesDateType")
    assert not hasattr(deserializers, "DesDateType")
