"""Every error of the protocol can be forged, in every version, and arrives as the driver's exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import cassandra
from cassandra import protocol
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile, NoHostAvailable, Session
from cassandra.policies import FallthroughRetryPolicy
from cassandra.testing import SimulatedCluster, errors
from cassandra.testing.faults import Fail
from tests.simulated.conftest import DEADLINE, Connect
from tests.simulated.raw import RawClient

FORGED: dict[type[errors.CqlError], tuple[errors.CqlError, type[Exception], dict[str, object]]] = {
    errors.ServerError: (errors.ServerError("boom"), protocol.ServerError, {}),
    errors.ProtocolError: (errors.ProtocolError("no"), protocol.ProtocolException, {}),
    errors.BadCredentials: (errors.BadCredentials("no"), protocol.ErrorMessage, {}),
    errors.Overloaded: (errors.Overloaded(), protocol.OverloadedErrorMessage, {}),
    errors.Bootstrapping: (errors.Bootstrapping(), protocol.IsBootstrappingErrorMessage, {}),
    errors.TruncateError: (errors.TruncateError(), protocol.TruncateError, {}),
    errors.SyntaxError: (errors.SyntaxError("here"), protocol.SyntaxException, {}),
    errors.Unauthorized: (errors.Unauthorized("not you"), cassandra.Unauthorized, {}),
    errors.InvalidRequest: (errors.InvalidRequest("what"), cassandra.InvalidRequest, {}),
    errors.NotSupported: (errors.NotSupported("that"), cassandra.InvalidRequest, {}),
    errors.ConfigError: (errors.ConfigError("how"), protocol.ConfigurationException, {}),
    errors.Unavailable: (
        errors.Unavailable(consistency="QUORUM", required=2, alive=1),
        cassandra.Unavailable, {"required_replicas": 2, "alive_replicas": 1},
    ),
    errors.WriteTimeout: (
        errors.WriteTimeout(consistency="QUORUM", received=1, required=2, write_type="CAS", contentions=3),
        cassandra.WriteTimeout, {"received_responses": 1, "required_responses": 2},
    ),
    errors.ReadTimeout: (
        errors.ReadTimeout(consistency="ALL", received=1, required=3, data_present=True),
        cassandra.ReadTimeout, {"received_responses": 1, "required_responses": 3, "data_retrieved": True},
    ),
    errors.ReadFailure: (
        errors.ReadFailure(consistency="ONE", received=0, required=1, reasons=[(b"\x7f\0\0\1", 1)]),
        cassandra.ReadFailure, {"received_responses": 0, "required_responses": 1},
    ),
    errors.WriteFailure: (
        errors.WriteFailure(consistency="ONE", received=0, required=1, write_type="BATCH"),
        cassandra.WriteFailure, {"received_responses": 0, "required_responses": 1},
    ),
    errors.FunctionFailure: (
        errors.FunctionFailure(keyspace="ks", function="f", arg_types=["int"]),
        cassandra.FunctionFailure, {"keyspace": "ks", "function": "f", "arg_types": ["int"]},
    ),
    errors.CdcWriteFailure: (errors.CdcWriteFailure(), protocol.CDCWriteException, {}),
    errors.CasWriteUnknown: (
        errors.CasWriteUnknown(received=1, required=2),
        cassandra.CASWriteUnknown, {"received_responses": 1, "required_responses": 2},
    ),
    errors.AlreadyExists: (
        errors.AlreadyExists("there", keyspace="ks", table="t"),
        cassandra.AlreadyExists, {"keyspace": "ks", "table": "t"},
    ),
    errors.Unprepared: (errors.Unprepared(statement_id=b"\1\2"), Exception, {}),
    errors.RateLimit: (errors.RateLimit(write=False, by_coordinator=True), cassandra.RateLimitReached, {}),
}  # fmt: skip


@pytest.fixture(params=[3, 4, 5])
def one(request: pytest.FixtureRequest, no_leaks: None, connect: Connect) -> Iterator[tuple[SimulatedCluster, Session]]:
    """A session that asks once, with each version of the protocol."""
    with SimulatedCluster(1, 1, protocol_versions=(3, 4, 5)) as simulated:
        profile = ExecutionProfile(retry_policy=FallthroughRetryPolicy(), request_timeout=DEADLINE)
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        session = connect(simulated, execution_profiles=profiles, protocol_version=request.param)
        yield simulated, session
        session.cluster.shutdown()


def test_every_error(one: tuple[SimulatedCluster, Session]) -> None:
    simulated, session = one
    for kind, (error, expected, attributes) in FORGED.items():
        with simulated.inject(Fail(error), query="SELECT cluster_name") as rule, pytest.raises(Exception) as caught:
            session.execute("SELECT cluster_name FROM system.local")
        assert rule.hits, kind
        raised = first_error(caught.value)
        assert isinstance(raised, expected), f"{kind}: {raised!r}"
        assert {name: getattr(raised, name) for name in attributes} == attributes, kind
        assert simulated.requests[-1].error == kind.__name__


def first_error(error: BaseException) -> Any:
    """What the only node answered, when the driver would have asked another."""
    return next(iter(error.errors.values())) if isinstance(error, NoHostAvailable) else error


def test_no_error_is_forgotten() -> None:
    """Each class of the module is in the table above."""
    kinds = {value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.CqlError)}
    assert kinds - {errors.CqlError} == set(FORGED)


def test_codes_of_no_class(no_leaks: None) -> None:
    with SimulatedCluster(1, 1) as simulated, RawClient(simulated.nodes[0]) as client:
        simulated.inject(Fail(errors.CqlError("from the future", 0x7777)), opcode="OPTIONS")
        answer = client.exchange("OPTIONS")
    assert answer.code == 0x7777
    assert answer.body.endswith(b"from the future")


def test_a_rate_limit_for_clients_that_do_not_know_it(no_leaks: None) -> None:
    """Without the extension it is a CONFIG_ERROR; ``Fail`` forges what this client would get."""
    with SimulatedCluster(1, 1) as simulated, RawClient(simulated.nodes[0]) as client:
        client.start()
        with simulated.inject(Fail(errors.RateLimit("slowly")), opcode="QUERY"):
            answer = client.query("SELECT cluster_name FROM system.local")
    assert answer.code == 0x2300
    assert answer.body == b"\0\0\x23\0\0\6slowly"


@pytest.mark.parametrize("make", [errors.RateLimit, errors.Unavailable, errors.NotSupported])
def test_errors_are_ordinary_exceptions(make: Callable[..., errors.CqlError]) -> None:
    import copy
    import pickle

    error = make("text")
    assert "text" in str(error)
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is type(error)
        assert again.body(4) == error.body(4)
