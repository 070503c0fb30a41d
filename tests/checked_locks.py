"""Tests run with ``FASTCQL_CHECK_LOCKS=1``, and so do the processes that they start: see ``cassandra/_base/locks.py``.

Imported before anything of the driver, as locks are made when its modules are imported.
"""

from __future__ import annotations

import os

os.environ["FASTCQL_CHECK_LOCKS"] = "1"

from cassandra._base import locks
from cassandra._base.locks import violations

__all__ = ["locks", "violations"]
