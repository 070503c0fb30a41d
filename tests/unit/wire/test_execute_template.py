"""EXECUTE by template: byte for byte the output of encode_execute for the same values and options."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from cassandra._core.codec import UNSET, BindPlan, ExecuteTemplate, TimestampClock, encode_execute
from cassandra._wire.messages.reading import specs_of
from cassandra.cqltypes import Int32Type, UTF8Type

COLUMNS = [("ks", "tbl", "a", Int32Type), ("ks", "tbl", "b", UTF8Type)]
PLANS = {
    "none": BindPlan([]),
    "simple": BindPlan(specs_of(COLUMNS), [0]),
    "composite": BindPlan(specs_of(COLUMNS), [1, 0]),
}
VALUES: dict[str, list[Any]] = {
    "none": [(), None],
    "simple": [(1, "x"), {"b": "y" * 2000, "a": -1}, [3, None]],
    "composite": [(1, "x"), (1, "é" * 999)],
}
OPTIONS = [
    {"page_size": size, "serial_consistency": serial} for size, serial in itertools.product((None, 5000), (None, 8))
]


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("plan", sorted(PLANS))
@pytest.mark.parametrize("timestamp", [None, 0, -5, 2**62])
@pytest.mark.parametrize("metadata_id", [None, b"m" * 16], ids=["without id", "with id"])
def test_execute_template_encodes_like_encode_execute(
    version: int, plan: str, timestamp: int | None, metadata_id: bytes | None
) -> None:
    if version == 5 and metadata_id is None:
        with pytest.raises(ValueError, match="result_metadata_id"):
            ExecuteTemplate(PLANS[plan], version, b"query", 1)
        return
    for options, values in itertools.product(OPTIONS, VALUES[plan]):
        template = ExecuteTemplate(
            PLANS[plan],
            version,
            b"query",
            4,
            result_metadata_id=metadata_id,
            skip_metadata=metadata_id is not None,
            with_timestamp=timestamp is not None,
            **options,
        )
        bound = PLANS[plan].bind(values, version)
        expected = encode_execute(
            version,
            b"query",
            4,
            bound,
            result_metadata_id=metadata_id,
            skip_metadata=metadata_id is not None,
            timestamp=timestamp,
            **options,  # type: ignore[arg-type]
        )
        frame, token = template.encode(values, timestamp)
        assert (frame, token) == (expected, bound.token)
        assert template.encode_bound(bound, timestamp) == expected
        again = template.bound(frame, token)
        assert (again.data, again.count, again.token, again.values) == (bound.data, bound.count, token, bound.values)
        assert again.routing_key == bound.routing_key
        assert template.timestamp(frame) == timestamp


def test_many_parameters() -> None:
    plan = BindPlan(specs_of([("ks", "tbl", f"c{n}", Int32Type) for n in range(50)]), [49])
    template = ExecuteTemplate(plan, 4, b"query", 1)
    frame, token = template.encode(range(50))
    assert frame == encode_execute(4, b"query", 1, plan.bind(range(50), 4))
    assert token == plan.bind(range(50), 4).token


def test_missing_values_are_unset_and_a_null_key_has_no_token() -> None:
    template = ExecuteTemplate(PLANS["simple"], 4, b"query", 1)
    assert template.encode([1])[0] == template.encode([1, UNSET])[0]
    assert template.encode([None, "x"])[1] is None


def test_errors() -> None:
    template = ExecuteTemplate(PLANS["simple"], 4, b"query", 1, with_timestamp=True)
    with pytest.raises(TypeError, match='column "b"'):
        template.encode((1, 2), 5)
    with pytest.raises(ValueError, match="Too many"):
        template.encode((1, "x", 3), 5)
    with pytest.raises(TypeError):
        template.encode((1, "x"), None)  # it was made for timestamps
    with pytest.raises(OverflowError):
        template.encode((1, "x"), 2**63)
    for foreign in (b"", b"\x04" * 9, b"\x04" * 40):
        with pytest.raises(ValueError, match="not an envelope of this template"):
            template.bound(foreign)


def test_a_clock_is_asked_for_the_timestamp() -> None:
    template = ExecuteTemplate(PLANS["simple"], 4, b"query", 1, with_timestamp=True)
    clock = TimestampClock()
    frames = [template.encode((1, "x"), clock)[0] for _ in range(3)]
    stamps = [template.timestamp(frame) for frame in frames]
    assert stamps == sorted(set(stamps), key=lambda stamp: stamp or 0) and stamps[-1] == clock.last
    bound = PLANS["simple"].bind((1, "x"), 4)
    assert template.timestamp(template.encode_bound(bound, clock)) == clock.last


def test_timestamps_follow_the_clock_and_never_repeat() -> None:
    clock = TimestampClock()
    made = [clock.advance() for _ in range(10_000)]
    assert all(earlier < later for earlier, later in itertools.pairwise(made))


def test_timestamps_count_on_when_the_clock_went_back() -> None:
    clock = TimestampClock()
    clock.last = future = clock.advance() + 3_600_000_000
    assert [clock.advance() - future for _ in range(3)] == [1, 2, 3]
    assert 3_500_000_000 < clock.ahead <= 3_600_000_003
