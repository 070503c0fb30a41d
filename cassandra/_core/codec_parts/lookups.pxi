# Python classes of decoded values, looked up once, at first use: importing the codec imports no other module. Slots of
# those classes are written by offset; a class that cannot be built that way is called.

cdef class _SlottedClass:
    """A class of L0 or the standard library and the offsets of the slots that its values consist of."""

    cdef object cls
    cdef PyTypeObject* type
    cdef bint direct  # instances can be made by filling slots
    cdef bint tracked  # the collector has to track its instances
    cdef Py_ssize_t[4] offsets

    def __cinit__(self, cls, tuple slots, bint tracked=False):
        self.cls = cls
        self.type = <PyTypeObject*>cls
        self.tracked = tracked
        self.direct = is_slotted_class(cls)
        for i, slot in enumerate(slots):
            self.offsets[i] = slot_offset(cls, slot.encode())
            if self.offsets[i] < 0:
                self.direct = False


cdef _SlottedClass _uuid = None
cdef object _safe_uuid_unknown = None
cdef _SlottedClass _date = None
cdef _SlottedClass _time = None
cdef _SlottedClass _duration = None
cdef _SlottedClass _map = None
cdef object _set_from_list = None
cdef object _decimal = None
cdef object _exact = None  # a decimal context in which nothing is rounded


cdef int load_uuid() except -1:
    global _uuid, _safe_uuid_unknown
    import uuid

    _safe_uuid_unknown = uuid.SafeUUID.unknown
    _uuid = _SlottedClass(uuid.UUID, ("int", "is_safe"))
    return 0


cdef int load_temporal() except -1:
    global _date, _time, _duration
    from cassandra._base import temporal

    _time = _SlottedClass(temporal.Time, ("nanosecond_time",))
    _duration = _SlottedClass(temporal.Duration, ("months", "days", "nanoseconds"))
    _date = _SlottedClass(temporal.Date, ("days_from_epoch",))
    return 0


cdef int load_collections() except -1:
    global _map, _set_from_list
    from cassandra._base import collections

    _set_from_list = collections.SortedSet._from_list
    slots = ("_items", "_index", "cass_key_type", "protocol_version")
    _map = _SlottedClass(collections.OrderedMapSerializedKey, slots, True)
    return 0


cdef int load_decimal() except -1:
    global _decimal, _exact
    import decimal

    _exact = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    _decimal = decimal.Decimal
    return 0


cdef object make_namedtuple(str name, tuple fields):
    """Return the class for types without a given class: cached, with names invalid in Python replaced; or tuple."""
    from cassandra._base.tuples import udt_class

    return udt_class(name, fields)


cdef object fitted(factory, str type_name, tuple names):
    """Return *factory*, or a wrapper that calls it with the fields that it takes."""
    from cassandra._base.tuples import fitted

    return fitted(factory, type_name, names)


cdef object decode_error(str message):
    from cassandra._base.errors import DecodeError
    from cassandra._base.logs import printable

    return DecodeError(printable(message))


cdef object driver_error(str message):
    from cassandra._base.errors import DriverException
    from cassandra._base.logs import printable

    return DriverException(printable(message))


cdef object protocol_error(str message):
    from cassandra._base.errors import ProtocolError
    from cassandra._base.logs import printable

    return ProtocolError(printable(message))


cdef object unsupported(str message):
    from cassandra._base.errors import UnsupportedOperation

    return UnsupportedOperation(message)
