"""Values, options, statements and tables of DSE graph, as programs make them without a server."""

# mypy: ignore-errors
# ruff: noqa
import warnings

from cases import case, each, show

warnings.simplefilter("ignore")

from cassandra import ConsistencyLevel
from cassandra.cluster import GraphAnalyticsExecutionProfile, GraphExecutionProfile
from cassandra.datastax.graph import *
from cassandra.datastax.graph import query, types
from cassandra.datastax.graph.query import _graph_options
from cassandra.graph import GraphOptions as AlsoOptions
from cassandra.metadata import ColumnMetadata, EdgeMetadata, KeyspaceMetadata, TableMetadataDSE68, VertexMetadata

print(AlsoOptions is GraphOptions, query.Result is Result, types.Vertex is Vertex)
print([(name, key) for name, text, key in _graph_options])

# ---- results

VERTEX = {"type": "vertex", "id": 1, "label": "person", "properties": {"name": [{"value": "a", "id": 7}]}}
EDGE = {"type": "edge", "id": 1, "label": "knows", "inV": 3, "inVLabel": "p", "outV": 4, "outVLabel": "q"}
PATH = {"labels": [["a"], []], "objects": [VERTEX, EDGE, 5]}
for value in (
    None,
    1,
    "text",
    [1, 2],
    {},
    {"a": 1},
    VERTEX,
    EDGE,
    PATH,
    {"type": "vertex", "id": 1},
    {**EDGE, "inV": None},
):
    result = Result(value)
    name = f"Result({str(value)[:20]}) "
    show(name + "repr", lambda: (repr(result), str(result), result.value, result == Result(value), result != Result(9)))
    show(name + ".a", lambda: result.a)
    show(name + "['a']", lambda: result["a"])
    show(name + "[0]", lambda: result[0])
    show(name + "[5]", lambda: result[5])
    show(name + "vertex", result.as_vertex)
    show(name + "edge", result.as_edge)
    show(name + "path", lambda: str(result.as_path()))
    show(name + "hash", hash, result)
show("property", Result({"label": "a", "value": 1}).as_vertex_property)

# ---- elements

vertex, edge, path = Result(VERTEX).as_vertex(), Result(EDGE).as_edge(), Result(PATH).as_path()
for made, again in ((vertex, Vertex(1, "person", "vertex", VERTEX["properties"])), (edge, Result(EDGE).as_edge())):
    show("equal", lambda: (made == again, made != again, vars(made)))
    show("texts", lambda: (str(made), repr(made)))
    show("hash", hash, made)
show("path", lambda: (str(path), path.labels, [type(each).__name__ for each in path.objects], path == path))
show("path", lambda: repr(Path([["a"]], [1, 2])))
show("another type", Vertex, 1, 2, "edge", {})
show("another type", Edge, 1, 2, "vertex", {}, 1, 2, 3, 4)
show("element", Element, 1, 2, "vertex", {})
show(
    "property",
    lambda: (VertexProperty("a", 1), str(VertexProperty("a", 1, {"b": 2})), VertexProperty("a", 1).properties),
)
show(
    "property",
    lambda: (VertexProperty("a", 1) == VertexProperty("a", 1), VertexProperty("a", 1) == VertexProperty("a", 2)),
)
show("types", lambda: (Vertex.element_type, Edge.element_type, Element.element_type, Vertex._attrs, Edge._attrs))
show(
    "T",
    lambda: [
        (name, repr(value), str(value), value.val, getattr(T, name) is value) for name, value in T.name_to_value.items()
    ],
)

# ---- row factories

for text in (
    "5",
    "null",
    "[1]",
    '{"type": "vertex", "id": 1, "label": 2}',
    '{"type": "zz"}',
    '{"labels": [], "objects": []}',
    "no JSON",
):
    row = ('{"result": %s}' % text,)
    show(f"graph_result_row_factory {text}", lambda: graph_result_row_factory(["gremlin"], [row]))
    show(f"graph_object_row_factory {text}", lambda: list(graph_object_row_factory(["gremlin"], [row])))
