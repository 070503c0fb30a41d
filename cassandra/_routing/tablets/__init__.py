"""Tablets as Python sees them, over the native map, and what is to be forgotten of them when the schema or hosts
change.
"""
