"""Clauses of statements of the object mapper: text, context ids, values, equality."""

# mypy: ignore-errors
import datetime as dt
from collections import OrderedDict
from uuid import UUID

from cases import case, show

from cassandra.cqlengine import columns, statements
from cassandra.cqlengine.functions import MaxTimeUUID, MinTimeUUID, QueryValue, Token
from cassandra.cqlengine.operators import (
    BaseWhereOperator,
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    IsNotNullOperator,
    LessThanOperator,
    LikeOperator,
)
from cassandra.cqlengine.statements import (
    AssignmentClause,
    BaseClause,
    BaseDeleteClause,
    ConditionalClause,
    ContainerUpdateClause,
    CounterUpdateClause,
    FieldDeleteClause,
    InQuoter,
    IsNotNull,
    IsNotNullClause,
    ListUpdateClause,
    MapDeleteClause,
    MapUpdateClause,
    SetUpdateClause,
    ValueQuoter,
    WhereClause,
)

ALL = [BaseClause, WhereClause, IsNotNullClause, AssignmentClause, ConditionalClause, ContainerUpdateClause,
       SetUpdateClause, ListUpdateClause, MapUpdateClause, CounterUpdateClause, BaseDeleteClause, FieldDeleteClause,
       MapDeleteClause, ValueQuoter, InQuoter, statements.StatementException]  # fmt: skip
for cls in ALL:
    show(f"{cls.__name__} path", lambda: (cls.__module__, cls.__qualname__, type(cls).__name__))
    show(f"{cls.__name__} bases", lambda: [base.__name__ for base in cls.__mro__])
    show(f"{cls.__name__} attributes", lambda: sorted(n for n in dir(cls) if not n.startswith("_")))
show("IsNotNull", lambda: IsNotNull is IsNotNullClause)
show("type_map", lambda: {kind.__name__: cls.__name__ for kind, cls in ContainerUpdateClause.type_map.items()})
show(
    "col_types",
    lambda: [c.col_type.__name__ for c in (SetUpdateClause, ListUpdateClause, MapUpdateClause, CounterUpdateClause)],
)

FIELDS = ["a", "camelCase", "with space", "select", "", "ünicode"]
VALUES = [5, None, "text", [1, 2], UUID(int=1), dt.date(2024, 1, 1), {1: 2}, {1}, True, b"b", 1.5]


def told(clause, start=7):
    """All that can be seen of a clause with context ids from *start*."""
    found = [clause.get_context_size()]
    clause.set_context_id(start)
    found.append(str(clause))
    context = {}
    clause.update_context(context)
    return (*found, clause.context_id, context)


def public(thing):
    return {name: value for name, value in vars(thing).items() if not name.startswith("_")}


# what quotes values

TEXTS = [
    "text",
    "it's",
    "",
    "a''b",
    "ü",
    5,
    True,
    1.5,
    UUID(int=1),
    [1, "a"],
    (1,),
    {"a": 1},
]
for value in TEXTS:
    show(f"ValueQuoter({value!r})", lambda: str(ValueQuoter(value)))
    show(f"ValueQuoter({value!r}) attributes", lambda: public(ValueQuoter(value)))
for value in [[1, 2], ["a", "b'c"], (), (1,), {1: 2}, [True], [UUID(int=1)], {5}]:
    show(f"InQuoter({value!r})", lambda: str(InQuoter(value)))
show("InQuoter of a number", lambda: str(InQuoter(5)))
show(
    "quoters equal",
    lambda: (
        ValueQuoter(1) == ValueQuoter(1),
        ValueQuoter(1) == ValueQuoter(2),
        ValueQuoter(1) == 1,
        ValueQuoter(1) != ValueQuoter(1),
        InQuoter([1]) == InQuoter([1]),
        ValueQuoter([1]) == InQuoter([1]),
        InQuoter([1]) == ValueQuoter([1]),
    ),
)
show("quoters hash", lambda: hash(ValueQuoter(1)))

# clauses of one value

