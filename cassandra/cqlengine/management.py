"""Keyspaces, tables and types made from models."""

import logging

from cassandra._mapper.errors import CQLEngineException

log = logging.getLogger("cassandra.cqlengine.management")

__all__ = ["CQLEngineException", "log"]
