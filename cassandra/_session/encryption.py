"""The column encryption policy of a cluster, and plans compiled with it.

L5. Metadata readers query the policy through the cluster's ``TypeContext``. When the policy gets another column,
compiled plans are dropped or compiled anew: requests made from then on encrypt that column. Values bound before are
sent as they are. Any thread; each change is one assignment.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

from cassandra._base.encryption import ColumnEncryptionPolicy, watch
from cassandra._base.errors import DriverException
from cassandra._core.codec import described_page
from cassandra._session.statements.batch import BatchStatement
from cassandra._session.statements.prepared import BoundStatement, PreparedStatement
from cassandra._wire.encryption import ColumnResolver, Origin, encrypted_columns, resolver, result_plan_by

from . import config

if TYPE_CHECKING:
    from cassandra._session.request.execution import Content

    from .cluster import Cluster


class ColumnEncryption:
    """Column encryption of *cluster*."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._resolver: ColumnResolver | None = None
        self._state = object()  # replaced with each change
        self.is_on = False  # True if there is a policy

    def begin(self, given: ColumnEncryptionPolicy | None, default: ColumnEncryptionPolicy | None) -> None:
        """Set the policy given to the constructor, or that of the class."""
        self.policy = default if given is None else given

    @property
    def policy(self) -> ColumnEncryptionPolicy | None:
        """The policy; None: columns are sent as they are."""
        return None if self._resolver is None else self._resolver.policy

    @policy.setter
    def policy(self, policy: ColumnEncryptionPolicy | None) -> None:
        if policy is not None:
            config.instance("column_encryption_policy", policy, ColumnEncryptionPolicy, "a")
            watch(self)
        if policy is not self.policy:
            self._resolver = resolver(policy, Tables(self._cluster))
            self.is_on = policy is not None
            self.columns_changed()

    def columns_changed(self) -> None:
        """Apply a change of the policy."""
        self._state = object()
        context = self._cluster.type_context
        context.resolve_column = self._resolver
        context.clear()
        for statement in self._cluster.prepared.every():
            self.apply(statement)
        for session in list(self._cluster.sessions):
            session._forget_plans()  # copies of statements are updated when they get new plans

    def apply(self, statement: PreparedStatement) -> None:
        """Make *statement*, which is registered by now, encrypt by the policy, even if the policy changes during the
        call."""
        state = None
        while state is not self._state:
            state = self._state
            statement._encrypt_by(self._resolver)
        statement._encryption_state = state

    def check(self, query: Any) -> None:
        """Raise DriverException if *query*, prepared, bound, or a batch of such, would send unencrypted values of
        encrypted columns. Without a policy nothing is checked."""
        statements: Iterable[PreparedStatement] = ()
        is_bound = not isinstance(query, PreparedStatement)
        if isinstance(query, PreparedStatement):
            statements = (query,)
        elif isinstance(query, BoundStatement):
            statements = (query.prepared_statement,)
        elif isinstance(query, BatchStatement):
            statements = query._prepared.values()
        for statement in statements:
            if not self.allows(statement, is_bound):
                raise DriverException(
                    "The statement has values for encrypted columns, and was prepared by a session without this column "
                    "encryption policy, or bound before these columns were added: prepare and bind it by this session. "
                    f"Nothing is sent. Query: {statement.query_string}"
                )

    def allows(self, statement: PreparedStatement, is_bound: bool) -> bool:
        """Return True if *statement* encrypts by the policy, from now on at the latest, or has nothing to encrypt.
        *is_bound*: its values were bound already."""
        if self._resolver is None or statement._encryption_state is self._state:
            return True
        if statement.column_encryption_policy is self.policy and not is_bound:
            self.apply(statement)  # a copy that is not registered
            return True
        state, probe = self._state, copy(statement)
        probe._encrypt_by(self._resolver)
        wanted, found = encrypted_columns(probe._bind_plan), encrypted_columns(statement._bind_plan)
        if probe._refused is not None or wanted != found:
            return False
        statement._encryption_state = state
        return True

    def describe(self, message: Any, content: Content) -> None:
        """Decrypt the rows of a response as the text of the statement requires, which may rename columns."""
        page = getattr(message, "page", None)
        if self._resolver is None or page is None:
            return
        prepared = content.prepared
        if prepared is not None:
            plan = prepared._with_result_columns(page.plan)
        else:
            text = getattr(content.message, "query", None)
            plan = result_plan_by(self._resolver, page.plan, Origin(text, None)) if isinstance(text, str) else page.plan
        if plan is not page.plan:
            message.page, message.plan = described_page(page, plan), plan

    def check_text(self, text: str, keyspace: str | None) -> None:
        """Raise DriverException if *text*, an unprepared statement, has unencrypted values for encrypted columns."""
        if self._resolver is not None:
            self._resolver.check_text(text, keyspace)


#: Keyspaces with schema tables: these are not looked up in the schema.
OF_SCHEMA = frozenset(("system", "system_schema", "system_virtual_schema"))


class Tables:
    """Table metadata of *cluster*, in the form of ``cassandra._wire.encryption.Schema``."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def base_table(self, keyspace: str, table: str) -> str | None:
        """See the protocol."""
        known = self._keyspace(keyspace)
        view = None if known is None else known.views.get(table)
        return None if view is None else view.base_table_name

    def columns(self, keyspace: str, table: str) -> Iterable[str]:
        """See the protocol."""
        found = self._table_of(keyspace, table)
        return () if found is None else list(found.columns)

    def key_columns(self, keyspace: str, table: str) -> Iterable[str]:
        """See the protocol."""
        found = self._table_of(keyspace, table)
        return () if found is None else [column.name for column in (*found.partition_key, *found.clustering_key)]

    def _table_of(self, keyspace: str, table: str) -> Any:
        known = self._keyspace(keyspace)
        return None if known is None else known.tables.get(table) or known.views.get(table)

    def _keyspace(self, keyspace: str) -> Any:
        return None if keyspace in OF_SCHEMA else self._cluster.metadata.keyspaces.get(keyspace)
