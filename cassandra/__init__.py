"""Driver for Apache Cassandra and ScyllaDB: constants and the exceptions that requests raise."""

# fmt: off
# isort: off
from logging import NullHandler

from cassandra._base.logs import get_logger
from cassandra._base import distributions as _distributions
from cassandra._base.constants import (
    ConsistencyLevel, ProtocolVersion, SchemaChangeType, SchemaTargetType, WriteType,
    consistency_value_to_name,
)
from cassandra._base.names import SignatureDescriptor, UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._base.errors import (
    AlreadyExists, AuthenticationFailed, CASWriteUnknown, CDCWriteFailure, ConfigurationException,
    CoordinationFailure, DecodeError, DependencyException, DriverException, FunctionFailure, InvalidRequest,
    OperationTimedOut, OperationType, RateLimitReached, ReadFailure, ReadTimeout,
    RequestExecutionException, RequestValidationException, Timeout, Unauthorized, Unavailable,
    UnresolvableContactPoints, UnsupportedOperation, WriteFailure, WriteTimeout,
)
from cassandra._base.aliases import add_submodules
from cassandra._base.version import __version__, __version_info__

_distributions.check(__path__)
get_logger("cassandra").addHandler(NullHandler())

__all__ = [
    "AlreadyExists", "AuthenticationFailed", "CASWriteUnknown", "CDCWriteFailure", "ConfigurationException",
    "ConsistencyLevel", "CoordinationFailure", "DecodeError", "DependencyException", "DriverException",
    "FunctionFailure", "InvalidRequest", "NullHandler", "OperationTimedOut", "OperationType", "ProtocolVersion",
    "RateLimitReached", "ReadFailure", "ReadTimeout", "RequestExecutionException",
    "RequestValidationException", "SchemaChangeType", "SchemaTargetType", "SignatureDescriptor", "Timeout",
    "Unauthorized", "Unavailable", "UnresolvableContactPoints", "UnsupportedOperation",
    "UserAggregateDescriptor", "UserFunctionDescriptor", "WriteFailure", "WriteTimeout", "WriteType",
    "__version__", "__version_info__", "consistency_value_to_name",
]

add_submodules(__name__)
