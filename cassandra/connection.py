"""Endpoints, connections and their errors."""

# fmt: off
# isort: off
import logging

from cassandra._base.errors import (
    AuthenticationFailed, ConnectionBusy, ConnectionException, ConnectionShutdown, CrcException,
    CrcMismatchException, OperationTimedOut, ProtocolError, ProtocolVersionUnsupported, ResponseTooLarge,
)
from cassandra._base.server_errors import ErrorMessage, InvalidRequestException, ProtocolException
from cassandra._base.constants import ConsistencyLevel, ProtocolVersion
from cassandra._base.aliases import add_names, use_compat_class, add_aliases
from cassandra._core.transport import Reactor
from cassandra._net.handshake import ApplicationInfoBase
from cassandra._net.client_routes import ClientRoutesEndPoint, ClientRoutesEndPointFactory
from cassandra._net.compression import functions, lz4_compress, lz4_decompress
from cassandra._net.connection import Connection
from cassandra._net.endpoint import (
    DefaultEndPoint, DefaultEndPointFactory, EndPoint, EndPointFactory, SniEndPoint, SniEndPointFactory,
    UnixSocketEndPoint,
)
from cassandra._net.features import ProtocolFeatures
from cassandra._net.handshake import DRIVER_NAME, DRIVER_VERSION, NodeDraining, UnexpectedHost, VersionRefused
from cassandra._net.options import DEFAULT_CQL_VERSION
from cassandra._net.features import DefaultShardAwarePortGenerator, ShardAwarePortGenerator, ShardingInfo
from cassandra._wire.handlers import ProtocolHandler
from cassandra._wire.messages.requests import (
    AuthChallengeMessage, AuthenticateMessage, AuthResponseMessage, AuthSuccessMessage, CredentialsMessage,
)
from cassandra._wire.messages.requests import (
    OptionsMessage, QueryMessage, RegisterMessage, ReviseRequestMessage, StartupMessage,
)
from cassandra._wire.messages.responses import ReadyMessage, ResultMessage, SupportedMessage

PROTOCOL_VERSION_MASK = 0x7F  #: Mask of the version in the version byte.
HEADER_DIRECTION_FROM_CLIENT = 0x00  #: Bit of the version byte in requests.
HEADER_DIRECTION_TO_CLIENT = 0x80  #: Bit of the version byte in responses.
HEADER_DIRECTION_MASK = 0x80  #: Mask of the direction in the version byte.
#: Compression algorithms that this installation supports: name to (compress, decompress).
locally_supported_compressions = functions()

log = logging.getLogger("cassandra.connection")

__all__ = [
    "log",
    "DEFAULT_CQL_VERSION", "DRIVER_NAME", "DRIVER_VERSION", "HEADER_DIRECTION_FROM_CLIENT", "HEADER_DIRECTION_MASK",
    "HEADER_DIRECTION_TO_CLIENT", "PROTOCOL_VERSION_MASK", "ApplicationInfoBase", "AuthChallengeMessage",
    "AuthResponseMessage", "AuthSuccessMessage", "AuthenticateMessage", "AuthenticationFailed", "ClientRoutesEndPoint",
    "ClientRoutesEndPointFactory", "Connection", "ConnectionBusy", "ConnectionException",
    "ConnectionShutdown", "ConsistencyLevel", "CrcException", "CrcMismatchException", "CredentialsMessage",
    "DefaultEndPoint", "DefaultEndPointFactory", "DefaultShardAwarePortGenerator", "EndPoint", "EndPointFactory",
    "ErrorMessage", "InvalidRequestException", "NodeDraining", "OperationTimedOut", "OptionsMessage", "ProtocolError",
    "ProtocolException", "ProtocolFeatures", "ProtocolHandler", "ProtocolVersion", "ProtocolVersionUnsupported",
    "QueryMessage", "ReadyMessage", "RegisterMessage", "ResponseTooLarge", "ResultMessage", "ReviseRequestMessage",
    "ShardAwarePortGenerator", "ShardingInfo", "SniEndPoint", "SniEndPointFactory", "StartupMessage",
    "SupportedMessage", "UnexpectedHost", "UnixSocketEndPoint", "VersionRefused", "locally_supported_compressions",
    "lz4_compress", "lz4_decompress",
]

add_names(__name__, {
    "cassandra._compat.names": (
        "Condition Empty Event OrderedDict Queue RLock Thread defaultdict deque errno io itertools partial random"
        " socket ssl struct sys time total_ordering uuid weakref wraps DEFAULT_LOCAL_PORT_HIGH"
        " DEFAULT_LOCAL_PORT_LOW NONBLOCKING defunct_on_error _Frame frame_header_v3"
    ),
    "cassandra._compat.dse": "ContinuousPagingSession",
    "cassandra._session.driver_config": "DRIVER_CONFIG_OPTION DriverConfigReporter SESSION_ID_OPTION",
    "cassandra._compat.heartbeats": "ConnectionHeartbeat HeartbeatFuture",
    "cassandra._compat.timers": "ResponseWaiter Timer TimerManager",
    "cassandra._compat.segment": "SegmentCodec segment_codec_lz4 segment_codec_no_compression",
})  # fmt: skip
add_aliases(Connection)
use_compat_class(Connection, "cassandra._compat.unopened", Reactor)
