"""Names of DataStax Enterprise: graph, continuous paging, metadata (L6). They can be imported; use raises an error."""

from __future__ import annotations

from .unsupported import finder

GRAPH = "is for DSE graph, which fastcql does not support"
PAGING = "is for continuous paging of DSE, which fastcql does not support"
METADATA = "is for metadata of DSE, which fastcql does not support"

#: Names that work without a server, in ``graph`` and ``graph_values``.
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

__getattr__ = finder(
    "cassandra.datastax.graph.graphson",
    {
        GRAPH: GRAPH_CLASSES,
        PAGING: "ContinuousPagingOptions ContinuousPagingSession",
        METADATA: READERS,
    },
    {GRAPH: GRAPH_FUNCTIONS},
)
