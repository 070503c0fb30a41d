"""Small modules by hand: concurrency over mocks, timestamps, segments, readers, deserializers, authentication,
hashes."""

# mypy: ignore-errors
# ruff: noqa
import datetime
import logging
import struct
import threading
import uuid
import warnings
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock, patch

from cases import case, each, show

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")

from cassandra import (
    ConsistencyLevel,
    auth,
    bytesio,
    cluster,
    concurrent,
    cqltypes,
    deserializers,
    query,
    segment,
    timestamps,
    util,
)
from cassandra.application_info import ApplicationInfo, ApplicationInfoBase
from cassandra.auth import *
from cassandra.cluster import Cluster, ExecutionProfile, ResultSet
from cassandra.concurrent import ExecutionResult, execute_concurrent, execute_concurrent_with_args
from cassandra.murmur3 import body_and_tail, fmix, murmur3, rotl64, truncate_int64
from cassandra.shard_info import ShardingInfo

# ---- many at a time, over sessions that are no sessions


class Future:
    """Of a mock's request: ends at once, later, or with an error."""

    def __init__(self, rows=None, error=None, later=0.0):
        self.rows, self.error, self.later = rows, error, later
        self.has_more_pages = False
        self._col_names = self._col_types = self._paging_state = None

    def add_callbacks(
        self, callback, errback, callback_args=(), callback_kwargs=None, errback_args=(), errback_kwargs=None
    ):
        def end():
            if self.error is not None:
                errback(self.error, *errback_args, **(errback_kwargs or {}))
            else:
                callback(self.rows, *callback_args, **(callback_kwargs or {}))

        if self.later:
            threading.Timer(self.later, end).start()
        else:
            end()

    def clear_callbacks(self):
        pass

    def result(self):
        if self.error is not None:
            raise self.error
        return ResultSet(self, self.rows)


class FakeSession:
    def __init__(self, make):
        self.make, self.asked, self.lock = make, [], threading.Lock()

    def execute_async(self, statement, parameters=None, **kwargs):
        with self.lock:
            self.asked.append((str(statement), parameters))
            number = len(self.asked)
        return self.make(number)


def told(results):
    found = []
    for success, value in results:
        found.append((success, list(value) if success and value is not None else type(value).__name__))
    return found


def fails_at(*numbers, later=0.0):
    return lambda number: (
        Future(error=KeyError(number), later=later) if number in numbers else Future([(number,)], later=later)
    )


STATEMENTS = [("SELECT %s", (number,)) for number in range(1, 7)]
for name, make in (
    ("at once", fails_at()),
    ("later", fails_at(later=0.002)),
    ("failing", fails_at(3)),
    ("failing later", fails_at(3, 5, later=0.002)),
):
    for generator in (False, True):
        for first in (False, True):

            def run():
                found = execute_concurrent(
                    FakeSession(make),
                    STATEMENTS,
                    concurrency=2,
                    raise_on_first_error=first,
                    results_generator=generator,
                )
                return sorted(told(found)) if "later" in name else told(found)

            show(f"concurrent {name}, generator: {generator}, first error: {first}", run)
show("concurrent of nothing", lambda: list(execute_concurrent(FakeSession(fails_at()), [])))
show(
    "concurrent of nothing, generator",
    lambda: list(execute_concurrent(FakeSession(fails_at()), [], results_generator=True)),
)
for concurrency in (0, -1, 1, 1000):
    show(
        f"concurrency {concurrency}",
        lambda: told(execute_concurrent(FakeSession(fails_at()), STATEMENTS[:2], concurrency=concurrency)),
    )


@case("with args")
def _():
    session = FakeSession(fails_at())
    found = told(execute_concurrent_with_args(session, "SELECT %s", [(1,), (2,)], concurrency=1))
    return found, session.asked


@case("with args and a profile")
def _():
    session = Mock()
    session.execute_async.side_effect = lambda *args, **kwargs: Future([(1,)])
    found = told(execute_concurrent_with_args(session, "SELECT", [(1,)], execution_profile="p"))
    return found, session.execute_async.call_args.kwargs.get("execution_profile")


