"""scylla-driver's readers of the schema, and their helpers (L6). The driver's control connection does not use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cassandra._base.errors import UnsupportedOperation
from cassandra._base.objects import public
from cassandra._base.versions import Version, maybe_add_timeout_to_query
from cassandra._routing.metadata import Metadata
from cassandra._routing.replication import ReplicationStrategyTypeType, _UnknownStrategy
from cassandra._routing.schema import KeyspaceMetadata, SchemaTarget, ServerTraits
from cassandra._routing.schema.model import _BY_NAME
from cassandra._session.control.refresh import schema_rows
from cassandra._wire.encoder import Encoder
from cassandra._wire.types.nested import ReversedType

from .unsupported import finder

READERS = "reads the schema in scylla-driver; here cluster.metadata and cluster.refresh_schema_metadata() do that"


@public("cassandra.metadata")
class _RegisteredExtensionType(type):
    """The registry of table extensions, by name; as a metaclass it registers its classes there."""

    _extension_registry = _BY_NAME

    def __init__(cls, name: str, bases: tuple[type, ...], dct: dict[str, Any]) -> None:
        super().__init__(name, bases, dct)
        if dct.get("name") is not None:
            cls._extension_registry[dct["name"]] = cls  # type: ignore[assignment]


_encoder = Encoder()

#: Strategies by name, without their package.
_replication_strategies = ReplicationStrategyTypeType.registry


@public("cassandra.metadata")
class _UnknownStrategyBuilder:
    """Creates the strategies of an unknown name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, options_map: Mapping[str, Any]) -> _UnknownStrategy:
        return _UnknownStrategy(self.name, options_map)


def _cql_from_cass_type(cass_type: Any) -> str:
    """Return the CQL spelling of a type, without the order of a clustering column."""
    if issubclass(cass_type, ReversedType):
        return str(cass_type.subtypes[0].cql_parameterized_type())
    return str(cass_type.cql_parameterized_type())


@public("cassandra.metadata")
class SchemaParserV3:
    """Reads the schema over a connection, without caching: each call queries the server. The argument *keyspaces* is
    ignored."""

    _version = "3"
    recognized_table_options: tuple[str, ...] = (
        "bloom_filter_fp_chance", "caching", "cdc", "comment", "compaction", "compression", "crc_check_chance",
        "dclocal_read_repair_chance", "default_time_to_live", "in_memory", "gc_grace_seconds", "max_index_interval",
        "memtable_flush_period_in_ms", "min_index_interval", "read_repair_chance", "speculative_retry",
    )  # fmt: skip

    def __init__(
        self, connection: Any, timeout: float | None, fetch_size: int | None, metadata_request_timeout: Any
    ) -> None:
        self.connection = connection
        self.timeout = timeout
        self.fetch_size = fetch_size
        self.metadata_request_timeout = metadata_request_timeout

    def _read(self, target: SchemaTarget) -> Mapping[str, KeyspaceMetadata]:
        features = self.connection.features
        is_scylla = features.sharding_info is not None
        traits = ServerTraits.of(self._version, is_scylla, features.tablets_routing_v2)
        limit = maybe_add_timeout_to_query("", self.metadata_request_timeout) if is_scylla else ""
        made = Metadata()
        made.apply_schema(target, schema_rows(self.connection, target, traits, self.timeout, self.fetch_size, limit))
        return made.keyspaces

    def _keyspace(self, name: str) -> KeyspaceMetadata | None:
        return self._read(SchemaTarget.of_keyspace(name, contents=True)).get(name)

    def _part(self, keyspace: str, part: str, name: str) -> Any:
        found = self._keyspace(keyspace)
        return None if found is None else getattr(found, part).get(name)

    def get_all_keyspaces(self) -> Iterator[KeyspaceMetadata]:
        """Yield each keyspace with its contents."""
        yield from self._read(SchemaTarget.everything()).values()

    def get_keyspace(self, keyspaces: Any, keyspace: str) -> KeyspaceMetadata | None:
        """Return one keyspace without its contents; None if it does not exist."""
        return self._read(SchemaTarget.of_keyspace(keyspace)).get(keyspace)

    def get_table(self, keyspaces: Any, keyspace: str, table: str) -> Any:
        """Return a table or a view; None if it does not exist."""
        found = self._keyspace(keyspace)
        return None if found is None else found.tables.get(table) or found.views.get(table)

    def get_type(self, keyspaces: Any, keyspace: str, type: str) -> Any:
        """Return a user type; None if it does not exist."""
        return self._part(keyspace, "user_types", type)

    def get_types_map(self, keyspaces: Any, keyspace: str) -> Mapping[str, Any]:
        """Return user types by name."""
        found = self._keyspace(keyspace)
        return {} if found is None else found.user_types

    def get_function(self, keyspaces: Any, keyspace: str, function: Any) -> Any:
        """Return the function of a descriptor; None if it does not exist."""
        return self._part(keyspace, "functions", function.signature)

    def get_aggregate(self, keyspaces: Any, keyspace: str, aggregate: Any) -> Any:
        """Return the aggregate of a descriptor; None if it does not exist."""
        return self._part(keyspace, "aggregates", aggregate.signature)


@public("cassandra.metadata")
class SchemaParserV4(SchemaParserV3):
    """Reader for servers with virtual keyspaces."""

    _version = "4"
    recognized_table_options = (
        "additional_write_policy", "bloom_filter_fp_chance", "caching", "cdc", "comment", "compaction", "compression",
        "crc_check_chance", "default_time_to_live", "gc_grace_seconds", "max_index_interval",
        "memtable_flush_period_in_ms", "min_index_interval", "read_repair", "speculative_retry",
    )  # fmt: skip


@public("cassandra.metadata")
def get_schema_parser(
    connection: Any,
    server_version: str,
    dse_version: Any,
    timeout: float | None,
    metadata_request_timeout: Any = None,
    fetch_size: int | None = None,
) -> SchemaParserV3:
    """Return the reader for the schema of a server of that version. Raise UnsupportedOperation below Cassandra 3, and
    for DSE."""
    version = Version(server_version)
    if dse_version or version < Version("3.0.0"):
        raise UnsupportedOperation(f"The schema of version {dse_version or server_version} is not read by this driver")
    kind = SchemaParserV4 if version >= Version("4.0-a") else SchemaParserV3
    return kind(connection, timeout, fetch_size, metadata_request_timeout)


__getattr__ = finder("cassandra.metadata", {READERS: "SchemaParserV22"}, {})
