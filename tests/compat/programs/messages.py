"""Messages of the native protocol by hand: what is written, what is read, handlers, and the functions for both."""

# mypy: ignore-errors
# ruff: noqa
import io
import struct
import uuid
import warnings

from cases import case, each, show

warnings.simplefilter("ignore")

from cassandra import ConsistencyLevel as CL
from cassandra import SchemaChangeType, WriteType, cqltypes, protocol
from cassandra.protocol import *
from cassandra.protocol import ProtocolHandler, _ProtocolHandler
from cassandra.protocol_features import ProtocolFeatures
from cassandra import UnsupportedOperation
from cassandra.query import BatchType

FEATURES = ProtocolFeatures()

# ---- reading and writing

for name, value in (
    ("write_byte", 5),
    ("write_short", 300),
    ("write_int", -5),
    ("write_uint", 5),
    ("write_string", "äb"),
    ("write_longstring", "äb"),
    ("write_value", b"ab"),
    ("write_value", None),
    ("write_stringlist", ["a", "bc"]),
    ("write_stringmap", {"a": "b"}),
    ("write_stringmultimap", {"a": ["b", "c"]}),
    ("write_inet", ("127.0.0.1", 9042)),
    ("write_inet", ("::1", 1)),
    ("write_consistency_level", CL.LOCAL_QUORUM),
    ("write_string", ""),
    ("write_value", b""),
    ("write_stringlist", []),
    ("write_stringmap", {}),
    ("write_short", 70000),
    ("write_int", 1 << 31),
    ("write_byte", 300),
    ("write_string", 5),
    ("write_longstring", b"raw"),
    ("write_header", None),
    ("write_error_code_map", {}),
):

    def run():
        f = io.BytesIO()
        getattr(protocol, name)(f, value)
        return f.getvalue()

    if hasattr(protocol, name):
        show(f"{name} {value!r}", run, caught=(ValueError, struct.error, AttributeError, TypeError))

for name, data in (
    ("read_byte", b"\x05"),
    ("read_byte", b"\xff"),
    ("read_short", b"\x01\x02"),
    ("read_int", b"\xff\xff\xff\xfb"),
    ("read_uint_le", b"\x01\0\0\0"),
    ("read_string", b"\0\x03\xc3\xa4b"),
    ("read_binary_string", b"\0\x02ab"),
    ("read_longstring", b"\0\0\0\x02ab"),
    ("read_binary_longstring", b"\0\0\0\x02ab"),
    ("read_stringlist", b"\0\x02\0\x01a\0\x01b"),
    ("read_stringmap", b"\0\x01\0\x01a\0\x01b"),
    ("read_bytesmap", b"\0\x01\0\x01a\0\0\0\x01b"),
    ("read_bytesmap", b"\0\x01\0\x01a\xff\xff\xff\xff"),
    ("read_stringmultimap", b"\0\x01\0\x01a\0\x02\0\x01b\0\x01c"),
    ("read_value", b"\0\0\0\x02ab"),
    ("read_value", b"\xff\xff\xff\xff"),
    ("read_value", b"\0\0\0\0"),
    ("read_inet", b"\x04\x7f\0\0\x01\0\0\x23\x52"),
    ("read_inet", b"\x10" + b"\0" * 15 + b"\x01\0\0\0\x05"),
    ("read_inet_addr_only", b"\x04\x7f\0\0\x01"),
    ("read_consistency_level", b"\0\x06"),
    ("read_error_code_map", b"\0\0\0\x01\x04\x7f\0\0\x01\0\x05"),
    ("read_inet_addr_only", b"\x10" + b"\0" * 15 + b"\x01"),
):
    show(f"{name} {data!r}", lambda: getattr(protocol, name)(io.BytesIO(data)))

# ---- what requests write


def body(message, version, features=FEATURES):
    f = io.BytesIO()
    message.send_body(f, version)
    return f.getvalue()


METADATA = [protocol.ColumnMetadata("ks", "t", "a", cqltypes.Int32Type)]

