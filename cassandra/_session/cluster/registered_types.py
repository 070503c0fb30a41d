"""The classes that an application registered for user types, and their lookup by codecs.

L5. ``_classes`` is written by the command :meth:`RegisteredTypes.register`; the codec looks up a class through
``context`` on any thread that decodes, once per type and result metadata.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cassandra._core.codec import TypeContext
from cassandra._wire.types.nested import UserType
from cassandra._wire.types.registry import resolve_custom

from ..background.commands import command

if TYPE_CHECKING:
    from .cluster import Cluster


class RegisteredTypes:
    """The registered classes of *cluster*; iterating yields (keyspace, type, class)."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._classes: defaultdict[str, dict[str, type]] = defaultdict(dict)
        self.context = TypeContext(resolve_custom, self._class_of)

    def __iter__(self) -> Iterator[tuple[str, str, type]]:
        return iter(
            [
                (keyspace, name, klass)
                for keyspace, types in self._classes.copy().items()  # others may register meanwhile
                for name, klass in types.copy().items()
            ]
        )

    @command
    def register(self, keyspace: str, user_type: str, klass: type) -> None:
        """Decode values of ``keyspace.user_type`` as instances of *klass*, made with the fields as keyword arguments,
        and let simple statements encode them. Also applies to statements prepared before, in requests made from now on.
        Raise :exc:`UserTypeDoesNotExist` on a connected cluster without that type."""
        for session in self._cluster.sessions:
            session.user_type_registered(keyspace, user_type, klass)
        self._classes[keyspace][user_type] = klass
        UserType.evict_udt_class(keyspace, user_type)
        self.context.clear()
        for statement in self._cluster.prepared.every():
            statement._read_as(keyspace, user_type, klass)

    def _class_of(self, keyspace: str, name: str) -> Any:
        types = self._classes.get(keyspace)
        return types.get(name) if types is not None else None
