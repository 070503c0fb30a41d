"""Features that a server announces in SUPPORTED and a connection negotiates (L3; ``cassandra.protocol_features``).

*Shards* of a ScyllaDB node: a node announces the shard of a connection and the mapping of tokens to shards. A
connection to its shard-aware port is assigned to the shard that the client's own port selects: ``port % shards``. An
:class:`ShardTarget` is a target shard, used by ``opening.py``.

There is no state except the cache of dialects.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from cassandra._base.constants import GRACEFUL_DISCONNECT
from cassandra._base.logs import get_logger
from cassandra._base.objects import public
from cassandra._base.randomness import randrange
from cassandra._core.routing import ShardingInfo, ShardPicker

__all__ = [
    "ShardTarget",
    "DefaultShardAwarePortGenerator",
    "Dialect",
    "LwtInfo",
    "ProtocolFeatures",
    "ShardAwarePortGenerator",
    "ShardChoice",
    "ShardPicker",
    "ShardingInfo",
    "dialect_of",
    "parse_sharding",
    "supported_versions",
]

log = get_logger("cassandra.protocol_features")


# ---- shards of a node

BIASED_TOKEN_ROUND_ROBIN: Final = "biased-token-round-robin"
MURMUR3_PARTITIONER: Final = "Murmur3Partitioner"  # the package name before it differs between versions
MAX_SHARDS = 4096  # a larger number is invalid: there would be as many connections
LOCAL_PORTS = 100  # maximum number of local ports tried for one connection

#: Errors for a local port in use: by another socket, or by a recent connection to the same address.
PORT_IS_TAKEN: Final = frozenset({errno.EADDRINUSE, errno.EADDRNOTAVAIL})


def number_of(text: str | None, option: str) -> int | None:
    """Parse a decimal number of an option of SUPPORTED; an invalid one is logged and ignored (None)."""
    if text is None:
        return None
    if re.fullmatch("-?[0-9]{1,10}", text) is None:
        log.warning("Ignored an option of SUPPORTED that is not a number: %s=%.40r", option, text)
        return None
    return int(text)


def parse_sharding(supported: Mapping[str, Sequence[str]]) -> tuple[int, ShardingInfo | None]:
    """Return (shard of this connection, sharding of the node); (0, None) for a node without shards, or with an unknown
    mapping or invalid values."""

    def first(name: str) -> str | None:
        return next(iter(supported.get(name) or ()), None)

    def number(name: str, lowest: int, highest: int) -> int | None:
        found = number_of(first(name), name)
        if found is None or lowest <= found <= highest:
            return found
        log.warning("Ignored an option of SUPPORTED that is out of range: %s=%d (%d..%d)", name, found, lowest, highest)
        return None

    algorithm, partitioner = first("SCYLLA_SHARDING_ALGORITHM"), first("SCYLLA_PARTITIONER")
    if algorithm != BIASED_TOKEN_ROUND_ROBIN or partitioner is None or not partitioner.endswith(MURMUR3_PARTITIONER):
        return 0, None
    count = number("SCYLLA_NR_SHARDS", 1, MAX_SHARDS)
    shard = None if count is None else number("SCYLLA_SHARD", 0, count - 1)
    ignore_msb = 0 if first("SCYLLA_SHARDING_IGNORE_MSB") is None else number("SCYLLA_SHARDING_IGNORE_MSB", 0, 63)
    if count is None or shard is None or ignore_msb is None:
        return 0, None
    ports = [number(name, 1, 65535) for name in ("SCYLLA_SHARD_AWARE_PORT", "SCYLLA_SHARD_AWARE_PORT_SSL")]
    return shard, ShardingInfo(shard, count, partitioner, algorithm, ignore_msb, *ports)


@public("cassandra.connection")
class ShardAwarePortGenerator:
    """Local ports that select a shard, between *start_port* and *end_port*, both included.

    ::

        ports = ShardAwarePortGenerator(49152, 65535)
        for port in ports.generate(shard_id=3, total_shards=8): ...
    """

    def __init__(self, start_port: int, end_port: int) -> None:
        self.start_port = start_port  #: First port.
        self.end_port = end_port  #: Last port.

    def generate(self, shard_id: int, total_shards: int) -> Iterator[int]:
        """Yield each port once, upwards from a random one, so that clients on one machine try different ones."""
        first = self.start_port + (shard_id - self.start_port) % total_shards
        ports = range(first, self.end_port + 1, total_shards)
        if ports:
            at = randrange(len(ports))
            yield from ports[at:]
            yield from ports[:at]


#: The dynamic ports of IANA. Operating systems assign part of them to other sockets too.
DefaultShardAwarePortGenerator = ShardAwarePortGenerator(49152, 65535)


class ShardChoice(Protocol):
    """Options for connections to shards, as in ``cassandra.cluster.ShardAwareOptions``."""

    disable: bool | None
    disable_shardaware_port: bool | None


class ShardTarget:
    """Target shard of a connection, through the shard-aware *port* of a node with *shards_count* shards."""

    __slots__ = ("port", "shard", "shards_count")

    def __init__(self, shard: int, shards_count: int, port: int) -> None:
        self.shard = shard
        self.shards_count = shards_count
        self.port = port

    def local_ports(self) -> Iterator[int]:
        """Return the local ports to try until one is free."""
        return islice(DefaultShardAwarePortGenerator.generate(self.shard, self.shards_count), LOCAL_PORTS)


# ---- features of a connection

Supported = Mapping[str, list[str]]

RATE_LIMIT_ERROR_EXTENSION: Final = "SCYLLA_RATE_LIMIT_ERROR"  #: Extension with an error code of rejected operations.
TABLETS_ROUTING_V1: Final = "TABLETS_ROUTING_V1"  #: Extension that tells clients of tablets.
TABLETS_ROUTING_V2: Final = "TABLETS_ROUTING_V2_EXPERIMENTAL"  #: Extension that tells clients of versions of tablets.
LWT_ADD_METADATA_MARK: Final = "SCYLLA_LWT_ADD_METADATA_MARK"  #: Extension that marks conditional statements.
LWT_OPTIMIZATION_META_BIT_MASK: Final = "LWT_OPTIMIZATION_META_BIT_MASK"  #: Its option with the mark.
FLAGS: Final = 0xFFFFFFFF  # flags of prepared metadata have 32 bits
USE_METADATA_ID: Final = "SCYLLA_USE_METADATA_ID"  #: Extension with metadata ids.
HOST_ID: Final = "SCYLLA_HOST_ID"  #: Option with the host id of the node.
_UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_PROTOCOL_VERSION = "([0-9]{1,3})/v[0-9]{1,3}(-beta)?"  # such as 5/v5 and 6/v6-beta

Dialect = tuple[int, bool, bool]
_dialects: dict[Dialect, Dialect] = {}


@public("cassandra.lwt_info")
class LwtInfo(NamedTuple):
    """The flag of prepared metadata that marks a conditional statement."""

    lwt_meta_bit_mask: int
    """Mask of the flag."""

    def get_lwt_flag(self, flags: int) -> bool:
        """True if *flags* of a prepared statement mark a conditional one."""
        return (flags & self.lwt_meta_bit_mask) == self.lwt_meta_bit_mask


@public("cassandra.protocol_features")
class ProtocolFeatures:
    """The protocol extensions of a connection. All are off unless the server announced them."""

    rate_limit_error: int | None = None  #: Error code of rejected operations; None without.
    shard_id: int = 0  #: Shard of the connection.
    sharding_info: ShardingInfo | None = None  #: Shards of the node.
    tablets_routing_v1: bool = False  #: True if the node tells clients of tablets.
    tablets_routing_v2: bool = False  #: True if the node tells clients of versions of tablets.
    lwt_info: LwtInfo | None = None  #: Mark of conditional statements.
    use_metadata_id: bool = False  #: True if prepared statements have metadata ids.
    host_id: UUID | None = None  #: Host id of the node, if it announced it.
    graceful_disconnect: bool = False  #: True if the node announces that it closes a connection, to those who register.

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
        host_id: UUID | None = None,
        graceful_disconnect: bool = False,
    ) -> None:
        self.rate_limit_error = rate_limit_error
        self.shard_id = shard_id
        self.sharding_info = sharding_info
        self.tablets_routing_v1 = tablets_routing_v1
        self.tablets_routing_v2 = tablets_routing_v2
        self.lwt_info = lwt_info
        self.use_metadata_id = use_metadata_id
        self.host_id = host_id
        self.graceful_disconnect = graceful_disconnect

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
            host_id=_host_id(supported),
            graceful_disconnect="true" in supported.get(GRACEFUL_DISCONNECT, ()),
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
        """Return the error code of rejected operations in *supported*; None without."""
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
        """Return the mark of conditional statements in *supported*; None without."""
        values = options.get(LWT_ADD_METADATA_MARK)
        if values is None:
            return None
        mask = ProtocolFeatures.get_cql_extension_field(values, LWT_OPTIMIZATION_META_BIT_MASK)
        number = number_of(mask, LWT_ADD_METADATA_MARK)
        return LwtInfo(number) if number is not None and 0 < number <= FLAGS else None

    @staticmethod
    def parse_tablets_info(options: Supported) -> bool:
        """True if *supported* has the first extension for tablets."""
        return TABLETS_ROUTING_V1 in options

    @staticmethod
    def parse_tablets_v2_info(options: Supported) -> bool:
        """True if *supported* has the second extension for tablets."""
        return TABLETS_ROUTING_V2 in options

    @staticmethod
    def parse_use_metadata_id(options: Supported) -> bool:
        """True if *supported* has metadata ids."""
        return USE_METADATA_ID in options

    def __repr__(self) -> str:
        on = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value)
        return f"<ProtocolFeatures({on})>"


def _host_id(supported: Supported) -> UUID | None:
    """Return the announced host id; an invalid one is logged and ignored."""
    text = next(iter(supported.get(HOST_ID) or ()), None)
    if text is None:
        return None
    if re.fullmatch(_UUID, text) is None:
        log.warning("Ignored an option of SUPPORTED that is not a UUID: %s=%.40r", HOST_ID, text)
        return None
    return UUID(text)


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


def dialect_of(version: int, metadata_ids: bool, version_blocks: bool) -> Dialect:
    """Return the parameters of encoding an EXECUTE: protocol version, metadata ids, tablet version blocks. Equal
    arguments return the same object, so that dialects can be compared by identity."""
    dialect = (version, metadata_ids, version_blocks)
    return _dialects.setdefault(dialect, dialect)
