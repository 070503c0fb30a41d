"""Names of DataStax Enterprise: graph, continuous paging, metadata (L6).

Values of graph queries can be created, read and compared without a server. Statements, options and profiles can be
created and read, but not executed. Tables of graph are for metadata that a program creates: no supported server has
such tables. All other names are placeholders: they can be imported, and raise an error on use.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NoReturn
from warnings import warn

from cassandra._base.constants import ConsistencyLevel
from cassandra._base.errors import UnsupportedOperation
from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._routing.policies import DefaultLoadBalancingPolicy, NeverRetryPolicy
from cassandra._routing.schema import TableMetadataV3
from cassandra._session.profiles import ExecutionProfile, default_lbp_factory
from cassandra._session.statements.statement import NOT_SET, SimpleStatement, Statement

# ---- tables of graph


@public("cassandra.metadata")
class VertexMetadata:
    """A table whose rows are vertices."""

    keyspace_name: str = None  # type: ignore[assignment]
    table_name: str = None  # type: ignore[assignment]
    label_name: str = None  # type: ignore[assignment]

    def __init__(self, keyspace_name: str, table_name: str, label_name: str) -> None:
        self.keyspace_name = keyspace_name
        self.table_name = table_name
        self.label_name = label_name


@public("cassandra.metadata")
class EdgeMetadata:
    """A table whose rows are edges, from a table of vertices to a table of vertices."""

    keyspace_name: str = None  # type: ignore[assignment]
    table_name: str = None  # type: ignore[assignment]
    label_name: str = None  # type: ignore[assignment]
    from_table: str = None  # type: ignore[assignment]
    from_label: str = None  # type: ignore[assignment]
    from_partition_key_columns: list[str] = None  # type: ignore[assignment]
    from_clustering_columns: list[str] = None  # type: ignore[assignment]
    to_table: str = None  # type: ignore[assignment]
    to_label: str = None  # type: ignore[assignment]
    to_partition_key_columns: list[str] = None  # type: ignore[assignment]
    to_clustering_columns: list[str] = None  # type: ignore[assignment]

    def __init__(
        self,
        keyspace_name: str,
        table_name: str,
        label_name: str,
        from_table: str,
        from_label: str,
        from_partition_key_columns: list[str],
        from_clustering_columns: list[str],
        to_table: str,
        to_label: str,
        to_partition_key_columns: list[str],
        to_clustering_columns: list[str],
    ) -> None:
        self.keyspace_name = keyspace_name
        self.table_name = table_name
        self.label_name = label_name
        self.from_table = from_table
        self.from_label = from_label
        self.from_partition_key_columns = from_partition_key_columns
        self.from_clustering_columns = from_clustering_columns
        self.to_table = to_table
        self.to_label = to_label
        self.to_partition_key_columns = to_partition_key_columns
        self.to_clustering_columns = to_clustering_columns


@public("cassandra.metadata")
class TableMetadataDSE68(TableMetadataV3):
    """A table that may be of vertices or of edges."""

    vertex: VertexMetadata | None = None
    edge: EdgeMetadata | None = None

    def as_cql_query(self, formatted: bool = False) -> str:
        """Return the statement that creates the table."""
        text = super().as_cql_query(formatted)
        if self.vertex is not None:
            text += f" AND VERTEX LABEL {protect_name(self.vertex.label_name)}"
        if self.edge is not None:
            text += self._export_edge_as_cql(self.edge)
        return text

    @staticmethod
    def _export_edge_as_cql(edge: EdgeMetadata) -> str:
        start = _end(edge.from_label, edge.from_partition_key_columns, edge.from_clustering_columns)
        end = _end(edge.to_label, edge.to_partition_key_columns, edge.to_clustering_columns)
        return f" AND EDGE LABEL {protect_name(edge.label_name)} FROM {start} TO {end}"


def _end(label: str, partition_key: list[str], clustering_key: list[str]) -> str:
    key = ", ".join(map(protect_name, partition_key))
    columns = [f"({key})" if len(partition_key) > 1 else key, *map(protect_name, clustering_key)]
    return f"{protect_name(label)}({', '.join(columns)})"


# ---- values of graph queries


class _Value:
    """A value that is equal to another of its class with the same attributes; not hashable, as it is mutable."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    __hash__: ClassVar[None]  # type: ignore[assignment]


