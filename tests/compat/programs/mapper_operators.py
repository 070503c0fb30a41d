"""Operators and functions of the object mapper: names, text, values and context ids."""

# mypy: ignore-errors
import datetime as dt
from types import SimpleNamespace
from uuid import UUID

from cases import case, each, show

from cassandra.cqlengine import CQLEngineException, UnicodeMixin, ValidationError, columns, functions, operators
from cassandra.cqlengine.functions import MaxTimeUUID, MinTimeUUID, QueryValue, Token, get_total_seconds

WHERE = operators.BaseWhereOperator
CLASSES = [
    operators.BaseQueryOperator,
    WHERE,
    operators.EqualsOperator,
    operators.NotEqualsOperator,
    operators.InOperator,
    operators.GreaterThanOperator,
    operators.GreaterThanOrEqualOperator,
    operators.LessThanOperator,
    operators.LessThanOrEqualOperator,
    operators.ContainsOperator,
    operators.LikeOperator,
    operators.IsNotNullOperator,
]
for cls in CLASSES:
    name = cls.__name__
    show(f"{name} path", lambda: (cls.__module__, cls.__qualname__, type(cls).__name__))
    show(f"{name} bases", lambda: [base.__name__ for base in cls.__mro__])
    show(f"{name} symbols", lambda: (cls.symbol, cls.cql_symbol))
    show(f"{name} text", lambda: str(cls()))
    show(f"{name} attributes", lambda: sorted(n for n in dir(cls) if not n.startswith("__")))
    show(f"{name} equal", lambda: (cls() == cls(), isinstance(hash(cls()), int)))

show("opmap", lambda: {symbol: cls.__name__ for symbol, cls in WHERE.opmap.items()})
show("opmap is one", lambda: all(cls.opmap is WHERE.opmap for cls in CLASSES[2:]))
SYMBOLS = ["EQ", "eq", "Ne", "IN", "in", "GT", "GTE", "gte", "LT", "LTE", "CONTAINS", "contains", "LIKE", "like",
           "IS NOT NULL", "is not null", "ISNOTNULL", "", "EQUAL", "=", None, 5, b"EQ"]  # fmt: skip
each("get_operator", WHERE.get_operator, SYMBOLS, text=True)
each("get_operator of a subclass", operators.InOperator.get_operator, ["EQ", "LT"])
show("get_operator of the base of all", lambda: operators.BaseQueryOperator.get_operator("EQ"))
show("get_operator of an instance", lambda: operators.EqualsOperator().get_operator("LTE"))
show("the error", lambda: [base.__name__ for base in operators.QueryOperatorException.__mro__])


@case("an operator of a program's own")
def _():
    class Near(WHERE):
        symbol = "NEAR"
        cql_symbol = "<~>"

    found = [WHERE.get_operator("near") is Near, str(Near()), list(WHERE.opmap)[-1]]
    del WHERE.opmap["NEAR"]
    return found


@case("an operator that replaces another")
def _():
    before = WHERE.opmap["EQ"]

    class Same(WHERE):
        symbol = "EQ"
        cql_symbol = "=="

    found = WHERE.get_operator("EQ") is Same
    WHERE.opmap["EQ"] = before
    return found


@case("an operator without a symbol")
def _():
    class Nameless(WHERE):
        pass

    return (Nameless().symbol, None in WHERE.opmap, Nameless in WHERE.opmap.values())


@case("a subclass of an operator without a symbol of its own")
def _():
    before = WHERE.opmap["LT"]

    class Less(operators.LessThanOperator):
        pass

    found = (WHERE.get_operator("LT") is Less, str(Less()))
    WHERE.opmap["LT"] = before
    return found


@case("text of a subclass of UnicodeMixin")
def _():
    class Text(UnicodeMixin):
        def __unicode__(self):
            return "täxt"

    return (str(Text()), f"{Text()}")


show("errors", lambda: [base.__name__ for base in ValidationError.__mro__])
show("errors are equal", lambda: issubclass(CQLEngineException, Exception))

# functions


class Column:
    """As much of a column as a function asks for."""

    def __init__(self, name):
        self.db_field_name = name
        self.cql = f'"{name}"'

    def to_database(self, value):
        return ("stored", value)


FUNCTIONS = [QueryValue, functions.BaseQueryFunction, functions.TimeUUIDQueryFunction, MinTimeUUID, MaxTimeUUID, Token]
for cls in FUNCTIONS:
    name = cls.__name__
    show(f"{name} path", lambda: (cls.__module__, cls.__qualname__))
    show(f"{name} bases", lambda: [base.__name__ for base in cls.__mro__])
    show(f"{name} format", lambda: cls.format_string)
    show(f"{name} attributes", lambda: sorted(n for n in dir(cls) if not n.startswith("_")))

