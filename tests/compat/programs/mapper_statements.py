"""Statements of the object mapper: text, context, ids, attributes, and what they refuse."""

# mypy: ignore-errors
import datetime as dt
import os
import time

from cases import case, each, show

from cassandra.cqlengine import columns, statements
from cassandra.cqlengine.functions import MinTimeUUID, QueryValue, Token
from cassandra.cqlengine.operators import (
    ContainsOperator,
    EqualsOperator,
    GreaterThanOperator,
    GreaterThanOrEqualOperator,
    InOperator,
    LessThanOperator,
    LikeOperator,
)
from cassandra.cqlengine.statements import (
    AssignmentClause,
    AssignmentStatement,
    BaseCQLStatement,
    ConditionalClause,
    CounterUpdateClause,
    DeleteStatement,
    FieldDeleteClause,
    InsertStatement,
    IsNotNull,
    ListUpdateClause,
    MapDeleteClause,
    MapUpdateClause,
    SelectStatement,
    SetUpdateClause,
    UpdateStatement,
    WhereClause,
)
from cassandra.query import FETCH_SIZE_UNSET

CLASSES = [BaseCQLStatement, SelectStatement, AssignmentStatement, InsertStatement, UpdateStatement, DeleteStatement]
TABLE = "ks.table"


def where(field="a", value=1, operator=EqualsOperator):
    return WhereClause(field, operator(), value)


def told(statement):
    """Text, context and size of a statement."""
    return (str(statement), plain(statement.get_context()), statement.get_context_size())


def plain(context):
    return {name: str(value) if "Quoter" in type(value).__name__ else value for name, value in context.items()}


def public(thing):
    return {name: value for name, value in sorted(vars(thing).items()) if not name.startswith("_")}


for cls in CLASSES:
    name = cls.__name__
    show(f"{name} path", lambda: (cls.__module__, cls.__qualname__))
    show(f"{name} bases", lambda: [base.__name__ for base in cls.__mro__])
    show(f"{name} attributes", lambda: sorted(n for n in dir(cls) if not n.startswith("_")))
    show(f"{name} instance", lambda: sorted(public(cls(TABLE))))
    show(f"{name} values", lambda: {name: value for name, value in public(cls(TABLE)).items() if name != "fetch_size"})
    show(f"{name} text", lambda: str(cls(TABLE)), caught=Exception)
    show(f"{name} repr", lambda: repr(cls(TABLE)), caught=Exception)
    show(f"{name} context", lambda: cls(TABLE).get_context())
    show(f"{name} size", lambda: cls(TABLE).get_context_size())
    show(f"{name} without a table", cls)
    show(f"{name} with a wrong argument", lambda: cls(TABLE, nonsense=1))

SELECTS = {
    "nothing": {},
    "fields": {"fields": ["f1", "f2"]},
    "no fields": {"fields": []},
    "one field as text": {"fields": "abc"},
    "fields as a tuple": {"fields": ("a",)},
    "a field to quote": {"fields": ["camelCase", "with space", "select"]},
    "count": {"count": True},
    "count and fields": {"count": True, "fields": ["a"]},
    "order": {"order_by": ["f1", "f2 DESC"]},
    "order as text": {"order_by": "f1"},
    "order as a tuple": {"order_by": ("f1 ASC",)},
    "no order": {"order_by": []},
    "limit": {"limit": 10},
    "limit 0": {"limit": 0},
    "limit None": {"limit": None},
    "limit of text": {"limit": "5"},
    "allow filtering": {"allow_filtering": True},
    "distinct": {"distinct_fields": ["f1", "f2"]},
    "distinct and fields": {"distinct_fields": ["f1"], "fields": ["f2"]},
    "distinct as text": {"distinct_fields": "ab"},
    "no distinct": {"distinct_fields": []},
    "count and distinct": {"count": True, "distinct_fields": ["a"]},
    "count and limit": {"count": True, "limit": 3},
    "count and order": {"count": True, "order_by": ["a"]},
    "count and filtering": {"count": True, "allow_filtering": True},
    "where": {"where": [where()]},
    "where twice": {"where": [where(), where("b", 2, GreaterThanOperator)]},
    "where no clauses": {"where": []},
    "all": {
        "fields": ["a", "b"],
        "where": [where(), where("b", 2)],
        "order_by": ["a"],
        "limit": 7,
        "allow_filtering": True,
    },
    "count of all": {"count": True, "where": [where()], "order_by": ["a"], "limit": 7, "allow_filtering": True},
    "fetch size": {"fetch_size": 100},
    "fetch size None": {"fetch_size": None},
    "fetch size 0": {"fetch_size": 0},
}
for name, options in SELECTS.items():
    show(f"SELECT {name}", lambda: told(SelectStatement(TABLE, **options)), caught=TypeError)
    show(
        f"SELECT {name} attributes",
        lambda: {
            k: v
            for k, v in public(SelectStatement(TABLE, **options)).items()
            if k not in ("where_clauses", "fetch_size")
        },
    )