for text, make in (
    ("StartupMessage", lambda: StartupMessage(cqlversion="3.0.0", options={"COMPRESSION": "lz4"})),
    ("StartupMessage alone", lambda: StartupMessage(cqlversion="3.4.5", options={})),
    ("OptionsMessage", lambda: OptionsMessage()),
    ("RegisterMessage", lambda: RegisterMessage(["TOPOLOGY_CHANGE", "STATUS_CHANGE"])),
    ("AuthResponseMessage", lambda: AuthResponseMessage(b"\0me\0pw")),
    ("PrepareMessage", lambda: PrepareMessage("SELECT 1")),
    ("PrepareMessage keyspace", lambda: PrepareMessage("SELECT 1", keyspace="ks")),
    ("QueryMessage", lambda: QueryMessage("SELECT 1", CL.ONE)),
    ("QueryMessage more", lambda: QueryMessage("SELECT 1", CL.ONE, CL.SERIAL, 10, b"state", 123456789)),
    ("QueryMessage keyspace", lambda: QueryMessage("SELECT 1", CL.ONE, keyspace="ks")),
    ("QueryMessage fetch size", lambda: QueryMessage("SELECT 1", CL.QUORUM, fetch_size=5000)),
    ("QueryMessage timestamp", lambda: QueryMessage("SELECT 1", CL.QUORUM, timestamp=0)),
    ("ExecuteMessage", lambda: ExecuteMessage(b"id", [b"a", None, b""], CL.ONE)),
    ("ExecuteMessage more", lambda: ExecuteMessage(b"id", [b"a"], CL.ONE, CL.LOCAL_SERIAL, 100, b"st", 5, False, None)),
    ("ExecuteMessage metadata id", lambda: ExecuteMessage(b"id", [b"a"], CL.ONE, result_metadata_id=b"mid")),
    (
        "BatchMessage",
        lambda: BatchMessage(BatchType.LOGGED, [(False, "INSERT", []), (True, b"id", [b"x", None])], CL.ONE),
    ),
    ("BatchMessage more", lambda: BatchMessage(BatchType.UNLOGGED, [(False, "I", ())], CL.ONE, CL.SERIAL, 77, "ks")),
    ("BatchMessage nothing", lambda: BatchMessage(BatchType.COUNTER, [], CL.ALL)),
    ("CredentialsMessage", lambda: CredentialsMessage({"username": "u", "password": "p"})),
):
    try:
        message = make()
    except Exception as error:
        print(text, type(error).__name__)
        continue
    print(f"{text}: {message.opcode} {message.name}")
    for version in (3, 4, 5):
        show(f"{text} {version}", body, message, version, caught=(UnsupportedOperation, ValueError))

ATTRIBUTES = (
    "opcode name query consistency_level serial_consistency_level fetch_size paging_state timestamp keyspace query_id "
    "query_params skip_meta result_metadata_id batch_type queries tracing custom_payload options cqlversion event_list "
    "response"
).split()
for text, make in (
    ("QueryMessage", lambda: QueryMessage("SELECT 1", CL.ONE)),
    ("ExecuteMessage", lambda: ExecuteMessage(b"id", [b"a"], CL.ONE)),
    ("BatchMessage", lambda: BatchMessage(BatchType.LOGGED, [(False, "I", ())], CL.ONE)),
    ("PrepareMessage", lambda: PrepareMessage("x")),
    ("RegisterMessage", lambda: RegisterMessage(["A"])),
    ("AuthResponseMessage", lambda: AuthResponseMessage(b"x")),
    ("StartupMessage", lambda: StartupMessage("3.0.0", {})),
):
    message = make()
    show(f"{text} has", lambda: {name: getattr(message, name) for name in ATTRIBUTES if hasattr(message, name)})


@case("payloads are merged")
def _():
    message = QueryMessage("x", 1)
    message.update_custom_payload({"a": b"1"})
    message.update_custom_payload({"b": b"2"})
    message.update_custom_payload(None)
    return message.custom_payload


# ---- whole frames

