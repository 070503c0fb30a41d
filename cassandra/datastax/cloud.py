"""Secure connect bundles of Astra: what ``Cluster(cloud=...)`` reads, for programs that read one themselves."""

from cassandra._base.aliases import observe_patches
from cassandra._base.errors import DriverException
from cassandra._net.cloud import (
    DATASTAX_CLOUD_PRODUCT_TYPE,
    CloudConfig,
    get_cloud_config,
    log,
    parse_cloud_config,
    parse_metadata_info,
    read_cloud_config_from_zip,
    read_metadata_info,
)  # fmt: skip

__all__ = [
    "CloudConfig", "DATASTAX_CLOUD_PRODUCT_TYPE", "DriverException", "get_cloud_config", "log", "parse_cloud_config",
    "parse_metadata_info", "read_cloud_config_from_zip", "read_metadata_info",
]  # fmt: skip

observe_patches(__name__, "read_metadata_info", "cassandra._compat.hooks", "replaced_in_facade")
