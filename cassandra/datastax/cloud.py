"""Names for secure connect bundles of Astra: they import, and raise one error when they are used."""

import logging

from cassandra._base.errors import DriverException
from cassandra._base.lending import lend

log = logging.getLogger("cassandra.datastax.cloud")

__all__ = ["DriverException", "log"]

lend(__name__, {
    "cassandra._compat.cloud": """
        CloudConfig DATASTAX_CLOUD_PRODUCT_TYPE get_cloud_config parse_cloud_config parse_metadata_info
        read_cloud_config_from_zip read_metadata_info
    """,
})  # fmt: skip
