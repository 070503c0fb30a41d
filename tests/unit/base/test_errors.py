"""Exceptions: their tree, texts and attributes, and pickling."""

from __future__ import annotations

import importlib
import pickle
from typing import Any

import pytest

import cassandra
from cassandra import ConsistencyLevel, OperationType, WriteType
from cassandra._base import errors, server_errors
from cassandra._base.errors import annotate
from cassandra._base.server_errors import ERROR_CLASSES, ErrorMessage
from cassandra.cqltypes import Int32Type

RESPONSES = {"consistency": ConsistencyLevel.QUORUM, "received_responses": 1, "required_responses": 2}

# code -> (info as decoded, class that users catch, its attributes)
TRANSLATED: dict[int, tuple[Any, type[Exception], dict[str, Any]]] = {
    0x1000: (
        {"consistency": 4, "required_replicas": 2, "alive_replicas": 1},
        errors.Unavailable,
        {"consistency": 4, "required_replicas": 2, "alive_replicas": 1},
    ),
    0x1100: ({**RESPONSES, "write_type": WriteType.CAS}, errors.WriteTimeout, {**RESPONSES, "write_type": 5}),
    0x1200: ({**RESPONSES, "data_retrieved": True}, errors.ReadTimeout, {**RESPONSES, "data_retrieved": True}),
    0x1300: (
        {**RESPONSES, "failures": 1, "error_code_map": {"127.0.0.1": 1}, "data_retrieved": False},
        errors.ReadFailure,
        {**RESPONSES, "failures": 1, "error_code_map": {"127.0.0.1": 1}, "data_retrieved": False},
    ),
    0x1400: (
        {"keyspace": "k", "function": "f", "arg_types": ["int"]},
        errors.FunctionFailure,
        {"keyspace": "k", "function": "f", "arg_types": ["int"]},
    ),
    0x1500: (
        {**RESPONSES, "failures": 2, "write_type": 0},
        errors.WriteFailure,
        {"failures": 2, "write_type": 0, "error_code_map": None},
    ),
    0x1700: (RESPONSES, errors.CASWriteUnknown, RESPONSES),
    0x2100: (None, errors.Unauthorized, {}),
    0x2200: (None, errors.InvalidRequest, {}),
    0x2400: ({"keyspace": "k", "table": "t"}, errors.AlreadyExists, {"keyspace": "k", "table": "t"}),
    0x4321: (
        {"op_type": OperationType.Write, "rejected_by_coordinator": True},
        errors.RateLimitReached,
        {"op_type": OperationType.Write, "rejected_by_coordinator": True},
    ),
}


def public_errors() -> list[type[Exception]]:
    modules = (errors, server_errors)
    return [
        item
        for module in modules
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Exception) and item.__module__.startswith("cassandra")
    ]


@pytest.mark.parametrize("cls", public_errors(), ids=lambda cls: f"{cls.__module__}.{cls.__name__}")
def test_every_error_is_found_at_its_public_path(cls: type[Exception]) -> None:
    assert not cls.__module__.split(".")[-1].startswith("_")
    assert "._" not in cls.__module__


def test_two_classes_of_one_name_are_both_reachable() -> None:
    assert errors.ConfigurationException is cassandra.ConfigurationException
    assert server_errors.ConfigurationException.__name__ == "ConfigurationException"
    assert server_errors.ConfigurationException.__module__ == "cassandra.protocol"
    assert not issubclass(server_errors.ConfigurationException, cassandra.DriverException)


def test_every_code_has_the_class_that_states_it() -> None:
    assert {code: cls.error_code for code, cls in ERROR_CLASSES.items()} == {code: code for code in ERROR_CLASSES}


