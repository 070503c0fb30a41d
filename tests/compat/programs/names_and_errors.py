"""Constants and exceptions: cassandra, cassandra.protocol, cassandra.marshal, cassandra.type_codes,
cassandra.murmur3."""

# mypy: ignore-errors

from cases import each, show

import cassandra
from cassandra import (
    ConsistencyLevel,
    ProtocolVersion,
    WriteType,
    connection,
    consistency_value_to_name,
    marshal,
    murmur3,
    protocol,
    type_codes,
)

for name in sorted(vars(ConsistencyLevel)):
    if not name.startswith("_"):
        show(f"ConsistencyLevel.{name}", lambda: getattr(ConsistencyLevel, name))
each("level name", consistency_value_to_name, [None, *range(11)])
each("is_serial", ConsistencyLevel.is_serial, range(12))
for name in sorted(vars(ProtocolVersion)):
    if not name.startswith("_") and not callable(getattr(ProtocolVersion, name)):
        show(f"ProtocolVersion.{name}", lambda: getattr(ProtocolVersion, name))
for version in (1, 2, 3, 4, 5, 6, 66, 7):
    for name in (
        "uses_int_query_flags",
        "uses_prepare_flags",
        "uses_prepared_metadata",
        "uses_error_code_map",
        "uses_keyspace_flag",
        "has_continuous_paging_support",
        "has_continuous_paging_next_pages",
        "has_checksumming_support",
        "get_lower_supported",
    ):
        show(f"{name} {version}", lambda: getattr(ProtocolVersion, name)(version))
for name in sorted(set(WriteType.name_to_value) - {"TRANSACTION"}):  # theirs does not have it
    show(
        f"WriteType {name}",
        lambda: (
            WriteType.name_to_value[name],
            WriteType.value_to_name[WriteType.name_to_value[name]],
            getattr(WriteType, name),
        ),
    )
for name in sorted(vars(type_codes)):
    if name[:1].isupper():
        show(f"type_codes.{name}", lambda: getattr(type_codes, name))

ERRORS = [
    lambda: cassandra.Unavailable("text"),
    lambda: cassandra.Unavailable("text", consistency=1, required_replicas=2, alive_replicas=1),
    lambda: cassandra.Unavailable("text", 4, 3, 1),
    lambda: cassandra.ReadTimeout("text"),
    lambda: cassandra.ReadTimeout(
        "text", consistency=4, required_responses=2, received_responses=1, data_retrieved=True
    ),
    lambda: cassandra.ReadTimeout("text", False, consistency=1, required_responses=2, received_responses=1),
    lambda: cassandra.WriteTimeout("text", write_type=0, consistency=1, required_responses=2, received_responses=1),
    lambda: cassandra.WriteTimeout("text", WriteType.CAS),
    lambda: cassandra.ReadFailure("text"),
    lambda: cassandra.ReadFailure(
        "text", data_retrieved=True, consistency=1, required_responses=2, received_responses=1, failures=1
    ),
    lambda: cassandra.ReadFailure(
        "text",
        data_retrieved=True,
        consistency=1,
        required_responses=2,
        received_responses=1,
        error_code_map={"127.0.0.1": 0x0000, "127.0.0.2": 0x0001},
    ),
    lambda: cassandra.WriteFailure("text"),
    lambda: cassandra.WriteFailure(
        "text", write_type=0, consistency=1, required_responses=2, received_responses=1, failures=1
    ),
    lambda: cassandra.FunctionFailure("text", "ks", "f", ["int", "text"]),
    lambda: cassandra.AlreadyExists(keyspace="ks"),
    lambda: cassandra.AlreadyExists(keyspace="ks", table="t"),
    lambda: cassandra.AlreadyExists("ks", "t"),
    lambda: cassandra.InvalidRequest("text"),
    lambda: cassandra.InvalidRequest("text", 5),
    lambda: cassandra.Unauthorized("text"),
    lambda: cassandra.AuthenticationFailed("text"),
    lambda: cassandra.OperationTimedOut(),
    lambda: cassandra.OperationTimedOut({"host": "text"}, "host"),
    lambda: cassandra.OperationTimedOut(errors={"a": "b"}, last_host="h"),
    lambda: cassandra.UnsupportedOperation("text"),
    lambda: cassandra.UnresolvableContactPoints(),
    lambda: cassandra.UnresolvableContactPoints({"a": ["b"]}),
    lambda: cassandra.CoordinationFailure("text"),
    lambda: cassandra.CoordinationFailure(
        "text", consistency=1, required_responses=2, received_responses=1, failures=3
    ),
    lambda: cassandra.Timeout("text"),
    lambda: cassandra.Timeout("text", consistency=1, required_responses=2, received_responses=0),
    lambda: cassandra.DriverException("text"),
    lambda: cassandra.RequestExecutionException("text"),
    lambda: cassandra.RequestValidationException("text"),
    lambda: cassandra.ConfigurationException("text"),
    lambda: connection.ConnectionException("text"),
    lambda: connection.ConnectionException("text", "host"),
    lambda: connection.ConnectionShutdown("text"),
    lambda: connection.ConnectionBusy("text"),
    lambda: connection.ProtocolError("text"),
    lambda: connection.ProtocolVersionUnsupported("host", 4),
]
FIELDS = (
    "consistency",
    "required_replicas",
    "alive_replicas",
    "required_responses",
    "received_responses",
    "data_retrieved",
    "write_type",
    "failures",
    "error_code_map",
    "keyspace",
    "table",
    "function",
    "arg_types",
    "errors",
    "last_host",
    "endpoint",
    "startup_version",
    "op_type",
    "rejected_by_coordinator",
)
for number, make in enumerate(ERRORS):
    name = f"error {number}"
    show(f"{name} made", make, caught=Exception)
    try:
        error = make()
    except Exception:
        continue
    show(f"{name} text", str, error)
    show(f"{name} repr", repr, error)
    show(f"{name} args", lambda: error.args)
    show(
        f"{name} bases",
        lambda: [base.__name__ for base in type(error).__mro__ if base.__module__.startswith("cassandra")],
    )
    show(
        f"{name} fields",
        lambda: {
            field: getattr(error, field)
            for field in FIELDS
            if hasattr(error, field) and not callable(getattr(error, field))
        },
    )

