"""Scans: what comes of :meth:`Session.scan`. See the guide's page on scanning tables."""

from cassandra._session.scan.pieces import ScanError
from cassandra._session.scan.scan import Batches, Rows, Scan

__all__ = ["Batches", "Rows", "Scan", "ScanError"]
