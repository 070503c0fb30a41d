"""Timestamps made by the client, given to ``Cluster(timestamp_generator=...)``."""

import logging
import time as time  # which tests patch here

from cassandra._base.lending import tell_if_patched
from cassandra._session.statements.timestamps import MonotonicTimestampGenerator

log = logging.getLogger("cassandra.timestamps")

__all__ = ["log", "MonotonicTimestampGenerator"]

tell_if_patched(__name__, "log time", "cassandra._compat.patches", "replaced")
