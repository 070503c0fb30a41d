"""Every ERROR code to its message and the exception users see, for protocols 3, 4 and 5."""

from __future__ import annotations

from typing import Any

import pytest

from cassandra._base import errors, server_errors
from cassandra._base.constants import WriteType
from cassandra._core.codec import TypeContext
from cassandra._core.transport import Frame
from cassandra._wire.messages.responses import decode_response
from tests.fakes import wire
from tests.fakes.wire import byte, inet_addr, int32, short, short_bytes, string

CONTEXT = TypeContext()
RATE_LIMIT = 0xF123


def decode(code: int, more: bytes = b"", version: int = 4, rate_limit_error: int | None = None) -> Any:
    frame = Frame(version, 0, 7, wire.ERROR, wire.error(code, "it broke", more))
    return decode_response(frame, CONTEXT, rate_limit_error=rate_limit_error)


QUORUM_1_OF_2 = short(4) + int32(1) + int32(2)

SIMPLE = [
    (0x0000, server_errors.ServerError, server_errors.ServerError),
    (0x000A, server_errors.ProtocolException, server_errors.ProtocolException),
    (0x0100, server_errors.BadCredentials, server_errors.BadCredentials),
    (0x1001, server_errors.OverloadedErrorMessage, server_errors.OverloadedErrorMessage),
    (0x1002, server_errors.IsBootstrappingErrorMessage, server_errors.IsBootstrappingErrorMessage),
    (0x1003, server_errors.TruncateError, server_errors.TruncateError),
    (0x1600, server_errors.CDCWriteException, server_errors.CDCWriteException),
    (0x2000, server_errors.SyntaxException, server_errors.SyntaxException),
    (0x2100, server_errors.UnauthorizedErrorMessage, errors.Unauthorized),
    (0x2200, server_errors.InvalidRequestException, errors.InvalidRequest),
    (0x2300, server_errors.ConfigurationException, server_errors.ConfigurationException),
    (0x8000, server_errors.ClientWriteError, server_errors.ClientWriteError),
]


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize(("code", "message_class", "exception_class"), SIMPLE)
def test_errors_without_details(code: int, message_class: Any, exception_class: Any, version: int) -> None:
    message = decode(code, version=version)
    assert type(message) is message_class
    assert (message.code, message.message, message.info, message.stream_id) == (code, "it broke", None, 7)
    assert type(message.to_exception()) is exception_class
    assert "it broke" in str(message.to_exception())
    assert message.to_exception().args == (str(message.to_exception()),), "error reporting tools read args"


def test_unavailable() -> None:
    message = decode(0x1000, short(4) + int32(3) + int32(1))
    assert message.info == {"consistency": 4, "required_replicas": 3, "alive_replicas": 1}
    error = message.to_exception()
    assert type(error) is errors.Unavailable
    assert (error.consistency, error.required_replicas, error.alive_replicas) == (4, 3, 1)


def test_write_timeout() -> None:
    message = decode(0x1100, QUORUM_1_OF_2 + string("BATCH_LOG"))
    assert message.info == {
        "consistency": 4,
        "received_responses": 1,
        "required_responses": 2,
        "write_type": WriteType.BATCH_LOG,
    }
    error = message.to_exception()
    assert type(error) is errors.WriteTimeout
    assert error.write_type == WriteType.BATCH_LOG


def test_write_timeout_of_a_transaction() -> None:
    error = decode(0x1100, QUORUM_1_OF_2 + string("TRANSACTION"), version=5).to_exception()
    assert error.write_type == WriteType.TRANSACTION
    assert "TRANSACTION" in str(error)


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("kind", ["FUTURE", "", "cas", "x" * 60_000, "\u00fc\n"])
def test_write_errors_of_an_unknown_kind_keep_its_name(kind: str, version: int) -> None:
    timeout = decode(0x1100, QUORUM_1_OF_2 + string(kind), version=version).to_exception()
    assert type(timeout) is errors.WriteTimeout and timeout.write_type == kind
    failure = decode(0x1500, QUORUM_1_OF_2 + int32(0) + string(kind), version=version).to_exception()
    assert type(failure) is errors.WriteFailure and failure.write_type == kind
    assert str(timeout) and str(failure)


def test_cas_contentions_on_5() -> None:
    body = QUORUM_1_OF_2 + string("CAS") + short(9)
    assert decode(0x1100, body, version=5).info["contentions"] == 9
    assert "contentions" not in decode(0x1100, body, version=4).info
    assert "contentions" not in decode(0x1100, QUORUM_1_OF_2 + string("CAS"), version=5).info
    assert type(decode(0x1100, body, version=5).to_exception()) is errors.WriteTimeout