@case("a session that refuses")
def _():
    session = Mock()
    session.execute_async.side_effect = KeyError("no")
    return told(execute_concurrent(session, STATEMENTS[:2], raise_on_first_error=False))


@case("a session that refuses, the first error")
def _():
    session = Mock()
    session.execute_async.side_effect = KeyError("no")
    return told(execute_concurrent(session, STATEMENTS[:2]))


@case("not more than so many at a time")
def _():
    waiting, most = [0], [0]

    class Counted(Future):
        def add_callbacks(self, callback, errback, *args, **kwargs):
            waiting[0] += 1
            most[0] = max(most[0], waiting[0])

            def done(rows, *more, **options):
                waiting[0] -= 1
                callback(rows, *more, **options)

            super().add_callbacks(done, errback, *args, **kwargs)

    found = execute_concurrent(FakeSession(lambda number: Counted([(1,)], later=0.005)), STATEMENTS, concurrency=2)
    return len(found), most[0] <= 2


show(
    "a result",
    lambda: (ExecutionResult(True, [1]), ExecutionResult(False, None).success, ExecutionResult(True, 5)._fields),
)

# ---- timestamps


@case("timestamps are monotonic")
def _():
    with patch("time.time", lambda: 1.0):
        generator = timestamps.MonotonicTimestampGenerator(warn_on_drift=False)
        return [generator() for _ in range(4)], generator.last


@case("timestamps when the clock goes back")
def _():
    now = [5.0]
    with patch("time.time", lambda: now[0]):
        generator = timestamps.MonotonicTimestampGenerator(warn_on_drift=False)
        found = [generator()]
        now[0] = 1.0
        found += [generator(), generator()]
        now[0] = 6.0
        return [*found, generator()]


show("a timestamp by hand", lambda: timestamps.MonotonicTimestampGenerator()._next_timestamp(5, 7))
show(
    "timestamps by hand",
    lambda: [
        timestamps.MonotonicTimestampGenerator()._next_timestamp(now, last) for now, last in ((5, 5), (5, 1), (1, 5))
    ],
)
for name in "warn_on_drift warning_threshold warning_interval last".split():
    show(f"timestamps {name}", getattr, timestamps.MonotonicTimestampGenerator(), name)

# ---- segments


for size, contained in ((0, True), (5, True), (131071, True), (100, False)):

    def header():
        codec = segment.segment_codec_no_compression
        buffer = __import__("io").BytesIO()
        codec.encode_header(buffer, size, -1, contained)
        data = buffer.getvalue()
        buffer.seek(0)
        found = codec.decode_header(buffer)
        return (
            data,
            found.payload_length,
            found.uncompressed_payload_length,
            found.is_self_contained,
            found.segment_length,
        )

    show(f"segment header {size} {contained}", header)
for data in (b"", b"abc", b"x" * 200000):

    def around():
        io = __import__("io")
        codec, buffer = segment.segment_codec_no_compression, io.BytesIO()
        codec.encode(buffer, data)
        size = buffer.tell()
        buffer.seek(0)
        found = []
        while buffer.tell() < size:
            found.append(codec.decode(buffer, codec.decode_header(buffer)))
        return (
            size,
            len(found),
            b"".join(part.payload for part in found) == data,
            [part.is_self_contained for part in found],
        )

    show(f"segments of {len(data)}", around)
show(
    "compression of segments",
    lambda: [
        segment.segment_codec_no_compression.compression,
        segment.SegmentCodec(lambda d: d, lambda d: d).compression,
    ],
)
show(
    "lengths of headers",
    lambda: [
        segment.segment_codec_no_compression.header_length,
        segment.SegmentCodec(lambda d: d, lambda d: d).header_length,
    ],
)
show(
    "crc24",
    lambda: [
        segment.compute_crc24(5, 3),
        segment.compute_crc24(0, 5),
        segment.compute_crc32(b"abc", segment.CRC32_INITIAL),
    ],
)


@case("a damaged header", caught=Exception)
def _():
    io = __import__("io")
    buffer = io.BytesIO()
    segment.segment_codec_no_compression.encode_header(buffer, 5, -1, True)
    data = bytearray(buffer.getvalue())
    data[0] ^= 1
    return segment.segment_codec_no_compression.decode_header(io.BytesIO(bytes(data)))


