"""Values of DSE graph."""

from cassandra._base.aliases import lend
from cassandra._compat.dse import VALUE_NAMES

__all__: list[str] = []

lend(__name__, {"cassandra._compat.dse": VALUE_NAMES})
