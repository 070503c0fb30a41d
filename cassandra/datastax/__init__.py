"""Names of DataStax Enterprise and Astra: they import, and say what they are when they are used."""

from cassandra._base.aliases import add_submodules

__all__: list[str] = []

add_submodules(__name__)
