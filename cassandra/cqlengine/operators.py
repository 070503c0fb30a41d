"""Operators of conditions: what a filter name stands for, and how it is written in CQL."""

from cassandra._mapper.errors import QueryOperatorException, UnicodeMixin

__all__ = ["QueryOperatorException", "UnicodeMixin"]
