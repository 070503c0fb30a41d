"""User types: what their values are where names are no identifiers."""

# mypy: ignore-errors
# ruff: noqa
from cases import case, each, show

from cassandra.cqltypes import Int32Type, ListType, MapType, UserType

SHAPES = [
    ("plain", ("a", "b")),
    ("odd type", ("a", "b")),
    ("odd type", ("a b", "class")),
    ("1two", ("a",)),
    ("class", ("a",)),
    ("non-id", ("a",)),
    ("None", ("a",)),
    ("", ("a",)),
    ("_under", ("a",)),
    ("ünï", ("é",)),
    ("keyword", ("class", "b")),
    ("spaces", ("a b", "c d")),
    ("underscores", ("_x", "y")),
    ("positions", ("_x", "field_0_")),
    ("positions2", ("field_1_", "_x")),
    ("cases", ("a", "A")),
    ("alike", ("x y", "x-y")),
    ("match", ("match", "type")),
    ("methods", ("count", "index")),
    ("own", ("own",)),
    ("nothing", ()),
]


def made(name, fields):
    return UserType.make_udt_class("ks", name, fields, (Int32Type,) * len(fields))


def data(fields):
    return b"".join(b"\0\0\0\4" + bytes([0, 0, 0, number + 1]) for number, _ in enumerate(fields))


def told(value):
    return type(value).__name__, type(value).__mro__[1].__name__, getattr(value, "_fields", None), value


for name, fields in SHAPES:
    what = f"{name!r} {fields!r}"
    show(f"{what} read", lambda: told(made(name, fields).from_binary(data(fields), 4)))
    show(f"{what} short", lambda: told(made(name, fields).from_binary(data(fields)[:-8], 4)) if fields else None)
    show(f"{what} written", lambda: made(name, fields).to_binary(tuple(range(len(fields))), 4))
    show(f"{what} as tuple", lambda: getattr(made(name, fields).tuple_type, "__name__", None))
    show(f"{what} names", lambda: (made(name, fields).typename, made(name, fields).__name__))


@case("in a list")
def _():
    inner = made("odd type", ("a",))
    kind = ListType.apply_parameters([inner])
    return kind.from_binary(kind.to_binary([(1,), (2,)], 4), 4)


@case("a key of a map")
def _():
    inner = made("odd type", ("a",))
    kind = MapType.apply_parameters([inner, Int32Type])
    read = kind.from_binary(kind.to_binary({(1,): 2}, 4), 4)
    return type(read).__name__, dict(read.items())


@case("within another")
def _():
    inner = made("odd type", ("a",))
    outer = UserType.make_udt_class("ks", "outer", ("x", "y"), (inner, Int32Type))
    return told(outer.from_binary(outer.to_binary(((1,), 2), 4), 4))
