"""class_row: rows equal those that the class's own constructor makes, on every way of making them."""

from __future__ import annotations

import abc
import copy
import gc
import pickle
import sys
import weakref
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from cassandra import DriverException
from cassandra._core.codec import InstanceMaker, ResultPlan, RowPlan, scalar
from cassandra._wire.rows import decode_page, named_tuple_factory, tuple_factory
from cassandra.query import class_row
from tests.packages import msgspec
from tests.unit.wire import class_row_cases as cases
from tests.unit.wire.test_rows import INT, TEXT, answer, page

ROWS: list[tuple[Any, ...]] = [(1, "a"), (2, None), (None, ""), (4, "é")]
VALUES = "values" if sys.version_info[:2] == (3, 11) else "attributes"


def plan_of(*names: str) -> ResultPlan:
    return ResultPlan([("ks", "t", name, INT if name in "k price" else TEXT) for name in names])


def kind_of(cls: Any, *names: str) -> str:
    return class_row(cls).maker(names or ("k", "name")).kind


def shown(instance: Any) -> Any:
    """All that is to be seen of it."""
    slots = {name for base in type(instance).__mro__ for name in getattr(base, "__slots__", ()) if name[:2] != "__"}
    held = {name: getattr(instance, name) for name in sorted(slots) if hasattr(instance, name)}
    return type(instance), list(getattr(instance, "__dict__", {}).items()), held, instance if held == {} else None


ALL = {
    cases.Plain: VALUES,
    cases.Frozen: VALUES,
    cases.Slots: "slots",
    cases.FrozenSlots: "slots",
    cases.KeywordOnly: VALUES,
    cases.Backwards: VALUES,
    cases.Defaults: VALUES,
    cases.SlotsDefaults: "slots",
    cases.PostInit: "init",
    cases.NotInInit: "init",
    cases.WithInitVar: "init",
    cases.OwnInit: "init",
    cases.OwnSetattr: "init",
    cases.OwnNew: "call",
    cases.Wrapped: "init",
    cases.WithMeta: "call",
    cases.Derived: VALUES,
    cases.SlotsDerived: "slots",
    cases.DictOverSlots: "attributes",
    cases.NotDecorated: "init",
    cases.Box: VALUES,
    cases.ByProperty: "attributes",
    cases.Finalized: "attributes",
    cases.Attrs: "slots",
    cases.AttrsDict: VALUES,
    cases.AttrsFrozen: "slots",
    cases.AttrsConverted: "init",
    cases.AttrsSelf: "init",
    cases.AttrsDefaults: "slots",
    cases.AttrsPost: "init",
    cases.Struct: "slots",
    cases.StructFrozen: "slots",
    cases.StructNoGc: "slots",
    cases.StructKeyword: "slots",
    cases.StructPost: "call",
    cases.Model: "call",
    cases.ModelAlias: "call",
    cases.PydanticDataclass: "init",
    cases.Named: "tuple",
    cases.NamedBackwards: "tuple",
    cases.NamedWithMethod: "tuple",
    cases.NamedOwnNew: "call",
    cases.Own: "init",
    cases.ByNew: "call",
}


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.__name__)
def test_as_its_constructor_makes_them(cls: Any) -> None:
    expected = [cls(k=k, name=name) for k, name in ROWS]
    assert kind_of(cls) == ALL[cls]
    factory = class_row(cls)
    for made in (decode_page(page(["k", "name"], [INT, TEXT], ROWS), factory), factory(["k", "name"], ROWS)):
        assert [shown(one) for one in made] == [shown(one) for one in expected]
        for one in made:
            assert gc.is_tracked(one) or not gc.is_tracked(expected[0]) or isinstance(one, (tuple, msgspec.Struct))
    turned = decode_page(page(["name", "k"], [TEXT, INT], [row[::-1] for row in ROWS]), factory)
    assert [shown(one) for one in turned] == [shown(one) for one in expected]


@pytest.mark.parametrize("cls", [cls for cls in ALL if cls is not cases.OwnSetattr], ids=lambda cls: cls.__name__)
def test_they_live_as_others_do(cls: Any) -> None:
    """They are copied, changed, part of cycles, and go away."""
    (one,) = decode_page(page(["k", "name"], [INT, TEXT], [(1, "a")]), class_row(cls))
    other = copy.copy(one)
    assert shown(other) == shown(one)
    if "k" in getattr(one, "__dict__", {}) and not isinstance(one, (cases.Frozen, pydantic.BaseModel)):
        one.k = one.extra = one
        assert list(vars(one))[-1] == "extra" and one.k is one
        del one.k
        assert "k" not in vars(one)
    if hasattr(one, "__dict__") and hasattr(one, "__weakref__") and not isinstance(one, cases.Frozen):
        one.__dict__["myself"] = one
        gone = weakref.ref(one)
        del one
        gc.collect()
        assert gone() is None


