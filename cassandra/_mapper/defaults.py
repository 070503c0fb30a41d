"""Settings that hold for all models; programs assign ``cassandra.cqlengine.models.DEFAULT_KEYSPACE``."""

from __future__ import annotations

#: Keyspace of models that set none and inherit none; ``setup()`` sets it.
DEFAULT_KEYSPACE: str | None = None
