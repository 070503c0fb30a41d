"""DSE graph and Astra bundles are not included in fastcql: importing this module raises an error that says so."""

__all__: list[str] = []

raise ImportError("cassandra.datastax is for DSE and Astra, which fastcql does not support", name=__name__)