for handler in (ProtocolHandler, _ProtocolHandler, protocol.LazyProtocolHandler):
    for version in (3, 4, 5):
        for beta in (False, True):
            show(
                f"{version} {beta} encode_message",
                handler.encode_message,
                QueryMessage("SELECT 1", CL.ONE),
                7,
                version,
                None,
                beta,
                FEATURES,
            )


@case("tracing and payload")
def _():
    message = QueryMessage("SELECT 1", CL.ONE)
    message.tracing = True
    message.custom_payload = {"k": b"v"}
    return ProtocolHandler.encode_message(message, 1, 4, None, False, FEATURES)


@case("a payload on protocol 3", caught=UnsupportedOperation)
def _():
    message = QueryMessage("SELECT 1", CL.ONE)
    message.custom_payload = {"k": b"v"}
    return ProtocolHandler.encode_message(message, 1, 3, None, False, FEATURES)


def compress(data):
    return b"<" + data + b">"


show(
    "compressed",
    lambda: ProtocolHandler.encode_message(QueryMessage("SELECT 1" * 9, 1), 1, 4, compress, False, FEATURES),
)
show(
    "never compressed",
    lambda: ProtocolHandler.encode_message(QueryMessage("SELECT 1" * 9, 1), 1, 5, compress, False, FEATURES),
)
show("nothing to compress", lambda: ProtocolHandler.encode_message(OptionsMessage(), 1, 4, compress, False, FEATURES))

# ---- answers


def string(text):
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def number(value):
    return struct.pack(">i", value)


def cell(data):
    return number(-1) if data is None else number(len(data)) + data


def decode(opcode, data, version=4, flags=0, metadata=None, stream=5, handler=ProtocolHandler, decompressor=None):
    return handler.decode_message(version, FEATURES, {}, stream, flags, opcode, data, decompressor, metadata)


ANSWER = (
    "kind column_names parsed_rows paging_state query_id new_keyspace schema_change_event is_lwt pk_indexes".split()
)


def told(message, names=()):
    found = {name: getattr(message, name, None) for name in names or ANSWER}
    found["rows"] = None if found.get("parsed_rows") is None else [tuple(row) for row in found["parsed_rows"]]
    found.pop("parsed_rows", None)
    return (
        isinstance(message, ResultMessage),
        message.stream_id,
        {name: value for name, value in found.items() if value not in (None, [], False)},
    )


COLUMNS = number(1) + number(2) + string("ks") + string("t") + string("a") + b"\0\x09" + string("b") + b"\0\x0d"
ROWS = number(2) + COLUMNS + number(2) + cell(number(7)) + cell(b"x") + cell(None) + cell(b"")
PAGED = number(2) + number(3) + number(2) + cell(b"state") + COLUMNS[8:] + number(1) + cell(number(7)) + cell(b"x")
BARE = number(2) + number(4) + number(2) + number(1) + cell(number(8)) + cell(b"y")
SPECIFIED = [
    protocol.ColumnMetadata("ks", "t", "a", cqltypes.Int32Type),
    protocol.ColumnMetadata("ks", "t", "b", cqltypes.UTF8Type),
]
PREPARED = (
    number(4)
    + string("id")
    + number(1)
    + number(1)
    + number(1)
    + b"\0\0"
    + string("ks")
    + string("t")
    + string("a")
    + b"\0\x09"
    + COLUMNS
)

