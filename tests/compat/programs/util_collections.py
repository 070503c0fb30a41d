"""cassandra.util: sorted sets and ordered maps."""

# mypy: ignore-errors
import copy
import pickle
from collections import OrderedDict

from cases import case, each, show

from cassandra import cqltypes as t
from cassandra.util import OrderedMap, OrderedMapSerializedKey, SortedSet, sortedset

INPUTS = [
    (),
    [],
    [3, 1, 2],
    (1, 1, 1),
    {2, 1},
    "hello",
    ["b", "a"],
    [[2], [1]],
    [(2, 1), (1, 2)],
    [{1, 2}, {1}],
    [1.5, 1],
    range(4),
    {3: 1, 1: 2},
    [None],
    [None, None],
    [b"b", b"a"],
    [frozenset([1])],
]
for value in INPUTS:
    show(f"set of {value!r}", sortedset, value)
    show(f"set of {value!r} length", lambda: len(sortedset(value)))
    show(f"set of {value!r} list", lambda: list(sortedset(value)))
    show(f"set of {value!r} text", lambda: str(sortedset(value)))
    show(
        f"set of {value!r} equals",
        lambda: (
            sortedset(value) == sortedset(value),
            sortedset(value) != sortedset([9]),
            sortedset(value) == set(map(repr, value)),
        ),
    )
    show(f"set of {value!r} pickled", lambda: pickle.loads(pickle.dumps(sortedset(value))))
    show(f"set of {value!r} copied", lambda: copy.copy(sortedset(value)) == sortedset(value))
    show(f"set of {value!r} reversed", lambda: list(reversed(sortedset(value))))
    show(f"set of {value!r} true", lambda: bool(sortedset(value)))
for value in (None, 5, object):
    show(f"set of {value!r}", sortedset, value)
show("set without arguments", sortedset)
show("same class", lambda: SortedSet is sortedset)
A, B = [1, 2, 3, 4], [3, 4, 5]
for other in ([3, 4, 5], [], [1, 2, 3, 4], [1, 2], [9], [0, 1, 2, 3, 4, 5]):
    for kind in (sortedset, set, frozenset, list, tuple):

        def one():
            return sortedset(A)

        def two():
            return kind(other)

        name = f"{kind.__name__} {other}"
        for method in (
            "union",
            "intersection",
            "difference",
            *(["symmetric_difference"] if kind is not list and kind is not tuple else []),
            "issubset",
            "issuperset",
            "isdisjoint",
        ):
            show(f"{method} {name}", lambda: getattr(one(), method)(two()))
        if kind not in (list, tuple):
            show(
                f"compared {name}",
                lambda: (one() < two(), one() <= two(), one() > two(), one() >= two(), one() == two(), one() != two()),
            )
            show(f"and {name}", lambda: one() & two())
            show(f"or {name}", lambda: one() | two())
            show(f"minus {name}", lambda: one() - two())
            show(f"xor {name}", lambda: one() ^ two())
            show(f"from the right {name}", lambda: (two() & one(), two() | one(), two() - one(), two() ^ one()))
            show(f"equals from the right {name}", lambda: (two() == one(), two() != one()))
each("contains", lambda x: x in sortedset(A), [1, 9, "x", None, [1], 1.0], caught=Exception)
each("contains unhashable", lambda x: x in sortedset([[1], [2]]), [[1], [3], (1,), 5])


def changed(function):
    made = sortedset(A)
    result = function(made)
    return result, made


for name, function in {
    "add": lambda s: s.add(0),
    "add again": lambda s: s.add(3),
    "add between": lambda s: s.add(2.5),
    "remove": lambda s: s.remove(3),
    "remove missing": lambda s: s.remove(9),
    "clear again": lambda s: s.clear(),
    "pop": lambda s: s.pop(),
    "clear": lambda s: s.clear(),
    "update": lambda s: s.update([9, 0]),
    "delete item": lambda s: s.__delitem__(0),
    "item": lambda s: s[1],
    "slice": lambda s: s[1:3],
    "last": lambda s: s[-1],
    "beyond": lambda s: s[9],
    "add to copy": lambda s: s.copy().add(7),
    "add None": lambda s: s.add(None),
    "add text": lambda s: s.add("x"),
}.items():
    show(f"changed by {name}", changed, function, caught=Exception)


@case("in place")
def _():
    made = alias = sortedset([1, 2, 3])
    made |= {7}
    made &= {1, 2, 7}
    made -= {1}
    made ^= {2, 9}
    return made, made is alias


show("pop of nothing", lambda: sortedset().pop())
show("hashed", lambda: hash(sortedset([1])))
show("unions", lambda: sortedset([1]).union([2], [3]))
show("intersections", lambda: sortedset([1, 2, 3]).intersection([2, 3], [3]))
show("differences", lambda: sortedset([1, 2, 3]).difference([2], [3]))
show("sets in sets", lambda: sortedset([1]) in sortedset([sortedset([1])]))