show("single_object_row_factory", single_object_row_factory, ["a"], iter([(1,), (2, 3)]))

# ---- options

options = GraphOptions()
show(
    "defaults", lambda: (options._graph_options, options.get_options_map(), options.graph_name, options.graph_protocol)
)
for set_source in (options.set_source_default, options.set_source_analytics, options.set_source_graph):
    set_source()
    show(
        "source",
        lambda: (options.graph_source, options.is_default_source, options.is_analytics_source, options.is_graph_source),
    )
for protocol in (GraphProtocol.GRAPHSON_1_0, GraphProtocol.GRAPHSON_2_0, GraphProtocol.GRAPHSON_3_0):
    options.set_graph_protocol(protocol)
    show("protocol", lambda: (options.graph_protocol, options.get_options_map()))


@case("set, delete, update, copy")
def _():
    options = GraphOptions(graph_name="a", graph_source="s")
    other = GraphOptions(graph_name="b", graph_read_consistency_level=ConsistencyLevel.ONE)
    merged = options.get_options_map(other)
    options.update(other)
    copied = options.copy()
    options.graph_name = None
    del copied.graph_source
    return (
        merged,
        sorted(options._graph_options.items()),
        sorted(copied._graph_options.items()),
        copied.get_options_map(),
    )


@case("levels")
def _():
    options = GraphOptions(graph_write_consistency_level=ConsistencyLevel.QUORUM)
    return options.graph_write_consistency_level, options.graph_read_consistency_level, options.get_options_map()


@case("unknown options")
def _():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GraphOptions(one=1)
    return [(warning.category.__name__, str(warning.message)) for warning in caught]


# ---- statements and profiles

statement = SimpleGraphStatement(
    "g.V()", consistency_level=ConsistencyLevel.ONE, keyspace="ks", custom_payload={"a": b"b"}
)
show("statement", lambda: (statement, str(statement), statement.query, statement.query_string, statement.keyspace))
show("statement", lambda: (statement.consistency_level, statement.custom_payload, statement.is_idempotent))
show("no such argument", SimpleGraphStatement, "g.V()", bogus=1)
show("no text", lambda: GraphStatement().query)
for kind in (GraphExecutionProfile, GraphAnalyticsExecutionProfile):
    profile = kind(graph_options=GraphOptions(graph_source="x"))
    show(kind.__name__, lambda: (profile.request_timeout, profile.row_factory, profile.graph_options.graph_source))
    show(
        kind.__name__,
        lambda: [type(getattr(profile, name)).__name__ for name in ("load_balancing_policy", "retry_policy")],
    )
    show(kind.__name__, lambda: (profile.consistency_level, kind().graph_options.get_options_map()["graph-source"]))

# ---- tables


def table(**attributes):
    column = ColumnMetadata(None, "a", "int")
    made = TableMetadataDSE68("ks", "t", [column], [], {"a": column}, options={"comment": "x"})
    vars(made).update(attributes)
    return made.as_cql_query(), made.as_cql_query(True), made.export_as_string(), made.vertex is None, made.edge is None


show("no vertex", table)
show("vertex", lambda: table(vertex=VertexMetadata("ks", "t", "person")))
show("vertex", lambda: table(vertex=VertexMetadata("ks", "t", "A Person")))
for start, end in (((["a"], []), (["b"], [])), ((["a", "B c"], ["c"]), (["x"], ["y", "Z"]))):
    edge = EdgeMetadata("ks", "t", "L", "from_table", "from_label", *start, "to_table", "To", *end)
    show("edge", lambda: table(edge=edge))
    show("edge", lambda: vars(edge))
for engine in (None, "Core", "Classic"):
    keyspace = KeyspaceMetadata("ks", True, "SimpleStrategy", {"replication_factor": 1}, graph_engine=engine)
    show(
        f"keyspace {engine}", lambda: (keyspace.as_cql_query(), keyspace.export_as_string(), keyspace.is_graph_enabled)
    )
