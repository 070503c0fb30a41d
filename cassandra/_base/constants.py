"""Protocol constants: consistency levels, versions, opcodes, flags, result kinds and type ids (L0)."""

from typing import Final

from .objects import public


@public("cassandra")
class ConsistencyLevel:
    """The number of replicas that must respond before the coordinator reports success."""

    ANY: Final = 0  #: Writes only: any node has stored the write, if only as a hint.
    ONE: Final = 1  #: One replica responds.
    TWO: Final = 2  #: Two replicas respond.
    THREE: Final = 3  #: Three replicas respond.
    QUORUM: Final = 4  #: More than half of all replicas respond.
    ALL: Final = 5  #: All replicas respond.
    LOCAL_QUORUM: Final = 6  #: More than half of the replicas in the datacenter of the coordinator respond.
    EACH_QUORUM: Final = 7  #: More than half of the replicas in each datacenter respond.
    SERIAL: Final = 8  #: Serial consistency over all datacenters.
    LOCAL_SERIAL: Final = 9  #: Serial consistency within the datacenter of the coordinator.
    LOCAL_ONE: Final = 10  #: One replica in the datacenter of the coordinator responds.

    name_to_value: dict[str, int] = {
        "ANY": 0,
        "ONE": 1,
        "TWO": 2,
        "THREE": 3,
        "QUORUM": 4,
        "ALL": 5,
        "LOCAL_QUORUM": 6,
        "EACH_QUORUM": 7,
        "SERIAL": 8,
        "LOCAL_SERIAL": 9,
        "LOCAL_ONE": 10,
    }  #: All levels, as a dict.
    value_to_name: dict[int, str] = {value: name for name, value in name_to_value.items()}  #: All levels, as a dict.

    @staticmethod
    def is_serial(cl: int | None) -> bool:
        """True if *cl* is one of the two levels that are valid as serial consistency."""
        return cl in (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL)


@public("cassandra")
def consistency_value_to_name(value: int | None) -> str:
    """Return the name of a consistency level, ``"Not Set"`` for None, the number as text for an unknown level."""
    return ConsistencyLevel.value_to_name.get(value, str(value)) if value is not None else "Not Set"


@public("cassandra")
class ProtocolVersion:
    """Versions of the native protocol and their features."""

    V3: Final = 3  #: Version 3: Cassandra 2.1.
    V4: Final = 4  #: Version 4: Cassandra 2.2 to 3.x, and ScyllaDB.
    V5: Final = 5  #: Version 5: Cassandra 4.0 and newer.
    V6: Final = 6  #: Version 6, a beta.
    DSE_V1: Final = 0x41  #: First version of DSE.
    DSE_V2: Final = 0x42  #: Second version of DSE.

    SUPPORTED_VERSIONS: tuple[int, ...] = (5, 4, 3)  #: The versions of this driver, the highest one first.
    BETA_VERSIONS: tuple[int, ...] = (6,)  #: Those that need ``allow_beta_protocol_version``.
    MIN_SUPPORTED: int = 3  #: The lowest version of this driver.
    MAX_SUPPORTED: int = 5  #: The highest version of this driver that is not a beta.

    @classmethod
    def get_lower_supported(cls, previous_version: int) -> int:
        """Return the next supported version below *previous_version*, 0 if there is none."""
        return max((v for v in cls.SUPPORTED_VERSIONS if v < previous_version), default=0)

    @classmethod
    def uses_int_query_flags(cls, version: int) -> bool:
        """True if the flags of requests have 32 bits in *version*."""
        return version >= cls.V5 and version != cls.DSE_V1

    @classmethod
    def uses_prepare_flags(cls, version: int) -> bool:
        """True if PREPARE has flags in *version*."""
        return version >= cls.V5 and version != cls.DSE_V1

    @classmethod
    def uses_prepared_metadata(cls, version: int) -> bool:
        """True if prepared statements have a result metadata id in *version*."""
        return version >= cls.V5 and version != cls.DSE_V1

    @classmethod
    def uses_error_code_map(cls, version: int) -> bool:
        """True if failures have an error code for each replica in *version*."""
        return version >= cls.V5

    @classmethod
    def uses_keyspace_flag(cls, version: int) -> bool:
        """True if a request can name its keyspace in *version*."""
        return version >= cls.V5 and version != cls.DSE_V1

    @classmethod
    def has_checksumming_support(cls, version: int) -> bool:
        """True if frames are sent in checksummed segments (protocol 5, section 2)."""
        return cls.V5 <= version < cls.DSE_V1


