"""Permission to change the schema: programs that do set an environment variable."""

from __future__ import annotations

import os
import warnings
from typing import Final

from cassandra._base.logs import get_logger

log = get_logger("cassandra.cqlengine.management")

#: Name of the environment variable; any value permits schema changes.
CQLENG_ALLOW_SCHEMA_MANAGEMENT: Final = "CQLENG_ALLOW_SCHEMA_MANAGEMENT"


def _allow_schema_modification() -> bool:
    """Return True; warn if the environment variable is not set."""
    if not os.getenv(CQLENG_ALLOW_SCHEMA_MANAGEMENT):
        warn(
            f"{CQLENG_ALLOW_SCHEMA_MANAGEMENT} environment variable is not set. Future versions of this package will "
            "require this variable to enable management functions."
        )
    return True


def warn(message: str) -> None:
    """Issue *message* as a Python warning, for developers, and in the log, for operators."""
    warnings.warn(message, stacklevel=2)
    log.warning(message)
