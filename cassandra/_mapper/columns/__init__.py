"""Columns: declaration in a model, validation of values, conversion to and from the stored form."""
