"""Names, parameters, look-ups and strings of the classes of cassandra.cqltypes."""

# mypy: ignore-errors
import cases
from cases import each

from cassandra import cqltypes as t


def plain(value):
    """Classes by their names; lists and tuples alike."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return tuple(plain(item) for item in value)
    return f"class {value.__name__}" if isinstance(value, type) else value


def show(name, function, *args, **kwargs):
    shown = name if isinstance(name, str) else repr(name)
    cases.show(
        shown.replace("cassandra.cqltypes.", "").replace("__main__.", ""), lambda: plain(function(*args)), **kwargs
    )


def case(name):
    return lambda function: show(name, function)


PREFIX = "org.apache.cassandra.db.marshal."
NAMES = sorted(
    [
        "AsciiType",
        "BooleanType",
        "ByteType",
        "BytesType",
        "ColumnToCollectionType",
        "CompositeType",
        "CounterColumnType",
        "DateRangeType",
        "DateType",
        "DecimalType",
        "DoubleType",
        "DurationType",
        "DynamicCompositeType",
        "FloatType",
        "FrozenType",
        "InetAddressType",
        "Int32Type",
        "IntegerType",
        "LineStringType",
        "ListType",
        "LongType",
        "MapType",
        "PointType",
        "PolygonType",
        "ReversedType",
        "SetType",
        "ShortType",
        "SimpleDateType",
        "TimeType",
        "TimeUUIDType",
        "TimestampType",
        "TupleType",
        "UTF8Type",
        "UUIDType",
        "UserType",
        "VarcharType",
        "VectorType",
    ]
)
for name in NAMES:
    cls = getattr(t, name)
    show(f"{name} cassname", lambda: cls.cassname)
    show(f"{name} typename", lambda: cls.typename)
    show(f"{name} num_subtypes", lambda: cls.num_subtypes)
    show(f"{name} empty_binary_ok", lambda: cls.empty_binary_ok)
    show(f"{name} support_empty_values", lambda: cls.support_empty_values)
    show(f"{name} repr", lambda: repr(cls))
    if name not in ("VectorType", "UserType", "DynamicCompositeType"):
        show(f"{name} cql", cls.cql_parameterized_type)
        show(f"{name} cass", cls.cass_parameterized_type)
        show(f"{name} cass full", lambda: cls.cass_parameterized_type(full=True))
    if name != "VectorType":
        show(f"{name} size", lambda: cls.serial_size())
    show(f"{name} by class name", t.lookup_casstype, name)
    show(f"{name} by full class name", t.lookup_casstype, PREFIX + name)
    show(f"{name} simple", t.lookup_casstype_simple, PREFIX + name)
    show(f"{name} registered", lambda: t._casstypes[name] is cls)

print(sorted(t._cqltypes))
print(sorted(t._casstypes))
for name in sorted(t._cqltypes):
    show(f"CQL {name}", lambda: t._cqltypes[name])

SPELLINGS = [
    "Int32Type",
    "ListType(Int32Type)",
    "SetType(UTF8Type)",
    "MapType(UTF8Type,Int32Type)",
    "MapType(UTF8Type, Int32Type)",
    "TupleType(Int32Type,UTF8Type)",
    "FrozenType(ListType(Int32Type))",
    "ReversedType(Int32Type)",
    "ReversedType(TimeUUIDType)",
    "CompositeType(Int32Type,UTF8Type)",
    "ColumnToCollectionType(6162:ListType(Int32Type))",
    "com.example.Unknown",
    "com.example.Unknown(Int32Type)",
    "Unknown",
    "LexicalUUIDType",
    "PartitionerDefinedOrder",
    "TimeType",
    "SimpleDateType",
    "TimestampType",
    "DateType",
    "CounterColumnType",
    "EmptyType",
    "DateRangeType",
    "PointType",
    "MapType(UTF8Type,ListType(FrozenType(TupleType(Int32Type,UTF8Type))))",
    "Int32Type()",
    "(",
    "ListType(Int32Type))",
    "ListType(Int32Type,Int32Type)",
    "MapType(UTF8Type)",
    "VectorType(FloatType)",
    "UserType(ks)",
]
for prefix in ("", PREFIX):
    for spelling in SPELLINGS:
        text = (
            prefix + spelling.replace("(", "(" + prefix)
            if prefix and "Unknown" not in spelling and spelling[:1].isalpha()
            else spelling
        )
        text = (
            text.replace(prefix + "ks", "ks")
            .replace(prefix + "6162", "6162")
            .replace(prefix + "a=>", "a=>")
            .replace(prefix + "s=>", "s=>")
            if prefix
            else text
        )
        show(f"lookup {text!r}", t.lookup_casstype, text, caught=Exception)
        show(f"parse {text!r}", t.parse_casstype_args, text, caught=Exception)
        show(f"CQL {text!r}", lambda: t.lookup_casstype(text).cql_parameterized_type(), caught=Exception)
        show(f"class {text!r}", lambda: t.lookup_casstype(text).cass_parameterized_type(), caught=Exception)
        show(
            f"full class {text!r}", lambda: t.lookup_casstype(text).cass_parameterized_type(full=True), caught=Exception
        )
        show(f"parts {text!r}", lambda: t.lookup_casstype(text).subtypes if "(" in text else None, caught=Exception)
        show(f"name {text!r}", lambda: t.lookup_casstype(text).typename, caught=Exception)
        show(f"class name {text!r}", lambda: t.lookup_casstype(text).__name__, caught=Exception)
        show(f"cql_typename {text!r}", t.cql_typename, text, caught=Exception)
        show(f"counter {text!r}", t.is_counter_type, text, caught=Exception)
        show(f"reversed {text!r}", lambda: t.is_reversed_casstype(t.lookup_casstype(text)), caught=Exception)
USER_TYPES = [
    "UserType(ks,706572736f6e,6e616d65:UTF8Type,616765:Int32Type)",
    "UserType(ks,706572736f6e,6e616d65:FrozenType(ListType(UTF8Type)))",
    "UserType(ks,73656c656374,6e616d65:UTF8Type)",
]
for text in USER_TYPES:
    for name in ("typename", "keyspace", "fieldnames", "subtypes", "mapped_class", "cassname"):
        show(f"{name} of {text!r}", lambda: getattr(t.lookup_casstype(text), name))
    show(f"class {text!r}", t.lookup_casstype, text)
    show(f"value {text!r}", lambda: t.lookup_casstype(text).from_binary(b"\xff\xff\xff\xff", 4))
for text in (
    "VectorType(FloatType,3)",
    "VectorType(FloatType, 3)",
    "VectorType(VectorType(Int32Type, 2), 4)",
    "ListType(VectorType(FloatType , 3))",
    "DynamicCompositeType(a=>Int32Type,b=>UTF8Type)",
):
    for name in ("typename", "vector_size"):
        show(f"{name} of {text!r}", lambda: getattr(t.lookup_casstype(text), name))
    show(f"{text!r} is a vector", lambda: issubclass(t.lookup_casstype(text), t.VectorType))
show("lookup of a class", t.lookup_casstype, t.Int32Type)
each("lookup of no text", t.lookup_casstype, [None, 5, int], caught=Exception)

CQL = [
    "int",
    "list<int>",
    "map<text, int>",
    "map<text,int>",
    "frozen<list<int>>",
    "tuple<int, text>",
    "frozen<tuple<int, frozen<list<text>>>>",
    '"MyType"',
    'list<frozen<"My Type">>',
    "map<text, frozen<map<int, frozen<set<uuid>>>>>",
    "my_type",
    "frozen<my_type>",
    "vector<float, 3>",
    "list<",
    "list>",
    "list<int",
    "list <int>",
]
for text in CQL:
    show(f"cqltype_to_python {text!r}", t.cqltype_to_python, text, caught=Exception)
    show(f"back {text!r}", lambda: t.python_to_cqltype(t.cqltype_to_python(text)), caught=Exception)
    if '"' not in text and "vector" not in text:
        show(f"cql_types_from_string {text!r}", t.cql_types_from_string, text)
    show(f"strip_frozen {text!r}", t.strip_frozen, text, caught=Exception)
each(
    "python_to_cqltype",
    t.python_to_cqltype,
    [["list", ["int"]], ["map", ["text", "int"]], ["frozen", ["tuple", ["text", "int"]]], [], ["int"]],
)

INT, TEXT = t.Int32Type, t.UTF8Type
for name, values in {
    "ListType": [[INT], [INT, INT], [], [t.ListType.apply_parameters([TEXT])]],
    "SetType": [[INT], [INT, INT], []],
    "MapType": [[INT, TEXT], [INT], [], [INT, TEXT, INT]],
    "TupleType": [[INT], [INT, TEXT], []],
    "FrozenType": [[INT], [INT, TEXT]],
    "ReversedType": [[INT]],
    "CompositeType": [[INT, TEXT]],
    "Int32Type": [[INT], []],
}.items():
    for value in values:
        cls = getattr(t, name)
        show(f"{name} of {value}", cls.apply_parameters, value)
        show(f"{name} of {value} CQL", lambda: cls.apply_parameters(value).cql_parameterized_type())
        show(
            f"{name} of {value} name",
            lambda: (cls.apply_parameters(value).__name__, cls.apply_parameters(value).cassname),
        )
        show(f"{name} of {value} subclass", lambda: issubclass(cls.apply_parameters(value), cls))
        show(f"{name} of {value} with", lambda: cls.cass_parameterized_type_with(value))
        show(f"{name} of {value} with full", lambda: cls.cass_parameterized_type_with(value, full=True))
show("wrong number", t.ListType.apply_parameters, [INT, INT], text=True)
show("wrong number of a map", t.MapType.apply_parameters, [INT], text=True)

for params in (
    [t.FloatType, 3],
    [TEXT, 2],
    [t.VectorType.apply_parameters([INT, 2], None), 4],
    [t.ListType.apply_parameters([INT]), 2],
):
    vector = t.VectorType
    show(
        f"vector {params[1]} parts",
        lambda: (
            issubclass(vector.apply_parameters(params, None).subtype, params[0]),
            vector.apply_parameters(params, None).vector_size,
        ),
        caught=Exception,
    )
    show(f"vector {params[1]} size", lambda: vector.apply_parameters(params, None).serial_size(), caught=Exception)
    show(f"vector {params[1]} typename", lambda: vector.apply_parameters(params, None).typename)
VECTOR = t.VectorType.apply_parameters([t.FloatType, 3], None)
for values in ([1.0], [1.0] * 4, []):
    show(f"vector of {len(values)}", VECTOR.serialize, values, 4, text=True)
for data in (b"abcd", bytes(13), bytes(16), bytes(8)):
    show(f"vector of {len(data)} bytes", VECTOR.deserialize, data, 4, caught=ValueError)
VECTOR = t.VectorType.apply_parameters([TEXT, 2], None)
for values in (["a"], ["a", "b", "c"]):
    show(f"vector of {len(values)} texts", VECTOR.serialize, values, 4, text=True)
for data in (b"\1a", b"\1a\1b\1c"):
    show(f"texts of {data}", VECTOR.deserialize, data, 4, caught=ValueError)

udt = t.UserType.make_udt_class("ks", "address", ("street", "zip"), (TEXT, INT))
show("udt", lambda: udt)
show("udt name", lambda: (udt.__name__, udt.typename, udt.cassname, udt.keyspace))
show("udt fields", lambda: (udt.fieldnames, udt.subtypes, udt.mapped_class))
show("udt CQL", udt.cql_parameterized_type)
show("udt tuple", lambda: udt.tuple_type)
show("udt tuple fields", lambda: udt.tuple_type._fields)
show("udt value", lambda: udt.deserialize(udt.serialize(("a", 5), 4), 4))
show("udt again", lambda: t.UserType.make_udt_class("ks", "address", ("street", "zip"), (TEXT, INT)) is udt)
show("udt other", lambda: t.UserType.make_udt_class("ks", "address", ("street",), (TEXT,)) is udt)
show("udt evicted", lambda: t.UserType.evict_udt_class("ks", "address"))
show("udt evicted twice", lambda: t.UserType.evict_udt_class("ks", "address"))
for fields in (("a b", "c"), ("class", "x"), ("_x", "y"), ("1a", "b"), ("ä", "b"), ("A", "b")):
    odd = t.UserType.make_udt_class("ks", "odd", fields, (INT, INT))
    show(f"udt of {fields}", lambda: odd.deserialize(odd.serialize((1, 2), 4), 4))
    show(f"udt of {fields} type", lambda: odd.tuple_type and odd.tuple_type._fields)
    show(f"udt of {fields} CQL", odd.cql_parameterized_type)
for name in ("Address", "select"):
    odd = t.UserType.make_udt_class("ks", name, ("a",), (INT,))
    show(f"udt called {name}", lambda: odd)
    show(f"udt called {name} value", lambda: odd.deserialize(odd.serialize((1,), 4), 4))

show("EMPTY", lambda: t.EMPTY)
show("EMPTY text", lambda: str(t.EMPTY))
show("EMPTY class", lambda: type(t.EMPTY))
show("EMPTY is true", lambda: bool(t.EMPTY))
for name in (
    "Int32Type",
    "UUIDType",
    "UTF8Type",
    "BytesType",
    "DateType",
    "TimeType",
    "DecimalType",
    "InetAddressType",
    "BooleanType",
    "DurationType",
    "IntegerType",
    "ListType",
    "SetType",
    "MapType",
    "TupleType",
):
    cls = getattr(t, name)
    if cls.num_subtypes:
        cls = cls.apply_parameters([INT, TEXT] if name in ("MapType", "TupleType") else [INT])
    show(f"{name} of None", cls.from_binary, None, 4)
    show(f"{name} of nothing", cls.from_binary, b"", 4)
    cls.support_empty_values = True
    show(f"{name} of nothing as EMPTY", cls.from_binary, b"", 4)
    show(f"{name} of None as EMPTY", cls.from_binary, None, 4)
    cls.support_empty_values = False
    show(f"{name} of nothing again", cls.from_binary, b"", 4)
    show(f"{name} to_binary None", cls.to_binary, None, 4)
t.Int32Type.support_empty_values = True
for name, cls, text in (
    ("list", t.ListType.apply_parameters([INT]), "0000000200000000ffffffff"),
    ("set", t.SetType.apply_parameters([INT]), "0000000100000000"),
    ("map", t.MapType.apply_parameters([TEXT, INT]), "0000000100000001610000000000"[:26]),
    ("map of keys", t.MapType.apply_parameters([INT, TEXT]), "00000001000000000000000161"),
    ("tuple", t.TupleType.apply_parameters([INT, TEXT]), "000000000000000161"),
    ("udt", t.UserType.make_udt_class("ks", "holder", ("a", "b"), (INT, TEXT)), "000000000000000161"),
):
    show(f"{name} with EMPTY", cls.from_binary, bytes.fromhex(text), 4)
t.Int32Type.support_empty_values = False
show("list without EMPTY", t.ListType.apply_parameters([INT]).from_binary, bytes.fromhex("0000000200000000ffffffff"), 4)
for name, cls, value in (
    ("list", t.ListType.apply_parameters([INT]), [t.EMPTY, 1]),
    ("set", t.SetType.apply_parameters([INT]), [t.EMPTY]),
    ("map", t.MapType.apply_parameters([TEXT, INT]), {"a": t.EMPTY}),
    ("tuple", t.TupleType.apply_parameters([INT, TEXT]), (t.EMPTY, "a")),
):
    show(f"{name} of EMPTY to bytes", lambda: cls.to_binary(value, 4), caught=Exception)
with_support = type("Int32Type", (INT,), {"support_empty_values": True, "__module__": "x"})
show("a subclass with EMPTY", with_support.from_binary, b"", 4)
show("and its base", INT.from_binary, b"", 4)
t._casstypes["Int32Type"] = INT


@case("a class of one's own")
def _():
    class OwnType(t.BytesType):
        typename = "own"

    return (
        OwnType,
        OwnType.cassname,
        t.lookup_casstype("OwnType") is OwnType,
        t.lookup_casstype(PREFIX + "OwnType") is OwnType,
        OwnType.cql_parameterized_type(),
    )


for text in (
    "2024-02-29",
    "2024-02-29 12:30",
    "2024-02-29 12:30:01",
    "2024-02-29T12:30",
    "2024-02-29T12:30:01",
    "2024-02-29 12:30:01+0000",
    "12:30",
    "junk",
    "",
):
    show(f"date string {text!r}", t.DateType.interpret_datestring, text, caught=Exception)
show("formats", lambda: t.cql_timestamp_formats)
each(
    "bound kind",
    t.BoundKind.to_int,
    ["SINGLE_DATE", "CLOSED_RANGE", "OPEN_RANGE_HIGH", "OPEN_RANGE_LOW", "BOTH_OPEN_RANGE", "SINGLE_DATE_OPEN"],
)
show("geometry numbers", lambda: (t.WKBGeometryType.POINT, t.WKBGeometryType.LINESTRING, t.WKBGeometryType.POLYGON))
show("trim", t.trim_if_startswith, "abcdef", "abc")
show("trim nothing", t.trim_if_startswith, "abcdef", "x")
show("unrecognized", t.mkUnrecognizedType, "a.b.C")
show("unrecognized CQL", lambda: t.mkUnrecognizedType("a.b.C").cql_parameterized_type())
show("unrecognized bytes", lambda: t.mkUnrecognizedType("a.b.C").from_binary(b"x", 4))
show("varints", lambda: [(t.varint_pack(n), t.varint_unpack(t.varint_pack(n))) for n in (0, 1, -1, 128, -129, 2**70)])
composite = t.CompositeType.apply_parameters([INT, TEXT])
show("composite", lambda: composite.from_binary(bytes.fromhex("00040000000100 00016100"), 4))
show("composite cut", lambda: composite.from_binary(bytes.fromhex("00040000000100"), 4))