MAPS = [
    (),
    ([],),
    ([("a", 1), ("b", 2)],),
    ({"b": 1, "a": 2},),
    (OrderedDict([("b", 1), ("a", 2)]),),
    ([([1], 2), ([0], 3)],),
    ([({"a": 1}, 2), ({1}, 3)],),
    (OrderedMap([("x", 1)]),),
    ([("a", 1), ("a", 2)],),
    ((("a", 1),),),
]
for arguments in MAPS:

    def made():
        return OrderedMap(*arguments)

    name = repr(arguments)
    for what, function in {
        "": lambda m: m,
        "text": str,
        "length": len,
        "keys": lambda m: list(m.keys()),
        "values": lambda m: list(m.values()),
        "items": lambda m: list(m.items()),
        "iterated": list,
        "true": bool,
        "equals": lambda m: (
            m == OrderedMap(*arguments),
            m != OrderedMap([("z", 1)]),
            m == OrderedDict(),
            m == {},
            m == 5,
        ),
        "pickled": lambda m: pickle.loads(pickle.dumps(m)),
        "copied": lambda m: copy.deepcopy(m) == m,
        "last": lambda m: m.popitem(),
        "get": lambda m: (m.get("a"), m.get("z", 7)),
        "contains": lambda m: ("a" in m, [1] in m),
    }.items():
        show(f"map of {name} {what}", lambda: function(made()), caught=Exception if what in ("last",) else ())
show("map by names", lambda: OrderedMap(a=1, b=2))
show("map and names", lambda: OrderedMap([("a", 1)], b=2))
each("map of", OrderedMap, [None, 5, "ab", [1, 2]], caught=Exception)
show("map of two", lambda: OrderedMap([], []), caught=Exception)


def map_changed(function):
    made = OrderedMap([("a", 1), ([1], 2)])
    return function(made), made


for name, function in {
    "set": lambda m: m.__setitem__("c", 3),
    "set again": lambda m: m.__setitem__("a", 3),
    "set unhashable": lambda m: m.__setitem__([1], 3),
    "delete": lambda m: m.__delitem__("a"),
    "delete missing": lambda m: m.__delitem__("z"),
    "item": lambda m: m["a"],
    "item unhashable": lambda m: m[[1]],
    "item missing": lambda m: m["z"],
    "popitem": lambda m: m.popitem(),
    "pop": lambda m: m.pop("a"),
    "update": lambda m: m.update({"q": 1}),
    "clear": lambda m: m.clear(),
    "setdefault": lambda m: m.setdefault("q", 1),
}.items():
    show(f"map changed by {name}", map_changed, function)
show("map equals its items", lambda: OrderedMap([("a", 1)]) == [("a", 1)])
show(
    "map equals a dict",
    lambda: (
        OrderedMap([("a", 1), ("b", 2)]) == {"b": 2, "a": 1},
        OrderedMap([("a", 1), ("b", 2)]) == {"b": 2, "a": 1},
    ),
)
show("map in another order", lambda: OrderedMap([("a", 1), ("b", 2)]) == OrderedMap([("b", 2), ("a", 1)]))
show("map equals an OrderedDict", lambda: OrderedMap([("a", 1), ("b", 2)]) == OrderedDict([("a", 1), ("b", 2)]))
show("map hashed", lambda: hash(OrderedMap()))


def serialized(kind=t.UTF8Type):
    made = OrderedMapSerializedKey(kind, 4)
    made._insert("a", 1)
    made._insert("b", 2)
    return made


for name, function in {
    "": lambda m: m,
    "text": str,
    "item": lambda m: m["a"],
    "missing": lambda m: m["z"],
    "other": lambda m: m[5],
    "items": lambda m: list(m.items()),
    "contains": lambda m: ("a" in m, "z" in m),
    "get": lambda m: m.get("b"),
    "equals": lambda m: (m == {"a": 1, "b": 2}, m == OrderedMap([("a", 1), ("b", 2)])),
    "length": len,
    "dict": dict,
    "copied": lambda m: dict(copy.copy(m)),
}.items():
    show(f"serialized keys {name}", lambda: function(serialized()), caught=Exception)
INT_MAP = t.MapType.apply_parameters([t.Int32Type, t.UTF8Type])
show("a map read", lambda: INT_MAP.from_binary(INT_MAP.to_binary({1: "a", 2: "b"}, 4), 4))
show("a map's key", lambda: INT_MAP.from_binary(INT_MAP.to_binary({1: "a", 2: "b"}, 4), 4)[2])
show("a map's class", lambda: type(INT_MAP.from_binary(INT_MAP.to_binary({1: "a"}, 4), 4)))
