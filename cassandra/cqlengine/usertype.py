"""User types as classes."""

from cassandra._mapper.errors import CQLEngineException, UserTypeDefinitionException, UserTypeException

__all__ = ["CQLEngineException", "UserTypeDefinitionException", "UserTypeException"]
