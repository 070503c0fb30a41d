"""Features announced in SUPPORTED and negotiated for a connection (L3; ``cassandra.protocol_features``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from cassandra._base.objects import public
from cassandra._net.pool.sharding import ShardingInfo, number_of, parse_sharding

Supported = Mapping[str, list[str]]

RATE_LIMIT_ERROR_EXTENSION: Final = "SCYLLA_RATE_LIMIT_ERROR"
TABLETS_ROUTING_V1: Final = "TABLETS_ROUTING_V1"
TABLETS_ROUTING_V2: Final = "TABLETS_ROUTING_V2_EXPERIMENTAL"
LWT_ADD_METADATA_MARK: Final = "SCYLLA_LWT_ADD_METADATA_MARK"
LWT_OPTIMIZATION_META_BIT_MASK: Final = "LWT_OPTIMIZATION_META_BIT_MASK"
FLAGS: Final = 0xFFFFFFFF  # flags of prepared metadata have 32 bits
USE_METADATA_ID: Final = "SCYLLA_USE_METADATA_ID"


@public("cassandra.lwt_info")
class LwtInfo(NamedTuple):
    """The flag of prepared metadata that marks a conditional statement."""

    lwt_meta_bit_mask: int

    def get_lwt_flag(self, flags: int) -> bool:
        return (flags & self.lwt_meta_bit_mask) == self.lwt_meta_bit_mask


@public("cassandra.protocol_features")
class ProtocolFeatures:
    """The protocol extensions of a connection. All are off unless the server announced them."""

    rate_limit_error: int | None = None
    shard_id: int = 0
    sharding_info: ShardingInfo | None = None
    tablets_routing_v1: bool = False
    tablets_routing_v2: bool = False
    lwt_info: LwtInfo | None = None
    use_metadata_id: bool = False

    def __init__(
        self,
        *,
        rate_limit_error: int | None = None,
        shard_id: int = 0,
        sharding_info: ShardingInfo | None = None,
        tablets_routing_v1: bool = False,
        tablets_routing_v2: bool = False,
        lwt_info: LwtInfo | None = None,
        use_metadata_id: bool = False,
    ) -> None:
        self.rate_limit_error = rate_limit_error
        self.shard_id = shard_id
        self.sharding_info = sharding_info
        self.tablets_routing_v1 = tablets_routing_v1
        self.tablets_routing_v2 = tablets_routing_v2
        self.lwt_info = lwt_info
        self.use_metadata_id = use_metadata_id

    @staticmethod
    def parse_from_supported(supported: Supported) -> ProtocolFeatures:
        """Return the announced features that this driver supports."""
        shard_id, sharding_info = ProtocolFeatures.parse_sharding_info(supported)
        return ProtocolFeatures(
            rate_limit_error=ProtocolFeatures.maybe_parse_rate_limit_error(supported),
            shard_id=shard_id,
            sharding_info=sharding_info,
            tablets_routing_v1=ProtocolFeatures.parse_tablets_info(supported),
            tablets_routing_v2=ProtocolFeatures.parse_tablets_v2_info(supported),
            lwt_info=ProtocolFeatures.parse_lwt_info(supported),
            use_metadata_id=ProtocolFeatures.parse_use_metadata_id(supported),
        )

    def add_startup_options(self, options: dict[str, str]) -> None:
        """Add the STARTUP options that enable the features. Version 2 of tablet routing replaces version 1."""
        if self.rate_limit_error is not None:
            options[RATE_LIMIT_ERROR_EXTENSION] = ""
        if self.tablets_routing_v2:
            options[TABLETS_ROUTING_V2] = ""
        elif self.tablets_routing_v1:
            options[TABLETS_ROUTING_V1] = ""
        if self.lwt_info is not None:
            options[LWT_ADD_METADATA_MARK] = str(self.lwt_info.lwt_meta_bit_mask)
        if self.use_metadata_id:
            options[USE_METADATA_ID] = ""

    @staticmethod
    def get_cql_extension_field(vals: Iterable[str], key: str) -> str | None:
        """Return the value of ``key=value`` among the values of an option, None if there is none."""
        prefix = f"{key}="
        return next((value[len(prefix) :] for value in vals if value.startswith(prefix)), None)

    @staticmethod
    def maybe_parse_rate_limit_error(supported: Supported) -> int | None:
        values = supported.get(RATE_LIMIT_ERROR_EXTENSION)
        if values is None:
            return None
        code = ProtocolFeatures.get_cql_extension_field(values, "ERROR_CODE")
        return number_of(code, RATE_LIMIT_ERROR_EXTENSION)

    @staticmethod
    def parse_sharding_info(options: Supported) -> tuple[int, ShardingInfo | None]:
        """Return (shard of this connection, sharding of the node); (0, None) for a node without shards."""
        return parse_sharding(options)

    @staticmethod
    def parse_lwt_info(options: Supported) -> LwtInfo | None:
        values = options.get(LWT_ADD_METADATA_MARK)
        if values is None:
            return None
        mask = ProtocolFeatures.get_cql_extension_field(values, LWT_OPTIMIZATION_META_BIT_MASK)
        number = number_of(mask, LWT_ADD_METADATA_MARK)
        return LwtInfo(number) if number is not None and 0 < number <= FLAGS else None

    @staticmethod
    def parse_tablets_info(options: Supported) -> bool:
        return TABLETS_ROUTING_V1 in options

    @staticmethod
    def parse_tablets_v2_info(options: Supported) -> bool:
        return TABLETS_ROUTING_V2 in options

    @staticmethod
    def parse_use_metadata_id(options: Supported) -> bool:
        return USE_METADATA_ID in options

    def __repr__(self) -> str:
        on = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value)
        return f"<ProtocolFeatures({on})>"


def supported_versions(supported: Supported) -> dict[int, bool] | None:
    """Return the protocol versions listed in SUPPORTED, each with True if it is beta; None if there is no list."""
    values = supported.get("PROTOCOL_VERSIONS")
    if not values:
        return None
    listed = {}
    for value in values:
        match = re.fullmatch(_PROTOCOL_VERSION, value)
        if match is not None:
            listed[int(match[1])] = match[2] is not None
    return listed


_PROTOCOL_VERSION = "([0-9]{1,3})/v[0-9]{1,3}(-beta)?"  # such as 5/v5 and 6/v6-beta

Dialect = tuple[int, bool, bool]
_dialects: dict[Dialect, Dialect] = {}


def dialect_of(version: int, metadata_ids: bool, version_blocks: bool) -> Dialect:
    """Return the parameters of encoding an EXECUTE: protocol version, metadata ids, tablet version blocks. Equal
    arguments return the same object, so that dialects can be compared by identity."""
    dialect = (version, metadata_ids, version_blocks)
    return _dialects.setdefault(dialect, dialect)