show("BaseClause text", lambda: str(BaseClause("a", 1)), caught=Exception)
show("BaseClause attributes", lambda: public(BaseClause("a", 1)))
show("BaseClause size", lambda: BaseClause("a", 1).get_context_size())


@case("BaseClause context")
def _():
    clause = BaseClause("a", 1)
    clause.set_context_id(3)
    context = {"x": 0}
    clause.update_context(context)
    return (context, clause.context_id)


for value in (None, [1]):
    show(
        f"BaseClause equal {value!r}",
        lambda: (BaseClause("a", value) == BaseClause("a", value), BaseClause("a", value) != BaseClause("b", value)),
    )
EQUAL = [(BaseClause("a", 1), BaseClause("a", 1)), (BaseClause("a", 1), BaseClause("a", 2)), (BaseClause("a", 1), BaseClause("b", 1)),
         (BaseClause("a", 1), AssignmentClause("a", 1)), (AssignmentClause("a", 1), AssignmentClause("a", 1)), (AssignmentClause("a", 1), ConditionalClause("a", 1)),
         (BaseClause("a", 1), 5), (BaseClause("a", 1), None), (AssignmentClause("a", 1), AssignmentClause("a", "1")),
         (FieldDeleteClause("a"), FieldDeleteClause("a")), (FieldDeleteClause("a"), FieldDeleteClause("b")),
         (SetUpdateClause("a", {1}), SetUpdateClause("a", {1})), (SetUpdateClause("a", {1}, previous={2}), SetUpdateClause("a", {1})),
         (SetUpdateClause("a", {1}), SetUpdateClause("a", {2})), (CounterUpdateClause("a", 1, 0), CounterUpdateClause("a", 1, 1)),
         (MapDeleteClause("a", {1: 1}, {}), MapDeleteClause("a", {1: 1}, {2: 2})), (ListUpdateClause("a", [1]), SetUpdateClause("a", [1])),
         (IsNotNullClause("a"), IsNotNullClause("a")), (IsNotNullClause("a"), IsNotNullClause("b"))]  # fmt: skip
for number, (left, right) in enumerate(EQUAL):
    show(f"equal {number}", lambda: (left == right, right == left, left != right, left == left))
show(
    "hashes",
    lambda: (
        hash(BaseClause("a", 1)) == hash(BaseClause("a", 1)),
        hash(AssignmentClause("a", 1)) == hash(BaseClause("a", 1)),
        hash(BaseClause("a", 1)) == (hash("a") ^ hash(1)),
    ),
)
show("hash of a list", lambda: hash(BaseClause("a", [1])))
show("in a set", lambda: len({AssignmentClause("a", 1), AssignmentClause("a", 1), AssignmentClause("a", 2)}))

for cls in (AssignmentClause, ConditionalClause):
    for field in FIELDS:
        show(f"{cls.__name__} field {field!r}", lambda: told(cls(field, 5)))
    for value in VALUES:
        show(f"{cls.__name__} value {value!r}", lambda: told(cls("a", value)))
        show(f"{cls.__name__} value {value!r} attributes", lambda: public(cls("a", value)))

    @case(f"{cls.__name__} insert_tuple")
    def _():
        clause = cls("a", 5)
        clause.set_context_id(4)
        return clause.insert_tuple()

    show(f"{cls.__name__} without an id", lambda: (str(cls("a", 5)), cls("a", 5).insert_tuple()))
    show(f"{cls.__name__} of a function", lambda: told(cls("a", QueryValue(5))), caught=Exception)

for field in FIELDS:
    show(f"FieldDeleteClause {field!r}", lambda: told(FieldDeleteClause(field)))
    show(f"IsNotNullClause {field!r}", lambda: told(IsNotNullClause(field)))
show("FieldDeleteClause attributes", lambda: public(FieldDeleteClause("a")))
show("IsNotNullClause attributes", lambda: sorted(public(IsNotNullClause("a")).items(), key=str))
show("BaseDeleteClause text", lambda: str(BaseDeleteClause("a", 1)), caught=Exception)

# conditions

