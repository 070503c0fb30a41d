"""Secure connect bundles of DataStax Astra (L6): names of ``cassandra.datastax.cloud``."""

from __future__ import annotations

from .unsupported import finder

BUNDLES = "is for secure connect bundles, which fastcql does not support yet"
DATASTAX_CLOUD_PRODUCT_TYPE = "DATASTAX_APOLLO"

__getattr__ = finder(
    "cassandra.datastax.cloud",
    {BUNDLES: "CloudConfig"},
    {BUNDLES: "get_cloud_config parse_cloud_config parse_metadata_info read_cloud_config_from_zip read_metadata_info"},
)