@public("cassandra.datastax.graph.query")
class Result:
    """One result of a graph query: *value* is the value of the JSON. Keys of a dict are attributes, too."""

    value: Any = None

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if not isinstance(self.value, dict):
            raise ValueError(f"{self!r} is not a dict, and has no {name}")
        try:
            return self.value[name]
        except KeyError:
            raise AttributeError(f"{self!r} has no {name}") from None

    def __getitem__(self, item: Any) -> Any:
        if isinstance(self.value, dict) and isinstance(item, str):
            return self.value[item]
        if isinstance(self.value, list) and isinstance(item, int):
            return self.value[item]
        raise ValueError(f"{self!r} has no item {item!r}")

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"Result({self.value!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Result) and bool(self.value == other.value)

    __hash__: ClassVar[None]  # type: ignore[assignment]

    def _as(self, kind: Any, needed: tuple[str, ...], **defaults: Any) -> Any:
        found: Any = self.value if isinstance(self.value, dict) else {}
        missing = [name for name in needed if name not in found]
        if missing or found.get("type") != getattr(kind, "element_type", found.get("type")):
            raise TypeError(f"Could not create {kind.__name__} from {self!r}")
        return kind(
            **{name: found[name] for name in needed}, **{name: found.get(name, defaults[name]) for name in defaults}
        )

    def as_vertex(self) -> Vertex:
        """Return the value as a vertex. Raise TypeError if it is not one."""
        return self._as(Vertex, Element._attrs[:3], properties={})  # type: ignore[no-any-return]

    def as_edge(self) -> Edge:
        """Return the value as an edge. Raise TypeError if it is not one."""
        return self._as(Edge, Element._attrs[:3] + Edge._attrs[4:], properties={})  # type: ignore[no-any-return]

    def as_path(self) -> Path:
        """Return the value as a path. Raise TypeError if it is not one."""
        return self._as(Path, ("labels", "objects"))  # type: ignore[no-any-return]

    def as_vertex_property(self) -> VertexProperty:
        """Return the value as a vertex property. Raise TypeError if it is not one."""
        return self._as(VertexProperty, (), label=None, value=None, properties={})  # type: ignore[no-any-return]


@public("cassandra.datastax.graph.types")
class Element(_Value):
    """Base class of vertices and edges."""

    element_type: ClassVar[str | None] = None
    _attrs: ClassVar[tuple[str, ...]] = ("id", "label", "type", "properties")

    def __init__(self, id: Any, label: Any, type: str, properties: Any) -> None:
        if type != self.element_type:
            raise TypeError(f"{self.__class__.__name__} needs the type {self.element_type}, not {type}")
        self.id = id
        self.label = label
        self.type = type
        self.properties = self._extract_properties(properties)

    @staticmethod
    def _extract_properties(properties: Any) -> Any:
        return dict(properties)

    def __str__(self) -> str:
        return str({name: getattr(self, name) for name in self._attrs})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, name)) for name in self._attrs)})"


@public("cassandra.datastax.graph.types")
class Vertex(Element):
    """A vertex; its properties are lists of :class:`VertexProperty` by label."""

    element_type = "vertex"

    @staticmethod
    def _extract_properties(properties: Any) -> Any:
        return {
            label: [VertexProperty(label, each["value"], each.get("properties")) for each in values]
            for label, values in properties.items()
        }

    def __repr__(self) -> str:
        properties = {label: [vars(each) for each in values] for label, values in self.properties.items()}
        return f"Vertex({self.id!r}, {self.label!r}, {self.type!r}, {properties!r})"


@public("cassandra.datastax.graph.types")
class VertexProperty(_Value):
    """One value of a property of a vertex, with properties of its own."""

    label: Any = None
    value: Any = None
    properties: Any = None

    def __init__(self, label: Any, value: Any, properties: Any = None) -> None:
        self.label = label
        self.value = value
        self.properties = properties or {}

    def __repr__(self) -> str:
        return f"VertexProperty({self.label!r}, {self.value!r}, {self.properties!r})"


@public("cassandra.datastax.graph.types")
class Edge(Element):
    """An edge from ``outV`` to ``inV``."""

    element_type = "edge"
    _attrs = (*Element._attrs, "inV", "inVLabel", "outV", "outVLabel")

    def __init__(
        self, id: Any, label: Any, type: str, properties: Any, inV: Any, inVLabel: Any, outV: Any, outVLabel: Any
    ) -> None:
        super().__init__(id, label, type, properties)
        self.inV = inV
        self.inVLabel = inVLabel
        self.outV = outV
        self.outVLabel = outVLabel


