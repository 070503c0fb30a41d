"""Whether this program may change the schema: all that do say so in their environment."""

from __future__ import annotations

import os
import warnings
from typing import Final

from cassandra._base.logs import get_logger

log = get_logger("cassandra.cqlengine.management")

#: Name of the environment variable that allows it; any value will do.
CQLENG_ALLOW_SCHEMA_MANAGEMENT: Final = "CQLENG_ALLOW_SCHEMA_MANAGEMENT"


def _allow_schema_modification() -> bool:
    """Always True; with a warning where the environment does not say so."""
    if not os.getenv(CQLENG_ALLOW_SCHEMA_MANAGEMENT):
        warn(
            f"{CQLENG_ALLOW_SCHEMA_MANAGEMENT} environment variable is not set. Future versions of this package will "
            "require this variable to enable management functions."
        )
    return True


def warn(message: str) -> None:
    """As a warning and in the log: whoever deploys sees the one, whoever develops the other."""
    warnings.warn(message, stacklevel=2)
    log.warning(message)
