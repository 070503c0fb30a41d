"""Deserializers of single types, for parsers of rows (:mod:`cassandra.parsing`). Sessions decode natively."""

from cassandra._compat.protocol import (
    DESERIALIZERS,
    EPOCH_OFFSET_DAYS,
    Deserializer,
    GenericDeserializer,
    find_deserializer,
    make_deserializers,
    obj_array,
)

__all__ = [
    "EPOCH_OFFSET_DAYS",
    "Deserializer",
    "GenericDeserializer",
    "find_deserializer",
    "make_deserializers",
    "obj_array",
]

vars().update(DESERIALIZERS)  # set as attributes of the module, as cqlsh deletes them
__all__ += sorted(DESERIALIZERS)
