"""``python -m cassandra.stand_in``: packages that require cassandra-driver or scylla-driver do with fastcql."""

import sys

from cassandra._base.stand_in import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
