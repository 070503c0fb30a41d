"""Names of the connection classes that scylla-driver lets users choose; here all mean the native transport."""

from cassandra._base.aliases import add_submodules

__all__: list[str] = []

add_submodules(__name__)