def test_pickles() -> None:
    for cls in (cases.Plain, cases.Slots, cases.FrozenSlots, cases.Attrs, cases.Struct, cases.Model, cases.Named):
        made = decode_page(page(["k", "name"], [INT, TEXT], ROWS), class_row(cls))
        assert pickle.loads(pickle.dumps(made)) == made == [cls(k=k, name=name) for k, name in ROWS]
        factory = class_row(cls, rename={"x": "k"}, extra="ignore")
        assert pickle.loads(pickle.dumps(factory)) is factory


def test_more_fields_than_keys_are_shared_for() -> None:
    names = [f"f{i}" for i in range(60)]
    row = tuple(range(60))
    (made,) = decode_page(page(names, [INT] * 60, [row]), class_row(cases.Many))
    assert made == cases.Many(*row) and kind_of(cases.Many, *names) == "attributes"

    class Many:
        def __init__(self, **values: Any) -> None:
            self.values = values

    (called,) = decode_page(page(names, [INT] * 60, [row]), class_row(Many))
    assert called.values == dict(zip(names, row, strict=True))


def test_attribute_order_of_earlier_instances_does_not_matter() -> None:
    """Keys that instances share may be in another order already."""

    @dataclass
    class Used:
        k: int
        name: str

    first = Used.__new__(Used)
    first.other, first.name, first.k = 1, "x", 2  # type: ignore[attr-defined]
    made = decode_page(page(["k", "name"], [INT, TEXT], ROWS), class_row(Used))
    assert made == [Used(*row) for row in ROWS]  # type: ignore[arg-type]
    assert [list(vars(one)) for one in made] == [["k", "name"]] * 4
    made[0].other = 5
    assert vars(made[0]) == {"k": 1, "name": "a", "other": 5}


# ---- defaults, missing and extra columns, names


def test_missing_columns_have_their_defaults() -> None:
    rows = page(["k", "name"], [INT, TEXT], [(1, "a"), (2, "b")])
    for cls in (cases.Defaults, cases.SlotsDefaults, cases.AttrsDefaults, cases.AttrsConverted):
        one, two = decode_page(rows, class_row(cls))
        assert one.tags == [] and one.tags is not two.tags
    (own,) = decode_page(page(["k"], [INT], [(7,)]), class_row(cases.Own))
    assert own.values == (7, "?", 1.5)
    (own,) = decode_page(page(["price", "k"], [INT, INT], [(3, 7)]), class_row(cases.Own))
    assert own.values == (7, "?", 3)
    (keyword,) = decode_page(
        page(["k", "someTags", "name"], [INT, TEXT, TEXT], [(7, "x", "n")]), class_row(cases.StructKeyword)
    )
    assert keyword.some_tags == "x"


@pytest.mark.parametrize("cls", [cases.Plain, cases.Slots, cases.Attrs, cases.Struct, cases.Model, cases.Named])
def test_a_missing_column_without_a_default(cls: Any) -> None:
    assert cls(k=1, name="a").name == "a"
    with pytest.raises(
        TypeError, match=rf"{cls.__name__} needs a value for 'name'.* its columns are k\. Select"
    ) as raised:
        decode_page(page(["k"], [INT], []), class_row(cls))
    assert "rename=" in str(raised.value)


def test_extra_columns() -> None:
    rows = page(["k", "name", "price"], [INT, TEXT, INT], [(1, "a", 5)])
    for cls in (cases.Plain, cases.Slots, cases.AttrsValidated, cases.Struct, cases.Model, cases.Named, cases.ByNew):
        with pytest.raises(TypeError, match=rf"{cls.__name__} has no field for 'price', which the result has"):
            decode_page(rows, class_row(cls))
        (one,) = decode_page(rows, class_row(cls, extra="ignore"))
        assert shown(one) == shown(cls(k=1, name="a"))
    with pytest.raises(ValueError, match="'drop'"):
        class_row(cases.Plain, extra="drop")  # type: ignore[arg-type]


def test_classes_that_take_any_column() -> None:
    rows = page(["k", "name", "count(*)"], [INT, TEXT, INT], [(1, "a", 5)])
    (one,) = decode_page(rows, class_row(cases.Takes))
    assert one.values == (1, {"name": "a", "count": 5})
    (one,) = decode_page(rows, class_row(cases.Takes, rename={"count(*)": "n"}))
    assert one.values == (1, {"name": "a", "n": 5})
    (model,) = decode_page(rows, class_row(cases.ModelAny))
    assert model.model_extra == {"name": "a", "count": 5}
    (model,) = decode_page(rows, class_row(cases.ModelIgnoring))
    assert model.model_dump() == {"k": 1}