each("fetch size", lambda size: SelectStatement(TABLE, fetch_size=size).fetch_size, [1, 100, "5"])
each("no fetch size", lambda size: SelectStatement(TABLE, fetch_size=size).fetch_size is FETCH_SIZE_UNSET, [None, 0])
for value in ["ks.table", '"ks"."Table"', "t", ""]:
    show(f"SELECT from {value!r}", lambda: told(SelectStatement(value)))
    show(f"INSERT into {value!r}", lambda: told(InsertStatement(value, assignments=[AssignmentClause("a", 1)])))
    show(f"UPDATE of {value!r}", lambda: told(UpdateStatement(value, assignments=[AssignmentClause("a", 1)])))
    show(f"DELETE from {value!r}", lambda: told(DeleteStatement(value)))

# conditions

for operator, value in [
    (EqualsOperator, 1),
    (InOperator, [1, 2, 3]),
    (InOperator, []),
    (GreaterThanOperator, "x"),
    (LikeOperator, "x%"),
    (ContainsOperator, "k"),
]:
    for make in (SelectStatement, DeleteStatement):

        @case(f"{make.__name__} where {operator.__name__} {value!r}")
        def _():
            statement = make(TABLE)
            statement.add_where(columns.Column(db_field="a"), operator(), value)
            return told(statement)


for quote in (True, False):

    @case(f"add_where quote_field={quote}")
    def _():
        statement = SelectStatement(TABLE)
        statement.add_where(columns.Column(db_field="a"), EqualsOperator(), 5, quote_field=quote)
        return told(statement)


@case("add_where a column that has a name")
def _():
    column = columns.Text()
    column.set_column_name("aName")
    statement = SelectStatement(TABLE)
    statement.add_where(column, EqualsOperator(), 5)
    return told(statement)


@case("add_where a column that has a name and a db_field")
def _():
    column = columns.Integer(db_field="dbName")
    column.set_column_name("aName")
    statement = SelectStatement(TABLE)
    statement.add_where(column, EqualsOperator(), "5")
    return told(statement)


for value in ("7", 7, None):
    for column in (
        columns.Integer(db_field="a"),
        columns.Text(db_field="a"),
        columns.Set(columns.Integer, db_field="a"),
    ):

        @case(f"add_where stores {type(column).__name__} {value!r}")
        def _():
            statement = SelectStatement(TABLE)
            statement.add_where(column, EqualsOperator(), value)
            return plain(statement.get_context())


@case("add_where with IS NOT NULL")
def _():
    statement = SelectStatement(TABLE)
    statement._add_where_clause(IsNotNull("a")) if hasattr(statement, "_add_where_clause") else None
    return str(statement)


each(
    "add_where of no operator",
    lambda operator: SelectStatement(TABLE).add_where(columns.Column(db_field="a"), operator, 5),
    ["=", None, 5],
)
each(
    "where of no clause",
    lambda clause: SelectStatement(TABLE, where=[clause]),
    ["a = 1", None, 5, AssignmentClause("a", 1)],
    caught=Exception,
)
each(
    "conditional of no clause",
    lambda clause: SelectStatement(TABLE).add_conditional_clause(clause),
    ["a = 1", None, AssignmentClause("a", 1)],
    caught=Exception,
)


@case("IsNotNull among others")
def _():
    return told(SelectStatement(TABLE, where=[where(), IsNotNull("n"), where("b", 2)]))


MOMENT = dt.datetime(2024, 2, 29)
show(
    "where MinTimeUUID",
    lambda: told(SelectStatement(TABLE, where=[where("t", MinTimeUUID(MOMENT), GreaterThanOperator), where("b", 2)])),
)


@case("where Token")
def _():
    token = Token(1, 2)
    token.set_columns([columns.Integer(), columns.Integer()])
    first = WhereClause('token("a", "b")', GreaterThanOrEqualOperator(), token, quote_field=False)
    return told(SelectStatement(TABLE, where=[first, where("c", 3)], limit=5))


# ids

