"""The C++ tests of the ring, murmur3, shards and the tablet map, which know nothing of Python, under sanitizers."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program


def test_ring() -> None:
    run_program(TESTS / "routing" / "ring_test.cpp", "asan")


def test_shards() -> None:
    run_program(TESTS / "routing" / "shard_test.cpp", "asan")


@pytest.mark.parametrize("program", ["tablets_test", "tablets_payload_test", "route_test"])
def test_tablets(program: str) -> None:
    objects = compile_objects(sorted((CORE / "routing").glob("tablets_*.cpp")), "asan")
    run_program(TESTS / "routing" / f"{program}.cpp", "asan", objects)
