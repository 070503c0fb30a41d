"""``vector<type, n>`` (L2)."""

from collections.abc import Sequence
from typing import Any, ClassVar

from cassandra._core.codec import Codec, decode_numbers, vector_codec
from cassandra._wire.types.base import _CassandraType, apache_cassandra_type_prefix, make_applied, spell


class VectorType(_CassandraType):
    """A list of a fixed number of elements. Parameters are the element type and the number."""

    typename = "org.apache.cassandra.db.marshal.VectorType"
    vector_size: ClassVar[int] = 0
    subtype: ClassVar[Any] = None

    @classmethod
    def apply_parameters(cls, params: Sequence[Any], names: Sequence[str | None] | None = None) -> Any:
        if len(params) != 2:
            raise ValueError(f"VectorType needs a type and a number of dimensions ({len(params)} parameters)")
        subtype, size = params[0], int(spell(params[1]))
        if size <= 0:
            raise ValueError(f"a vector must have at least one dimension, not {size}")
        attributes = {
            "subtypes": (subtype,),
            "cassname": cls.cassname,
            "subtype": subtype,
            "vector_size": size,
        }
        return make_applied(cls, f"{cls.cassname}({spell(subtype)}, {size})", attributes)

    @classmethod
    def serial_size(cls) -> int | None:
        size: int | None = None if cls.subtype is None else cls.subtype.serial_size()
        return None if size is None else size * cls.vector_size

    @classmethod
    def _spell_cql(cls) -> str:
        return f"vector<{cls.subtype.cql_parameterized_type()}, {cls.vector_size}>" if cls.subtype else "vector"

    @classmethod
    def cass_parameterized_type(cls, full: bool = False) -> str:
        name = (apache_cassandra_type_prefix if full else "") + cls.cassname
        return f"{name}({spell(cls.subtype, full)}, {cls.vector_size})" if cls.subtype else name

    @classmethod
    def numbers(cls, byts: bytes) -> memoryview:
        """Return the elements of a serialized vector of int, bigint, float or double as a new, writable memoryview of
        machine numbers, which ``numpy.asarray`` and ``array.array`` accept unchanged. Raise TypeError for vectors of
        other elements, and DriverException if the bytes are not a value of this type.

        With an application class called ``VectorType``, all vectors in rows of a session are arrays::

            class VectorType(cassandra.cqltypes.VectorType):
                @classmethod
                def deserialize(cls, byts, protocol_version):
                    return numpy.asarray(cls.numbers(byts))
        """
        return decode_numbers(cls._native(), byts)

    @classmethod
    def _make_native(cls) -> Codec:
        if cls.subtype is None:
            raise NotImplementedError("VectorType needs parameters to convert values")
        codec = vector_codec(cls.subtype.codec(), cls.vector_size)
        codec.py_type = cls
        return codec