MOMENT = dt.datetime(2024, 2, 29, 12, 30, 15, 123456)
AWARE = MOMENT.replace(tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))
VALUES = [5, None, "text", b"bytes", [1, 2], MOMENT, UUID(int=7), 1.5, ("a", "b"), {"k": 1}, object]
for value in VALUES:

    @case(f"QueryValue({value!r})")
    def _():
        found = QueryValue(value)
        start = (found.value, found.context_id, found.get_context_size())
        found.set_context_id(3)
        context = {}
        found.update_context(context)
        return (start, str(found), found.context_id, context)


show("QueryValue without an id", lambda: str(QueryValue(5)))
show("QueryValue context without an id", lambda: (lambda c: (QueryValue(5).update_context(c), c))({}))
show("QueryValue id of text", lambda: (lambda q: (q.set_context_id("x"), str(q)))(QueryValue(5)))
show("QueryValue equal", lambda: QueryValue(1) == QueryValue(1))
show("QueryValue hash", lambda: isinstance(hash(QueryValue(1)), int))
show("QueryValue with other text", lambda: type("Q", (QueryValue,), {"format_string": "f(%({0})s)"})(1).format_string)


@case("QueryValue of another format")
def _():
    class Quoted(QueryValue):
        format_string = "quote(%({0})s, %({0})s)"

    found = Quoted(1)
    found.set_context_id(9)
    return str(found)


for cls in (MinTimeUUID, MaxTimeUUID, functions.TimeUUIDQueryFunction):
    name = cls.__name__
    for value in (MOMENT, AWARE, dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999000)):

        @case(f"{name}({value!r})")
        def _():
            found = cls(value)
            found.set_context_id(2)
            context = {}
            found.update_context(context)
            return (found.value, str(found), context, found.get_context_size())

    each(f"{name} of a value", cls, [5, None, "2024-01-01", dt.date(2024, 1, 1), UUID(int=1)])
    each(
        f"{name} to_database", cls(MOMENT).to_database, [MOMENT, AWARE, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)]
    )
    each(f"{name} to_database of no datetime", cls(MOMENT).to_database, [dt.date(2024, 1, 1)], caught=Exception)

    @case(f"{name} without an id")
    def _():
        context = {}
        cls(MOMENT).update_context(context)
        return context


each(
    "a moment",
    MinTimeUUID(MOMENT).to_database,
    [MOMENT.replace(microsecond=us) for us in (0, 1, 499, 500, 999, 1000, 999999)],
)

each(
    "a moment before 1970",
    MinTimeUUID(MOMENT).to_database,
    [dt.datetime(1969, 12, 31, 23, 59, 59, us) for us in (0, 1000, 999000)],
)

DELTAS = [
    dt.timedelta(0),
    dt.timedelta(days=1),
    dt.timedelta(seconds=-1),
    dt.timedelta(microseconds=5),
    dt.timedelta(days=-3, seconds=5),
]
each("get_total_seconds", get_total_seconds, DELTAS)
show("get_total_seconds of a number", get_total_seconds, 5)

for values in [(), (1,), (1, 2), ("a", None, 2.5), ([1, 2],), ([1], [2]), ((1, 2),), ([],), ("ab",), ({1},)]:

    @case(f"Token{values!r}")
    def _():
        found = Token(*values)
        return (found.value, found.get_context_size(), found.context_id)

    @case(f"Token{values!r} with an id")
    def _():
        found = Token(*values)
        found.set_context_id(4)
        context = {}
        found.update_context(context)
        return (str(found), context)

    @case(f"Token{values!r} with columns")
    def _():
        found = Token(*values)
        found.set_columns([Column(f"c{n}") for n in range(len(found.value))])
        found.set_context_id(4)
        context = {}
        found.update_context(context)
        return (str(found), context)


@case("Token with fewer columns than values")
def _():
    found = Token(1, 2)
    found.set_columns([Column("c")])
    found.set_context_id(0)
    context = {}
    found.update_context(context)
    return (str(found), context)


@case("Token with more columns than values", caught=Exception)
def _():
    found = Token(1)
    found.set_columns([Column("c"), Column("d")])
    found.set_context_id(0)
    context = {}
    found.update_context(context)
    return (str(found), context)


@case("Token with real columns")
def _():
    found = Token("7", "x")
    found.set_columns([columns.Integer(), columns.Text()])
    found.set_context_id(10)
    context = {}
    found.update_context(context)
    return (str(found), context)


show("Token without an id", lambda: str(Token(1)), caught=Exception)
show("Token of an instance", lambda: Token(SimpleNamespace(pk=5)).get_context_size())


class Instance:
    """What looks like an instance of a model."""

    @property
    def pk(self):
        return [1, 2]


show("Token of what has a pk", lambda: type(Token(Instance()).value[0]).__name__)
