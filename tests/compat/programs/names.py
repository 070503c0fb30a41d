"""What names that programs use alone do. Runs with any driver; the output of scylla-driver 3.29.12 is in names.txt."""

# mypy: ignore-errors
import io
import time
from collections import OrderedDict

import cassandra.bytesio as bytesio
import cassandra.cluster as cluster
import cassandra.connection as connection
import cassandra.cqltypes as types
import cassandra.deserializers as deserializers
import cassandra.metadata as metadata
import cassandra.obj_parser as obj_parser
import cassandra.parsing as parsing
import cassandra.protocol as protocol
import cassandra.query as query
import cassandra.segment as segment
import cassandra.util as util
from cassandra.io.asyncorereactor import WaitableTimer
from cassandra.policies import ColDesc


def show(what, function, *args):
    try:
        print(what, "->", function(*args))
    except Exception as error:
        print(what, "raises", type(error).__name__)


def segments():
    plain, lz4 = connection.segment_codec_no_compression, connection.segment_codec_lz4
    for name, codec in (("plain", plain), ("lz4", lz4)):
        print(name, bool(codec.compression), codec.header_length, codec.header_length_with_crc)
        for text in (b"", b"abc", bytes(range(100)), b"y" * 1000, b"x" * 131071, bytes(131072), b"z" * 300000):
            buffer = io.BytesIO()
            codec.encode(buffer, text)
            data = buffer.getvalue()
            print(name, len(text), len(data), data[:16].hex(), data[-8:].hex())
            buffer = io.BytesIO(data)
            found = []
            while buffer.tell() < len(data):
                header = codec.decode_header(buffer)
                part = codec.decode(buffer, header)
                found.append(part.payload)
                print(sorted(vars(header).items()), part.is_self_contained)
                if not codec.compression or header.uncompressed_payload_length:  # theirs is wrong for the others
                    print(header.segment_length)
            print(b"".join(found) == text)
    buffer = io.BytesIO()
    plain.encode_header(buffer, 100, -1, True)
    lz4.encode_header(buffer, 100, 200, False)
    plain._encode_segment(buffer, b"abc", True)
    segment.write_uint_le(buffer, 0x010203, 3)
    segment.write_uint_le(buffer, 7)
    print(buffer.getvalue().hex())
    show("damaged header", plain.decode_header, io.BytesIO(bytes(range(6))))
    buffer = io.BytesIO()
    plain.encode(buffer, b"payload")
    damaged = io.BytesIO(buffer.getvalue()[:8] + b"!" + buffer.getvalue()[9:])
    show("damaged payload", plain.decode, damaged, plain.decode_header(damaged))
    print(segment.compute_crc24(0x1234567, 5), segment.compute_crc32(b"abc", segment.CRC32_INITIAL))
    print(segment.CRC24_INIT, segment.CRC24_POLY, segment.CRC24_LENGTH, segment.CRC32_INITIAL, segment.CRC32_LENGTH)
    print(segment.Segment.MAX_PAYLOAD_LENGTH, lz4.compress(b"abc" * 5), lz4.decompress(lz4.compress(b"abc" * 5), 15))


def rows():
    kinds = [types.Int32Type, types.UTF8Type, types.lookup_casstype("ListType(Int32Type)")]
    described = parsing.ParseDesc(
        ["a", "b", "c"],
        kinds,
        None,
        [ColDesc("k", "t", name) for name in "abc"],
        deserializers.make_deserializers(kinds),
        4,
    )
    cells = [b"\0\0\0\7", b"hi", None], [None, b"", types.lookup_casstype("ListType(Int32Type)").serialize([1, 2], 4)]
    body = len(cells).to_bytes(4, "big")
    for row in cells:
        for cell in row:
            body += (-1).to_bytes(4, "big", signed=True) if cell is None else len(cell).to_bytes(4, "big") + cell
    reader = bytesio.BytesIOReader
    show("list", obj_parser.ListParser().parse_rows, reader(body), described)
    show("lazy", lambda: list(obj_parser.LazyParser().parse_rows(reader(body), described)))
    show("lazy function", lambda: list(obj_parser.parse_rows_lazy(reader(body), described)))
    show("one", obj_parser.TupleRowParser().unpack_row, reader(body[4:]), described)
    show("cut", obj_parser.ListParser().parse_rows, reader(body[:-6]), described)
    show("broken", obj_parser.ListParser().parse_rows, reader(b"\0\0\0\1\0\0\0\3abc\xff\xff\xff\xff"), described)
    show("columns", parsing.ColumnParser().parse_rows, reader(body), described)
    show("row", parsing.RowParser().unpack_row, reader(body), described)
    show("text", reader, "abc")
    print(described.colnames, len(described.coltypes), described.coldescs, described.protocol_version)
    for kind in (*kinds, types.DateType, types.InetAddressType, types.lookup_casstype("ReversedType(Int32Type)")):
        print(type(deserializers.find_deserializer(kind)).__name__)
    print(deserializers.EPOCH_OFFSET_DAYS)
    names = ["a", "b c", "_d"]
    made = query.pseudo_namedtuple_factory(names, [(1, 2, 3)])
    print(made, list(made[0]), made[0].a, query.PseudoNamedTupleRow(OrderedDict([("x", 5)])).x)


def names():
    strange = ["a", "", "_x", "1a", "class", "a", "a b", "__a", "a-b", "\u00e9"]
    print(util._positional_rename_invalid_identifiers(strange))
    print(util._sanitize_identifiers(strange))
    mapping = util.OrderedMapSerializedKey(types.UTF8Type, 4)
    mapping._insert("a", 1)
    print(mapping, dict(mapping))
    print(sorted(name for name in types._cqltypes if "." not in name))
    print([mode.name for mode in metadata._ConsistencyMode], metadata._ConsistencyMode.LOCAL.value)
    print(cluster._ConfigMode.UNCOMMITTED, cluster._ConfigMode.LEGACY, cluster._ConfigMode.PROFILES)
    print(query.UNSET_VALUE is protocol._UNSET_VALUE)
    print(sorted(protocol._message_types_by_opcode), sorted(protocol.get_registered_classes()))
    for pattern in (
        query.NON_ALPHA_REGEX,
        query.START_BADCHAR_REGEX,
        query.END_BADCHAR_REGEX,
        metadata.valid_cql3_word_re,
    ):
        print(pattern.pattern)
    print(metadata._RegisteredExtensionType._extension_registry["DSE_RLACA"].__name__)
    print(connection.DEFAULT_LOCAL_PORT_LOW, connection.DEFAULT_LOCAL_PORT_HIGH, connection.NONBLOCKING)


def timers():
    fired = []
    manager = connection.TimerManager()
    print(manager.next_timeout)
    first = connection.Timer(0.01, lambda: fired.append(1))
    second = connection.Timer(0.5, lambda: fired.append(2))
    third = connection.Timer(5000, lambda: fired.append(3))
    for timer in (third, second, first):
        manager.add_timer(timer)
    second.cancel()
    print(manager.service_timeouts() == first.end, fired, first < second < third)
    time.sleep(0.05)
    print(manager.service_timeouts() in (second.end, third.end), fired)
    print(third.finish(time.time()), third.finish(third.end), fired, second.finish(0), second.canceled)
    timer = WaitableTimer(0, lambda: fired.append(4))
    print(timer.finish(time.time() + 1), timer.wait(1), fired)
    show("nobody serves it", WaitableTimer(1000, lambda: None).wait, 0.01)


if __name__ == "__main__":
    segments()
    rows()
    names()
    timers()
