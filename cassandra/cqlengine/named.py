"""Tables that are queried by name, without a model."""

from cassandra._mapper.errors import CQLEngineException

__all__ = ["CQLEngineException"]
