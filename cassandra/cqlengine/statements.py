"""CQL statements and the clauses that they are made of."""

from cassandra._mapper.errors import StatementException, UnicodeMixin

__all__ = ["StatementException", "UnicodeMixin"]
