"""User types (L2): named tuples, or instances of a class the application registered."""

import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, ClassVar

from cassandra._base.names import maybe_escape_name
from cassandra._base.tuples import udt_class
from cassandra._core.codec import Codec, udt_codec
from cassandra._wire.types.base import UNKNOWN, apache_cassandra_type_prefix, make_applied, spell, spelled_once
from cassandra._wire.types.collections import TupleType

_classes: OrderedDict[tuple[str, str], Any] = OrderedDict()  # the latest class per (keyspace, type)
_MOST_CLASSES = 1024  # a limit, as a server may send any number of names


class UserType(TupleType):
    """A user type. Made by :meth:`make_udt_class`, or parsed from the server's spelling."""

    typename = "org.apache.cassandra.db.marshal.UserType"
    num_subtypes = UNKNOWN
    keyspace: ClassVar[str] = ""
    mapped_class: ClassVar[Any] = None
    """The class that values are read as; None gives ``tuple_type``, and where that is None ``tuple``."""
    tuple_type: ClassVar[Any] = None

    @classmethod
    def make_udt_class(
        cls, keyspace: str, udt_name: str, field_names: Sequence[str], field_types: Sequence[Any]
    ) -> Any:
        """Return the class of a user type; the same one until its fields change or it is evicted."""
        known = _classes.get((keyspace, udt_name))
        fields, types = tuple(field_names), tuple(field_types)
        if known is None or known.fieldnames != fields or known.subtypes != types:
            known = _classes[keyspace, udt_name] = cls._make(keyspace, udt_name, fields, types)
            while len(_classes) > _MOST_CLASSES:
                with contextlib.suppress(KeyError):  # another thread has emptied it
                    _classes.popitem(last=False)
        return known

    @classmethod
    def _make(
        cls,
        keyspace: str,
        udt_name: str,
        fields: tuple[str, ...],
        types: tuple[Any, ...],
        mapped_class: Any = None,
    ) -> Any:
        made = udt_class(udt_name, fields)
        attributes = {
            "subtypes": types,
            "fieldnames": fields,
            "cassname": cls.cassname,
            "typename": udt_name,
            "keyspace": keyspace,
            "mapped_class": mapped_class,
            "tuple_type": None if made is tuple else made,
        }
        return make_applied(cls, udt_name, attributes)

    @classmethod
    def evict_udt_class(cls, keyspace: str, udt_name: str) -> None:
        """Remove the cached class of a user type that was altered or dropped."""
        _classes.pop((keyspace, udt_name), None)

    @classmethod
    def apply_parameters(cls, subtypes: Sequence[Any], names: Sequence[str | None] | None = None) -> Any:
        """Return the class for the server's parameters: keyspace, hex name, then a type per hex field name."""
        if len(subtypes) < 2 or names is None or None in names[2:]:
            raise ValueError("UserType needs a keyspace, a name and named fields")
        fields = [_from_hex(name) for name in names[2:] if name is not None]
        return cls.make_udt_class(spell(subtypes[0]), _from_hex(spell(subtypes[1])), fields, subtypes[2:])

    @classmethod
    def _spell_cql(cls) -> str:
        return f"frozen<{maybe_escape_name(cls.typename)}>"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        return spelled_once(cls, full, lambda: cls._spell(full))

    @classmethod
    def _spell(cls, full: bool) -> str:
        name = (apache_cassandra_type_prefix if full else "") + cls.cassname
        fields = zip(cls.fieldnames or (), cls.subtypes, strict=False)
        parts = [cls.keyspace, cls.typename.encode().hex()]
        parts += [f"{(field or '').encode().hex()}:{spell(sub, full)}" for field, sub in fields]
        return f"{name}({','.join(parts)})"

    @classmethod
    def _reconfigure(cls) -> None:
        super()._reconfigure()
        codec = cls.__dict__.get("_native_codec")
        if codec is not None:
            codec.factory = cls.mapped_class

    @classmethod
    def _build(cls, children: list[Codec]) -> Codec:
        names = [name or "" for name in cls.fieldnames or ()]
        codec = udt_codec(cls.keyspace, cls.typename, names, children, cls.mapped_class)
        codec.py_type = cls
        return codec


def _from_hex(text: str) -> str:
    """Decode a name of a user type or field, which the server writes in hex."""
    return bytes.fromhex(text).decode()


def from_codec(codec: Codec, types: Sequence[Any]) -> Any:
    """Return the class of a user type from the server's metadata; it decodes values as *codec* does."""
    return UserType._make(codec.keyspace or "", codec.type_name or "", codec.field_names, tuple(types), codec.factory)