OPERATORS = list(BaseWhereOperator.opmap.values())
for operator in OPERATORS:
    for value in (5, "text", [1, 2], None, QueryValue(9)):
        name = type(value).__name__ if isinstance(value, QueryValue) else repr(value)
        show(
            f"WhereClause {operator.__name__} {name}",
            lambda: told(WhereClause("a", operator(), value)),
            caught=TypeError,
        )
for field in FIELDS:
    show(f"WhereClause field {field!r}", lambda: told(WhereClause(field, EqualsOperator(), 5)))
    show(
        f"WhereClause field {field!r} not quoted",
        lambda: told(WhereClause(field, EqualsOperator(), 5, quote_field=False)),
    )
for value in [
    [1, 2],
    (1, 2),
    [],
    {"k": 1},
    {"b"},
    iter([1]),
    "ab",
    5,
    None,
    [[1, 2], [3]],
    [(1, 2)],
    OrderedDict([("a", 1), ("b", 2)]),
]:
    shown = "an iterator" if hasattr(value, "__next__") else repr(value)
    show(f"WhereClause IN {shown}", lambda: told(WhereClause("a", InOperator(), value)), caught=TypeError)


@case("WhereClause attributes")
def _():
    clause = WhereClause("a", EqualsOperator(), 5)
    found = public(clause)
    return (
        sorted(found),
        found["field"],
        found["value"],
        found["context_id"],
        type(found["operator"]).__name__,
        type(found["query_value"]).__name__,
        found["quote_field"],
    )


@case("WhereClause of a query value")
def _():
    value = QueryValue(5)
    clause = WhereClause("a", EqualsOperator(), value)
    return (clause.query_value is value, clause.value is value)


@case("an id reaches the query value")
def _():
    clause = WhereClause("a", EqualsOperator(), 5)
    clause.set_context_id(8)
    return (clause.context_id, clause.query_value.context_id)


BAD = [None, 5, "EQ", EqualsOperator, object()]
for operator in BAD:
    shown = "object" if type(operator) is object else repr(operator)
    show(f"WhereClause operator {shown}", lambda: WhereClause("a", operator, 5))


@case("the error of a wrong operator")
def _():
    try:
        WhereClause("a", "=", 5)
    except Exception as error:
        return (type(error).__name__, str(error))


MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
show("WhereClause MinTimeUUID", lambda: told(WhereClause("t", GreaterThanOperator(), MinTimeUUID(MOMENT))))
show("WhereClause MaxTimeUUID", lambda: told(WhereClause("t", LessThanOperator(), MaxTimeUUID(MOMENT))))


@case("WhereClause Token")
def _():
    token = Token(1, "b")
    token.set_columns([columns.Integer(), columns.Text()])
    return told(WhereClause('token("a", "b")', GreaterThanOrEqualOperator(), token, quote_field=False))


class Upper(QueryValue):
    format_string = "upper(%({0})s)"


show("WhereClause of a program's own function", lambda: told(WhereClause("t", EqualsOperator(), Upper("x"))))
show("WhereClause CONTAINS", lambda: told(WhereClause("t", ContainsOperator(), "x")))
show("WhereClause LIKE", lambda: told(WhereClause("t", LikeOperator(), "x%")))
show("WhereClause IS NOT NULL", lambda: told(WhereClause("t", IsNotNullOperator(), "x")))
WHERES = [
    (WhereClause("a", EqualsOperator(), 1), WhereClause("a", EqualsOperator(), 1)),
    (WhereClause("a", EqualsOperator(), 1), WhereClause("a", EqualsOperator(), 2)),
    (WhereClause("a", EqualsOperator(), 1), WhereClause("b", EqualsOperator(), 1)),
    (WhereClause("a", EqualsOperator(), 1), WhereClause("a", GreaterThanOperator(), 1)),
    (WhereClause("a", EqualsOperator(), 1), WhereClause("a", InOperator(), 1)),
    (WhereClause("a", EqualsOperator(), 1, quote_field=False), WhereClause("a", EqualsOperator(), 1)),
    (WhereClause("a", EqualsOperator(), 1), BaseClause("a", 1)),
    (WhereClause("a", EqualsOperator(), 1), "a = 1"),
]
for number, (left, right) in enumerate(WHERES):
    show(f"WhereClause equal {number}", lambda: (left == right, left != right))