@public("cassandra.datastax.graph.types")
class Path(_Value):
    """Vertices and edges that a query passed, and other values as :class:`Result`; *labels* are sets of names."""

    labels: Any = None
    objects: Any = None

    def __init__(self, labels: Any, objects: Any) -> None:
        self.labels = labels
        self.objects = [element(each) for each in objects]

    def __str__(self) -> str:
        return str({"labels": self.labels, "objects": self.objects})

    def __repr__(self) -> str:
        objects = [each.value if isinstance(each, Result) else each for each in self.objects]
        return f"Path({self.labels!r}, {objects!r})"


@public("cassandra.datastax.graph.types")
class T:
    """A token of a traversal: an attribute that every element has."""

    name: str = None  # type: ignore[assignment]
    val: int = None  # type: ignore[assignment]

    id: ClassVar[T]
    id_: ClassVar[T]
    key: ClassVar[T]
    label: ClassVar[T]
    value: ClassVar[T]
    name_to_value: ClassVar[dict[str, T]]

    def __init__(self, name: str, val: int) -> None:
        self.name = name
        self.val = val

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"T.{self.name}"


T.name_to_value = {name: T(name, val) for val, name in enumerate(("id", "id_", "key", "label", "value"), 1)}
for _name, _value in T.name_to_value.items():
    setattr(T, _name, _value)


def element(value: Any) -> Any:
    """Return *value* of JSON as a vertex or an edge if it is one, else as a :class:`Result`."""
    if isinstance(value, (Result, Element)):
        return value
    kind = value.get("type") if isinstance(value, dict) else None
    result = Result(value)
    return result.as_vertex() if kind == "vertex" else result.as_edge() if kind == "edge" else result


# ---- statements, options and profiles of graph queries

GRAPH_TIMEOUT, ANALYTICS_TIMEOUT = 30.0, 7 * 24 * 3600.0  # seconds

_graph_options = (
    ("graph_name", "Name of the graph.", "graph-name"),
    ("graph_source", "The traversal source of the server.", "graph-source"),
    ("graph_language", "The language of queries.", "graph-language"),
    ("graph_protocol", "The format of results.", "graph-results"),
    ("graph_read_consistency_level", "For reads, if different from the statement's.", "graph-read-consistency"),
    (
        "graph_write_consistency_level",
        "For writes, if different from the statement's.",
        "graph-write-consistency",
    ),
)
_graph_option_names = {name: key for name, _, key in _graph_options}
_LEVELS = ("graph-read-consistency", "graph-write-consistency")


@public("cassandra.datastax.graph.query")
class GraphProtocol:
    """Formats of results."""

    GRAPHSON_1_0 = b"graphson-1.0"
    GRAPHSON_2_0 = b"graphson-2.0"
    GRAPHSON_3_0 = b"graphson-3.0"


@public("cassandra.datastax.graph.query")
class GraphOptions:
    """Options of graph queries; each is an attribute, None if it was not given. Text is stored as bytes."""

    DEFAULT_GRAPH_PROTOCOL = GraphProtocol.GRAPHSON_1_0
    DEFAULT_GRAPH_LANGUAGE = b"gremlin-groovy"

    _sources: ClassVar[dict[str, bytes]] = {"default": b"default", "analytics": b"a", "graph": b"g"}

    def __init__(self, **kwargs: Any) -> None:
        self._graph_options: dict[str, Any] = {}
        kwargs.setdefault("graph_source", "g")
        kwargs.setdefault("graph_language", self.DEFAULT_GRAPH_LANGUAGE)
        for name, value in kwargs.items():
            if name not in _graph_option_names:
                warn(f"Unknown keyword argument received for GraphOptions: {name}", stacklevel=2)
            setattr(self, name, value)

    def copy(self) -> GraphOptions:
        """Return another object with the same options."""
        made = GraphOptions()
        made._graph_options = dict(self._graph_options)
        return made

    def update(self, options: GraphOptions) -> None:
        """Set the options that are set in *options*."""
        self._graph_options.update(options._graph_options)

    def get_options_map(self, other_options: GraphOptions | None = None) -> dict[str, bytes]:
        """Return the options of a request, where *other_options* take precedence."""
        merged = {**self._graph_options, **(other_options._graph_options if other_options else {})}
        for key in _LEVELS:
            if key in merged:
                merged[key] = ConsistencyLevel.value_to_name[merged[key]].encode()
        return merged

    def set_source_default(self) -> None:
        """Let the server choose the source."""
        self._graph_options["graph-source"] = self._sources["default"]

    def set_source_analytics(self) -> None:
        """Use the analytical source."""
        self._graph_options["graph-source"] = self._sources["analytics"]

    def set_source_graph(self) -> None:
        """Use the graph itself as the source."""
        self._graph_options["graph-source"] = self._sources["graph"]

    def set_graph_protocol(self, protocol: bytes) -> None:
        """Set the format of results, one of :class:`GraphProtocol`."""
        self.graph_protocol = protocol

    def _is_source(self, name: str) -> bool:
        return bool(self._graph_options.get("graph-source") == self._sources[name])

    is_default_source = property(lambda self: self._is_source("default"))
    is_analytics_source = property(lambda self: self._is_source("analytics"))
    is_graph_source = property(lambda self: self._is_source("graph"))

    graph_protocol: Any