def test_renamed_columns() -> None:
    rows = page(["product_key", "count(name)"], [INT, TEXT], ROWS)
    factory = class_row(cases.Slots, rename={"product_key": "k", "count(name)": "name", "not here": "k"})
    assert decode_page(rows, factory) == [cases.Slots(*row) for row in ROWS]
    with pytest.raises(ValueError, match=r"Slots has no field 'key' for the column 'x'; it has k, name"):
        class_row(cases.Slots, rename={"x": "key"})
    for names in (["k", "_k"], ["k", "title"]):
        if names[1] == "title":
            made = decode_page(page(names, [INT, TEXT], [(1, "a")]), class_row(cases.AttrsPrivate))
            assert made == [cases.AttrsPrivate(1, "a")]  # type: ignore[call-arg]
    assert decode_page(page(["_k", "name"], [INT, TEXT], [(1, "a")]), class_row(cases.AttrsPrivate))[0]._k == 1


def test_names_are_cleaned() -> None:
    @dataclass
    class Counted:
        count: int
        system_max_k: int

    rows = page(["count", "system.max(k)"], [INT, INT], [(1, 2)])
    assert decode_page(rows, class_row(Counted)) == [Counted(1, 2)]


def test_two_columns_for_one_field() -> None:
    with pytest.raises(TypeError, match=r"one field 'k', and the result has two columns for it: 'k' and 'k'"):
        decode_page(page(["k", "k"], [INT, INT], []), class_row(cases.Own))
    with pytest.raises(TypeError, match="'k' and 'x'"):
        decode_page(page(["k", "x"], [INT, INT], []), class_row(cases.Own, rename={"x": "k"}))


def test_positional_only_arguments_behind_a_missing_one() -> None:
    class Odd:
        def __init__(self, k: int = 0, name: str = "", /) -> None:
            self.name = name

    with pytest.raises(TypeError, match="takes 'name' by position only"):
        decode_page(page(["name"], [TEXT], []), class_row(Odd))


def test_class_row_refuses_unsuitable_classes_and_non_classes() -> None:
    class Abstract(abc.ABC):
        @abc.abstractmethod
        def __init__(self, k: int) -> None: ...

    for cls, text in ((Abstract, "is abstract"), (object, "takes no arguments")):
        with pytest.raises(TypeError, match=text):
            class_row(cls)
    for nothing in (5, "Plain", lambda names, rows: rows):
        with pytest.raises(TypeError, match="expects a class"):
            class_row(nothing)  # type: ignore[arg-type]


def test_generics() -> None:
    factory = class_row(cases.Box[int])
    assert factory is class_row(cases.Box)  # type: ignore[comparison-overlap]
    assert decode_page(page(["k", "name"], [INT, TEXT], ROWS), factory)[0] == cases.Box(1, "a")


def test_a_layout_of_its_own() -> None:
    assert kind_of(cases.InAList) == "call"
    made = decode_page(page(["k", "name"], [INT, TEXT], ROWS), class_row(cases.InAList))
    assert [(one.k, one.name) for one in made] == ROWS


def test_a_descriptor_of_another_class() -> None:
    """Its place in instances of that one is none in these."""

    class Other:
        __slots__ = ("a", "b", "c", "k")

    @dataclass
    class Mixed:
        k: int

    Mixed.k = Other.k  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        decode_page(page(["k"], [INT], [(1,)]), class_row(Mixed))


# ---- errors while rows are made


def test_a_constructor_that_raises() -> None:
    rows = page(["k", "name"], [INT, TEXT], [(1, "a"), (2, None)])
    with pytest.raises(TypeError, match="must be <class 'str'>") as raised:
        decode_page(rows, class_row(cases.AttrsValidated))
    if sys.version_info >= (3, 11):
        assert raised.value.__notes__ == ["in row 1 of the page"]
    with pytest.raises(pydantic.ValidationError, match="name"):
        decode_page(rows, class_row(cases.ModelStrict))

    class Nothing:
        def __init__(self, k: int, name: str) -> None:
            return 5  # type: ignore[return-value]

    with pytest.raises(TypeError, match="should return None"):
        decode_page(rows, class_row(Nothing))


def test_a_constructor_that_raises_in_a_large_page() -> None:
    """Rows in front of the one that is wrong can be had."""
    rows = page(["k", "name"], [INT, TEXT], [(n, "x" * 100 if n != 15_000 else None) for n in range(20_000)])
    seen = []
    iterator = iter(decode_page(rows, class_row(cases.AttrsValidated)))
    with pytest.raises(TypeError, match="must be <class 'str'>"):
        seen.extend(iterator)
    seen.clear()
    with pytest.raises(TypeError):
        for row in decode_page(rows, class_row(cases.AttrsValidated)):
            seen.append(row.k)
    assert seen == list(range(15_000))