NUMBERS = [0, 1, 3, 100]
STATEMENTS = {
    "SELECT": lambda: SelectStatement(TABLE, where=[where(), where("b", [1, 2], InOperator), where("c", 3, LessThanOperator)]),
    "INSERT": lambda: InsertStatement(TABLE, assignments=[AssignmentClause("a", 1), AssignmentClause("b", 2)]),
    "UPDATE": lambda: UpdateStatement(TABLE, assignments=[AssignmentClause("x", 9)], where=[where(), where("b", 2)]),
    "UPDATE IF": lambda: UpdateStatement(TABLE, assignments=[AssignmentClause("x", 9)], where=[where()], conditionals=[ConditionalClause("y", 5), ConditionalClause("z", 6)]),
    "UPDATE IF EXISTS": lambda: UpdateStatement(TABLE, assignments=[AssignmentClause("x", 9)], where=[where()], if_exists=True),
    "UPDATE of containers": lambda: UpdateStatement(TABLE, where=[where()], assignments=[
        SetUpdateClause("s", {1, 2}, previous={2, 3}), ListUpdateClause("l", [0, 1, 2], previous=[1]),
        MapUpdateClause("m", {"a": 1, "b": 2}, previous={"a": 0}), CounterUpdateClause("c", 5, 3)]),
    "DELETE": lambda: DeleteStatement(TABLE, where=[where(), where("b", 2)]),
    "DELETE fields": lambda: DeleteStatement(TABLE, fields=["f", "g"], where=[where()]),
    "DELETE of a map": lambda: DeleteStatement(TABLE, fields=[FieldDeleteClause("f"), MapDeleteClause("m", {}, {"k": 1, "l": 2})], where=[where()]),
    "DELETE of a map IF": lambda: DeleteStatement(TABLE, fields=[MapDeleteClause("m", {}, {"k": 1}), "f"], where=[where()], conditionals=[ConditionalClause("y", 5)]),
    "DELETE IF": lambda: DeleteStatement(TABLE, where=[where()], conditionals=[ConditionalClause("y", 5)]),
    "DELETE IF EXISTS": lambda: DeleteStatement(TABLE, where=[where()], if_exists=True),
    "DELETE of all": lambda: DeleteStatement(TABLE, fields=["f"], where=[where()], conditionals=[ConditionalClause("y", 5)], timestamp=MOMENT),
}  # fmt: skip
for name, make in STATEMENTS.items():
    show(f"{name}", lambda: told(make()))
    for number in NUMBERS:

        @case(f"{name} from {number}")
        def _():
            statement = make()
            statement.update_context_id(number)
            return (*told(statement), statement.context_id, statement.context_counter)

    @case(f"{name} twice")
    def _():
        statement = make()
        statement.update_context_id(4)
        statement.update_context_id(2)
        return told(statement)

    show(f"{name} counters", lambda: (make().context_id, make().context_counter))
    show(f"{name} repr", lambda: repr(make()) == str(make()))
    show(f"{name} equal", lambda: make() == make())

# inserts

INSERTS = {
    "one": {"assignments": [AssignmentClause("a", "b")]},
    "two": {"assignments": [AssignmentClause("a", "b"), AssignmentClause("c", "d")]},
    "nothing": {"assignments": []},
    "if not exists": {"assignments": [AssignmentClause("a", "b")], "if_not_exists": True},
    "ttl": {"assignments": [AssignmentClause("a", "b")], "ttl": 60},
    "ttl 0": {"assignments": [AssignmentClause("a", "b")], "ttl": 0},
    "ttl None": {"assignments": [AssignmentClause("a", "b")], "ttl": None},
    "timestamp": {"assignments": [AssignmentClause("a", "b")], "timestamp": MOMENT},
    "timestamp of a number": {"assignments": [AssignmentClause("a", "b")], "timestamp": 12345},
    "timestamp 0": {"assignments": [AssignmentClause("a", "b")], "timestamp": 0},
    "ttl and timestamp": {"assignments": [AssignmentClause("a", "b")], "ttl": 60, "timestamp": 12345},
    "all": {"assignments": [AssignmentClause("a", "b")], "ttl": 60, "timestamp": 12345, "if_not_exists": True},
    "where": {"assignments": [AssignmentClause("a", "b")], "where": [where()]},
    "a set": {"assignments": [SetUpdateClause("s", {1})]},
    "a list": {"assignments": [ListUpdateClause("l", [1])]},
    "fields to quote": {"assignments": [AssignmentClause("camelCase", 1), AssignmentClause("select", 2)]},
    "a condition as assignment": {"assignments": [ConditionalClause("a", 1)]},
}
for name, options in INSERTS.items():
    show(f"INSERT {name}", lambda: told(InsertStatement(TABLE, **options)), caught=Exception)


