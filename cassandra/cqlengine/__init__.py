"""The object mapper: tables as classes, rows as their instances."""

from cassandra._base.aliases import add_submodules
from cassandra._mapper.errors import CQLEngineException, UnicodeMixin, ValidationError

# Values of the caching option, as Cassandra 2.0 had them.
CACHING_ALL = "ALL"  #: Cache keys and rows.
CACHING_KEYS_ONLY = "KEYS_ONLY"  #: Cache keys.
CACHING_ROWS_ONLY = "ROWS_ONLY"  #: Cache rows.
CACHING_NONE = "NONE"  #: Cache nothing.

__all__ = [
    "CACHING_ALL",
    "CACHING_KEYS_ONLY",
    "CACHING_NONE",
    "CACHING_ROWS_ONLY",
    "CQLEngineException",
    "UnicodeMixin",
    "ValidationError",
]

add_submodules(__name__)
