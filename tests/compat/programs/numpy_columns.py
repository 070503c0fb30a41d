"""What NumpyProtocolHandler makes of pages of every type. Runs with any driver; the output of scylla-driver is beside
it."""

# mypy: ignore-errors
import datetime
import struct
import uuid
from decimal import Decimal

from cases import show

from cassandra import cqltypes
from cassandra.protocol import NumpyProtocolHandler, ResultMessage
from cassandra.protocol_features import ProtocolFeatures

UUID = uuid.UUID("50554d6e-29bb-11e5-b345-feff819cdc9f")
ROWS, GLOBAL = 2, 1
SCALARS = {  # wire id, values
    "ascii": (0x01, ["a", ""]),
    "bigint": (0x02, [0, 1, -1, 2**63 - 1, -(2**63), 0x0102030405060708]),
    "blob": (0x03, [b"\0\xff", b""]),
    "boolean": (0x04, [True, False]),
    "counter": (0x05, [5, -5]),
    "decimal": (0x06, [Decimal("1.50"), Decimal("-7")]),
    "double": (0x07, [0.0, 1.5, -1e300, float("inf")]),
    "float": (0x08, [0.0, 1.5, -2.25, float("-inf")]),
    "int": (0x09, [0, 1, -1, 2**31 - 1, -(2**31), 0x01020304]),
    "timestamp": (0x0B, [datetime.datetime(2024, 2, 29, 1, 2, 3, 4000)]),
    "uuid": (0x0C, [UUID]),
    "varchar": (0x0D, ["text", "grüße", ""]),
    "varint": (0x0E, [0, 2**100, -(2**100)]),
    "timeuuid": (0x0F, [UUID]),
    "inet": (0x10, ["10.0.0.1", "::1"]),
    "smallint": (0x13, [0, 1, -1, 2**15 - 1, -(2**15), 0x0102]),
    "tinyint": (0x14, [1, -1]),
}
CLASSES = {
    "varchar": "UTF8Type",
    "int": "Int32Type",
    "bigint": "LongType",
    "blob": "BytesType",
    "counter": "CounterColumnType",
}


def encode(name, value):
    if value is None:
        return None
    names = {"timeuuid": "TimeUUIDType", "varint": "IntegerType", "inet": "InetAddressType", "smallint": "ShortType"}
    names |= {"tinyint": "ByteType", "timestamp": "DateType", "uuid": "UUIDType", **CLASSES}
    cls = getattr(cqltypes, names.get(name, name.capitalize() + "Type"))
    return cls.serialize(value, 4)


def string(text):
    return struct.pack(">H", len(text)) + text.encode()


def cell(data):
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def body(columns, rows):
    """*columns*: name and the bytes of its type."""
    described = b"".join(string(name) + option for name, option in columns)
    head = struct.pack(">iii", ROWS, GLOBAL, len(columns)) + string("ks") + string("t")
    return head + described + struct.pack(">i", len(rows)) + b"".join(cell(data) for row in rows for data in row)


def decode(columns, rows):
    features = ProtocolFeatures()
    message = NumpyProtocolHandler.decode_message(
        4, features, {}, 0, 0, ResultMessage.opcode, body(columns, rows), None, None
    )
    return message.parsed_rows


def told(array):
    mask = getattr(array, "mask", None)
    facts = [type(array).__name__, str(array.dtype), array.dtype.isnative, array.shape, array.flags.c_contiguous]
    facts += [array.flags.writeable, None if mask is None else (str(mask.dtype), mask.tolist())]
    return (*facts, array.tolist())


def page(columns, rows):
    return {name: told(array) for name, array in decode(columns, rows).items()}


def option(kind):
    return struct.pack(">H", kind)


for name, (kind, values) in SCALARS.items():
    columns = [("c", option(kind))]
    full = [[encode(name, value)] for value in values]
    show(f"{name}", page, columns, full)
    show(f"{name} of no rows", page, columns, [])
    show(f"{name} of nulls", page, columns, [[None], [None]])
    show(f"{name} with nulls", page, columns, [[None], *full, [None], full[0]])
    many = [full[i % len(full)] if i % 7 else [None] for i in range(200)]
    array = decode(columns, many)["c"]
    show(f"{name} many", lambda: [i for i, value in enumerate(array.tolist()) if value is None])
    if hasattr(array, "mask"):
        show(f"{name} sum", lambda: (int(array.count()), str(array.astype(object).filled(0).tolist()[:9])))
        array[1] = 3
        show(f"{name} written to", lambda: array[1])

every = [(name, option(kind)) for name, (kind, _) in SCALARS.items()]
rows = [[encode(name, values[i % len(values)]) for name, (_, values) in SCALARS.items()] for i in range(3)]
show("all", page, every, rows)
show("all nulls", page, every, [[None] * len(every)] * 2)
show("names", lambda: list(decode(every, rows)))
show("twice", page, [("a", option(0x09)), ("a", option(0x07))], [[encode("int", 1), encode("double", 2.5)]])
nested = [
    ("l", option(0x20) + option(0x09)),
    ("s", option(0x22) + option(0x0D)),
    ("m", option(0x21) + option(0x0D) + option(0x09)),
]
nested.append(("t", option(0x31) + option(2) + option(0x09) + option(0x0D)))
int_, text = struct.pack(">i", 7), b"x"
values = [struct.pack(">i", 1) + cell(int_), struct.pack(">i", 1) + cell(text)]
values += [struct.pack(">i", 1) + cell(text) + cell(int_), cell(int_) + cell(text)]
show("nested types", lambda: {name: str(array.dtype) for name, array in decode(nested, [values, [None] * 4]).items()})
show("nested list", lambda: list(decode(nested, [values])["l"]))
show("nested map", lambda: [dict(value) for value in decode(nested, [values])["m"]])
show("nested tuple", lambda: list(decode(nested, [values])["t"]))
show("nested nulls", lambda: [list(array) for array in decode(nested, [[None] * 4]).values()])