@pytest.mark.parametrize(("data_present", "expected"), [(0, False), (1, True), (7, True)])
def test_read_timeout(data_present: int, expected: bool) -> None:
    error = decode(0x1200, QUORUM_1_OF_2 + byte(data_present)).to_exception()
    assert type(error) is errors.ReadTimeout
    assert error.data_retrieved is expected
    assert (error.received_responses, error.required_responses) == (1, 2)


@pytest.mark.parametrize("version", [3, 4])
def test_read_failure_before_5(version: int) -> None:
    error = decode(0x1300, QUORUM_1_OF_2 + int32(2) + byte(1), version=version).to_exception()
    assert type(error) is errors.ReadFailure
    assert (error.failures, error.error_code_map, error.data_retrieved) == (2, None, True)


def test_read_failure_on_protocol_5_has_hosts_and_reasons() -> None:
    reasons = int32(2) + inet_addr("10.0.0.1") + short(1) + inet_addr("2001:db8::2") + short(0)
    error = decode(0x1300, QUORUM_1_OF_2 + reasons + byte(0), version=5).to_exception()
    assert error.failures == 2
    assert error.error_code_map == {"10.0.0.1": 1, "2001:db8::2": 0}
    assert "0x0001" in str(error)


def test_write_failure() -> None:
    error = decode(0x1500, QUORUM_1_OF_2 + int32(1) + string("SIMPLE")).to_exception()
    assert type(error) is errors.WriteFailure
    assert (error.failures, error.write_type) == (1, WriteType.SIMPLE)
    error = decode(
        0x1500, QUORUM_1_OF_2 + int32(1) + inet_addr("10.0.0.1") + short(2) + string("VIEW"), version=5
    ).to_exception()
    assert (error.failures, error.error_code_map, error.write_type) == (1, {"10.0.0.1": 2}, WriteType.VIEW)


def test_function_failure() -> None:
    error = decode(0x1400, string("ks") + string("f") + wire.string_list(["int", "text"])).to_exception()
    assert type(error) is errors.FunctionFailure
    assert (error.keyspace, error.function, list(error.arg_types)) == ("ks", "f", ["int", "text"])


def test_cas_write_unknown() -> None:
    error = decode(0x1700, QUORUM_1_OF_2, version=5).to_exception()
    assert type(error) is errors.CASWriteUnknown
    assert (error.consistency, error.received_responses, error.required_responses) == (4, 1, 2)


@pytest.mark.parametrize("table", ["t", ""])
def test_already_exists(table: str) -> None:
    error = decode(0x2400, string("ks") + string(table)).to_exception()
    assert type(error) is errors.AlreadyExists
    assert (error.keyspace, error.table) == ("ks", table)


def test_unprepared_carries_the_id() -> None:
    message = decode(0x2500, short_bytes(b"\xab\xcd"))
    assert type(message) is server_errors.PreparedQueryNotFound
    assert message.info == b"\xab\xcd"


def test_rate_limit_has_the_negotiated_code() -> None:
    message = decode(RATE_LIMIT, byte(1) + byte(0), rate_limit_error=RATE_LIMIT)
    assert type(message) is server_errors.RateLimitReachedException
    error = message.to_exception()
    assert type(error) is errors.RateLimitReached
    assert (error.op_type, error.rejected_by_coordinator) == (errors.OperationType.Write, False)


@pytest.mark.parametrize("code", [RATE_LIMIT, server_errors.RateLimitReachedException.error_code, 0x7777])
def test_an_unknown_code_is_a_plain_error(code: int) -> None:
    message = decode(code, b"\1\0")
    assert type(message) is server_errors.ErrorMessage
    assert message.info is None
    assert f"{code:04x}" in str(message.to_exception())


TRUNCATED = [
    (0x1000, short(4) + int32(3)),
    (0x1100, QUORUM_1_OF_2 + short(9) + b"SIM"),
    (0x1200, QUORUM_1_OF_2),
    (0x1300, QUORUM_1_OF_2 + int32(1)),
    (0x1400, string("ks")),
    (0x2400, string("ks")),
    (0x2500, short(4) + b"ab"),
]


@pytest.mark.parametrize(("code", "more"), TRUNCATED)
def test_truncated_bodies_say_so(code: int, more: bytes) -> None:
    with pytest.raises(errors.ProtocolError, match="malformed ERROR message: "):
        decode(code, more)


def test_a_reason_map_of_absurd_size_is_refused_at_once() -> None:
    with pytest.raises(errors.ProtocolError, match="malformed ERROR"):
        decode(0x1300, QUORUM_1_OF_2 + int32(0x7FFFFFFF) + inet_addr("10.0.0.1") + short(1), version=5)


def test_every_class_of_the_table_is_covered() -> None:
    tested = {code for code, *_ in SIMPLE} | {0x1000, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x1700, 0x2400, 0x2500}
    assert set(server_errors.ERROR_CLASSES) == tested | {server_errors.RateLimitReachedException.error_code}
