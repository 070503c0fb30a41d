"""The C++ tests of the ring, murmur3, shards and the tablet map, which know nothing of Python, under sanitizers."""

from __future__ import annotations

import pytest

from tests.native.building import CORE, TESTS, compile_objects, run_program, variants


@pytest.mark.parametrize("program", ["ring_test", "shard_test", "tablets_test", "tablets_payload_test", "route_test"])
@pytest.mark.parametrize("variant", variants("plain", "asan"))
def test_routing(program: str, variant: str) -> None:
    objects = compile_objects(sorted((CORE / "routing").glob("tablet*.cpp")), variant)
    run_program(TESTS / "routing" / f"{program}.cpp", variant, objects)


@pytest.mark.parametrize("variant", variants("plain-free", "asan-free", "tsan-free"))
def test_tablets_without_the_gil(variant: str) -> None:
    objects = compile_objects(sorted((CORE / "routing").glob("tablet*.cpp")), variant)
    for program in ("tablets_test", "tablets_threads_test"):
        run_program(TESTS / "routing" / f"{program}.cpp", variant, objects)


@pytest.mark.parametrize("variant", variants("plain-free", "asan-free"))
def test_forks_without_the_gil(variant: str) -> None:
    objects = compile_objects(sorted((CORE / "routing").glob("tablet*.cpp")), variant)
    run_program(TESTS / "routing" / "forks_test.cpp", variant, objects)