OPERATOR = EqualsOperator()
show("WhereClause equal of one operator", lambda: WhereClause("a", OPERATOR, 1) == WhereClause("a", OPERATOR, 1))
show(
    "WhereClause hash of one operator",
    lambda: hash(WhereClause("a", OPERATOR, 1)) == hash(WhereClause("a", OPERATOR, 1)),
)
show("WhereClause hash of a list", lambda: hash(WhereClause("a", InOperator(), [1])))

# updates of containers

SETS = [(None, None), (set(), None), ({1, 2}, None), ({1, 2}, {1, 2}), ({1, 2}, {2, 3}), ({1, 2}, set()), (set(), {1}),
        (None, {1}), (None, set()), (set(), set()), ({1, 2, 3}, {1}), ({1}, {1, 2, 3}), ({3}, {1, 2})]  # fmt: skip
show(
    "an operation that is none",
    lambda: [
        told(cls("f", value, [1], None))
        for cls, value in ((SetUpdateClause, {1}), (ListUpdateClause, [1]), (MapUpdateClause, {1: 2}))
    ],
)
OPERATIONS = [None, "add", "remove", "append", "prepend", "update", "nonsense"]
for value, previous in SETS:
    for operation in OPERATIONS if value else OPERATIONS[:1]:
        show(
            f"SetUpdateClause({value!r}, {operation!r}, {previous!r})",
            lambda: told(SetUpdateClause("s", value, operation, previous)),
            caught=Exception,
        )
show(
    "SetUpdateClause frozenset",
    lambda: told(SetUpdateClause("s", frozenset([1]), previous=frozenset([2]))),
    caught=Exception,
)
LISTS = [(None, None), ([], None), ([1, 2], None), ([1, 2], [1, 2]), ([1, 2, 3], [1, 2]), ([0, 1, 2], [1, 2]), ([0, 1, 2, 3], [1, 2]),
         ([1, 2], [2, 1]), ([], [1]), ([1], []), (None, [1]), ([1], [1, 2]), ([2], [1, 2]), ([1, 1, 1], [1]), ([1, 1, 2], [1, 1]),
         ([9, 8, 1, 2, 7, 6], [1, 2]), ([1, 2, 1, 2], [1, 2]), ([3, 4], [1, 2]), ([1, 3, 2], [1, 2]), ([None, 1], [1]), (None, []), ([], [])]  # fmt: skip
for value, previous in LISTS:
    for operation in OPERATIONS if value else OPERATIONS[:1]:
        show(
            f"ListUpdateClause({value!r}, {operation!r}, {previous!r})",
            lambda: told(ListUpdateClause("l", value, operation, previous)),
            caught=Exception,
        )
MAPS = [(None, None), ({}, None), ({"a": 1}, None), ({"a": 1}, {"a": 1}), ({"a": 2}, {"a": 1}), ({"a": 1, "b": 2}, {"a": 1}),
        ({"b": 2, "a": 1}, {}), ({}, {"a": 1}), (None, {"a": 1}), ({"b": 2}, {"a": 1}), ({"a": None}, {"a": 1}),
    ({"a": None}, {}),
    ({"a": None, "b": 1}, {"b": 2}),
        ({"c": 3, "a": 9, "b": 2}, {"a": 1, "d": 4}), ({1: 1, 2: 2}, {1: 1}), (None, {}), ({}, {})]  # fmt: skip
for value, previous in MAPS:
    if value is None:
        continue
    for operation in [*OPERATIONS, "remove_key"] if value else OPERATIONS[:1]:
        show(
            f"MapUpdateClause({value!r}, {operation!r}, {previous!r})",
            lambda: told(MapUpdateClause("m", value, operation, previous)),
            caught=Exception,
        )
        show(
            f"MapUpdateClause({value!r}, {operation!r}, {previous!r}) is_assignment",
            lambda: (
                told(MapUpdateClause("m", value, operation, previous))
                and MapUpdateClause("m", value, operation, previous).is_assignment
            ),
            caught=Exception,
        )