@case("add_assignment")
def _():
    statement = InsertStatement(TABLE)
    statement.add_assignment(columns.Column(db_field="a"), 1)
    statement.add_assignment(columns.Column(db_field="b"), None)
    return (*told(statement), statement.is_empty, len(statement.assignments))


@case("add_assignment to an update")
def _():
    statement = UpdateStatement(TABLE)
    statement.add_assignment(columns.Column(db_field="a"), 1)
    return (*told(statement), statement.is_empty)


show("is_empty", lambda: [make(TABLE).is_empty for make in (AssignmentStatement, InsertStatement, UpdateStatement)])

# updates

ONE = AssignmentClause("x", 9)
UPDATES = {
    "one": {"assignments": [ONE]},
    "nothing": {},
    "where": {"assignments": [ONE], "where": [where()]},
    "ttl": {"assignments": [ONE], "where": [where()], "ttl": 60},
    "ttl 0": {"assignments": [ONE], "where": [where()], "ttl": 0},
    "timestamp": {"assignments": [ONE], "where": [where()], "timestamp": 12345},
    "ttl and timestamp": {"assignments": [ONE], "where": [where()], "ttl": 60, "timestamp": 12345},
    "if exists": {"assignments": [ONE], "where": [where()], "if_exists": True},
    "conditions": {"assignments": [ONE], "where": [where()], "conditionals": [ConditionalClause("y", 1)]},
    "two conditions": {
        "assignments": [ONE],
        "where": [where()],
        "conditionals": [ConditionalClause("y", 1), ConditionalClause("z", 2)],
    },
    "conditions and if exists": {
        "assignments": [ONE],
        "where": [where()],
        "conditionals": [ConditionalClause("y", 1)],
        "if_exists": True,
    },
    "all": {
        "assignments": [ONE],
        "where": [where()],
        "conditionals": [ConditionalClause("y", 1)],
        "ttl": 5,
        "timestamp": 6,
    },
    "nothing of a set": {"assignments": [SetUpdateClause("s", {1}, previous={1})], "where": [where()]},
}
for name, options in UPDATES.items():
    show(f"UPDATE {name}", lambda: told(UpdateStatement(TABLE, **options)), caught=Exception)

KINDS = {
    "set": columns.Set(columns.Integer, db_field="f"),
    "list": columns.List(columns.Integer, db_field="f"),
    "map": columns.Map(columns.Text, columns.Integer, db_field="f"),
    "counter": columns.Counter(db_field="f"),
    "int": columns.Integer(db_field="f"),
    "text": columns.Text(db_field="f"),
    "tuple": columns.Tuple(columns.Integer, columns.Text, db_field="f"),
}
GIVEN = {
    "set": [
        ({1}, None, None),
        ({1, 2}, None, {1}),
        ({1}, "add", None),
        ({1}, "remove", None),
        (None, None, None),
        (None, None, {1}),
    ],
    "list": [
        ([1], None, None),
        ([1, 2], None, [1]),
        ([1], "append", None),
        ([1], "prepend", None),
        (None, None, None),
        ([3, 2], "prepend", None),
    ],
    "map": [({"a": 1}, None, None), ({"a": 1}, None, {"b": 2}), ({"a": 1}, "update", None), ({"a": 1}, "remove", None)],
    "counter": [(5, None, None), (5, None, 3), (3, None, 5), ("5", None, 3)],
    "int": [(5, None, None), ("5", None, 3), (None, None, None)],
    "text": [("t", None, None)],
    "tuple": [((1, "a"), None, None), ((1, "a"), None, (2, "b"))],
}
for name, column in KINDS.items():
    for value, operation, previous in GIVEN[name.split()[-1]]:

        @case(f"add_update {name} {value!r} {operation} {previous!r}", caught=Exception)
        def _():
            statement = UpdateStatement(TABLE)
            statement.add_update(column, value, operation=operation, previous=previous)
            return (*told(statement), [type(clause).__name__ for clause in statement.assignments])


@case("add_update keeps previous")
def _():
    statement = UpdateStatement(TABLE)
    statement.add_update(KINDS["set"], {1}, previous={2})
    clause = statement.assignments[0]
    return (clause.value, clause.previous, clause.field, clause.context_id)


@case("add_update changes ids")
def _():
    statement = UpdateStatement(TABLE, where=[where()])
    statement.add_update(KINDS["int"], 5)
    statement.add_update(KINDS["set"], {1, 2}, previous={2, 3})
    return (*told(statement), statement.context_counter)


@case("conditions are added")
def _():
    statement = UpdateStatement(TABLE, assignments=[ONE], where=[where()])
    statement.add_conditional_clause(ConditionalClause("y", 1))
    statement.add_conditional_clause(ConditionalClause("z", 2))
    return (*told(statement), len(statement.conditionals))


