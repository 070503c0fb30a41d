"""Names of the connection classes that scylla-driver lets users choose; here all mean the native transport."""

__all__: list[str] = []
