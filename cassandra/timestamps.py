"""Timestamps made by the client, given to ``Cluster(timestamp_generator=...)``."""

from cassandra._session.statements.timestamps import MonotonicTimestampGenerator

__all__ = ["MonotonicTimestampGenerator"]
