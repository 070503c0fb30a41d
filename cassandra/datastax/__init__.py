"""Names of DataStax Enterprise and Astra: they import, and say what they are when they are used."""

from cassandra._base.aliases import lend_submodules

__all__: list[str] = []

lend_submodules(__name__)
