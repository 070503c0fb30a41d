"""Tablets: which hosts and shards hold a range of a ScyllaDB table. The driver learns them from servers."""

from cassandra._routing.tablets.tablets import (
    Tablet,
    Tablets,
    choose_tablet_version_block,
    random_tablet_version_block,
)

__all__ = ["Tablet", "Tablets", "choose_tablet_version_block", "random_tablet_version_block"]
