"""Rows as instances of classes have the very values that tuples have, for all columns and all slices of rows."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import field, make_dataclass
from typing import Any

import attrs
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cassandra._core.codec import scalar
from cassandra._wire.rows import decode_page, tuple_factory
from cassandra.query import class_row
from tests.unit.wire.test_rows import page

LONGS, TEXTS = scalar(2), scalar(10)
CODECS = {
    "bigint": (LONGS, st.integers(-(2**63), 2**63 - 1)),
    "text": (TEXTS, st.text(max_size=20)),
}


def keywords(names: list[str]) -> type:
    class Keywords:
        def __init__(self, **values: Any) -> None:
            self.__dict__.update(values)

    return Keywords


def made_of(names: list[str]) -> list[Any]:
    """Classes with these fields, one per way of making instances and more."""
    fields: list[Any] = [(name, object) for name in names]
    loose: list[Any] = [(name, object, field(default=None)) for name in names]
    post = {"__post_init__": lambda self: None}
    return [
        make_dataclass("Plain", fields),
        make_dataclass("Slots", fields, slots=True),
        make_dataclass("Frozen", fields, frozen=True, slots=True),
        make_dataclass("Loose", loose, kw_only=True),
        make_dataclass("Post", fields, namespace=post),
        attrs.make_class("Attrs", names, slots=False),
        attrs.make_class("AttrsSlots", names, slots=True),
        msgspec.defstruct("Struct", fields),
        namedtuple("Named", names),  # type: ignore[misc]
        keywords(names),
    ]


@given(st.data())
def test_the_values_of_tuples(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 9))
    names = [f"c{n}" for n in range(width)]
    kinds = data.draw(st.lists(st.sampled_from(["bigint", "text"]), min_size=width, max_size=width))
    codecs = [CODECS[kind][0] for kind in kinds]
    values = [st.one_of(st.none(), CODECS[kind][1]) for kind in kinds]
    rows = data.draw(st.lists(st.tuples(*values), max_size=5))
    sent = page(names, codecs, rows)
    expected = decode_page(sent, tuple_factory)
    assert expected == rows
    ordered = data.draw(st.permutations(names))
    start = data.draw(st.integers(0, len(rows)))
    for cls in made_of(list(ordered)):
        factory = class_row(cls)
        found = decode_page(sent, factory)
        assert [tuple(getattr(one, name) for name in names) for one in found] == expected
        assert all(type(one) is cls for one in found)
        how = sent.plan.row_plan(factory)
        assert how is not None
        part = sent.decode(how, start)
        assert [tuple(getattr(one, name) for name in names) for one in part] == expected[start:]
        batches = [one for batch in sent.batches(how, 2) for one in batch]
        assert [tuple(getattr(one, name) for name in names) for one in batches] == expected
