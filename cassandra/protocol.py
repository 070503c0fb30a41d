"""Messages of the native protocol, and the handlers that encode and decode them."""

# fmt: off
# isort: off
import logging

from cassandra._base.constants import Flag, ResultKind
from cassandra._base.errors import (
    AlreadyExists, InternalError, InvalidRequest, NotSupportedError, ReadFailure, ReadTimeout,
    Unauthorized, Unavailable, WriteFailure, WriteTimeout,
)
from cassandra._base.server_errors import (
    _MessageType, AlreadyExistsException, BadCredentials, CASWriteUnknownMessage, CDCWriteException,
    ClientWriteError, ConfigurationException, ERROR_CLASSES as error_classes, ErrorMessage,
    ErrorMessageSub, FunctionFailureMessage, InvalidRequestException, IsBootstrappingErrorMessage,
    OverloadedErrorMessage, PreparedQueryNotFound, ProtocolException, RateLimitReachedException,
    ReadFailureMessage, ReadTimeoutErrorMessage, RequestExecutionException, RequestValidationException,
    ServerError, SyntaxException, TruncateError, UnauthorizedErrorMessage, UnavailableErrorMessage,
    WriteFailureMessage, WriteTimeoutErrorMessage,
)
from cassandra._base.aliases import add_names, add_attributes, extend_subclasses
from cassandra._wire.handlers import HAVE_CYTHON, ProtocolHandler, _ProtocolHandler, have_numpy
from cassandra._wire.messages.requests import (
    AuthChallengeMessage, AuthenticateMessage, AuthResponseMessage, AuthSuccessMessage, CredentialsMessage,
)
from cassandra._wire.messages.requests import RequestMessage, ResponseMessage
from cassandra._wire.messages.reading import ColumnMetadata
from cassandra._wire.messages.responses import EventMessage, known_event_types
from cassandra._wire.messages import reading
from cassandra._wire.messages.reading import *  # noqa: F403
from cassandra._wire.messages.requests import (
    BatchMessage, ExecuteMessage, OptionsMessage, PrepareMessage, QueryMessage, RegisterMessage,
    ReviseRequestMessage, StartupMessage, _QueryMessage,
)
from cassandra._wire.messages.responses import FastResultMessage, ReadyMessage, ResultMessage, SupportedMessage
from cassandra._wire.page_handlers import LazyProtocolHandler, NumpyProtocolHandler

#: Flags of frames, for compressed bodies, traces and custom payloads.
COMPRESSED_FLAG, TRACING_FLAG, CUSTOM_PAYLOAD_FLAG = Flag.COMPRESSED, Flag.TRACING, Flag.CUSTOM_PAYLOAD
#: Flags of frames, for warnings and beta versions of the protocol, and the mask of all but the last one.
WARNING_FLAG, USE_BETA_FLAG, USE_BETA_MASK = Flag.WARNING, Flag.USE_BETA, ~Flag.USE_BETA
#: Bit of the version byte in responses, and its mask.
HEADER_DIRECTION_TO_CLIENT, HEADER_DIRECTION_MASK = 0x80, 0x80
#: True if NumPy can be imported.
HAVE_NUMPY = have_numpy()
#: Kinds of results, for no result, rows, and another keyspace in use.
RESULT_KIND_VOID, RESULT_KIND_ROWS, RESULT_KIND_SET_KEYSPACE = ResultKind.VOID, ResultKind.ROWS, ResultKind.SET_KEYSPACE
#: Kinds of results, for a prepared statement and a schema change.
RESULT_KIND_PREPARED, RESULT_KIND_SCHEMA_CHANGE = ResultKind.PREPARED, ResultKind.SCHEMA_CHANGE

log = logging.getLogger("cassandra.protocol")

