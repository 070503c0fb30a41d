"""Values of no bytes, which are neither null nor a value: read as None, and as EMPTY by types that support that."""

# mypy: ignore-errors
from cases import connect, show

from cassandra import cqltypes
from cassandra.query import tuple_factory

TYPES = {
    "int": cqltypes.Int32Type,
    "bigint": cqltypes.LongType,
    "double": cqltypes.DoubleType,
    "float": cqltypes.FloatType,
    "boolean": cqltypes.BooleanType,
    "timestamp": cqltypes.DateType,
    "uuid": cqltypes.UUIDType,
    "timeuuid": cqltypes.TimeUUIDType,
    "varint": cqltypes.IntegerType,
    "decimal": cqltypes.DecimalType,
    "inet": cqltypes.InetAddressType,
    "text": cqltypes.UTF8Type,
    "ascii": cqltypes.AsciiType,
    "blob": cqltypes.BytesType,
    "smallint": cqltypes.ShortType,
    "tinyint": cqltypes.ByteType,
    "date": cqltypes.SimpleDateType,
    "time": cqltypes.TimeType,
}

with connect(protocol_version=5) as session:
    session.row_factory = tuple_factory
    made = []
    columns = ", ".join(f"c_{name} {name}, l_{name} list<{name}>, t_{name} tuple<int, {name}>" for name in TYPES)
    session.execute(f"CREATE TABLE t (p int PRIMARY KEY, {columns})")
    for name in TYPES:
        empty = {"text": "''", "ascii": "''", "blob": "0x"}.get(name, f"blob_as_{name}(0x)")
        for column, value in ((f"c_{name}", empty), (f"l_{name}", f"[{empty}]"), (f"t_{name}", f"(1, {empty})")):

            def insert():
                session.execute(f"INSERT INTO t (p, {column}) VALUES (1, {value})")
                made.append(column)
                return True

            show(f"{column} takes {value}", insert, caught=Exception)
    for supports in (False, True):
        for kind in TYPES.values():
            kind.support_empty_values = supports
        for column in made:
            query = f"SELECT {column} FROM t WHERE p = 1"
            show(f"{column}, supported: {supports}", lambda: session.execute(query).one())
            prepared = session.prepare(query)
            show(f"{column} prepared, supported: {supports}", lambda: session.execute(prepared).one())
    for kind in TYPES.values():
        kind.support_empty_values = False
    show("as JSON", lambda: session.execute("SELECT JSON c_int, c_text, l_int FROM t WHERE p = 1").one())
    show("EMPTY is written", lambda: cqltypes.Int32Type.from_binary(b"", 4))