def test_a_value_that_cannot_be_read() -> None:
    """The bytes are no UTF-8."""
    sent = bytes(page(["k", "name"], [INT, scalar(3)], [(1, b"a"), (2, b"\xff")]))
    broken = page(["k", "name"], [INT, TEXT], [(1, "a"), (2, "b")])
    assert len(bytes(broken)) == len(sent)
    rows = answer(["k", "name"], [INT, TEXT], 2, sent)
    for cls in (cases.Plain, cases.Slots, cases.Struct, cases.Own, cases.Named, cases.Model):
        with pytest.raises(DriverException, match=r"column 'name' of ks\.t as text in row 1 of the page"):
            decode_page(rows, class_row(cls))


def test_rows_that_are_being_made_are_not_to_be_seen() -> None:
    """By a constructor, which may look at all objects that the collector knows."""
    seen: list[int] = []

    class Looks:
        def __init__(self, k: int, name: str) -> None:
            if len(seen) < 3:
                seen.append(sum(type(one) is list and len(one) == 4321 for one in gc.get_objects()))

    made = decode_page(page(["k", "name"], [INT, TEXT], [(1, "a")] * 3 + [(2, "b")] * 4318), class_row(Looks))[:2]
    assert len(made) == 2 and seen == [0, 0, 0]


def test_decoding_class_rows_leaks_no_references_to_none() -> None:
    rows = page(["k", "name"], [INT, TEXT], ROWS)
    before = sys.getrefcount(None)
    for cls in ALL:
        for _ in range(50):
            decode_page(rows, class_row(cls))
    gc.collect()
    assert abs(sys.getrefcount(None) - before) < 2000


# ---- plans


def test_a_plan_is_made_once() -> None:
    rows = page(["k", "name"], [INT, TEXT], ROWS)
    factory = class_row(cases.Plain)
    assert class_row(cases.Plain) is factory is not class_row(cases.Plain, extra="ignore")
    decode_page(rows, factory)
    how = rows.plan.row_plan(factory)
    assert how is not None and how.kind == "instance"
    decode_page(rows, factory)
    assert rows.plan.row_plan(factory) is how


def test_a_result_keeps_no_more_plans_than_a_few() -> None:
    rows = page(["k", "name"], [INT, TEXT], ROWS)
    factories = []
    for _ in range(40):
        cls = dataclass(type("Made", (), {"__annotations__": {"k": int, "name": str}}))
        factories.append(class_row(cls))
        assert decode_page(rows, factories[-1])[0].k == 1
    assert decode_page(rows, factories[0])[0].k == 1  # it is made again
    assert decode_page(rows, named_tuple_factory)[0].k == 1 and decode_page(rows, tuple_factory) == ROWS
    assert sum(rows.plan.row_plan(factory) is not None for factory in factories) < 16


def test_misuse_of_the_maker() -> None:
    cls: Any = cases.Plain
    for arguments, text in (
        ((cls, "fields", 2, [0, 0], ["k", "name"], [None, None]), "used twice"),
        ((cls, "fields", 2, [0, 2], ["k", "name"], [None, None]), "column 2 is out of range"),
        ((cls, "fields", 2, [0, -3], ["k", "name"], [None, None]), "column -3 is out of range"),
        ((cls, "fields", 2, [0, 1], ["k", "name"], []), "0 defaults for 2"),
        ((cls, "fields", 2, [0, 1], ["k"], [None, None]), "1 names for 2"),
        ((cls, "init", 2, [0, -1]), "it has its own defaults"),
        ((cls, "call", 2, [0], ["a", "b"]), "2 names for 1"),
        ((cls, "magic", 2, [0]), "got 'magic'"),
    ):
        with pytest.raises(ValueError, match=text):
            InstanceMaker(*arguments)
    for arguments in ((cls, "tuple", 1, [0], (), [None]), (5, "call", 1, [0]), (int, "fields", 1, [0], ["a"], [None])):
        with pytest.raises(TypeError):
            InstanceMaker(*arguments)
    maker = InstanceMaker(cls, "init", 2, [0, 1])
    with pytest.raises(ValueError, match="expected a row of 2 values, got 3"):
        maker.make((1, 2, 3))
    with pytest.raises(ValueError, match="for 2 columns, the result has 1"):
        RowPlan(plan_of("k"), "instance", None, maker)
    with pytest.raises(ValueError, match="maker must be given"):
        RowPlan(plan_of("k"), "instance")
    assert repr(maker).startswith("<InstanceMaker of ") and "init" in repr(maker)
    assert repr(class_row(cls, rename={"x": "k"})) == "class_row(Plain, rename={'x': 'k'})"
