"""User types as classes."""

from cassandra._mapper.errors import CQLEngineException, UserTypeDefinitionException, UserTypeException
from cassandra._mapper.usertypes import BaseUserType, UserType, UserTypeMetaClass

__all__ = [
    "BaseUserType",
    "CQLEngineException",
    "UserType",
    "UserTypeDefinitionException",
    "UserTypeException",
    "UserTypeMetaClass",
]