@pytest.mark.parametrize("code", sorted(ERROR_CLASSES), ids=hex)
def test_error_messages_translate_to_public_exceptions(code: int) -> None:
    info, expected, attributes = TRANSLATED.get(code, (None, ERROR_CLASSES[code], {}))
    message = ERROR_CLASSES[code](code, "words of the server", info)
    exception = message.to_exception()
    assert type(exception) is expected
    for name, value in attributes.items():
        assert getattr(exception, name) == value
    if code not in (0x2400, 0x4321):
        assert "words of the server" in str(exception)
        assert f"code={code:04x}" in str(exception)


def test_the_text_names_levels_and_write_types() -> None:
    text = str(ERROR_CLASSES[0x1100](0x1100, "late", {**RESPONSES, "write_type": WriteType.BATCH_LOG}).to_exception())
    assert text == (
        "Error from server: code=1100 [Coordinator node timed out waiting for replica nodes' responses] "
        "message=\"late\" info={'consistency': 'QUORUM', 'required_responses': 2, 'received_responses': 1, "
        "'write_type': 'BATCH_LOG'}"
    )


def test_an_unknown_write_type_is_kept() -> None:
    error = errors.WriteTimeout("late", write_type="NEW", consistency=None)  # type: ignore[arg-type]
    assert error.write_type == "NEW"  # type: ignore[comparison-overlap]
    assert "'NEW'" in str(error) and "'Not Set'" in str(error)


def test_a_message_shows_code_and_summary() -> None:
    error = ERROR_CLASSES[0x2000](0x2000, "line 1:0", None)
    assert str(error) == '<Error from server: code=2000 [Syntax error in CQL query] message="line 1:0">'
    assert (error.code, error.message, error.info) == (0x2000, "line 1:0", None)
    assert error.to_exception() is error


def test_an_unknown_code_is_an_error_message() -> None:
    error = ErrorMessage(0x7777, "new", None)
    assert "code=7777 [Unknown]" in error.summary_msg()


def test_beta_refusals_are_recognized() -> None:
    message = "Beta version of the protocol used (5/v5-beta), but USE_BETA flag is unset"
    assert ERROR_CLASSES[10](10, message, None).is_beta_protocol_error  # type: ignore[attr-defined]
    assert not ERROR_CLASSES[10](10, "no", None).is_beta_protocol_error  # type: ignore[attr-defined]


def test_already_exists_tells_keyspaces_from_tables() -> None:
    assert str(errors.AlreadyExists("k", "t")) == "Table 'k.t' already exists"
    assert str(errors.AlreadyExists("k")) == "Keyspace 'k' already exists"


def test_operation_timed_out_text_has_errors_host_and_in_flight() -> None:
    assert str(errors.OperationTimedOut()) == "errors=None, last_host=None"
    text = str(errors.OperationTimedOut({"h": "slow"}, "h", 1.5, 7))
    assert text == "errors={'h': 'slow'}, last_host=h (timeout=1.5s, in_flight=7)"


def test_a_connection_error_knows_its_host() -> None:
    class Place:
        address = "10.0.0.1"

    assert errors.ConnectionException("gone", Place()).host == "10.0.0.1"
    assert errors.ConnectionShutdown("gone").host is None
    assert "10.0.0.1" in str(errors.ProtocolVersionUnsupported("10.0.0.1", 4))


def test_dependencies_list_their_causes() -> None:
    assert "no lz4" in str(errors.DependencyException("missing", [ImportError("no lz4")]))


ROOTS: list[BaseException] = [
    errors.DriverException("x"),
    ErrorMessage(1, "x", None),
    errors.NoHostAvailable("x", {}),
    errors.NoConnectionsAvailable("x"),
    errors.ConnectionBusy("x"),
    errors.ProtocolError("x"),
]


@pytest.mark.parametrize("error", ROOTS, ids=lambda error: type(error).__name__)
def test_request_errors_carry_the_request(error: Any) -> None:
    assert (error.host, error.shard, error.attempts, error.elapsed, error.maybe_executed) == (None,) * 5
    annotate(error, host="h", shard=3, attempts=2, elapsed=0.5)
    annotate(error, maybe_executed=False)
    assert (error.host, error.shard, error.attempts, error.elapsed, error.maybe_executed) == ("h", 3, 2, 0.5, False)
    assert type(error).shard is None


