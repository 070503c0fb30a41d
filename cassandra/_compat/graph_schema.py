"""Tables of DSE graph as CQL (L6), for metadata that a program creates. No supported server has such tables."""

from __future__ import annotations

from cassandra._base.names import protect_name
from cassandra._base.objects import public
from cassandra._routing.schema import TableMetadataV3


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
