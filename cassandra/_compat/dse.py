"""Names of DataStax Enterprise: graph, continuous paging, its metadata (L6). They import; using one says so."""

from __future__ import annotations

from .unsupported import finder

GRAPH = "is for DSE graph, which fastcql does not support"
PAGING = "is for continuous paging of DSE, which fastcql does not support"
METADATA = "is for metadata of DSE, which fastcql does not support"

GRAPH_CLASSES = """
    GraphAnalyticsExecutionProfile GraphExecutionProfile GraphOptions GraphProtocol GraphStatement SimpleGraphStatement
    GraphSON1Serializer GraphSON1Deserializer GraphSON1TypeDeserializer GraphSON2Serializer GraphSON2Deserializer
    GraphSON2Reader GraphSON3Serializer GraphSON3Deserializer GraphSON3Reader Result Vertex VertexProperty Edge Element
    Path T BigDecimalTypeIO BigIntegerTypeIO BlobTypeIO BooleanTypeIO DoubleTypeIO DurationTypeIO FloatTypeIO InetTypeIO
    InstantTypeIO Int16TypeIO Int32TypeIO Int64TypeIO LineStringTypeIO LocalDateTypeIO LocalTimeTypeIO PointTypeIO
    PolygonTypeIO TypeWrapperTypeIO UUIDTypeIO UserTypeIO
"""
GRAPH_FUNCTIONS = """
    graph_graphson2_row_factory graph_graphson3_row_factory graph_object_row_factory graph_result_row_factory
    single_object_row_factory to_bigint to_double to_float to_int to_smallint
"""

READERS = "SchemaParserDSE60 SchemaParserDSE67 SchemaParserDSE68"

#: Names of execution profiles that nothing is registered under.
EXEC_PROFILE_GRAPH_DEFAULT = "graph default"
EXEC_PROFILE_GRAPH_SYSTEM_DEFAULT = "graph system default"
EXEC_PROFILE_GRAPH_ANALYTICS_DEFAULT = "graph analytics default"

GRAPH_NAMES = (GRAPH_CLASSES + GRAPH_FUNCTIONS).split()

__getattr__ = finder(
    "cassandra.datastax.graph",
    {
        GRAPH: GRAPH_CLASSES,
        PAGING: "ContinuousPagingOptions ContinuousPagingSession",
        METADATA: "EdgeMetadata VertexMetadata TableMetadataDSE68 " + READERS,
    },
    {GRAPH: GRAPH_FUNCTIONS},
)
