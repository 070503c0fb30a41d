"""``python -m cassandra.stand_in``: make fastcql satisfy requirements on cassandra-driver or scylla-driver."""

import sys

from cassandra._base.stand_in import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
