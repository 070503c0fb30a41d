"""Compression round trips, and what damaged or lying input gets."""

from __future__ import annotations

import contextlib
import random
import struct
import subprocess
import sys
import tracemalloc
from types import SimpleNamespace
from typing import Any

import lz4.block
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassandra._base.errors import DependencyException, ProtocolError
from cassandra._net import compression
from cassandra._net.compression import Compression, available, choose, installed_compression
from cassandra.connection import locally_supported_compressions
from tests.lz4_libraries import LIBRARIES
from tests.packages import cramjam, require

SAMPLES = [b"", b"a", b"hello " * 100, bytes(100_000), random.Random(1).randbytes(50_000)]


@pytest.fixture(params=["snappy", *LIBRARIES])
def algorithm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Compression:
    """Snappy, and LZ4 by each library."""
    if request.param == "snappy":
        require("cramjam")
    if request.param in LIBRARIES:
        monkeypatch.setattr(compression, "_lz4", LIBRARIES[request.param])
    found = installed_compression("snappy" if request.param == "snappy" else "lz4")
    assert found is not None
    return found


@pytest.mark.parametrize("data", SAMPLES, ids=len)
def test_bodies(algorithm: Compression, data: bytes) -> None:
    packed = algorithm.compress(data)
    assert type(packed) is bytes
    for form in (bytes, bytearray, memoryview):
        plain = algorithm.decompress(form(packed))
        assert type(plain) is bytes and plain == data


@pytest.mark.parametrize("data", SAMPLES[1:], ids=len)
def test_segments(data: bytes, lz4_library: str) -> None:
    lz4_ = available()["lz4"]
    assert lz4_.segment_compress is not None and lz4_.segment_decompress is not None
    packed = bytes(lz4_.segment_compress(memoryview(data)))
    assert lz4.block.decompress(packed, uncompressed_size=len(data)) == data
    assert bytes(cramjam.lz4.decompress_block(packed, output_len=len(data))) == data
    assert lz4_.segment_decompress(packed, len(data)) == data


#: Bytes with matches of all distances and lengths, and parts without any.
MIXED = st.lists(st.tuples(st.binary(max_size=40), st.integers(1, 3000)), max_size=20).map(
    lambda parts: b"".join(part * count for part, count in parts)
)


@settings(max_examples=200)
@given(data=MIXED)
def test_each_library_reads_what_the_others_write(data: bytes) -> None:
    blocks = {
        bytes(lz4.block.compress(data, store_size=False)),
        bytes(cramjam.lz4.compress_block(data, store_size=False)),
    }
    for writer in LIBRARIES.values():
        packed = bytes(writer.compress(data))
        assert lz4.block.decompress(packed, uncompressed_size=len(data)) == data
        blocks.add(packed)
    for reader in LIBRARIES.values():
        assert [reader.decompress(block, len(data)) for block in blocks] == [data] * len(blocks)


@settings(max_examples=300)
@given(block=st.binary(max_size=200), length=st.integers(1, 70_000))
def test_hostile_blocks(block: bytes, length: int) -> None:
    """A block is decompressed to *length* bytes, or refused; where both libraries accept it, they agree."""
    plain = []
    for library in LIBRARIES.values():
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(ProtocolError):
            patch.setattr(compression, "_lz4", library)
            plain.append(compression.lz4_block_decompress(block, length))
            assert len(plain[-1]) == length
    assert len(set(plain)) <= 1


