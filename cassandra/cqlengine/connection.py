"""Which session models use: connections by name, and the default one."""

import logging

from cassandra._mapper.errors import CQLEngineException, UndefinedKeyspaceException

log = logging.getLogger("cassandra.cqlengine.connection")

__all__ = ["CQLEngineException", "UndefinedKeyspaceException", "log"]