__all__ = [
    "log",
    *reading.__all__, "AlreadyExists", "AlreadyExistsException", "AuthChallengeMessage", "AuthResponseMessage",
    "AuthSuccessMessage", "AuthenticateMessage", "BadCredentials", "BatchMessage", "CASWriteUnknownMessage",
    "CDCWriteException", "COMPRESSED_FLAG", "CUSTOM_PAYLOAD_FLAG", "ClientWriteError", "ColumnMetadata",
    "ConfigurationException", "CredentialsMessage", "ErrorMessage", "ErrorMessageSub", "EventMessage", "ExecuteMessage",
    "FastResultMessage", "FunctionFailureMessage", "HAVE_CYTHON", "HAVE_NUMPY", "HEADER_DIRECTION_MASK",
    "HEADER_DIRECTION_TO_CLIENT", "InternalError", "InvalidRequest", "InvalidRequestException",
    "IsBootstrappingErrorMessage", "LazyProtocolHandler", "NotSupportedError", "NumpyProtocolHandler", "OptionsMessage",
    "OverloadedErrorMessage", "PrepareMessage", "PreparedQueryNotFound", "ProtocolException", "ProtocolHandler",
    "QueryMessage", "RESULT_KIND_PREPARED", "RESULT_KIND_ROWS", "RESULT_KIND_SCHEMA_CHANGE", "RESULT_KIND_SET_KEYSPACE",
    "RESULT_KIND_VOID", "RateLimitReachedException", "ReadFailure", "ReadFailureMessage", "ReadTimeout",
    "ReadTimeoutErrorMessage", "ReadyMessage", "RegisterMessage", "RequestExecutionException", "RequestMessage",
    "RequestValidationException", "ResponseMessage", "ResultMessage", "ReviseRequestMessage", "ServerError",
    "StartupMessage", "SupportedMessage", "SyntaxException", "TRACING_FLAG", "TruncateError", "USE_BETA_FLAG",
    "USE_BETA_MASK", "Unauthorized", "UnauthorizedErrorMessage", "Unavailable", "UnavailableErrorMessage",
    "WARNING_FLAG", "WriteFailure", "WriteFailureMessage", "WriteTimeout", "WriteTimeoutErrorMessage", "_MessageType",
    "_ProtocolHandler", "_QueryMessage", "error_classes", "known_event_types",
]

add_names(__name__, {
    "cassandra._compat.names": "UUID io namedtuple socket",
    "cassandra.cqltypes": (
        "AsciiType BooleanType ByteType BytesType CounterColumnType DateType DecimalType DoubleType DurationType"
        " FloatType InetAddressType Int32Type IntegerType ListType LongType MapType SetType ShortType"
        " SimpleDateType TimeType TimeUUIDType TupleType UTF8Type UUIDType UserType VarcharType lookup_casstype"
    ),
    "cassandra.policies": "ColDesc",
    "cassandra": (
        "DriverException FunctionFailure OperationType ProtocolVersion RateLimitReached SchemaTargetType"
        " UnsupportedOperation UserAggregateDescriptor UserFunctionDescriptor WriteType"
    ),
    "cassandra._compat.protocol": (
        "CUSTOM_TYPE ErrorMessageSubclass _NAMES_FOR_VALUES_FLAG _PAGE_SIZE_BYTES_FLAG _PAGE_SIZE_FLAG"
        " _PAGING_OPTIONS_FLAG _PREPARED_WITH_KEYSPACE_FLAG _PROTOCOL_TIMESTAMP_FLAG _RegisterMessageType"
        " _SKIP_METADATA_FLAG _VALUES_FLAG _WITH_KEYSPACE_FLAG _WITH_PAGING_STATE_FLAG"
        " _WITH_SERIAL_CONSISTENCY_FLAG _get_params _message_types_by_opcode _metadata_id_negotiated"
        " get_registered_classes register_class LazyParser ListParser NumpyParser cython_protocol_handler"
    ),
    "cassandra.marshal": "int32_unpack int8_unpack uint16_unpack uint32_le_unpack",
    "cassandra._core.codec": "_UNSET_VALUE=UNSET",
})  # fmt: skip
extend_subclasses(_MessageType, "send_body", "cassandra._compat.protocol", "encode_by_body")
add_attributes(QueryMessage, "cassandra._compat.protocol", "send_body")
add_attributes(PrepareMessage, "cassandra._compat.protocol", "send_body")
add_attributes(ProtocolHandler, "cassandra._compat.attributes", "col_parser my_opcodes")
add_attributes(LazyProtocolHandler, "cassandra._compat.attributes", "col_parser my_opcodes")
