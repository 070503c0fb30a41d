"""Columns: what a model declares, what a value has to be, and how it is stored."""
