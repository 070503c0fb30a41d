"""Models: what a definition makes, what is refused, and with which words."""

# mypy: ignore-errors
import warnings
from uuid import UUID

import pretending  # noqa: F401
from cases import show

from cassandra.cqlengine import CQLEngineException, ValidationError, columns, models
from cassandra.cqlengine.models import BaseModel, Model, ModelDefinitionException, ModelException, ModelMetaClass

warnings.simplefilter("ignore")
models.DEFAULT_KEYSPACE = "ks"


class Plain(Model):
    id = columns.Integer(primary_key=True)
    name = columns.Text()


class Unasked(Model):
    id = columns.Integer(primary_key=True)


class Wide(Model):
    __keyspace__ = "other"
    __table_name__ = "Wide_Table"
    part_a = columns.Integer(partition_key=True)
    part_b = columns.Text(partition_key=True, db_field="pb")
    ck_one = columns.Integer(primary_key=True, clustering_order="DESC")
    ck_two = columns.Text(primary_key=True)
    value = columns.Text(db_field="val")
    shared = columns.Text(static=True)
    numbers = columns.List(columns.Integer)
    words = columns.Map(columns.Text, columns.Text)
    marks = columns.Set(columns.Text)
    pair = columns.Tuple(columns.Integer, columns.Text)
    flag = columns.Boolean(default=True)


class Quoted(Model):
    __table_name__ = "CamelCase"
    __table_name_case_sensitive__ = True
    id = columns.Integer(primary_key=True)


class Counted(Model):
    id = columns.Integer(primary_key=True)
    hits = columns.Counter()


class Base(Model):
    __table_name__ = "family"
    id = columns.Integer(primary_key=True)
    kind = columns.Text(discriminator_column=True)


class Cat(Base):
    __discriminator_value__ = "cat"
    lives = columns.Integer()


class Dog(Base):
    __discriminator_value__ = "dog"
    tricks = columns.List(columns.Text)


class Puppy(Dog):
    __discriminator_value__ = "puppy"
    age = columns.Integer()


class Abstract(Model):
    __abstract__ = True
    __keyspace__ = "abs"
    __options__ = {"comment": "from above"}
    __default_ttl__ = 20
    made = columns.Integer(primary_key=True)
    note = columns.Text()


class Concrete(Abstract):
    extra = columns.Text(default="more")


class VeryLongNamedModelThatGoesOnAndOnUntilCassandraWouldRefuseItsName(Model):
    id = columns.Integer(primary_key=True)


class HTTPServerLog2Entry(Model):
    id = columns.Integer(primary_key=True)


ALL = [
    Plain,
    Wide,
    Quoted,
    Counted,
    Base,
    Cat,
    Dog,
    Puppy,
    Concrete,
    Abstract,
    VeryLongNamedModelThatGoesOnAndOnUntilCassandraWouldRefuseItsName,
    HTTPServerLog2Entry,
]
ATTRIBUTES = [
    "__abstract__",
    "__connection__",
    "__default_ttl__",
    "__discriminator_value__",
    "__keyspace__",
    "__options__",
    "__table_name__",
    "__table_name_case_sensitive__",
    "__compute_routing_key__",
    "__consistency__",
    "_db_map",
    "_pk_name",
    "_has_counter",
    "_is_polymorphic",
    "_is_polymorphic_base",
    "_discriminator_column_name",
    "_partition_key_index",
    "_if_exists",
    "_if_not_exists",
    "_timestamp",
    "_connection",
    "_dynamic_columns",
]
MAPS = ["_columns", "_defined_columns", "_primary_keys", "_partition_keys", "_clustering_keys"]

for model in ALL:
    for name in ATTRIBUTES:
        show(f"{model.__name__}.{name}", lambda: getattr(model, name))
    for name in MAPS:
        show(
            f"{model.__name__}.{name}", lambda: [(key, type(col).__name__) for key, col in getattr(model, name).items()]
        )
    show(f"{model.__name__} names", lambda: (model.column_family_name(), model.column_family_name(False)))
    show(f"{model.__name__} keyspace", lambda: model._get_keyspace())
    show(f"{model.__name__} map", lambda: sorted(model._discriminator_map or {}, key=str))
    show(f"{model.__name__} base", lambda: model._polymorphic_base)
    show(
        f"{model.__name__} discriminator",
        lambda: model._discriminator_column and model._discriminator_column.column_name,
    )
    show(
        f"{model.__name__} errors",
        lambda: [len(model.DoesNotExist.__mro__), len(model.MultipleObjectsReturned.__mro__)],
    )

