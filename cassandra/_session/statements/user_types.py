"""User types that an application registered a class for: as literals in simple statements, and in rows.

L5. ``_classes`` is written by the command :meth:`RegisteredTypes.register`; the codec looks up a class through
``context`` on any thread that decodes, once per type and result metadata. Statements that were prepared before get a
result plan that decodes values as instances of the class (:func:`read_as`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from cassandra._base.errors import UserTypeDoesNotExist
from cassandra._base.names import protect_name
from cassandra._core.codec import (
    ResultPlan,
    TypeContext,
    fields_of,
    list_codec,
    map_codec,
    set_codec,
    tuple_codec,
    udt_codec,
    vector_codec,
)
from cassandra._session.scheduler import command
from cassandra._wire.types.nested import UserType
from cassandra._wire.types.registry import resolve_custom

if TYPE_CHECKING:
    from cassandra._core.codec import Codec
    from cassandra._routing.metadata import Metadata
    from cassandra._session.cluster import Cluster
    from cassandra._wire.encoder import Encoder


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


def register_encoder(encoder: Encoder, metadata: Metadata, keyspace: str, user_type: str, klass: type) -> None:
    """Register an encoder for instances of *klass* as ``{field: value, …}`` of ``keyspace.user_type``, with the fields
    that binding takes (:func:`fields_of`). A mapping whose keys are not fields of a type that *klass* is registered for
    remains a map: programs may register ``dict``.

    Raises :exc:`UserTypeDoesNotExist` when the schema has no such keyspace or type.
    """
    known = metadata.keyspaces.get(keyspace)
    if known is None:
        raise UserTypeDoesNotExist(f"Keyspace {keyspace} does not exist or has not been discovered by the driver")
    udt = known.user_types.get(user_type)
    if udt is None:
        raise UserTypeDoesNotExist(f"User type {user_type} does not exist in keyspace {keyspace}")
    first: Any = udt

    def names() -> tuple[str, ...]:
        keyspaces = metadata.keyspaces.get(keyspace)  # the type may have been altered meanwhile
        now = first if keyspaces is None else keyspaces.user_types.get(user_type, first)
        return tuple(now.field_names)

    known_types = encoder.mapping.get(klass)
    others = known_types.types if isinstance(known_types, _UserTypeEncoder) else {}
    types = {key: others[key] for key in others if key != (keyspace, user_type)}
    encoder.mapping[klass] = _UserTypeEncoder(encoder, {**types, (keyspace, user_type): names})


class _UserTypeEncoder:
    """Encodes instances of a class as literals. *types*: the user types that it is registered for, the latest one last,
    with functions that return the names of their fields."""

    def __init__(self, encoder: Encoder, types: dict[tuple[str, str], Callable[[], tuple[str, ...]]]) -> None:
        self._encoder = encoder
        self.types = types

    def __call__(self, value: Any) -> str:
        if isinstance(value, Mapping):
            if not value or not any(all(map(names().__contains__, value)) for names in self.types.values()):
                return self._encoder.cql_encode_map_collection(value)
            return self._literal(value.items())
        (_, user_type), names = next(reversed(self.types.items()))
        fields = names()
        return self._literal(zip_longest(fields, fields_of(value, user_type, fields)))

    def _literal(self, fields: Iterable[tuple[str, Any]]) -> str:
        write = self._encoder.cql_encode_all_types
        return "{" + ", ".join(f"{protect_name(name)} : {write(value)}" for name, value in fields) + "}"


def read_as(plan: ResultPlan, keyspace: str, user_type: str, klass: Any) -> ResultPlan:
    """Return a plan like *plan* that decodes values of ``keyspace.user_type`` as instances of *klass*; *plan* itself
    when there are none. Codecs are shared by many plans, and may be decoding rows at this moment, so they are not
    changed."""
    specs = [(*spec[:3], _read_as(spec[3], keyspace, user_type, klass)) for spec in plan.specs]
    same = all(new[3] is old[3] for new, old in zip(specs, plan.specs, strict=True))
    return plan if same else ResultPlan(specs)


def _read_as(codec: Codec, keyspace: str, user_type: str, klass: Any) -> Codec:
    children = [_read_as(child, keyspace, user_type, klass) for child in codec.children]
    meant = (codec.keyspace, codec.type_name) == (keyspace, user_type)
    if not meant and all(new is old for new, old in zip(children, codec.children, strict=True)):
        return codec
    if codec.type_name is not None:
        factory = klass if meant else codec.factory
        made = udt_codec(codec.keyspace or "", codec.type_name, codec.field_names, children, factory)
    elif codec.name == "vector":
        made = vector_codec(children[0], codec.dimensions)
    elif codec.name == "tuple":
        made = tuple_codec(children)
    elif codec.name == "map":
        made = map_codec(*children)
    else:
        made = list_codec(*children) if codec.name == "list" else set_codec(*children)
    made.empty_value = codec.empty_value
    return made
