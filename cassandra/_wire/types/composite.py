"""Composite columns of legacy tables (L2): components with a length, a value and an end-of-component byte."""

from typing import Any

from cassandra._base.names import quote_text
from cassandra._core.codec import Codec, custom_codec
from cassandra._wire.marshal import uint16_pack, uint16_unpack
from cassandra._wire.types.base import _ParameterizedType


class CompositeType(_ParameterizedType):
    """Composite whose values are tuples; components may be missing at the end."""

    typename = "org.apache.cassandra.db.marshal.CompositeType"

    @classmethod
    def _spell_cql(cls) -> str:
        return quote_text(cls.cass_parameterized_type(full=True))

    @classmethod
    def _make_native(cls) -> Codec:
        codec = custom_codec(cls.cass_parameterized_type(full=True), cls._unpack, cls._pack)
        codec.py_type = cls
        return codec

    @classmethod
    def _unpack(cls, byts: bytes, protocol_version: int) -> tuple[Any, ...]:
        values: list[Any] = []
        at = 0
        for subtype in cls.subtypes:
            if at >= len(byts):
                break
            start = at + 2
            end = start + uint16_unpack(byts[at:start].ljust(2, b"\0"))
            if end >= len(byts):
                raise ValueError(f"component {len(values)} of {cls.cassname} goes past the end of the value")
            values.append(subtype.from_binary(byts[start:end], protocol_version))
            at = end + 1
        return tuple(values)

    @classmethod
    def _pack(cls, val: Any, protocol_version: int) -> bytes:
        if len(val) > len(cls.subtypes):
            raise ValueError(f"{len(val)} components for {len(cls.subtypes)} types of {cls.cassname}")
        packed = [sub.to_binary(item, protocol_version) for sub, item in zip(cls.subtypes, val, strict=False)]
        return b"".join(uint16_pack(len(item)) + item + b"\0" for item in packed)


class DynamicCompositeType(_ParameterizedType):
    """Composite whose components contain their types; values are bytes."""

    typename = "org.apache.cassandra.db.marshal.DynamicCompositeType"

    @classmethod
    def _spell_cql(cls) -> str:
        return quote_text(cls.cass_parameterized_type(full=True))

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        aliases = zip(cls.fieldnames or (), cls.subtypes, strict=False)
        name = cls.cass_parameterized_type_with((), full)
        inner = ", ".join(f"{alias}=>{sub.cass_parameterized_type(full=full)}" for alias, sub in aliases)
        return f"{name}({inner})" if inner else name

    @classmethod
    def _make_native(cls) -> Codec:
        codec = custom_codec(cls.cass_parameterized_type(full=True))
        codec.py_type = cls
        return codec
