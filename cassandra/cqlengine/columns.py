"""Columns of models and fields of user types."""

import logging

from cassandra._mapper.errors import ValidationError
from cassandra.cqltypes import SimpleDateType, UserType

log = logging.getLogger("cassandra.cqlengine.columns")

__all__ = ["SimpleDateType", "UserType", "ValidationError", "log"]
