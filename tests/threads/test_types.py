"""Types that a program changes while other threads convert values of them."""

from __future__ import annotations

import gc
import sys
from typing import Any, NamedTuple
from weakref import WeakSet

from cassandra.cqltypes import (
    BytesType,
    CassandraType,
    Int32Type,
    ListType,
    LongType,
    MapType,
    SetType,
    ShortType,
    UserType,
    UTF8Type,
)
from tests.threads.harness import beside, size, together

# With the GIL threads meet at some bytecodes only.
VALUES = size("FASTCQL_VALUES", 10_000 if getattr(sys, "_is_gil_enabled", lambda: True)() else 200_000)


class Place(NamedTuple):
    street: str
    number: int


class Maker:
    """Makes values. An instance, as Python 3.13 does not free classes without the GIL."""

    def __call__(self, street: str, number: int) -> Place:
        return Place(street, number)


def test_the_class_of_a_user_type_changes_while_values_are_decoded() -> None:
    """Each value is of one of the kinds, and has the fields. What made values before is freed."""
    kind = UserType.make_udt_class("threads", "place", ["street", "number"], [UTF8Type, Int32Type])
    value = kind.to_binary(("Main", 7), 4)
    makers: WeakSet[Maker] = WeakSet()

    def change() -> None:
        maker = Maker()
        makers.add(maker)
        for mapped in (maker, None, dict):
            kind.mapped_class = mapped
            kind.from_binary(value, 4)

    def read(_: int) -> set[tuple[Any, Any]]:
        decoded = (kind.from_binary(value, 4) for _ in range(VALUES))
        return {
            (place["street"], place["number"]) if isinstance(place, dict) else (place.street, place.number)
            for place in decoded
        }

    with beside(change):
        assert all(found == {("Main", 7)} for found in together(read))
    UserType.evict_udt_class("threads", "place")
    kind.mapped_class = None
    gc.collect()
    assert len(makers) <= 2


def test_functions_of_a_type_are_replaced_while_values_are_converted() -> None:
    """Each value is converted by the functions of the driver or by those of the program."""
    kind: Any = Int32Type

    def change() -> None:
        kind.deserialize = staticmethod(lambda data, version: 1 + int.from_bytes(data, "big"))
        kind.serialize = staticmethod(lambda value, version: (value + 2).to_bytes(4, "big"))
        for name in ("deserialize", "serialize"):
            delattr(kind, name)

    def convert(_: int) -> set[Any]:
        read = {Int32Type.from_binary(b"\0\0\0\x05", 4) for _ in range(VALUES)}
        written = {Int32Type.to_binary(5, 4) for _ in range(VALUES)}
        return read | written

    with beside(change):
        for found in together(convert):
            assert found <= {5, 6, b"\0\0\0\x05", b"\0\0\0\x07"}
    assert (Int32Type.from_binary(b"\0\0\0\x05", 4), Int32Type.to_binary(5, 4)) == (5, b"\0\0\0\x05")


def test_threads_replace_functions_of_types() -> None:
    """Each thread finds the functions that it has set for its type, and the driver's after it has deleted them."""
    kinds: list[Any] = [ListType, SetType, Int32Type, LongType, ShortType, UTF8Type, BytesType, MapType]
    kinds = [kind.apply_parameters([Int32Type] * kind.num_subtypes) if kind.num_subtypes else kind for kind in kinds]
    values: list[Any] = [[], set(), 1, 2, 3, "x", b"x", {}]

    def change(number: int) -> list[tuple[bytes, bool]]:
        kind, native = kinds[number], kinds[number].to_binary(values[number], 4)
        found = []
        for _ in range(VALUES // 20):
            kind.serialize = staticmethod(lambda *_: b"replaced")
            replaced = kind.to_binary(values[number], 4)
            del kind.serialize
            found.append((replaced, kind.to_binary(values[number], 4) == native))
        return found

    for found in together(change, len(kinds)):
        assert set(found) == {(b"replaced", True)}


def test_the_empty_value_changes_while_values_are_decoded() -> None:
    def change() -> None:
        for support in (True, False):
            CassandraType.support_empty_values = support

    with beside(change):
        found = together(lambda _: {type(Int32Type.from_binary(b"", 4)).__name__ for _ in range(VALUES)})
    assert set().union(*found) <= {"NoneType", "EmptyValue"}
