"""Bulk writes: tasks, reports and errors of :meth:`Session.ingest`. See :doc:`/ingest`."""

from cassandra._ingest.report import IngestError, IngestReport, IngestTask, report_of

__all__ = ["IngestError", "IngestReport", "IngestTask", "report_of"]
