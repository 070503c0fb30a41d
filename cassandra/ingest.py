"""Bulk writes: tasks, reports and errors of :meth:`Session.ingest`. See the guide's page on bulk loading."""

from cassandra._ingest.report import IngestError, IngestReport, IngestTask, report_of

__all__ = ["IngestError", "IngestReport", "IngestTask", "report_of"]