def _option(key: str, text: str) -> property:
    def get(self: GraphOptions) -> Any:
        return self._graph_options.get(key)

    def put(self: GraphOptions, value: Any) -> None:
        if value is None:
            self._graph_options.pop(key, None)
        else:
            self._graph_options[key] = value.encode() if isinstance(value, str) else value

    def remove(self: GraphOptions) -> None:
        self._graph_options.pop(key, None)

    return property(get, put, remove, text)


for _name, _text, _key in _graph_options:
    setattr(GraphOptions, _name, _option(_key, _text))


@public("cassandra.datastax.graph.query")
class GraphStatement(Statement):
    """A query of a graph."""

    @property
    def query(self) -> Any:
        """The text of the query."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f'<GraphStatement query="{self.query}">'

    __repr__ = __str__


@public("cassandra.datastax.graph.query")
class SimpleGraphStatement(GraphStatement, SimpleStatement):
    """A query of a graph as text."""

    @property
    def query(self) -> Any:
        return self.query_string


@public("cassandra.cluster")
class GraphExecutionProfile(ExecutionProfile):
    """An execution profile with :class:`GraphOptions`."""

    graph_options: Any = None

    def __init__(
        self,
        load_balancing_policy: Any = NOT_SET,
        retry_policy: Any = None,
        consistency_level: Any = NOT_SET,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = GRAPH_TIMEOUT,
        row_factory: Any = None,
        graph_options: GraphOptions | None = None,
        continuous_paging_options: Any = NOT_SET,
    ) -> None:
        super().__init__(
            load_balancing_policy,
            retry_policy or NeverRetryPolicy(),
            consistency_level,
            serial_consistency_level,
            request_timeout,
            row_factory,
            continuous_paging_options=continuous_paging_options,
        )
        self.graph_options = graph_options or GraphOptions()


@public("cassandra.cluster")
class GraphAnalyticsExecutionProfile(GraphExecutionProfile):
    """An execution profile for analytical queries."""

    def __init__(
        self,
        load_balancing_policy: Any = None,
        retry_policy: Any = None,
        consistency_level: Any = NOT_SET,
        serial_consistency_level: int | None = None,
        request_timeout: float | None = ANALYTICS_TIMEOUT,
        row_factory: Any = None,
        graph_options: GraphOptions | None = None,
    ) -> None:
        super().__init__(
            load_balancing_policy or DefaultLoadBalancingPolicy(default_lbp_factory()),
            retry_policy,
            consistency_level,
            serial_consistency_level,
            request_timeout,
            row_factory,
            graph_options,
        )
        self.graph_options.set_source_analytics()


@public("cassandra.datastax.graph.query")
def single_object_row_factory(column_names: Any, rows: Iterable[Any]) -> list[Any]:
    """Return the first column of each row."""
    return [row[0] for row in rows]


@public("cassandra.datastax.graph.query")
def graph_result_row_factory(column_names: Any, rows: Iterable[Any]) -> list[Result]:
    """Return each row's JSON as a :class:`Result`."""
    return [Result(json.loads(row[0])["result"]) for row in rows]