show("VOID", lambda: told(decode(8, number(1))))
show("ROWS", lambda: told(decode(8, ROWS)))
show("ROWS of a page", lambda: told(decode(8, PAGED)))
show("ROWS without metadata", lambda: told(decode(8, BARE, metadata=SPECIFIED)))
show("ROWS lazily", lambda: told(decode(8, ROWS, handler=protocol.LazyProtocolHandler)))
show("ROWS in Python", lambda: told(decode(8, ROWS, handler=_ProtocolHandler)))
show("SET_KEYSPACE", lambda: told(decode(8, number(3) + string("ks"))))
show("PREPARED", lambda: told(decode(8, PREPARED)))
show(
    "PREPARED columns",
    lambda: [tuple(column)[:3] + (column[3].typename,) for column in decode(8, PREPARED).bind_metadata],
)
show("PREPARED results", lambda: [tuple(column)[:3] for column in decode(8, PREPARED).column_metadata])
show("column types", lambda: [kind.typename for kind in decode(8, ROWS).column_types])
for change, target, rest in (
    ("CREATED", "KEYSPACE", string("ks")),
    ("UPDATED", "TABLE", string("ks") + string("t")),
    ("DROPPED", "TYPE", string("ks") + string("u")),
    ("CREATED", "FUNCTION", string("ks") + string("f") + b"\0\x01" + string("int")),
    ("CREATED", "AGGREGATE", string("ks") + string("g") + b"\0\0"),
):
    data = string(change) + string(target) + rest
    show(
        f"SCHEMA_CHANGE {target}",
        lambda: sorted(
            (name, str(value) if name in ("function", "aggregate") else value)
            for name, value in decode(8, number(5) + data).schema_change_event.items()
        ),
    )
    show(
        f"EVENT SCHEMA_CHANGE {target}",
        lambda: sorted(
            (name, str(value) if name in ("function", "aggregate") else value)
            for name, value in decode(12, string("SCHEMA_CHANGE") + data).event_args.items()
        ),
    )
for kind in ("NEW_NODE", "UP"):
    for event in ("TOPOLOGY_CHANGE", "STATUS_CHANGE"):
        data = string(event) + string(kind) + b"\x04\x7f\0\0\x01" + number(9042)
        show(f"EVENT {event} {kind}", lambda: (decode(12, data).event_type, decode(12, data).event_args))
show("READY", lambda: type(decode(2, b"")).__name__)
show("AUTHENTICATE", lambda: decode(3, string("org.Authenticator")).authenticator)
show("AUTH_CHALLENGE", lambda: decode(14, cell(b"challenge")).challenge)
SUPPORTED = (
    b"\0\x02"
    + string("CQL_VERSION")
    + b"\0\x01"
    + string("3.4.5")
    + string("COMPRESSION")
    + b"\0\x02"
    + string("lz4")
    + string("snappy")
)
show("SUPPORTED", lambda: (decode(6, SUPPORTED).cql_versions, sorted(decode(6, SUPPORTED).options.items())))
show("tracing", lambda: decode(8, uuid.UUID(int=5).bytes + number(1), flags=2).trace_id)
show("warnings", lambda: decode(8, b"\0\x01" + string("careful") + number(1), flags=8).warnings)
show("payload", lambda: decode(8, b"\0\x01" + string("k") + cell(b"v") + number(1), flags=4).custom_payload)
show(
    "all of them",
    lambda: (lambda m: (m.trace_id, m.warnings, m.custom_payload))(
        decode(
            8,
            uuid.UUID(int=5).bytes + b"\0\x01" + string("careful") + b"\0\x01" + string("k") + cell(b"v") + number(1),
            flags=14,
        )
    ),
)
show("nothing beside", lambda: (lambda m: (m.trace_id, m.warnings, m.custom_payload))(decode(8, number(1))))
show(
    "compressed answer", lambda: told(decode(8, b"<" + number(1) + b">", flags=1, decompressor=lambda data: data[1:-1]))
)
show("compressed without a decompressor", lambda: decode(8, number(1), flags=1), caught=Exception)

# ---- errors

for code, rest in (
    (0x0000, b""),
    (0x000A, b""),
    (0x0100, b""),
    (0x1000, b"\0\x06" + number(3) + number(2)),
    (0x1001, b""),
    (0x1002, b""),
    (0x1003, b""),
    (0x1100, b"\0\x06" + number(1) + number(2) + string("BATCH_LOG")),
    (0x1200, b"\0\x06" + number(1) + number(2) + b"\x01"),
    (0x1300, b"\0\x06" + number(1) + number(2) + number(3) + b"\x01"),
    (0x1400, string("ks") + string("f") + b"\0\x02" + string("int") + string("text")),
    (0x1500, b"\0\x06" + number(1) + number(2) + number(3) + string("SIMPLE")),
    (0x1600, b""),
    (0x2000, b""),
    (0x2100, b""),
    (0x2200, b""),
    (0x2300, b""),
    (0x2400, string("ks") + string("t")),
    (0x2500, string("id")),
):
    data = number(code) + string("it failed") + rest

    def error():
        found = decode(0, data)
        return type(found).__name__, hex(found.code), found.message, found.info, found.summary

    show(f"ERROR {code:#x}", error)

    def raised():
        found = decode(0, data).to_exception()
        return type(found).__name__

    show(f"ERROR {code:#x} raised", raised)

