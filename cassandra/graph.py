"""DSE graph is not included in fastcql: importing this module raises an error that says so."""

__all__: list[str] = []

raise ImportError("cassandra.graph is for DSE graph, which fastcql does not support", name=__name__)