@public("cassandra")
class WriteType:
    """The kind of a write that timed out or failed."""

    SIMPLE: Final = 0  #: A write of one partition.
    BATCH: Final = 1  #: A logged batch; the server completes it once it is in the batch log.
    UNLOGGED_BATCH: Final = 2  #: An unlogged batch.
    COUNTER: Final = 3  #: An update of counters.
    BATCH_LOG: Final = 4  #: Writing the batch log; the batch itself was not begun.
    CAS: Final = 5  #: A conditional write.
    VIEW: Final = 6  #: An update of a materialized view.
    CDC: Final = 7  #: A write that is logged for change data capture.
    TRANSACTION: Final = 8  #: A transaction of Accord.

    name_to_value: dict[str, int] = {
        "SIMPLE": 0,
        "BATCH": 1,
        "UNLOGGED_BATCH": 2,
        "COUNTER": 3,
        "BATCH_LOG": 4,
        "CAS": 5,
        "VIEW": 6,
        "CDC": 7,
        "TRANSACTION": 8,
    }  #: All kinds, as a dict.
    value_to_name: dict[int, str] = {value: name for name, value in name_to_value.items()}  #: All kinds, as a dict.


@public("cassandra")
class SchemaChangeType:
    """The kind of change of a schema event."""

    DROPPED: Final = "DROPPED"  #: The object was dropped.
    CREATED: Final = "CREATED"  #: The object was created.
    UPDATED: Final = "UPDATED"  #: The object was altered.


@public("cassandra")
class SchemaTargetType:
    """The kind of object that a schema event changed."""

    KEYSPACE: Final = "KEYSPACE"  #: A keyspace.
    TABLE: Final = "TABLE"  #: A table or view.
    TYPE: Final = "TYPE"  #: A user type.
    FUNCTION: Final = "FUNCTION"  #: A user function.
    AGGREGATE: Final = "AGGREGATE"  #: A user aggregate.


class Opcode:
    """Envelope opcodes (protocol 5, section 2.4)."""

    ERROR: Final = 0x00
    STARTUP: Final = 0x01
    READY: Final = 0x02
    AUTHENTICATE: Final = 0x03
    OPTIONS: Final = 0x05
    SUPPORTED: Final = 0x06
    QUERY: Final = 0x07
    RESULT: Final = 0x08
    PREPARE: Final = 0x09
    EXECUTE: Final = 0x0A
    REGISTER: Final = 0x0B
    EVENT: Final = 0x0C
    BATCH: Final = 0x0D
    AUTH_CHALLENGE: Final = 0x0E
    AUTH_RESPONSE: Final = 0x0F
    AUTH_SUCCESS: Final = 0x10


#: Type of the event by which a node announces that it closes its connections (CEP-59), and its key in SUPPORTED.
GRACEFUL_DISCONNECT: Final = "GRACEFUL_DISCONNECT"


class Flag:
    """Envelope flags (protocol 5, section 2.2)."""

    COMPRESSED: Final = 0x01
    TRACING: Final = 0x02
    CUSTOM_PAYLOAD: Final = 0x04
    WARNING: Final = 0x08
    USE_BETA: Final = 0x10


class ResultKind:
    """Kinds of a RESULT envelope."""

    VOID: Final = 1
    ROWS: Final = 2
    SET_KEYSPACE: Final = 3
    PREPARED: Final = 4
    SCHEMA_CHANGE: Final = 5


class TypeId:
    """Option ids of CQL types on the wire (protocol 5, section 4.2.5.2)."""

    CUSTOM: Final = 0x00
    ASCII: Final = 0x01
    BIGINT: Final = 0x02
    BLOB: Final = 0x03
    BOOLEAN: Final = 0x04
    COUNTER: Final = 0x05
    DECIMAL: Final = 0x06
    DOUBLE: Final = 0x07
    FLOAT: Final = 0x08
    INT: Final = 0x09
    TEXT: Final = 0x0A
    TIMESTAMP: Final = 0x0B
    UUID: Final = 0x0C
    VARCHAR: Final = 0x0D
    VARINT: Final = 0x0E
    TIMEUUID: Final = 0x0F
    INET: Final = 0x10
    DATE: Final = 0x11
    TIME: Final = 0x12
    SMALLINT: Final = 0x13
    TINYINT: Final = 0x14
    DURATION: Final = 0x15
    LIST: Final = 0x20
    MAP: Final = 0x21
    SET: Final = 0x22
    UDT: Final = 0x30
    TUPLE: Final = 0x31
