"""Results as columns, as returned by :meth:`ResultSet.arrow`. See :doc:`/columns`."""

from cassandra._core.columns import RecordBatch
from cassandra._session.request.columns import ArrowBatches, ArrowStream, SchemaChanged

__all__ = ["ArrowBatches", "ArrowStream", "RecordBatch", "SchemaChanged"]