def test_the_host_of_a_connection_error_stays_its_own() -> None:
    error = errors.ConnectionException("x", endpoint="e")
    annotate(error, host="other", shard=1)
    assert (error.host, error.shard) == ("e", 1)


SAMPLES: list[Exception] = [
    errors.Unavailable("no", 1, 2, 1),
    errors.ReadTimeout("no", data_retrieved=True, consistency=1),
    errors.WriteFailure("no", write_type=1, consistency=1, failures=2, error_code_map={"a": 1}),
    errors.FunctionFailure("no", "k", "f", ["int"]),
    errors.AlreadyExists("k", "t"),
    errors.OperationTimedOut({"h": "slow"}, "h", 1.0, 2),
    errors.RateLimitReached(OperationType.Read, True),
    errors.CASWriteUnknown("maybe", 8, 2, 1),
    errors.CDCWriteFailure("full"),
]


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_errors_pickle(error: Any, protocol: int) -> None:
    annotate(error, shard=4)
    copy = pickle.loads(pickle.dumps(error, protocol))
    assert type(copy) is type(error)
    assert copy.args == error.args and copy.__dict__ == error.__dict__ and str(copy) == str(error)


@pytest.mark.parametrize(
    ("module", "name", "arguments"),
    [
        ("cassandra.protocol", "SyntaxException", (0x2000, "x", None)),
        ("cassandra.connection", "ProtocolVersionUnsupported", ("e", 5)),
        ("cassandra.cluster", "NoHostAvailable", ("x", {"h": OSError("refused")})),
        ("cassandra.pool", "NoConnectionsAvailable", ("x",)),
    ],
)
def test_errors_of_other_modules_pickle(module: str, name: str, arguments: tuple[Any, ...]) -> None:
    error = getattr(importlib.import_module(module), name)(*arguments)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error)


@pytest.mark.parametrize("kind", [errors.ConnectionBusy, errors.NoConnectionsAvailable], ids=lambda kind: kind.__name__)
def test_errors_of_full_hosts_show_their_annotations(kind: type[Any]) -> None:
    error = kind("no room")
    assert (str(error), repr(error)) == ("no room", f"{kind.__name__}('no room')")
    annotate(error, host="10.0.0.1:9042", shard=0, in_flight=8, attempts=0, elapsed=2.0005)
    told = "no room [host=10.0.0.1:9042, shard=0, in_flight=8, attempts=0, elapsed=2.001s]"
    assert str(error).replace("2.000s", "2.001s") == told
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert error.args == ("no room",)


def test_operation_timed_out_shows_its_annotations() -> None:
    error = errors.OperationTimedOut({"h": "late"}, "h", 0.5, 3)
    assert str(error) == "errors={'h': 'late'}, last_host=h (timeout=0.5s, in_flight=3)"
    annotate(error, shard=2, attempts=1, elapsed=0.5, maybe_executed=True)
    assert str(error).endswith("in_flight=3) [shard=2, attempts=1, elapsed=0.500s, maybe_executed=True]")
    assert (error.errors, error.last_host, error.timeout, error.in_flight) == ({"h": "late"}, "h", 0.5, 3)


def test_errors_can_be_imported_from_the_module_that_they_name() -> None:
    for module in (errors, server_errors):
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, Exception) and found.__module__.startswith("cassandra."):
                public = importlib.import_module(found.__module__)
                assert getattr(public, found.__name__) is found and found.__name__ in public.__all__


def test_invalid_bytes_outside_of_results() -> None:
    with pytest.raises(cassandra.DecodeError) as caught:
        Int32Type.from_binary(b"\0", 4)
    assert isinstance(caught.value, cassandra.DriverException) and isinstance(caught.value, ValueError)