show("_get_column", lambda: Wide._get_column("value").column_name)
show("_get_column of the database's name", lambda: Wide._get_column("val"), text=True)
show("_get_column_by_db_name", lambda: Wide._get_column_by_db_name("val").column_name)
show("_get_column_by_db_name plain", lambda: Wide._get_column_by_db_name("flag").column_name)
show("_raw_column_family_name", lambda: [m._raw_column_family_name() for m in ALL], text=True)
show("_discover", lambda: Base._discover_polymorphic_submodels(), text=True)
show("_discover plain", lambda: Plain._discover_polymorphic_submodels(), text=True)
show("_get_model_by_discriminator_value", lambda: Base._get_model_by_discriminator_value("puppy"))
show("_get_model_by_discriminator_value unknown", lambda: Base._get_model_by_discriminator_value("cow"))
show("metaclass", lambda: (type(Plain) is ModelMetaClass, issubclass(Plain, BaseModel)))
show("same keys", lambda: [Wide._columns[k] is Wide._defined_columns[k] for k in Wide._columns])
show("pk of class", lambda: type(Plain.pk).__name__)
show("pk of class of two", lambda: Wide.pk, text=True)
show("class attribute", lambda: (type(Plain.name).__name__, Plain.name.column is Plain._columns["name"]))
show("class attribute text", lambda: [str(Plain.name), repr(Plain.name == 1), str(Wide.value), str(Wide.part_b)])
show("descriptor", lambda: type(Plain.__dict__["name"]).__name__)
show("unknown attribute", lambda: Plain.nothing, text=True)
show("DoesNotExist is own", lambda: Plain.DoesNotExist is not Wide.DoesNotExist)
show("DoesNotExist of derived", lambda: issubclass(Concrete.DoesNotExist, Abstract.DoesNotExist))
show("derived columns are copies", lambda: Concrete._columns["note"] is Abstract._columns["note"])
show("order", lambda: list(Concrete._columns))
show("class repr", lambda: (repr(Plain), repr(Plain.__dict__["name"]), str(Plain)))
show("hash", lambda: hash(Plain(id=1)), text=True)
show("type's errors", lambda: [c.__mro__[1:-2] for c in (ModelException, ModelDefinitionException, ValidationError)])
show("exceptions", lambda: issubclass(ModelException, CQLEngineException))


def define(name, bases=(Model,), **attrs):
    return lambda: ModelMetaClass(name, bases, {"__module__": "m", **attrs})


def key(**more):
    return columns.Integer(primary_key=True, **more)


DEFINITIONS = {
    "no key": {},
    "one column no key": {"a": columns.Integer()},
    "only partition": {"a": columns.Integer(partition_key=True)},
    "counter and text": {"a": key(), "n": columns.Text(), "c": columns.Counter()},
    "same db field": {"a": key(), "b": columns.Text(db_field="x"), "c": columns.Text(db_field="x")},
    "db field of another": {"a": key(), "b": columns.Text(db_field="a")},
    "two discriminators": {
        "a": key(),
        "b": columns.Text(discriminator_column=True),
        "c": columns.Text(discriminator_column=True),
    },
    "discriminator in key": {"a": columns.Text(primary_key=True, discriminator_column=True)},
    "static without clustering": {"a": key(), "b": columns.Text(static=True)},
    "names of methods": {"a": key(), "objects": columns.Text()},
    "name of filter": {"a": key(), "filter": columns.Text()},
    "name of pk": {"a": key(), "pk": columns.Text()},
    "underscore": {"a": key(), "_private": columns.Text()},
    "bad order": {"a": key(), "b": key(clustering_order="up")},
    "options not a dict": {"a": key(), "__options__": 5},
    "ttl": {"a": key(), "__default_ttl__": "x"},
    "abstract with discriminator": {"__abstract__": True, "a": key(), "b": columns.Text(discriminator_column=True)},
    "index on key": {"a": key(index=True)},
    "index on list": {"a": key(), "b": columns.List(columns.Text, index=True)},
    "index on static": {"a": key(), "c": key(), "b": columns.Text(static=True, index=True)},
    "class instead of column": {"a": key(), "b": columns.Text},
    "uuid with default": {"a": columns.UUID(primary_key=True, default=UUID(int=1))},
    "double underscore": {"a": key(), "a__b": columns.Text()},
    "vars": {"a": key(), "values": columns.Text()},
    "keys": {"a": key(), "keys": columns.Text()},
    "save": {"a": key(), "save": columns.Text()},
    "key after": {"a": columns.Integer(primary_key=True), "b": columns.Integer(partition_key=True)},
}
for name, attrs in DEFINITIONS.items():
    show(f"define {name}", lambda: list(define("Made", **attrs)()._columns), text=True)
show(
    "define over a key", lambda: list(define("Made", (Plain,), id=columns.Text(primary_key=True))()._columns), text=True
)
show(
    "define another key",
    lambda: list(define("Made", (Plain,), other=columns.Text(primary_key=True))()._columns),
    text=True,
)
show("define derived", lambda: define("Made", (Unasked,), more=columns.Text())().column_family_name(), text=True)
show(
    "define discriminator below",
    lambda: list(define("Made", (Base,), d=columns.Text(discriminator_column=True))()._columns),
    text=True,
)
show(
    "define value twice",
    lambda: define("Made", (Base,), __discriminator_value__="cat")().column_family_name(),
    text=True,
)
show("define abstract", lambda: define("Made", (Abstract,), __abstract__=True)()._pk_name, text=True)
show("define two bases", lambda: list(define("Made", (Abstract, Plain), z=columns.Text())()._columns), text=True)
show("define without keyspace", lambda: define("Made", a=key())().column_family_name(), text=True)
show("define quoted name", lambda: define("Made", a=key(), __table_name__="select")().column_family_name(), text=True)
show("define quoted name 2", lambda: define("Made", a=key(), __table_name__='we"ird')().column_family_name(), text=True)
show("define keyspace quoted", lambda: define("Made", a=key(), __keyspace__="KS")().column_family_name(), text=True)
show(
    "mixin",
    lambda: list(define("Made", (type("Mixin", (), {"m": columns.Text()}), Model), a=key())()._columns),
    text=True,
)
