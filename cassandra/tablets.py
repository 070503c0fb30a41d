"""Tablets: the hosts and shards of a token range of a ScyllaDB table, as sent by servers."""

from cassandra._routing.tablets import (
    Tablet,
    Tablets,
    choose_tablet_version_block,
    random_tablet_version_block,
)

__all__ = ["Tablet", "Tablets", "choose_tablet_version_block", "random_tablet_version_block"]
