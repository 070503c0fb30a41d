"""Behaviour of our columns that scylla-driver's lack; the rest is in ``tests/compat/programs/mapper_*.py``."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from unittest import mock
from uuid import uuid4

import numpy as np
import pytest

from cassandra._mapper.reading import Pages
from cassandra.cqlengine import ValidationError, columns
from cassandra.cqlengine.models import Model, ModelDefinitionException
from cassandra.cqlengine.usertype import UserType, UserTypeDefinitionException


class Address(UserType):
    street = columns.Text(max_length=10)
    number = columns.Integer(default=7)


class Person(UserType):
    name = columns.Text(required=True)
    homes = columns.Map(columns.Text, columns.UserDefinedType(Address))
    tags = columns.List(columns.Text(max_length=3))


def named(column: Any, name: str = "field", model: str = "Model") -> Any:
    column.set_column_name(name)
    column.belongs_to(model)
    return column


# errors

MASKED = np.ma.masked_array([1.5, 2.5, 3.5], [False, True, False])
PARTS = [np.complex64(1 + 2j), 1 + 2j, np.ma.masked, np.ma.masked_array(5, mask=True), np.timedelta64(5, "s")]


@pytest.mark.parametrize("value", PARTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "column",
    [
        columns.Float(), columns.Double(), columns.Integer(), columns.BigInt(), columns.VarInt(), columns.Decimal(),
        columns.Counter(),
    ],
    ids=lambda column: type(column).__name__,
)  # fmt: skip
def test_numbers_of_which_a_part_would_be_stored(column: Any, value: Any) -> None:
    with pytest.raises(ValidationError):
        named(column).validate(value)
    with pytest.raises(ValidationError):
        named(columns.List(type(column)) if column.db_type != "counter" else column).validate(
            [value] if column.db_type != "counter" else value
        )


@pytest.mark.parametrize("value", [np.ma.masked, np.ma.masked_array(True, mask=True), MASKED])
def test_masked_truth_values(value: Any) -> None:
    with pytest.raises(ValidationError, match="is not a valid bool"):
        named(columns.Boolean()).validate(value)


@pytest.mark.parametrize("value", [MASKED, list(MASKED), np.array([1j, 2, 3]), [np.complex64(1)] * 3])
def test_vectors_of_which_a_part_would_be_stored(value: Any) -> None:
    with pytest.raises(ValidationError):
        named(columns.Vector(columns.Float, 3)).validate(value)


@pytest.mark.parametrize("column", [columns.Date(), columns.Time()])
def test_masked_days_and_times(column: Any) -> None:
    with pytest.raises(TypeError):
        named(column).to_database(np.ma.masked_array(5, mask=True))


def test_numbers_of_numpy_and_text_are_converted() -> None:
    assert columns.Float().validate(np.float32(0.5)) == 0.5 and columns.Float().validate("1.5") == 1.5
    assert columns.Integer().validate(np.int8(5)) == columns.Integer().validate(np.str_("5")) == 5
    assert columns.Integer().validate(np.ma.masked_array(5, mask=False)) == 5
    assert columns.Boolean().validate(np.bool_(True)) is columns.Boolean().validate("x") is True
    assert columns.Boolean().validate(None) is None and columns.Boolean().validate(0) is False


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (columns.Integer(), "x", "field x can't be converted to integral value (Model.field = 'x')"),
        (columns.Integer(required=True), None, "field - None values are not allowed (Model.field = None)"),
        (columns.Text(max_length=2), "abc", "field is longer than 2 characters (Model.field = 'abc')"),
        (columns.UUID(), 5, "field 5 is not a valid uuid (Model.field = 5)"),
        (columns.List(columns.Integer), ["x"], "field x can't be converted to integral value (Model.field = 'x')"),
        (columns.List(columns.Integer), [None], "field None is not allowed in a list (Model.field = [None])"),
        (columns.Set(columns.Integer), [1], "field [1] is not a set object (Model.field = [1])"),
        (columns.Set(columns.Integer), 5, "field 5 is not a set object (Model.field = 5)"),
        (columns.Map(columns.Text, columns.Integer), {"a": "x"}, "field x can't be converted to integral value"),
        (columns.Tuple(columns.Integer), (1, 2), "field (1, 2) has more than 1 items (Integer) (Model.field = (1, 2))"),
        (columns.Tuple(columns.Integer), 5, "field 5 is not a tuple (Model.field = 5)"),
        (columns.Decimal(), b"1", "field b'1' can't be coerced to decimal (Model.field = b'1')"),
        (columns.Float(), 10**400, "is not a valid float"),
        (columns.Integer(), float("inf"), "field inf can't be converted to integral value (Model.field = inf)"),
        (columns.UserDefinedType(Address), 5, "field 5 is not a Address (Model.field = 5)"),
    ],
)
def test_errors_name_model_column_and_value(column: Any, value: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        named(column).validate(value)


def test_long_values_are_cut_off_in_errors() -> None:
    with pytest.raises(ValidationError) as caught:
        named(columns.Text(max_length=5)).validate("x" * 1_000_000)
    assert len(str(caught.value)) < 300 and str(caught.value).endswith("...)")


def test_a_duration_of_another_class_is_refused_by_an_error_of_both_kinds() -> None:
    with pytest.raises(ValidationError, match=r"field 5 is not a valid Duration\. \(Model\.field = 5\)") as caught:
        named(columns.Duration()).validate(5)
    assert isinstance(caught.value, TypeError)


def test_a_field_of_a_user_type_is_named_in_errors() -> None:
    with pytest.raises(
        ValidationError, match=r"street is longer than 10 characters \(Address\.street = 'xxxxxxxxxxx'\)"
    ):
        Address(street="x" * 11).validate()


# values


def test_a_blob_may_be_null() -> None:
    assert columns.Blob().to_database(None) is None


def test_a_decimal_of_a_float_has_the_digits_of_its_repr() -> None:
    assert columns.Decimal().validate(1.1) == Decimal("1.1")


def test_whole_milliseconds_before_the_epoch() -> None:
    column = columns.DateTime()
    assert column.to_database(dt.datetime(1969, 12, 31, 23, 59, 59, 999500)) == -1
    assert column.to_database(dt.datetime(1, 1, 1)) == -62135596800000


def test_every_millisecond_is_itself() -> None:
    column, start = columns.DateTime(), dt.datetime(2024, 2, 29, 12, 30, 15)
    stored = [column.to_database(start + dt.timedelta(milliseconds=i)) for i in range(1000)]
    assert stored == list(range(stored[0], stored[0] + 1000))


# vectors


def test_a_vector() -> None:
    column = named(columns.Vector(columns.Float, 3))
    assert column.get_column_def() == '"field" vector<float, 3> '
    assert column.cql_type.cql_parameterized_type() == "vector<float, 3>"
    assert column.validate((1, "2", 3.5)) == [1.0, 2.0, 3.5]
    assert column.to_database([1, 2, 3]) == column.to_python((1, 2, 3)) == [1.0, 2.0, 3.0]
    assert column.validate(None) is column.to_python(None) is column.to_database(None) is None
    assert [type(inner) for inner in column.sub_types] == [columns.Float] and column.dimensions == 3
    assert not column.has_default


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([1, 2], "field has 2 elements, not 3"),
        ([1, 2, None], "field None is not allowed in a vector"),
        ([1, 2, "x"], "field x is not a valid float"),
        ("123", "field '123' is not a list object"),
        ({1, 2, 3}, "field {1, 2, 3} is not a list object"),
        (5, "field 5 is not a list object"),
    ],
)
def test_invalid_vector_values_are_refused(value: Any, said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        named(columns.Vector(columns.Float, 3)).validate(value)


@pytest.mark.parametrize("dimensions", [0, -1, "3", 1.5])
def test_a_vector_has_dimensions(dimensions: Any) -> None:
    with pytest.raises(ValueError, match="dimensions must be a positive int"):
        columns.Vector(columns.Float, dimensions)


def test_vectors_in_containers_are_not_frozen() -> None:
    assert columns.List(columns.Vector(columns.Integer, 2)).db_type == "list<vector<int, 2>>"
    assert columns.Vector(columns.List(columns.Integer), 2).db_type == "vector<frozen<list<int>>, 2>"


def test_a_set_of_vectors_is_refused() -> None:
    with pytest.raises(ValidationError, match="unhashable"):
        columns.Set(columns.Vector(columns.Integer, 2))


# values that need no conversion


def overriding(base: Any, **methods: Any) -> Any:
    return type("Own", (base,), methods)


@pytest.mark.parametrize(
    ("column", "to_database", "to_python"),
    [
        (columns.Text, str, str),
        (columns.Ascii, str, str),
        (columns.BigInt, int, int),
        (columns.Counter, int, int),
        (columns.Blob, None, bytes),
        (columns.DateTime, None, dt.datetime),
        (columns.Set, None, None),
        (columns.UserDefinedType, None, None),
        (columns.Column, None, None),
        (overriding(columns.Text), str, str),
        (overriding(columns.Text, to_python=lambda self, value: value), str, None),
        (overriding(columns.Text, to_database=lambda self, value: value), None, str),
        (overriding(columns.Integer, validate=lambda self, value: value), None, None),
        (overriding(columns.DateTime, to_python=lambda self, value: value), None, None),
    ],
)
def test_values_that_are_not_converted(column: Any, to_database: Any, to_python: Any) -> None:
    assert column.unconverted("to_database") is to_database
    assert column.unconverted("to_python") is to_python


def test_unconverted_values_are_returned_as_the_same_object() -> None:
    values = {
        str: ["", "x"], int: [0, 2**70], bytes: [b""], bool: [True], float: [1.5], Decimal: [Decimal("1.50")],
        dt.datetime: [dt.datetime(2024, 2, 29, 1, 2, 3, 456789)], type(uuid4()): [uuid4()],
    }  # fmt: skip
    tried = 0
    for cls in vars(columns).values():
        if isinstance(cls, type) and issubclass(cls, columns.Column) and cls.__init__ is not columns.Set.__init__:
            for method in ("to_python", "to_database"):
                for value in values.get(cls.unconverted(method), ()):  # type: ignore[arg-type]
                    assert getattr(cls(), method)(value) is value
                    tried += 1
    assert tried > 30


@pytest.fixture
def truncating() -> Iterator[None]:
    columns.DateTime.truncate_microseconds = True
    yield
    columns.DateTime.truncate_microseconds = False


@pytest.mark.usefixtures("truncating")
def test_truncated_moments_are_converted() -> None:
    assert columns.DateTime.unconverted("to_python") is None


# value managers


def test_a_user_type_that_changes_in_place_has_changed() -> None:
    column = columns.UserDefinedType(Address)
    manager = column.value_manager(None, column, Address(street="a"))
    manager.reset_previous_value()
    assert not manager.changed
    manager.value.street = "b"
    assert manager.changed and manager.previous_value.street == "a"
    manager.reset_previous_value()
    assert not manager.changed and not manager.deleted


# user types


def test_user_types_in_containers_are_tracked() -> None:
    person = Person(name="x", homes={"a": Address(street="s")}, tags=["t"])
    person.reset_changed_fields()
    person.homes["a"].number = 8
    assert person.has_changed_fields()
    person.reset_changed_fields()
    person.tags.append("u")
    assert person.has_changed_fields()


def test_elements_are_named_by_their_field() -> None:
    with pytest.raises(ValidationError, match=r"tags is longer than 3 characters \(Person\.tags = 'long'\)"):
        Person(name="x", tags=["long"]).validate()


def test_copies_are_apart() -> None:
    person = Person(name="x", homes={"a": Address(street="s")})
    for copied in (copy.copy(person), copy.deepcopy(person)):
        assert copied == person and copied is not person
        copied.homes["a"].street = "t"
        copied.name = "y"
    assert person.homes["a"].street == "s" and person.name == "x"
    assert person._fields is Person._fields


def test_user_types_can_be_pickled() -> None:
    address = pickle.loads(pickle.dumps(Address(street="s")))
    assert address == Address(street="s") and address.has_changed_fields()


def test_repr_shows_the_fields() -> None:
    assert repr(Address(street="s")) == "Address(street='s', number=7)"


def test_a_named_tuple_becomes_an_instance() -> None:
    from collections import namedtuple

    row = namedtuple("row", "street number")("s", 1)
    assert columns.UserDefinedType(Address).to_python(row) == Address(street="s", number=1)
    with pytest.raises(ValidationError, match=r"\('s', 1\) has no names of fields: it was read before Address was reg"):
        columns.UserDefinedType(Address).to_python(("s", 1))  # of a type whose name is no identifier


def test_names_of_classes_are_not_given_to_subclasses() -> None:
    class First(UserType):
        x = columns.Integer()

    class SecondOne(First):
        x = columns.Text()

    assert (UserType.type_name(), First.type_name(), SecondOne.type_name()) == ("user_type", "first", "second_one")
    assert type(SecondOne._fields["x"]) is columns.Text


def test_a_field_may_not_hide_an_attribute() -> None:
    with pytest.raises(UserTypeDefinitionException, match="field 'helper' conflicts with built-in attribute/method"):

        class Base(UserType):
            def helper(self) -> None: ...

        class Derived(Base):
            helper = columns.Integer()  # type: ignore[assignment]


def test_unknown_fields() -> None:
    with pytest.raises(AttributeError, match="'Address' object has no attribute 'town'"):
        Address().town  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(KeyError, match="town"):
        Address()["town"]
    with pytest.raises(TypeError, match="expected a str as field name of Address, got 0"):
        Address()[0]  # type: ignore[index]


def test_a_model_is_named_in_errors() -> None:
    class Product(Model):
        id = columns.Integer(primary_key=True)
        tags = columns.List(columns.Text(max_length=3))

    with pytest.raises(ValidationError, match=r"id x can't be converted to integral value \(Product\.id = 'x'\)"):
        Product(id="x")
    with pytest.raises(ValidationError, match=r"tags is longer than 3 characters \(Product\.tags = 'long'\)"):
        Product(id=1, tags=["long"]).validate()


def test_a_counter_is_no_key() -> None:
    with pytest.raises(ModelDefinitionException, match="counter columns cannot be used as primary keys"):

        class Hits(Model):
            id = columns.Integer(primary_key=True)
            hits = columns.Counter()
            hits.primary_key = True


@pytest.mark.parametrize("kind", [columns.Counter, lambda **k: columns.Set(columns.Text, **k)])
def test_counter_and_container_columns_cannot_be_discriminators(kind: Any) -> None:
    with pytest.raises(ModelDefinitionException, match="counter and container columns cannot be used as discriminator"):

        class Animal(Model):
            id = columns.Integer(primary_key=True)
            kind_of = kind()
            kind_of.discriminator_column = True


def test_a_field_of_the_class_has_its_column() -> None:
    assert Address.street.column is Address._fields["street"]


def test_a_model_without_routing_keys() -> None:
    class Anywhere(Model):
        __compute_routing_key__ = False
        id = columns.Integer(primary_key=True)

    assert Anywhere._routing_key_from_values([1], 4) is None


def test_rows_of_a_mock_are_none() -> None:
    """As mocks have more pages, and more, and more."""
    assert list(Pages(mock.MagicMock()).next()[1]) == []
    pages = Pages(mock.MagicMock())
    pages.next()
    assert pages.has_more, "no caller has taken it yet"
    pages.taken(0)
    assert not pages.has_more
