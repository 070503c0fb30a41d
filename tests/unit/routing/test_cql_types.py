"""Types as schema tables spell them, taken apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassandra._base.names import protect_name, protect_value
from cassandra._routing.partition_keys import codec_of
from cassandra._routing.schema.cqltype import CqlType, parse_cql_type, user_types_in
from cassandra.metadata import Function, KeyspaceMetadata, UserType


def native(name: str, *args: CqlType) -> CqlType:
    return CqlType(name, "native", args)


INT, TEXT = native("int"), native("text")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", INT),
        (" Int ", INT),
        (
            "frozen<map<text, frozen<list<int>>>>",
            native("frozen", native("map", TEXT, native("frozen", native("list", INT)))),
        ),
        ("vector<float, 3>", native("vector", native("float"), CqlType("3", "dimension"))),
        ("tuple<int,text>", native("tuple", INT, TEXT)),
        ("address", CqlType("address", "user")),
        ('"Quoted ""Udt"""', CqlType('Quoted "Udt"', "user")),
        ('frozen<"text">', native("frozen", CqlType("text", "user"))),
        ("'org.example.Type'", CqlType("org.example.Type", "custom")),
        ("'a(b,''c'')'", CqlType("a(b,'c')", "custom")),
        ("list<'x.Y'>", native("list", CqlType("x.Y", "custom"))),
        ("empty", native("empty")),
    ],
)
def test_types(text: str, expected: CqlType) -> None:
    assert parse_cql_type(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "list<", "list<int", "list<>", "list<int>>", "list<int,>", "int int", ",", "<int>"),
        *("address<int>", '"x', "a-b"),
    ],
)
def test_invalid_cql_types_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a CQL type"):
        parse_cql_type(text)
    assert user_types_in(text) == []


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="not a CQL type"):
        parse_cql_type("list<" * 5000 + "int" + ">" * 5000)


def test_user_types_in() -> None:
    assert user_types_in('map<frozen<a>, frozen<tuple<int, "B c", list<vector<d, 2>>>>>') == ["a", "B c", "d"]
    assert user_types_in("map<int, text>") == []


trees = st.recursive(
    st.sampled_from(
        [INT, TEXT, native("uuid"), CqlType("address", "user"), CqlType("A b", "user"), CqlType("x.Y", "custom")]
    ),
    lambda inner: st.one_of(
        st.builds(lambda name, arg: native(name, arg), st.sampled_from(["list", "set"]), inner),
        st.builds(lambda key, value: native("map", key, value), inner, inner),
        st.builds(lambda args: native("tuple", *args), st.lists(inner, min_size=1, max_size=4)),
        st.builds(lambda arg, n: native("vector", arg, CqlType(str(n), "dimension")), inner, st.integers(1, 2000)),
    ),
    max_leaves=8,
)


def spelled(tree: CqlType) -> str:
    protect = {"user": protect_name, "custom": protect_value}.get(tree.kind, str)
    inner = ", ".join(map(spelled, tree.args))
    return f"{protect(tree.name)}<{inner}>" if tree.args else protect(tree.name)


@given(trees)
def test_spelled_types_are_parsed_to_the_same_tree(tree: CqlType) -> None:
    assert parse_cql_type(spelled(tree)) == tree


@given(trees)
def test_signatures_of_functions_have_types_without_frozen(tree: CqlType) -> None:
    def frozen(part: CqlType) -> CqlType:
        inner = part._replace(args=tuple(map(frozen, part.args)))
        return native("frozen", inner) if part.args else inner

    function = Function("ks", "f", [spelled(frozen(tree))], ["a"], "int", "java", "", True, False, False, [])
    assert function.as_cql_query().startswith(f"CREATE FUNCTION ks.f(a {spelled(tree)}) CALLED")


def test_codecs() -> None:
    keyspace = KeyspaceMetadata("ks", True, None, None)
    keyspace.user_types["Point of"] = UserType("ks", "Point of", ["x", "tags"], ["int", "frozen<set<text>>"])
    for text, value in (
        ("int", 5),
        ("frozen<map<text, frozen<list<int>>>>", {"a": [1, 2]}),
        ("tuple<int, text>", (1, "x")),
        ("vector<float, 2>", [0.5, 1.5]),
        ("set<bigint>", {1, 2}),
        ("'com.example.Unknown'", b"raw"),
    ):
        codec = codec_of(text, keyspace)
        decoded = codec.decode(codec.encode(value, 4), 4)
        assert dict(decoded) == value if isinstance(value, dict) else type(value)(decoded) == value
    codec = codec_of('frozen<"Point of">', keyspace)
    point = codec.decode(codec.encode((1, {"a"}), 4), 4)
    assert (point[0], set(point[1])) == (1, {"a"})
    with pytest.raises(ValueError, match="unknown type in keyspace ks: gone"):
        codec_of("list<frozen<gone>>", keyspace)
