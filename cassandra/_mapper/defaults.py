"""Settings that hold for all models; programs assign ``cassandra.cqlengine.models.DEFAULT_KEYSPACE``."""

from __future__ import annotations

#: The keyspace of models that say none and have none from a base class; ``setup()`` sets it.
DEFAULT_KEYSPACE: str | None = None
