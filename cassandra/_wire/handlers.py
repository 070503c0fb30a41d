"""Protocol handlers: extension point for the encoding and decoding of messages (L2).

A session with the standard handler never calls it: it encodes and decodes natively. A user's subclass is called for
every request and response of its session, in the thread that receives the response.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from typing import Any, ClassVar

from cassandra._base.constants import Flag, Opcode
from cassandra._base.errors import ProtocolError
from cassandra._base.objects import public
from cassandra._base.server_errors import ErrorMessage
from cassandra._core.codec import (
    Reader,
    ResultPlan,
    TypeContext,
    decode_result,
)
from cassandra._core.transport import Frame
from cassandra._wire.messages.reading import as_columns, as_context, as_plan, as_user_types, uses_metadata_ids
from cassandra._wire.messages.requests import HEADER_SIZE, AuthChallengeMessage, AuthenticateMessage, AuthSuccessMessage
from cassandra._wire.messages.responses import (
    EventMessage,
    ReadyMessage,
    ResultMessage,
    SupportedMessage,
    decode_response,
    read_prefix,
    set_prefix,
)

from .encryption import context_by, policy_of, resolver, result_plan_by

HAVE_CYTHON = True  #: True: the native code is always present.


def have_numpy() -> bool:
    """True if NumPy is installed; it is not imported for this."""
    from importlib.util import find_spec

    return find_spec("numpy") is not None


_RESPONSES: dict[int, Any] = {
    Opcode.ERROR: ErrorMessage,
    Opcode.READY: ReadyMessage,
    Opcode.AUTHENTICATE: AuthenticateMessage,
    Opcode.SUPPORTED: SupportedMessage,
    Opcode.RESULT: ResultMessage,
    Opcode.EVENT: EventMessage,
    Opcode.AUTH_CHALLENGE: AuthChallengeMessage,
    Opcode.AUTH_SUCCESS: AuthSuccessMessage,
}


@public("cassandra.protocol")
class _ProtocolHandler:
    """Encodes and decodes messages. To change that, set ``Session.client_protocol_handler`` to a subclass with
    overridden methods.

    ``message_types_by_opcode`` chooses the class of each response; a class that is not the standard one and has its own
    ``recv_body`` gets the body as a file-like object.
    """

    message_types_by_opcode: ClassVar[dict[int, Any]] = dict(_RESPONSES)  #: Classes of responses by opcode.
    column_encryption_policy: ClassVar[Any] = None
    """Policy for results that this handler decodes; None: that of the cluster."""

    @classmethod
    def encode_message(
        cls,
        msg: Any,
        stream_id: int,
        protocol_version: int,
        compressor: Callable[[bytes], bytes] | None,
        allow_beta_protocol_version: bool,
        protocol_features: Any = None,
    ) -> bytes:
        """Return the envelope of a request. *compressor* is None for uncompressed bodies (always on protocol 5)."""
        flags = Flag.USE_BETA if allow_beta_protocol_version else 0
        envelope: bytes = msg.encode(protocol_version, flags=flags, features=protocol_features)
        if compressor is not None and protocol_version < 5:
            envelope = compress_body(envelope, compressor)
        return b"".join((envelope[:2], struct.pack(">h", stream_id), envelope[4:]))

    @classmethod
    def decode_message(
        cls,
        protocol_version: int,
        protocol_features: Any,
        user_type_map: Any,
        stream_id: int,
        flags: int,
        opcode: int,
        body: bytes,
        decompressor: Callable[[Any], bytes] | None,
        result_metadata: Any,
    ) -> Any:
        """Return the message of a response body. *user_type_map* is the cluster's ``TypeContext``, or a mapping of
        keyspace and type name to class; *result_metadata* is the metadata to decode rows with that have none."""
        if flags & Flag.COMPRESSED and protocol_version < 5 and decompressor is not None:
            body, flags = decompressor(body), flags & ~Flag.COMPRESSED  # a program's decompressor expects bytes
        policy = cls.column_encryption_policy
        own: Any = cls.message_types_by_opcode.get(opcode)
        standard = _RESPONSES.get(opcode)
        if own is not None and own is not standard and not _inherits_reading(own, standard):
            reader = Reader(body)
            prefix = read_prefix(reader, flags)
            message = own.recv_body(
                io.BytesIO(body[reader.offset :]),
                protocol_version,
                protocol_features,
                as_user_types(user_type_map),
                as_columns(result_metadata),
                policy_of(user_type_map) if policy is None else policy,
            )
            message.stream_id = stream_id
            set_prefix(message, prefix)
            return message
        plan = result_metadata
        if plan is not None and type(plan) is not ResultPlan:
            plan = as_plan(plan)
        context = user_type_map if type(user_type_map) is TypeContext else as_context(user_type_map)
        if policy is not None:
            context = context_by(policy, context)
            plan = None if plan is None else result_plan_by(resolver(policy), plan)
        lwt = getattr(protocol_features, "lwt_info", None)
        lwt_mask = lwt.lwt_meta_bit_mask if lwt else 0
        metadata_ids = uses_metadata_ids(protocol_version, protocol_features)
        if own is ResultMessage and opcode == Opcode.RESULT and not flags:  # fast path for most responses
            try:
                return decode_result(own, body, 0, protocol_version, context, plan, stream_id, lwt_mask, metadata_ids)
            except (ProtocolError, ValueError):
                pass  # decoded again below, which reports the error
        return decode_response(
            Frame(protocol_version, flags, stream_id, opcode, body),
            context,
            plan=plan,
            metadata_ids=metadata_ids,
            lwt_mask=lwt_mask,
            rate_limit_error=getattr(protocol_features, "rate_limit_error", None),
            result_class=own if opcode == Opcode.RESULT and own is not None else ResultMessage,
        )


def _inherits_reading(own: Any, standard: Any) -> bool:
    """True if *own* is a subclass of the standard class with the same decoding of bodies."""
    if not (isinstance(own, type) and isinstance(standard, type) and issubclass(own, standard)):
        return False
    if getattr(own, "_has_own_steps", False):
        return False
    read = getattr(own, "recv_body", None)
    return getattr(read, "__func__", read) is getattr(getattr(standard, "recv_body", None), "__func__", None)


def compress_body(envelope: bytes, compressor: Callable[[bytes], bytes]) -> bytes:
    """Return *envelope* with its body compressed (protocol 3 and 4), or unchanged without a body."""
    if len(envelope) == HEADER_SIZE:
        return envelope
    body = compressor(envelope[HEADER_SIZE:])
    head = bytes((envelope[0], envelope[1] | Flag.COMPRESSED)) + envelope[2:5]
    return b"".join((head, struct.pack(">I", len(body)), body))


@public("cassandra.protocol")
class ProtocolHandler(_ProtocolHandler):
    """The standard handler. Rows are decoded natively, on access."""
