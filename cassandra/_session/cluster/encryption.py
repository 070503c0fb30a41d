"""The column encryption policy of a cluster, and what was compiled by it.

L5. Whatever reads metadata asks the policy through the cluster's ``TypeContext``. When it has a column more, what was
compiled before is thrown away or compiled anew: requests made from then on encrypt that column. Values that were bound
before are sent as they are. Any thread; each change is one assignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cassandra._base.encryption import ColumnEncryptionPolicy, watch
from cassandra._wire.encryption import resolver

from . import config

if TYPE_CHECKING:
    from ..statements.prepared import PreparedStatement
    from .cluster import Cluster


class ColumnEncryption:
    """Of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._policy: ColumnEncryptionPolicy | None = None
        self._state = object()  # replaced with each change

    def begin(self, given: ColumnEncryptionPolicy | None, default: ColumnEncryptionPolicy | None) -> None:
        """With the policy that the constructor was given, or that of the class."""
        self.policy = default if given is None else given

    @property
    def policy(self) -> ColumnEncryptionPolicy | None:
        """None: columns are sent as they are."""
        return self._policy

    @policy.setter
    def policy(self, policy: ColumnEncryptionPolicy | None) -> None:
        if policy is not None:
            config.instance("column_encryption_policy", policy, ColumnEncryptionPolicy, "a")
            watch(self)
        if policy is not self._policy:
            self._policy = policy
            self.columns_changed()

    def columns_changed(self) -> None:
        """The policy says something else than before."""
        self._state = object()
        context = self._cluster.type_context
        context.resolve_column = resolver(self._policy)
        context.clear()
        for statement in self._cluster.prepared.every():
            self.apply(statement)

    def apply(self, statement: PreparedStatement) -> None:
        """Have *statement*, which the cluster knows by now, encrypt as the policy says, also if that changes while it
        is asked."""
        state = None
        while state is not self._state:
            state = self._state
            statement.column_encryption_policy = self._policy
