"""Compression round trips, and what damaged or lying input gets."""

from __future__ import annotations

import contextlib
import random
import struct
import tracemalloc

import lz4.block
import pytest

from cassandra._base.errors import ProtocolError
from cassandra._net import compression
from cassandra._net.compression import Compression, available, choose
from cassandra.connection import locally_supported_compressions
from tests.packages import cramjam

SAMPLES = [b"", b"a", b"hello " * 100, bytes(100_000), random.Random(1).randbytes(50_000)]


@pytest.mark.parametrize("data", SAMPLES, ids=len)
@pytest.mark.parametrize("algorithm", available().values(), ids=lambda a: a.name)
def test_bodies(algorithm: Compression, data: bytes) -> None:
    packed = algorithm.compress(data)
    assert algorithm.decompress(packed) == data
    assert algorithm.decompress(memoryview(packed)) == data


@pytest.mark.parametrize("data", SAMPLES[1:], ids=len)
def test_segments(data: bytes) -> None:
    lz4_ = available()["lz4"]
    assert lz4_.segment_compress is not None and lz4_.segment_decompress is not None
    packed = lz4_.segment_compress(data)
    assert lz4.block.decompress(packed, uncompressed_size=len(data)) == data
    assert lz4_.segment_decompress(packed, len(data)) == data


def test_formats_are_cassandras() -> None:
    data = b"hello " * 10
    assert compression.lz4_compress(data)[:4] == struct.pack(">I", len(data))
    assert bytes(cramjam.snappy.decompress_raw(compression.snappy_compress(data))) == data
    assert list(locally_supported_compressions) == ["lz4", "snappy"]
    pack, unpack = locally_supported_compressions["lz4"]
    assert unpack(pack(data)) == data


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0"])
def test_lz4_without_a_length(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="has no length"):
        compression.lz4_decompress(data)


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\xff\xff\xff\xff\xff"])
def test_snappy_without_a_length(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="has no length"):
        compression.snappy_decompress(data)


def test_lying_lengths_ask_for_no_memory() -> None:
    with pytest.raises(ProtocolError, match="claim to hold 2147483647 bytes"):
        compression.lz4_decompress(b"\x7f\xff\xff\xff" + b"x" * 20)
    with pytest.raises(ProtocolError, match="claim to hold"):
        compression.lz4_block_decompress(b"x" * 20, 100_000)
    with pytest.raises(ProtocolError, match="claim to hold"):
        compression.snappy_decompress(b"\xff\xff\xff\xff\x07" + b"x" * 20)


@pytest.mark.parametrize("algorithm", available().values(), ids=lambda a: a.name)
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


def test_the_best_that_each_can_do_is_believed() -> None:
    for algorithm in available().values():
        for size in (1, 63, 64, 65, 1000, 100_000, 10_000_000):
            assert algorithm.decompress(algorithm.compress(bytes(size))) == bytes(size)


def test_damage_is_noticed() -> None:
    packed = compression.lz4_compress(b"hello " * 100)
    with pytest.raises(ProtocolError, match="LZ4 block"):
        compression.lz4_decompress(packed[:-3])
    with pytest.raises(ProtocolError, match="LZ4 block has 600 bytes, not 700"):
        compression.lz4_decompress(struct.pack(">I", 700) + packed[4:])
    snapped = compression.snappy_compress(b"hello " * 100)
    with pytest.raises(ProtocolError, match="Snappy block is damaged"):
        compression.snappy_decompress(snapped[:-3])


def test_random_damage_never_escapes() -> None:
    rng = random.Random(2)
    for algorithm in available().values():
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
    assert compression._optional("no_such_module_anywhere") is None