for value, previous in MAPS:
    show(f"MapDeleteClause({value!r}, {previous!r})", lambda: told(MapDeleteClause("m", value, previous)))
REMOVED = [{"a": None}, {1: 2, 3: 4}]
for value in REMOVED:
    show(f"MapUpdateClause remove {value!r}", lambda: told(MapUpdateClause("m", value, "remove")), caught=Exception)
for value, previous in [
    (None, None),
    (1, None),
    (5, 3),
    (3, 5),
    (3, 3),
    (None, 4),
    (0, 0),
    (-2, 1),
    (1.5, 1),
    ("a", 1),
]:
    show(
        f"CounterUpdateClause({value!r}, {previous!r})",
        lambda: told(CounterUpdateClause("c", value, previous)),
        caught=Exception,
    )
for cls, value in (
    (SetUpdateClause, {1}),
    (ListUpdateClause, [1]),
    (MapUpdateClause, {"k": 1}),
    (CounterUpdateClause, 5),
    (MapDeleteClause, {}),
):
    for field in FIELDS:
        show(
            f"{cls.__name__} field {field!r}",
            lambda: told(
                cls(
                    field,
                    value,
                    previous={"k": 2, "l": 3}
                    if cls in (MapUpdateClause, MapDeleteClause)
                    else 2
                    if cls is CounterUpdateClause
                    else type(value)(),
                )
            ),
        )
    show(f"{cls.__name__} attributes", lambda: public(cls("f", value, previous=None)), caught=TypeError)
for cls, value in ((SetUpdateClause, {1}), (ListUpdateClause, [1]), (MapUpdateClause, {"k": 1})):
    show(f"{cls.__name__} insert_tuple", lambda: cls("f", value).insert_tuple())
show("ContainerUpdateClause size", lambda: ContainerUpdateClause("a", 1).get_context_size(), caught=Exception)
show("ContainerUpdateClause context", lambda: ContainerUpdateClause("a", 1).update_context({}), caught=Exception)


@case("a container of a program's own")
def _():
    class Bag(columns.Column):
        pass

    class BagUpdateClause(ContainerUpdateClause):
        col_type = Bag

    found = ContainerUpdateClause.type_map.pop(Bag) is BagUpdateClause
    return found


class Quoted:
    """What stands for a value in an update, as ``columns`` once had it."""

    def __init__(self, value):
        self.value = value


show(
    "SetUpdateClause of another object",
    lambda: told(SetUpdateClause("s", Quoted({1}), previous=Quoted({2}))),
    caught=Exception,
)


# what old programs look at inside


def inside(clause, *names):
    clause._analyze()
    found = [getattr(clause, name) for name in names]
    return [list(value) if type(value).__name__ == "dict_keys" else value for value in found]


for value, previous in SETS:
    for operation in ("add", "remove", None) if value else (None,):
        show(
            f"inside SetUpdateClause({value!r}, {operation!r}, {previous!r})",
            lambda: inside(
                SetUpdateClause("s", value, operation, previous), "_assignments", "_additions", "_removals", "_analyzed"
            ),
        )
for value, previous in LISTS:
    for operation in ("append", "prepend", None) if value else (None,):
        show(
            f"inside ListUpdateClause({value!r}, {operation!r}, {previous!r})",
            lambda: inside(
                ListUpdateClause("l", value, operation, previous), "_assignments", "_append", "_prepend", "_analyzed"
            ),
        )
for value, previous in MAPS:
    for operation in ("update", "remove", None) if value else (None,):
        if value is not None:
            show(
                f"inside MapUpdateClause({value!r}, {operation!r}, {previous!r})",
                lambda: inside(MapUpdateClause("m", value, operation, previous), "_updates", "_removals", "_analyzed"),
            )
    show(
        f"inside MapDeleteClause({value!r}, {previous!r})",
        lambda: inside(MapDeleteClause("m", value, previous), "_removals", "_analyzed"),
    )
