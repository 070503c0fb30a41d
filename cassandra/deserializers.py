"""Values of one type from bytes, for parsers of rows (:mod:`cassandra.parsing`). Sessions decode natively."""

from cassandra._compat.parsing import (
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

vars().update(DESERIALIZERS)  # attributes of the module, which cqlsh deletes
__all__ += sorted(DESERIALIZERS)