@public("cassandra.datastax.graph.query")
def graph_object_row_factory(column_names: Any, rows: Iterable[Any]) -> Iterable[Any]:
    """Return an iterator over each row's JSON as a vertex, an edge or a :class:`Result`."""
    return (element(json.loads(row[0])["result"]) for row in rows)


# ---- placeholders for unsupported names

GRAPH = "is for DSE graph, which fastcql does not support"
PAGING = "is for continuous paging of DSE, which fastcql does not support"
METADATA = "is for metadata of DSE, which fastcql does not support"

#: Names that work without a server.
QUERY_NAMES = (
    "GraphOptions GraphProtocol GraphStatement SimpleGraphStatement "
    "graph_object_row_factory graph_result_row_factory single_object_row_factory"
)
VALUE_NAMES = "Edge Element Path T Vertex VertexProperty"

_SERIALIZERS = """
    GraphSON1Serializer GraphSON1Deserializer GraphSON1TypeDeserializer GraphSON2Serializer GraphSON2Deserializer
    GraphSON2Reader GraphSON3Serializer GraphSON3Deserializer GraphSON3Reader BigDecimalTypeIO BigIntegerTypeIO
    BlobTypeIO BooleanTypeIO DoubleTypeIO DurationTypeIO FloatTypeIO InetTypeIO InstantTypeIO Int16TypeIO Int32TypeIO
    Int64TypeIO LineStringTypeIO LocalDateTypeIO LocalTimeTypeIO PointTypeIO PolygonTypeIO TypeWrapperTypeIO UUIDTypeIO
    UserTypeIO
"""
_MORE_SERIALIZERS = """
    BulkSetTypeIO ByteBufferTypeIO DseDurationTypeIO EdgeTypeIO GraphSON1TypeSerializer GraphSONTypeIO IntegerTypeIO
    JsonMapTypeIO ListTypeIO MapTypeIO MetricsTypeIO PathTypeIO PropertyTypeIO SetTypeIO TTypeIO TextTypeIO
    TraversalMetricsTypeIO TupleTypeIO TypeIOWrapper VertexPropertyTypeIO VertexTypeIO
"""
_NUMBERS = "to_bigint to_double to_float to_int to_smallint"
GRAPH_CLASSES = _SERIALIZERS + _MORE_SERIALIZERS
GRAPH_FUNCTIONS = _NUMBERS + " graph_graphson2_row_factory graph_graphson3_row_factory"
GRAPHSON_NAMES = GRAPH_CLASSES + _NUMBERS
GRAPH_NAMES = _SERIALIZERS + GRAPH_FUNCTIONS

READERS = "SchemaParserDSE60 SchemaParserDSE67 SchemaParserDSE68"

#: Names of execution profiles; no profile is registered under them.
EXEC_PROFILE_GRAPH_DEFAULT = "graph default"
EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT = "graph system default"
EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT = "graph analytics default"


class UnsupportedType(type):
    """Metaclass of placeholder classes: they can be named, subclassed and used in ``isinstance``, not instantiated."""

    reason: str

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedOperation(f"{cls.__name__} {cls.reason}")

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(f"{cls.__name__}.{name}: {cls.__name__} {cls.reason}")


def unsupported_class(module: str, name: str, reason: str, *bases: type) -> Any:
    """Return a class of the public *module* whose use raises "<name> <reason>"."""
    return UnsupportedType(name, bases, {"__module__": module, "__doc__": f"{name} {reason}.", "reason": reason})


def unsupported_function(module: str, name: str, reason: str) -> Callable[..., NoReturn]:
    """Return a function of the public *module* that raises "<name> <reason>"."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedOperation(f"{name} {reason}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"{name} {reason}."
    return function


def finder(module: str, classes: dict[str, str], functions: dict[str, str]) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` for placeholders: *classes* and *functions* map reasons to lists of names."""
    made: dict[str, Any] = {}

    def find(name: str) -> Any:
        if name not in made:
            for listed, make in ((classes, unsupported_class), (functions, unsupported_function)):
                reason = next((reason for reason, names in listed.items() if name in names.split()), None)
                if reason is not None:
                    made[name] = make(module, name, reason)
                    break
            else:
                raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return made[name]

    return find


__getattr__ = finder(
    "cassandra.datastax.graph.graphson",
    {
        GRAPH: GRAPH_CLASSES,
        PAGING: "ContinuousPagingOptions ContinuousPagingSession",
        METADATA: READERS,
    },
    {GRAPH: GRAPH_FUNCTIONS},
)
