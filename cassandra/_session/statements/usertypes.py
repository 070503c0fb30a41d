"""Registered user types in simple statements: writing instances of an application's class as UDT literals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cassandra._base.errors import UserTypeDoesNotExist
from cassandra._base.names import protect_name

if TYPE_CHECKING:
    from cassandra._routing.metadata import Metadata
    from cassandra._wire.encoder import Encoder


def register_encoder(encoder: Encoder, metadata: Metadata, keyspace: str, user_type: str, klass: type) -> None:
    """Teach *encoder* to write instances of *klass* as ``{field: value, …}`` of ``keyspace.user_type``.

    Raises :exc:`UserTypeDoesNotExist` when the schema has no such keyspace or type.
    """
    known = metadata.keyspaces.get(keyspace)
    if known is None:
        raise UserTypeDoesNotExist(f"Keyspace {keyspace} does not exist or has not been discovered by the driver")
    udt = known.user_types.get(user_type)
    if udt is None:
        raise UserTypeDoesNotExist(f"User type {user_type} does not exist in keyspace {keyspace}")
    fields = [(name, protect_name(name)) for name in udt.field_names]

    def encode(value: Any) -> str:
        literals = (f"{quoted} : {encoder.cql_encode_all_types(getattr(value, name, None))}" for name, quoted in fields)
        return "{" + ", ".join(literals) + "}"

    encoder.mapping[klass] = encode
