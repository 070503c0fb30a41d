"""EVENT: messages that servers push (L2)."""

from __future__ import annotations

from typing import Any

from cassandra._base.constants import Opcode, SchemaTargetType
from cassandra._base.errors import ProtocolError
from cassandra._base.names import UserAggregateDescriptor, UserFunctionDescriptor
from cassandra._base.objects import public
from cassandra._core.codec import Reader
from cassandra._wire.messages.base import ReadableFile, ResponseMessage, as_reader

known_event_types = frozenset({"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE", "CLIENT_ROUTES_CHANGE"})


@public("cassandra.protocol")
class EventMessage(ResponseMessage):
    """An event.

    ``event_args`` has ``change_type`` and, by type of event, ``address`` (host, port); or ``target_type``, ``keyspace``
    and the name under the target's own key (``table``, ``type``, ``function``, ``aggregate``); or ``connection_ids``
    and ``host_ids``.
    """

    opcode = Opcode.EVENT
    name = "EVENT"
    _fields = ("event_type", "event_args")

    def __init__(self, event_type: str, event_args: dict[str, Any]) -> None:
        self.event_type = event_type
        self.event_args = event_args

    @classmethod
    def recv_body(cls, f: Reader | ReadableFile, protocol_version: int = 4, *args: Any) -> EventMessage:
        reader = as_reader(f)
        event_type = reader.string().upper()
        if event_type not in known_event_types:
            raise ProtocolError(f"unknown event type {event_type!r}")
        read = getattr(cls, f"recv_{event_type.lower()}")
        return cls(event_type, read(reader, protocol_version))

    @classmethod
    def recv_topology_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        reader = as_reader(f)
        return {"change_type": reader.string(), "address": reader.inet()}

    @classmethod
    def recv_status_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        return cls.recv_topology_change(f, protocol_version)

    @classmethod
    def recv_schema_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        reader = as_reader(f)
        change_type, target, keyspace = reader.string(), reader.string(), reader.string()
        event: dict[str, Any] = {"target_type": target, "change_type": change_type, "keyspace": keyspace}
        if target == SchemaTargetType.FUNCTION:
            event["function"] = UserFunctionDescriptor(reader.string(), reader.string_list())
        elif target == SchemaTargetType.AGGREGATE:
            event["aggregate"] = UserAggregateDescriptor(reader.string(), reader.string_list())
        elif target != SchemaTargetType.KEYSPACE:
            event[target.lower()] = reader.string()
        return event

    @classmethod
    def recv_client_routes_change(cls, f: Reader | ReadableFile, protocol_version: int) -> dict[str, Any]:
        reader = as_reader(f)
        return {
            "change_type": reader.string(),
            "connection_ids": reader.string_list(),
            "host_ids": reader.string_list(),
        }