for code, rest in (
    (0x1300, b"\0\x06" + number(1) + number(2) + number(1) + b"\x04\x7f\0\0\x01\0\x05" + b"\0"),
    (0x1500, b"\0\x06" + number(1) + number(2) + number(1) + b"\x04\x7f\0\0\x01\0\x01" + string("CAS")),
):
    data = number(code) + string("it failed") + rest
    show(f"ERROR {code:#x} of protocol 5", lambda: decode(0, data, version=5).info)

show(
    "the registry of errors",
    lambda: sorted((hex(code), cls.__name__) for code, cls in error_classes.items() if code != 0x1700),
)
show(
    "message classes",
    lambda: sorted((opcode, cls.name) for opcode, cls in protocol._message_types_by_opcode.items() if opcode != 255),
)
show(
    "answers by opcode",
    lambda: [ProtocolHandler.message_types_by_opcode[opcode].name for opcode in (0, 2, 3, 6, 8, 12, 14, 16)],
)
show("an error made by hand", lambda: str(ErrorMessage(5, "text", None)))
show("events", lambda: sorted(known_event_types))
for cls in (
    InvalidRequestException,
    ServerError,
    OverloadedErrorMessage,
    ReadTimeoutErrorMessage,
    PreparedQueryNotFound,
    SyntaxException,
):
    show(f"{cls.__name__} by hand", lambda: (str(cls(1, "text", None)), cls.error_code, cls.summary))

# ---- values of no bytes


def of_one_column(kind, value):
    column = number(2) + number(1) + number(1) + string("ks") + string("t") + string("a") + kind
    return [tuple(row) for row in decode(8, column + number(1) + value).parsed_rows]


LIST = b"\0\x20\0\x09"
for supports in (False, True, False):
    cqltypes.Int32Type.support_empty_values = supports
    show(f"no bytes for an int, supported: {supports}", of_one_column, b"\0\x09", number(0))
    show(f"no bytes in a list, supported: {supports}", of_one_column, LIST, cell(number(1) + number(0)))
    show(f"no bytes for a bigint, supported: {supports}", of_one_column, b"\0\x02", number(0))
cqltypes.CassandraType.support_empty_values = True
for code in range(1, 22):
    show(f"no bytes for type {code}, supported", of_one_column, bytes((0, code)), number(0))
cqltypes.CassandraType.support_empty_values = False
for code in range(1, 22):
    show(f"no bytes for type {code}", of_one_column, bytes((0, code)), number(0))

# ---- what is written at a time


class Calls(list):
    def write(self, data):
        self.append(bytes(data))


def calls(message, version):
    found = Calls()
    message.send_body(found, version)
    return list(found)


for version in (3, 4, 5):
    show(f"calls {version}", calls, QueryMessage("SELECT ä", CL.TWO), version)
    show(f"calls {version}", calls, PrepareMessage("SELECT ä"), version)
    show(f"keyspace {version}", calls, QueryMessage("a", CL.ONE, keyspace="keyspace"), version)
    show(f"keyspace {version}", calls, PrepareMessage("a", keyspace="ks"), version)
    everything = QueryMessage("a", CL.ONE, CL.SERIAL, 100, b"state", 5, query_params=[b"1", None])
    show(f"joined {version}", lambda: b"".join(calls(everything, version)))


@case("a subclass that writes more")
def _():
    class Longer(PrepareMessage):
        def send_body(self, f, protocol_version, *args):
            super().send_body(f, protocol_version, *args)
            f.write(b"more")

    return calls(Longer("a"), 4)
