"""TokenMap: the public view of the ring and its replicas (L4). The driver itself routes by ``ring.ReplicaMap``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cassandra._base.objects import public

from .replication import finder_for
from .ring import ReplicaMap, Ring
from .tokens import Token, token_class_of

if TYPE_CHECKING:
    from ..host import Host
    from ..schema.keyspace import KeyspaceMetadata
    from ..snapshot import ClusterState


@public("cassandra.metadata")
class TokenMap:
    """Owners of tokens, and replicas of keyspaces. Available as ``cluster.metadata.token_map``."""

    #: The class of the tokens.
    token_class: type[Token] = None  # type: ignore[assignment]
    #: For each keyspace with computed replicas: hosts by token.
    tokens_to_hosts_by_ks: dict[str, dict[Token, list[Host]]] = None  # type: ignore[assignment]

    def __init__(
        self,
        token_class: type[Token],
        token_to_host_owner: Mapping[Token, Host],
        all_tokens: Sequence[Token],
        metadata: Any,
    ) -> None:
        owners = {token.value: token_to_host_owner[token] for token in all_tokens}
        self._start(Ring(token_class, owners), metadata)

    @classmethod
    def _of(cls, state: ClusterState) -> TokenMap | None:
        ring = state.topology.ring
        if ring is None:
            token_class = token_class_of(state.topology.partitioner)
            if token_class is None:
                return None
            ring = Ring(token_class, {})
        made = cls.__new__(cls)
        made._start(ring, state)
        return made

    def _start(self, ring: Ring, metadata: Any) -> None:
        self._ring = ring
        self._metadata = metadata
        self.token_class = ring.token_class
        self.tokens_to_hosts_by_ks = {}

    @property
    def ring(self) -> list[Token]:
        """All tokens, ascending."""
        return self._ring.tokens

    @property
    def token_to_host_owner(self) -> dict[Token, Host]:
        """Owner of each token."""
        return self._ring.token_to_host_owner

    def get_replicas(self, keyspace: str, token: Token) -> list[Host]:
        """Return the hosts that hold the partitions with *token*, in ring order; empty for an unknown keyspace."""
        self.rebuild_keyspace(keyspace, build_if_absent=True)
        replicas = self.tokens_to_hosts_by_ks.get(keyspace)
        return list(replicas.get(self.ring[self._ring.index(token.value)], ())) if replicas else []

    def rebuild_keyspace(self, keyspace: str, build_if_absent: bool = False) -> None:
        """Recompute the replicas of *keyspace* if they are present; with *build_if_absent*, only if they are not."""
        if build_if_absent == (keyspace in self.tokens_to_hosts_by_ks):
            return
        known = self._metadata.keyspaces.get(keyspace)
        if known is not None:
            self.tokens_to_hosts_by_ks[keyspace] = self.replica_map_for_keyspace(known)

    def replica_map_for_keyspace(self, ks_metadata: KeyspaceMetadata) -> dict[Token, list[Host]]:
        """Return the replicas of each token under the replication of *ks_metadata*."""
        strategy = ks_metadata.replication_strategy
        find = finder_for(strategy, self._ring) if strategy is not None else None
        if find is None:
            return {}
        replicas = ReplicaMap(self._ring, find)
        return {token: list(replicas[position]) for position, token in enumerate(self.ring)}

    def remove_keyspace(self, keyspace: str) -> None:
        """Remove the replicas of *keyspace*."""
        self.tokens_to_hosts_by_ks.pop(keyspace, None)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy the current ring and replication strategies; the copy is not updated."""
        ring = self._ring
        owners = dict(zip(ring.values, ring.owners, strict=True))
        known = self._metadata.keyspaces.items()
        strategies = {name: keyspace.replication_strategy for name, keyspace in known}
        return _copied, (type(self), ring.token_class, owners, strategies)


class _Strategies:
    """The part of the metadata that a copy of a token map needs."""

    def __init__(self, strategies: Mapping[str, Any]) -> None:
        self.keyspaces = {name: _Keyspace(strategy) for name, strategy in strategies.items()}


class _Keyspace:
    def __init__(self, strategy: Any) -> None:
        self.replication_strategy = strategy


def _copied(
    kind: type[TokenMap], token_class: type[Token], owners: Mapping[Any, Host], strategies: Mapping[str, Any]
) -> TokenMap:
    made = kind.__new__(kind)
    made._start(Ring(token_class, owners), _Strategies(strategies))
    return made
