"""Values of DSE graph."""

from cassandra._base.aliases import add_names
from cassandra._compat.dse import VALUE_NAMES

__all__: list[str] = []

add_names(__name__, {"cassandra._compat.dse": VALUE_NAMES})
