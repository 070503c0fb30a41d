"""Spans and durations of requests for OpenTelemetry. See :doc:`/observing`."""

from cassandra._session.telemetry import OpenTelemetry

__all__ = ["OpenTelemetry"]