# deletes

DELETES = {
    "all": {},
    "a field": {"fields": ["f"]},
    "fields": {"fields": ["f", "g"]},
    "no fields": {"fields": []},
    "a field as text": {"fields": "field"},
    "where": {"where": [where()]},
    "where in": {"where": [where("a", [1, 2], InOperator)]},
    "timestamp": {"where": [where()], "timestamp": 12345},
    "timestamp 0": {"where": [where()], "timestamp": 0},
    "if exists": {"where": [where()], "if_exists": True},
    "conditions": {"where": [where()], "conditionals": [ConditionalClause("y", 1), ConditionalClause("z", 2)]},
    "conditions and if exists": {"where": [where()], "conditionals": [ConditionalClause("y", 1)], "if_exists": True},
    "a map": {"fields": [MapDeleteClause("m", {}, {"a": 1})], "where": [where()]},
    "a field clause": {"fields": [FieldDeleteClause("camelCase")]},
}
for name, options in DELETES.items():
    show(f"DELETE {name}", lambda: told(DeleteStatement(TABLE, **options)), caught=Exception)
each(
    "DELETE of no field",
    lambda field: DeleteStatement(TABLE, fields=[field]),
    [5, None, AssignmentClause("a", 1)],
    caught=Exception,
)


@case("add_field")
def _():
    statement = DeleteStatement(TABLE, where=[where()])
    statement.add_field("a")
    statement.add_field(MapDeleteClause("m", {}, {1: 1}))
    statement.add_field(FieldDeleteClause("b"))
    return (*told(statement), [type(field).__name__ for field in statement.fields])


# timestamps

AWARE = dt.datetime(2024, 2, 29, tzinfo=dt.timezone.utc)
TIMESTAMPS = [
    None,
    0,
    5,
    -5,
    12345678901234,
    MOMENT,
    dt.datetime(1970, 1, 1),
    dt.datetime(2024, 2, 29, 1, 2, 3, 456789),
]
for value in TIMESTAMPS:
    for make in (SelectStatement, InsertStatement, UpdateStatement, DeleteStatement):
        if make is not SelectStatement:
            show(
                f"{make.__name__} timestamp {value!r}",
                lambda: (make(TABLE, timestamp=value).timestamp_normalized, make(TABLE, timestamp=value).timestamp),
            )


@case("a timestamp of a duration is one from now")
def _():
    found = InsertStatement(TABLE, timestamp=dt.timedelta(minutes=5)).timestamp_normalized
    return (isinstance(found, int), found > 1_700_000_000_000_000)


each(
    "timestamp",
    lambda value: InsertStatement(TABLE, timestamp=value).timestamp_normalized,
    ["5", 1.5, dt.date(2024, 1, 1)],
    caught=Exception,
)


@case("timestamps without a zone are local")
def _():
    os.environ["TZ"] = "America/New_York"
    time.tzset()
    moments = [
        dt.datetime(2024, 2, 29, 12, 0, 0, 5),
        dt.datetime(2024, 7, 29, 12),
        dt.datetime(2024, 11, 3, 1, 30),
        dt.datetime(1969, 1, 1),
    ]
    return [UpdateStatement(TABLE, timestamp=moment).timestamp_normalized for moment in moments]


# values of the partition key


for name, make in STATEMENTS.items():
    for index in [{"a": 0}, {"a": 0, "b": 1}, {"b": 0, "a": 1}, {"c": 0}, {}, {"x": 0}]:
        show(f"{name} partition key {index}", lambda: make().partition_key_values(index), caught=Exception)
show(
    "partition key of functions",
    lambda: [
        type(v).__name__
        for v in SelectStatement(TABLE, where=[where("a", QueryValue(5))]).partition_key_values({"a": 0})
    ],
    caught=Exception,
)
show(
    "partition key of a range",
    lambda: SelectStatement(TABLE, where=[where("a", 5, GreaterThanOperator)]).partition_key_values({"a": 0}),
)
show(
    "partition key of IN",
    lambda: SelectStatement(TABLE, where=[where("a", [5], InOperator)]).partition_key_values({"a": 0}),
)
show(
    "partition key of IN two",
    lambda: SelectStatement(TABLE, where=[where("a", [5, 6], InOperator)]).partition_key_values({"a": 0}),
)
show(
    "partition key of CONTAINS",
    lambda: SelectStatement(TABLE, where=[where("a", 5, ContainsOperator)]).partition_key_values({"a": 0}),
)
show("the module", lambda: sorted(n for n in dir(statements) if n.endswith("Statement")))
