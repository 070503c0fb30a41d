"""READY, SUPPORTED and RESULT (L2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cassandra._base.constants import Opcode, ProtocolVersion
from cassandra._base.message import _MessageType
from cassandra._base.public import public
from cassandra._core.codec import Reader, Result, ResultPlan, TypeContext, decode_result
from cassandra._wire.messages.base import ReadableFile, ResponseMessage, as_reader
from cassandra._wire.types.registry import resolve_custom, type_class


@public("cassandra.protocol")
class ReadyMessage(ResponseMessage):
    opcode = Opcode.READY
    name = "READY"

    @classmethod
    def recv_body(cls, *args: Any) -> ReadyMessage:
        return cls()


@public("cassandra.protocol")
class SupportedMessage(ResponseMessage):
    """What the server supports: CQL versions, and everything else by option name."""

    opcode = Opcode.SUPPORTED
    name = "SUPPORTED"
    _fields = ("cql_versions", "options")

    def __init__(self, cql_versions: list[str], options: dict[str, list[str]]) -> None:
        self.cql_versions = cql_versions
        self.options = options

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, *args: Any) -> SupportedMessage:
        options = as_reader(f).string_multimap()
        return cls(options.pop("CQL_VERSION", []), options)


@public("cassandra.protocol")
class ResultMessage(Result, _MessageType):
    """The answer to a request that succeeded. Rows stay bytes until they are asked for (see ``page``)."""

    __slots__ = ()

    opcode = Opcode.RESULT
    name = "RESULT"

    @property
    def column_types(self) -> list[Any] | None:
        """The type class of every column."""
        return None if self.plan is None else [type_class(codec) for codec in self.plan.codecs]

    @classmethod
    def recv_body(
        cls,
        f: ReadableFile,
        protocol_version: int,
        protocol_features: Any = None,
        user_type_map: Any = None,
        result_metadata: Any = None,
        column_encryption_policy: Any = None,
    ) -> ResultMessage:
        """Decode a body without the fields that envelope flags announce."""
        plan = as_plan(result_metadata)
        lwt = getattr(protocol_features, "lwt_info", None)
        return decode_result(
            cls,
            f.read(),
            0,
            protocol_version,
            as_context(user_type_map),
            plan,
            lwt_mask=lwt.lwt_meta_bit_mask if lwt else 0,
            metadata_ids=uses_metadata_ids(protocol_version, protocol_features),
        )


@public("cassandra.protocol")
class FastResultMessage(ResultMessage):
    """The same; scylla-driver's name for results that its native decoder makes."""

    __slots__ = ()


def uses_metadata_ids(version: int, features: Any) -> bool:
    """Whether PREPARED answers carry a result metadata id."""
    return ProtocolVersion.uses_prepared_metadata(version) or bool(getattr(features, "use_metadata_id", False))


def as_context(user_types: TypeContext | Mapping[str, Mapping[str, Any]] | None) -> TypeContext:
    """A TypeContext, also for a plain mapping of keyspace and type name to class."""
    if isinstance(user_types, TypeContext):
        return user_types
    known = user_types or {}
    return TypeContext(resolve_custom, lambda keyspace, name: known.get(keyspace, {}).get(name))


def as_plan(metadata: Any) -> ResultPlan | None:
    """A ResultPlan as it is; anything else cannot decode rows and is left out."""
    return metadata if isinstance(metadata, ResultPlan) else None