# ---- readers and deserializers


@case("a reader")
def _():
    reader = bytesio.BytesIOReader(b"abcdef") if hasattr(bytesio, "BytesIOReader") else None
    return type(reader).__name__


for name, data in (
    ("Int32Type", b"\0\0\0\5"),
    ("UTF8Type", b"ab"),
    ("BooleanType", b"\1"),
    ("DoubleType", struct.pack(">d", 1.5)),
    ("UUIDType", uuid.UUID(int=5).bytes),
):
    show(f"deserializer of {name}", lambda: type(deserializers.find_deserializer(getattr(cqltypes, name))).__name__)
show(
    "deserializers",
    lambda: [
        type(one).__name__
        for one in deserializers.make_deserializers(
            [cqltypes.Int32Type, cqltypes.lookup_casstype("ListType(Int32Type)")]
        )
    ],
)
show(
    "deserializers of what is registered",
    lambda: sorted(name for name in dir(deserializers) if name.startswith("Des"))[:3],
)

# ---- hashes

each("murmur3", murmur3, [b"", b"a", b"abc", b"x" * 15, b"x" * 16, b"x" * 17, bytes(range(256))])
each("fmix", fmix, [0])
show("rotl64", lambda: [rotl64(1, 5), rotl64(1, 63)])
each("truncate", truncate_int64, [0, 1 << 63, -(1 << 63) - 1, (1 << 64) + 5])
show("body and tail", lambda: [len(part) for part in body_and_tail(b"x" * 20)[:2]])
for token in (0, 1, -1, (1 << 63) - 1, -(1 << 63), 123456789012345):
    show(
        f"shard of {token}",
        lambda: [
            ShardingInfo(str(0), str(count), "p", "a", str(bits), None, None).shard_id_from_token(token)
            for count, bits in ((1, 0), (8, 12), (12, 0))
        ],
        caught=Exception,
    )

# ---- authentication


@case("a password")
def _():
    made = PlainTextAuthProvider("me", "secret").new_authenticator("host")
    made.server_authenticator_class = "org.apache.cassandra.auth.PasswordAuthenticator"
    return made.initial_response(), type(made).__name__, made.on_authentication_success(b"x")


@case("a password for DSE")
def _():
    made = PlainTextAuthProvider("me", "secret").new_authenticator("host")
    made.server_authenticator_class = "com.datastax.bdp.cassandra.auth.DseAuthenticator"
    return made.initial_response(), made.evaluate_challenge(b"PLAIN-START")


@case("a challenge that is not known", caught=Exception)
def _():
    made = PlainTextAuthProvider("me", "secret").new_authenticator("host")
    made.server_authenticator_class = "com.datastax.bdp.cassandra.auth.DseAuthenticator"
    return made.evaluate_challenge(b"other")


show("a provider", lambda: AuthProvider().new_authenticator("h"), caught=NotImplementedError)
show("an authenticator", lambda: Authenticator().initial_response())
show("an authenticator's challenge", lambda: Authenticator().evaluate_challenge(b"x"))
show("an authenticator's success", lambda: Authenticator().on_authentication_success(b"x"))
show("an authenticator's class", lambda: Authenticator.server_authenticator_class)
show(
    "transitional",
    lambda: TransitionalModePlainTextAuthProvider().new_authenticator("h").initial_response(),
    caught=Exception,
)
show("SASL without its package", lambda: SaslAuthProvider(mechanism="PLAIN"), caught=ImportError)
show("GSSAPI without its package", lambda: DSEGSSAPIAuthProvider(), caught=ImportError)

# ---- the application


@case("an application")
def _():
    options = {}
    ApplicationInfo("name", "1.0", "client").add_startup_options(options)
    return sorted(options.items())


@case("an application that says little")
def _():
    options = {}
    ApplicationInfo(application_version="2").add_startup_options(options)
    return sorted(options.items())


show(
    "an application that says nothing",
    lambda: ApplicationInfoBase().add_startup_options({}),
    caught=NotImplementedError,
)