@pytest.mark.parametrize("length", [1, 4, 100, 131_071])
def test_truncated_blocks(length: int, lz4_library: str) -> None:
    data = (bytes(length // 2) + random.Random(3).randbytes(length))[:length]
    packed = compression.lz4_compress(data)[4:]
    for size in {0, 1, 2, len(packed) // 2, len(packed) - 1} - {len(packed)}:
        with pytest.raises(ProtocolError, match=r"LZ4 block|claim to hold"):
            compression.lz4_block_decompress(packed[:size], length)


def test_a_block_with_more_than_its_length(lz4_library: str) -> None:
    """30 MB of zeros that claim to be 1000 bytes."""
    packed = lz4.block.compress(bytes(30_000_000), store_size=False)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="LZ4 block is damaged"):
            compression.lz4_block_decompress(packed, 1000)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_formats_are_cassandras(lz4_library: str) -> None:
    data = b"hello " * 10
    assert compression.lz4_compress(data)[:4] == struct.pack(">I", len(data))
    assert bytes(cramjam.snappy.decompress_raw(compression.snappy_compress(data))) == data
    assert list(locally_supported_compressions) == ["lz4", "snappy"]
    pack, unpack = locally_supported_compressions["lz4"]
    assert unpack(pack(data)) == data


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0"])
def test_lz4_without_a_length(data: bytes, lz4_library: str) -> None:
    with pytest.raises(ProtocolError, match="has no length"):
        compression.lz4_decompress(data)


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\xff\xff\xff\xff\xff"])
def test_snappy_without_a_length(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="has no length"):
        compression.snappy_decompress(data)


def test_lying_lengths_ask_for_no_memory(lz4_library: str) -> None:
    with pytest.raises(ProtocolError, match="claim to hold 2147483647 bytes"):
        compression.lz4_decompress(b"\x7f\xff\xff\xff" + b"x" * 20)
    with pytest.raises(ProtocolError, match="claim to hold"):
        compression.lz4_block_decompress(b"x" * 20, 100_000)
    with pytest.raises(ProtocolError, match="claim to hold"):
        compression.snappy_decompress(b"\xff\xff\xff\xff\x07" + b"x" * 20)


def test_the_most_that_a_body_may_have(algorithm: Compression) -> None:
    packed = algorithm.compress(bytes(1_000_000))
    assert algorithm.decompress(packed, 1_000_000) == bytes(1_000_000)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="claim to hold 1000000 bytes, the limit is 999999"):
            algorithm.decompress(packed, 999_999)
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


def test_the_best_that_each_can_do_is_believed(algorithm: Compression) -> None:
    for size in (1, 63, 64, 65, 1000, 100_000, 10_000_000):
        assert algorithm.decompress(algorithm.compress(bytes(size))) == bytes(size)


def test_damage_is_noticed(lz4_library: str) -> None:
    packed = compression.lz4_compress(b"hello " * 100)
    with pytest.raises(ProtocolError, match="LZ4 block"):
        compression.lz4_decompress(packed[:-3])
    with pytest.raises(ProtocolError, match="LZ4 block has 600 bytes, not 700"):
        compression.lz4_decompress(struct.pack(">I", 700) + packed[4:])
    require("cramjam")
    snapped = compression.snappy_compress(b"hello " * 100)
    with pytest.raises(ProtocolError, match="Snappy block is damaged"):
        compression.snappy_decompress(snapped[:-3])


def test_random_damage_never_escapes(algorithm: Compression) -> None:
    rng = random.Random(2)
    packed = bytearray(algorithm.compress(rng.randbytes(200) * 5))
    for _ in range(2000):
        damaged = bytearray(packed)
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        with contextlib.suppress(ProtocolError):
            algorithm.decompress(bytes(damaged))


@pytest.mark.parametrize(
    ("wanted", "announced", "version", "expected"),
    [
        (True, ["snappy", "lz4"], 4, "lz4"),
        (True, ["snappy"], 4, "snappy"),
        (True, ["snappy"], 5, None),
        (True, ["LZ4"], 5, "lz4"),
        (True, ["zstd"], 4, None),
        (False, ["lz4"], 4, None),
        ("snappy", ["lz4", "snappy"], 3, "snappy"),
        ("snappy", ["lz4", "snappy"], 5, None),
    ],
)
def test_choice(wanted: bool | str, announced: list[str], version: int, expected: str | None) -> None:
    if "snappy" in (wanted, expected):
        require("cramjam")
    chosen = choose(wanted, announced, version, "here")
    assert (chosen and chosen.name) == expected


def test_choice_that_cannot_be_had() -> None:
    with pytest.raises(ProtocolError, match="not supported by the server at here; it supports"):
        choose("lz4", ["snappy"], 4, "here")
    with pytest.raises(ProtocolError, match="not available"):
        choose("zstd", ["zstd"], 4, "here")


def test_without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_lz4", None)
    monkeypatch.setattr(compression, "_snappy", lambda: None)
    assert list(available()) == []
    assert choose(True, ["lz4", "snappy"], 4, "here") is None
    with pytest.raises(DependencyException, match="cramjam and lz4"):
        compression.lz4_compress(b"data")
    assert compression._optional("no_such_module_anywhere") is None


PREFERRED = next(iter(LIBRARIES.values())).error.__name__
#: Without the modules *absent* the driver is imported, and compresses.
ONE_PACKAGE = """
import sys
for name in {absent}:
    sys.modules[name] = None
from cassandra._net import compression
from cassandra.connection import locally_supported_compressions as found
print(list(found), compression._lz4 and compression._lz4.error.__name__)
if "lz4" in found:
    pack, unpack = found["lz4"]
    assert unpack(pack(b"hello " * 100)) == b"hello " * 100
"""


@pytest.mark.parametrize(
    ("absent", "names", "error"),
    [
        ([], ["lz4", "snappy"], PREFERRED),
        (["cramjam"], ["lz4"], "LZ4BlockError"),
        (["lz4", "lz4.block"], ["lz4", "snappy"] if "cramjam" in LIBRARIES else ["snappy"], "DecompressionError"),
        (["cramjam", "lz4", "lz4.block"], [], None),
    ],
    ids=["both", "lz4", "cramjam", "none"],
)
def test_one_package_is_enough(absent: list[str], names: list[str], error: str | None) -> None:
    if "cramjam" not in absent:
        require("cramjam")
    program = ONE_PACKAGE.format(absent=absent)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"{names} {error if 'lz4' in names else None}"


@pytest.mark.parametrize("cramjam", [None, SimpleNamespace(), SimpleNamespace(backend="pure-rust")])
def test_a_cramjam_that_is_not_used(cramjam: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "_optional", {"cramjam": cramjam}.get)
    assert compression._cramjam_blocks() is None