for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"):
    pack, unpack = getattr(marshal, f"{name}_pack", None), getattr(marshal, f"{name}_unpack", None)
    for value in (0, 1, 127, -1, 255, 65535, 2**31, 2**32, 2**63, 1.5, None, "x"):
        show(f"{name} {value}", lambda: unpack(pack(value)), caught=Exception)
for value in (0, 1, -1, 127, 128, -128, -129, 255, 256, 2**63, -(2**63), 2**64, 2**100):
    show(
        f"varint {value}", lambda: (marshal.varint_pack(value).hex(), marshal.varint_unpack(marshal.varint_pack(value)))
    )
    show(f"zig zag {value}", lambda: marshal.encode_zig_zag(value), caught=Exception)
each("unzig zag", marshal.decode_zig_zag, [0, 1, 2, 3, 2**63, 2**64 - 1])
for value in ([1, 2, 3], [0, 0, 0], [-1, -2, -3], [2**31, 2**40, 2**62], [127, 128, 16383], [16384]):
    show(f"vints {value}", lambda: (marshal.vints_pack(value).hex(), marshal.vints_unpack(marshal.vints_pack(value))))
    show(
        f"uvint {value[0]}",
        lambda: (marshal.uvint_pack(value[0]).hex(), marshal.uvint_unpack(marshal.uvint_pack(value[0]))),
        caught=Exception,
    )
each("header", lambda size: marshal.v3_header_unpack(bytes(range(size))), [5, 9, 4], caught=Exception)
for data in (b"", b"a", b"abc", bytes(15), bytes(16), bytes(17), bytes(range(100)), b"\xff" * 33, "ä".encode() * 9):
    show(f"murmur3 {data[:8].hex()} {len(data)}", murmur3.murmur3, data)

for name in sorted(vars(protocol)):
    value = getattr(protocol, name)
    if isinstance(value, int) and not isinstance(value, bool) and name.isupper() and name[0] != "_":
        show(f"protocol.{name}", lambda: value)
for name in (
    "StartupMessage",
    "ReadyMessage",
    "AuthenticateMessage",
    "CredentialsMessage",
    "AuthChallengeMessage",
    "AuthResponseMessage",
    "AuthSuccessMessage",
    "OptionsMessage",
    "SupportedMessage",
    "QueryMessage",
    "ResultMessage",
    "PrepareMessage",
    "ExecuteMessage",
    "BatchMessage",
    "RegisterMessage",
    "EventMessage",
    "ErrorMessage",
    "ReviseRequestMessage",
):
    show(f"{name} opcode", lambda: (getattr(protocol, name).opcode, getattr(protocol, name).name))
for name in (
    "ServerError",
    "ProtocolException",
    "BadCredentials",
    "UnavailableErrorMessage",
    "OverloadedErrorMessage",
    "IsBootstrappingErrorMessage",
    "TruncateError",
    "WriteTimeoutErrorMessage",
    "ReadTimeoutErrorMessage",
    "ReadFailureMessage",
    "FunctionFailureMessage",
    "WriteFailureMessage",
    "CDCWriteException",
    "SyntaxException",
    "UnauthorizedErrorMessage",
    "InvalidRequestException",
    "ConfigurationException",
    "PreparedQueryNotFound",
    "AlreadyExistsException",
    "ClientWriteError",
):

    def kind():
        return getattr(protocol, name)

    show(f"{name} summary", lambda: (kind().summary, kind().error_code), caught=Exception)
    show(f"{name} text", lambda: str(kind()(kind().error_code, "message", None)), caught=Exception)
    show(f"{name} repr", lambda: repr(kind()(kind().error_code, "message", None)), caught=Exception)
